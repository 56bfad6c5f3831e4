//! What dispatch chooses from, as data: what each candidate takes, how it goes before others and on what evidence.

use isa::Target;

use crate::chunk::{AccuracyKind, ChunkGateKind, DecayForm, TokenLayout};
use crate::decode_step::Family;

/// One way to solve prefill problems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Unique name.
    pub name: &'static str,
    /// Number of its launches' interface: arguments, tables, workspace.
    pub abi_version: u32,
    /// Of candidates that fit, the highest is taken.
    pub priority: u32,
    /// What a problem must say for it to be considered.
    pub opt_in: &'static [OptIn],
    /// One kernel or two.
    pub kernels: Kernels,
    /// Families.
    pub families: &'static [Family],
    /// Targets.
    pub targets: &'static [Target],
    /// What operands are rounded to.
    pub accuracy: AccuracyKind,
    /// C: rows of a chunk.
    pub chunk: u32,
    /// How decays enter products.
    pub decay: DecayForm,
    /// Gates.
    pub gates: &'static [ChunkGateKind],
    /// Orders of rows in memory.
    pub layouts: &'static [TokenLayout],
    /// Rows of the matrix operations, where a workgroup's columns are as many or more; 16 elsewhere.
    pub atom: u32,
    /// Whether buffers of the tile phase share LDS.
    pub lds_overlay: bool,
    /// Workgroups that may share a value head, fewest first.
    pub value_splits: &'static [u32],
    /// What speaks for it, with the command that shows it.
    pub evidence: &'static str,
}

/// One kernel or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// A tile kernel, then a scan kernel.
    Split,
    /// Both in one.
    Fused,
}

/// What a problem says to get a candidate that is no default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptIn {
    /// `path = "fused"`.
    FusedPath,
    /// `accuracy = "bf16"`.
    PlainAccuracy,
    /// `chunk = 64`.
    LongChunks,
}

impl OptIn {
    /// The field of a problem file, and why that is not the default.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            OptIn::FusedPath => (
                "path = \"fused\"",
                "a sequence's tiles are then made one after the other; whether the bytes saved are worth it only a timing can show, and none exists",
            ),
            OptIn::PlainAccuracy => (
                "accuracy = \"bf16\"",
                "o is twice as far from float64 as its own rounding, the state a thousand times as far as with bf16_split",
            ),
            OptIn::LongChunks => (
                "chunk = 64",
                "a scan takes half as many steps, but a KDA tile costs four times the instructions; which is faster only a timing can show, and none exists",
            ),
        }
    }
}

const GFX950: &[Target] = &[Target::Gfx950];
const LAYOUTS: &[TokenLayout] =
    &[TokenLayout::TokenMajor, TokenLayout::HeadMajor, TokenLayout::Strided];
const KDA: &[Family] = &[Family::Kda];
const GDN: &[Family] = &[Family::Gdn];
/// Gates of one a channel that have a bound.
const BOUNDED: &[ChunkGateKind] =
    &[ChunkGateKind::LogDecayPerChannel, ChunkGateKind::BoundedSigmoid];
/// Gates of one a channel, of any size.
const PER_CHANNEL: &[ChunkGateKind] =
    &[ChunkGateKind::LogDecayPerChannel, ChunkGateKind::BoundedSigmoid, ChunkGateKind::Softplus];
/// Gates of one a head.
const PER_HEAD: &[ChunkGateKind] = &[ChunkGateKind::LogDecayPerHead, ChunkGateKind::Softplus];

const SPLIT_EVIDENCE: &str = "two launches: tiles of all chunks in parallel, then the state, whose workgroups wait for no tile; what its accuracy form reaches: docs/kernels/kda.md, Verdicts; counts beside the fused kernel's: CASE_STUDY.md, section 7";
const FUSED_EVIDENCE: &str = "one launch, no workspace, fewer bytes; counts beside the split kernels': CASE_STUDY.md, section 7";
const GDN_SPLIT_EVIDENCE: &str = "two launches: tiles of all chunks in parallel, then the state, whose workgroups wait for no tile; what its accuracy form reaches: docs/kernels/kda.md, Verdicts; counts beside the fused kernel's: docs/kernels/kda.md, What it costs (cargo bench --bench chunk_cost)";
const GDN_FUSED_EVIDENCE: &str = "one launch, no workspace, fewer bytes; counts beside the split kernels': docs/kernels/kda.md, What it costs (cargo bench --bench chunk_cost)";
const SUB_CHUNKS_EVIDENCE: &str = "right for gates of any size, since each pair of rows inside a sub-chunk has its own decay; several times the exponentials of an anchor (cargo bench --bench chunk_cost)";

/// Two kernels over chunks of 32 tokens in the form that is safe for values of any range.
const KDA_SPLIT: Candidate = Candidate {
    name: "kda_split",
    abi_version: 3,
    priority: 30,
    opt_in: &[],
    kernels: Kernels::Split,
    families: KDA,
    targets: GFX950,
    accuracy: AccuracyKind::Bf16Split,
    chunk: 32,
    decay: DecayForm::FixedOffset,
    gates: BOUNDED,
    layouts: LAYOUTS,
    atom: 32,
    lds_overlay: false,
    value_splits: &[1, 2, 4, 8],
    evidence: SPLIT_EVIDENCE,
};

/// Anchors of shorter chunks reach further.
const KDA_SPLIT_C16: Candidate =
    Candidate { name: "kda_split_c16", priority: 25, chunk: 16, atom: 16, ..KDA_SPLIT };

