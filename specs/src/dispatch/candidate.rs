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
    pub opt_in: Option<OptIn>,
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
    /// Workgroups that may share a value head, fewest first.
    pub value_splits: &'static [u32],
    /// Those under `batch_invariant`, whatever the batch is.
    pub pinned_splits: u32,
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
    /// Both of these.
    FusedPathAndPlainAccuracy,
}

impl OptIn {
    /// The fields of a problem file, and why that is not the default.
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
            OptIn::FusedPathAndPlainAccuracy => {
                ("path = \"fused\" and accuracy = \"bf16\"", "see the reasons of either")
            }
        }
    }
}

const GFX950: &[Target] = &[Target::Gfx950];
const TOKEN_MAJOR: &[TokenLayout] = &[TokenLayout::TokenMajor];
const KDA: &[Family] = &[Family::Kda];
const GDN: &[Family] = &[Family::Gdn];
/// Gates of one a channel that have a bound.
const BOUNDED: &[ChunkGateKind] =
    &[ChunkGateKind::LogDecayPerChannel, ChunkGateKind::BoundedSigmoid];
/// Gates of one a head.
const PER_HEAD: &[ChunkGateKind] = &[ChunkGateKind::LogDecayPerHead, ChunkGateKind::Softplus];

const SPLIT_EVIDENCE: &str = "two launches: tiles of all chunks in parallel, then the state, whose workgroups wait for no tile; o at the floor of a bf16 output (tests/chunk_prefill); counts beside the fused kernel's: CASE_STUDY.md, section 7";
const FUSED_EVIDENCE: &str = "one launch, no workspace, fewer bytes; counts beside the split kernels': CASE_STUDY.md, section 7";

const KDA_SPLIT: Candidate = Candidate {
    name: "kda_split",
    abi_version: 1,
    priority: 30,
    opt_in: None,
    kernels: Kernels::Split,
    families: KDA,
    targets: GFX950,
    accuracy: AccuracyKind::Bf16Split,
    chunk: 32,
    decay: DecayForm::FixedOffset,
    gates: BOUNDED,
    layouts: TOKEN_MAJOR,
    value_splits: &[1, 2, 4, 8],
    pinned_splits: 4,
    evidence: SPLIT_EVIDENCE,
};

const KDA_FUSED: Candidate = Candidate {
    name: "kda_fused_c16",
    priority: 20,
    opt_in: Some(OptIn::FusedPath),
    kernels: Kernels::Fused,
    chunk: 16,
    value_splits: &[1, 2],
    pinned_splits: 1,
    evidence: FUSED_EVIDENCE,
    ..KDA_SPLIT
};

const GDN_SPLIT: Candidate = Candidate {
    name: "gdn_split",
    families: GDN,
    decay: DecayForm::OutsideProduct,
    gates: PER_HEAD,
    ..KDA_SPLIT
};

const GDN_FUSED: Candidate = Candidate {
    name: "gdn_fused",
    priority: 20,
    opt_in: Some(OptIn::FusedPath),
    kernels: Kernels::Fused,
    value_splits: &[1, 2, 4],
    pinned_splits: 2,
    evidence: FUSED_EVIDENCE,
    ..GDN_SPLIT
};

const fn plain(of: Candidate, name: &'static str) -> Candidate {
    let opt_in = match of.kernels {
        Kernels::Split => OptIn::PlainAccuracy,
        Kernels::Fused => OptIn::FusedPathAndPlainAccuracy,
    };
    Candidate { name, opt_in: Some(opt_in), accuracy: AccuracyKind::Bf16, ..of }
}

/// Every candidate, in the order of listings.
pub const CANDIDATES: &[Candidate] = &[
    KDA_SPLIT,
    Candidate { name: "kda_split_c16", chunk: 16, priority: 25, ..KDA_SPLIT },
    KDA_FUSED,
    plain(KDA_SPLIT, "kda_split_bf16"),
    plain(Candidate { chunk: 32, ..KDA_FUSED }, "kda_fused_bf16"),
    GDN_SPLIT,
    GDN_FUSED,
    plain(GDN_SPLIT, "gdn_split_bf16"),
    plain(GDN_FUSED, "gdn_fused_bf16"),
];