const KDA_SPLIT_SUB_CHUNKS: Candidate = Candidate {
    name: "kda_split_sub_chunks",
    priority: 20,
    decay: DecayForm::SubChunks,
    gates: PER_CHANNEL,
    evidence: SUB_CHUNKS_EVIDENCE,
    ..KDA_SPLIT
};

const KDA_SPLIT_C64: Candidate = Candidate {
    name: "kda_split_c64",
    opt_in: &[OptIn::LongChunks],
    chunk: 64,
    lds_overlay: true,
    ..KDA_SPLIT_SUB_CHUNKS
};

const KDA_FUSED: Candidate = fused(KDA_SPLIT, "kda_fused");
const KDA_FUSED_C16: Candidate = fused(KDA_SPLIT_C16, "kda_fused_c16");
const KDA_FUSED_SUB_CHUNKS: Candidate = fused(KDA_SPLIT_SUB_CHUNKS, "kda_fused_sub_chunks");

const GDN_SPLIT: Candidate = Candidate {
    name: "gdn_split",
    families: GDN,
    decay: DecayForm::OutsideProduct,
    gates: PER_HEAD,
    evidence: GDN_SPLIT_EVIDENCE,
    ..KDA_SPLIT
};

const GDN_SPLIT_C16: Candidate =
    Candidate { name: "gdn_split_c16", priority: 25, chunk: 16, atom: 16, ..GDN_SPLIT };

const GDN_SPLIT_C64: Candidate =
    Candidate { name: "gdn_split_c64", opt_in: &[OptIn::LongChunks], chunk: 64, ..GDN_SPLIT };

const GDN_FUSED: Candidate = fused(GDN_SPLIT, "gdn_fused");
const GDN_FUSED_C16: Candidate = fused(GDN_SPLIT_C16, "gdn_fused_c16");

/// The same in one kernel.
const fn fused(of: Candidate, name: &'static str) -> Candidate {
    let opt_in: &[OptIn] = &[OptIn::FusedPath];
    let evidence = match of.decay {
        DecayForm::OutsideProduct => GDN_FUSED_EVIDENCE,
        DecayForm::FixedOffset | DecayForm::SubChunks => FUSED_EVIDENCE,
    };
    Candidate { name, opt_in, kernels: Kernels::Fused, evidence, ..of }
}

/// The same with f16 tiles, before it: a problem that promises a bound of its values gets them.
const fn halves(of: Candidate, name: &'static str) -> Candidate {
    Candidate { name, accuracy: AccuracyKind::F16, priority: of.priority + 10, ..of }
}

/// The same with one bf16 an operand.
const fn plain(of: Candidate, name: &'static str) -> Candidate {
    let opt_in: &[OptIn] = match (of.kernels, of.chunk) {
        (Kernels::Fused, _) => &[OptIn::FusedPath, OptIn::PlainAccuracy],
        (Kernels::Split, 64) => &[OptIn::LongChunks, OptIn::PlainAccuracy],
        (Kernels::Split, _) => &[OptIn::PlainAccuracy],
    };
    Candidate { name, opt_in, accuracy: AccuracyKind::Bf16, ..of }
}

/// Every candidate, in the order of listings.
pub const CANDIDATES: &[Candidate] = &[
    KDA_SPLIT,
    halves(KDA_SPLIT, "kda_split_f16"),
    plain(KDA_SPLIT, "kda_split_bf16"),
    KDA_SPLIT_C16,
    halves(KDA_SPLIT_C16, "kda_split_c16_f16"),
    plain(KDA_SPLIT_C16, "kda_split_c16_bf16"),
    KDA_SPLIT_SUB_CHUNKS,
    halves(KDA_SPLIT_SUB_CHUNKS, "kda_split_sub_chunks_f16"),
    plain(KDA_SPLIT_SUB_CHUNKS, "kda_split_sub_chunks_bf16"),
    KDA_SPLIT_C64,
    halves(KDA_SPLIT_C64, "kda_split_c64_f16"),
    plain(KDA_SPLIT_C64, "kda_split_c64_bf16"),
    KDA_FUSED,
    halves(KDA_FUSED, "kda_fused_f16"),
    plain(KDA_FUSED, "kda_fused_bf16"),
    KDA_FUSED_C16,
    halves(KDA_FUSED_C16, "kda_fused_c16_f16"),
    plain(KDA_FUSED_C16, "kda_fused_c16_bf16"),
    KDA_FUSED_SUB_CHUNKS,
    halves(KDA_FUSED_SUB_CHUNKS, "kda_fused_sub_chunks_f16"),
    plain(KDA_FUSED_SUB_CHUNKS, "kda_fused_sub_chunks_bf16"),
    GDN_SPLIT,
    halves(GDN_SPLIT, "gdn_split_f16"),
    plain(GDN_SPLIT, "gdn_split_bf16"),
    GDN_SPLIT_C16,
    halves(GDN_SPLIT_C16, "gdn_split_c16_f16"),
    plain(GDN_SPLIT_C16, "gdn_split_c16_bf16"),
    GDN_SPLIT_C64,
    halves(GDN_SPLIT_C64, "gdn_split_c64_f16"),
    plain(GDN_SPLIT_C64, "gdn_split_c64_bf16"),
    GDN_FUSED,
    halves(GDN_FUSED, "gdn_fused_f16"),
    plain(GDN_FUSED, "gdn_fused_bf16"),
    GDN_FUSED_C16,
    halves(GDN_FUSED_C16, "gdn_fused_c16_f16"),
    plain(GDN_FUSED_C16, "gdn_fused_c16_bf16"),
];
