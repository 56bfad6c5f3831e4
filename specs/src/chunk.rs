//! Specs of chunked prefill: KDA and Gated DeltaNet over sequences of any length, chunk by chunk.
//!
//! Three kernels: a *tile* kernel makes the stage tensors of every chunk in parallel, a *scan* kernel carries
//! the state through them, a *fused* kernel does both in one workgroup. `docs/kernels/kda.md` has their
//! mathematics. They are specified, checked and mapped to LDS here; [`tables`] says which rows the chunks of a
//! problem are.

pub(crate) mod fields;
mod lds;
mod parts;
pub(crate) mod problem;
pub(crate) mod signature;
pub mod split;
pub mod tables;

use isa::Target;

use crate::choice::choice;
use crate::decode_step::Family;
use crate::element::Dtype;
use crate::field::Settings;
use crate::lds_map::LdsMap;
use crate::spec::KernelKind;

pub use lds::lds_buffers;
pub(crate) use lds::map as lds_map_of;
pub use parts::{ChunkCommon, ScanPart, TilePart};
pub(crate) use parts::{LEAST_EXPONENT, half_span};
pub use problem::PrefillProblem;
pub use split::Split;

choice! {
    /// The kinds of [`Accuracy`].
    pub enum AccuracyKind {
        /// [`Accuracy::Bf16`].
        Bf16 = "bf16",
        /// [`Accuracy::Bf16Split`].
        Bf16Split = "bf16_split",
        /// [`Accuracy::F16`].
        F16 = "f16",
    }
}

/// What the operands of matrix products are rounded to. Part of the result, so it has no default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// Every operand is one bf16, R and Ṽ a pair of them.
    Bf16,
    /// Every operand is a pair of bf16, high and low: any range of values.
    Bf16Split,
    /// Factors are pairs of bf16; A, S, R and Ṽ pairs of f16, every other tile one.
    F16 {
        /// What |v|, |S|, |R| and |Ṽ| stay below; the problem promises it, the status word reports a
        /// breach.
        value_bound: f32,
    },
}

choice! {
    /// The kinds of [`ChunkGate`].
    pub enum ChunkGateKind {
        /// [`ChunkGate::LogDecayPerChannel`].
        LogDecayPerChannel = "log_decay_per_channel",
        /// [`ChunkGate::LogDecayPerHead`].
        LogDecayPerHead = "log_decay_per_head",
        /// [`ChunkGate::BoundedSigmoid`].
        BoundedSigmoid = "bounded_sigmoid",
        /// [`ChunkGate::Softplus`].
        Softplus = "softplus",
    }
}

/// How the log decay g (nats, ≤ 0) is obtained. Part of the model, never a default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChunkGate {
    /// g is an input, one a key channel (KDA).
    LogDecayPerChannel {
        /// What every g is at least; the problem promises it.
        lower_bound_nats: f32,
    },
    /// g is an input, one a value head (Gated DeltaNet).
    LogDecayPerHead,
    /// g = lower bound · sigmoid(exp(A_log) · (g_raw + dt_bias)); KDA only.
    BoundedSigmoid {
        /// The decay's lower bound in nats, in [−5, 0).
        lower_bound_nats: f32,
        /// Whether there is a dt_bias.
        dt_bias: bool,
    },
    /// g = −exp(A_log) · softplus(g_raw + dt_bias): unbounded.
    Softplus {
        /// Whether there is a dt_bias.
        dt_bias: bool,
    },
}

choice! {
    /// How the decay between two rows enters the products of keys.
    pub enum DecayForm {
        /// One decay a pair of rows, outside the dot product: gates of one number a head, any range.
        OutsideProduct = "outside_product",
        /// Two factors around an anchor at a fixed offset from the first row; needs a bound of the gates.
        FixedOffset = "fixed_offset",
        /// Sub-chunks of 16 rows: factors around the later sub-chunk's first row, and pairwise decays inside
        /// one; any range.
        SubChunks = "sub_chunks",
    }
}

choice! {
    /// Where the step size β comes from.
    pub enum BetaForm {
        /// Used as given.
        Given = "given",
        /// σ(b).
        Sigmoid = "sigmoid",
        /// 2·σ(b): a state's eigenvalue may be negative.
        TwiceSigmoid = "twice_sigmoid",
    }
}

choice! {
    /// The order of the rows of q, k, v, g, β and o in memory.
    pub enum TokenLayout {
        /// [B, T, H, D] without gaps.
        TokenMajor = "token_major",
        /// [B, H, T, D] without gaps.
        HeadMajor = "head_major",
        /// Strides of batch, token and head are arguments.
        Strided = "strided",
    }
}

/// The tile kernel: chunks in parallel, their stage tensors to global memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KdaTileSpec {
    /// What all kernels share.
    pub common: ChunkCommon,
    /// How tiles are made.
    pub tile: TilePart,
}

/// The scan kernel: the state through the stage tensors of all chunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KdaChunkScanSpec {
    /// What all kernels share.
    pub common: ChunkCommon,
    /// How the state is carried.
    pub scan: ScanPart,
}

/// The fused kernel: tiles and scan in one workgroup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KdaChunkFusedSpec {
    /// What all kernels share.
    pub common: ChunkCommon,
    /// How tiles are made.
    pub tile: TilePart,
    /// How the state is carried.
    pub scan: ScanPart,
}

/// A spec of any prefill kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChunkSpec {
    /// Tiles alone.
    Tile(KdaTileSpec),
    /// The scan alone.
    Scan(KdaChunkScanSpec),
    /// Both.
    Fused(KdaChunkFusedSpec),
}

/// What every prefill spec has, for rules, maps and names.
pub(crate) trait ChunkParts {
    /// Which kernel it is.
    const KERNEL: KernelKind;
    /// What all kernels share.
    fn common(&self) -> &ChunkCommon;
    /// How tiles are made, in kernels that make them.
    fn tile(&self) -> Option<&TilePart>;
    /// How the state is carried, in kernels that carry it.
    fn scan(&self) -> Option<&ScanPart>;
}

impl ChunkParts for KdaTileSpec {
    const KERNEL: KernelKind = KernelKind::ChunkTile;

    fn common(&self) -> &ChunkCommon {
        &self.common
    }

    fn tile(&self) -> Option<&TilePart> {
        Some(&self.tile)
    }

    fn scan(&self) -> Option<&ScanPart> {
        None
    }
}

impl ChunkParts for KdaChunkScanSpec {
    const KERNEL: KernelKind = KernelKind::ChunkScan;

    fn common(&self) -> &ChunkCommon {
        &self.common
    }

    fn tile(&self) -> Option<&TilePart> {
        None
    }

    fn scan(&self) -> Option<&ScanPart> {
        Some(&self.scan)
    }
}

impl ChunkParts for KdaChunkFusedSpec {
    const KERNEL: KernelKind = KernelKind::ChunkFused;

    fn common(&self) -> &ChunkCommon {
        &self.common
    }

    fn tile(&self) -> Option<&TilePart> {
        Some(&self.tile)
    }

    fn scan(&self) -> Option<&ScanPart> {
        Some(&self.scan)
    }
}

impl KdaTileSpec {
    /// The LDS of a workgroup.
    pub fn lds_map(&self) -> LdsMap {
        lds::map(self)
    }

    /// See [`TilePart::anchor_offset_log2`].
    pub fn anchor_offset_log2(&self) -> Option<u32> {
        self.tile.anchor_offset_log2(self.common.chunk)
    }
}

impl KdaChunkScanSpec {
    /// The LDS of a workgroup.
    pub fn lds_map(&self) -> LdsMap {
        lds::map(self)
    }
}

impl KdaChunkFusedSpec {
    /// The LDS of a workgroup.
    pub fn lds_map(&self) -> LdsMap {
        lds::map(self)
    }

    /// See [`TilePart::anchor_offset_log2`].
    pub fn anchor_offset_log2(&self) -> Option<u32> {
        self.tile.anchor_offset_log2(self.common.chunk)
    }
}

impl ChunkSpec {
    /// Which kernel this is a spec of.
    pub fn kernel(&self) -> KernelKind {
        match self {
            ChunkSpec::Tile(_) => KernelKind::ChunkTile,
            ChunkSpec::Scan(_) => KernelKind::ChunkScan,
            ChunkSpec::Fused(_) => KernelKind::ChunkFused,
        }
    }

    /// How tiles are made, in kernels that make them.
    pub fn tile(&self) -> Option<&TilePart> {
        match self {
            ChunkSpec::Tile(spec) => Some(&spec.tile),
            ChunkSpec::Scan(_) => None,
            ChunkSpec::Fused(spec) => Some(&spec.tile),
        }
    }

    /// How the state is carried, in kernels that carry it.
    pub fn scan(&self) -> Option<&ScanPart> {
        match self {
            ChunkSpec::Tile(_) => None,
            ChunkSpec::Scan(spec) => Some(&spec.scan),
            ChunkSpec::Fused(spec) => Some(&spec.scan),
        }
    }

    /// What all kernels share.
    pub fn common(&self) -> &ChunkCommon {
        match self {
            ChunkSpec::Tile(spec) => &spec.common,
            ChunkSpec::Scan(spec) => &spec.common,
            ChunkSpec::Fused(spec) => &spec.common,
        }
    }

    pub(crate) fn common_mut(&mut self) -> &mut ChunkCommon {
        match self {
            ChunkSpec::Tile(spec) => &mut spec.common,
            ChunkSpec::Scan(spec) => &mut spec.common,
            ChunkSpec::Fused(spec) => &mut spec.common,
        }
    }

    /// The LDS of a workgroup.
    pub fn lds_map(&self) -> LdsMap {
        match self {
            ChunkSpec::Tile(spec) => spec.lds_map(),
            ChunkSpec::Scan(spec) => spec.lds_map(),
            ChunkSpec::Fused(spec) => spec.lds_map(),
        }
    }

    /// The spec of `kernel` that settings describe, when every field in play is there.
    pub fn from_settings(kernel: KernelKind, settings: &Settings) -> Option<ChunkSpec> {
        let common = ChunkCommon::from_settings(settings)?;
        let tile = || TilePart::from_settings(settings);
        let scan = || ScanPart::from_settings(settings);
        Some(match kernel {
            KernelKind::ChunkTile => ChunkSpec::Tile(KdaTileSpec { common, tile: tile()? }),
            KernelKind::ChunkScan => ChunkSpec::Scan(KdaChunkScanSpec { common, scan: scan()? }),
            KernelKind::ChunkFused => {
                ChunkSpec::Fused(KdaChunkFusedSpec { common, tile: tile()?, scan: scan()? })
            }
            _ => return None,
        })
    }

    /// Every field that is in play with its value.
    pub fn settings(&self) -> Settings {
        let (tile, scan) =
            (self.tile().map(TilePart::settings), self.scan().map(ScanPart::settings));
        let parts = tile.into_iter().chain(scan);
        let all = self.common().settings().into_iter().chain(parts.flatten());
        let fields = self.kernel().fields();
        all.filter(|(key, _)| fields.iter().any(|field| field.key == *key)).collect()
    }
}

impl Accuracy {
    /// Which form this is.
    pub fn kind(self) -> AccuracyKind {
        match self {
            Accuracy::Bf16 => AccuracyKind::Bf16,
            Accuracy::Bf16Split => AccuracyKind::Bf16Split,
            Accuracy::F16 { .. } => AccuracyKind::F16,
        }
    }

    /// Type of every tile but the factors.
    pub fn tile_dtype(self) -> Dtype {
        match self {
            Accuracy::Bf16 | Accuracy::Bf16Split => Dtype::Bf16,
            Accuracy::F16 { .. } => Dtype::F16,
        }
    }

    /// Whether the decay factors are pairs, high and low.
    pub fn splits_factors(self) -> bool {
        self != Accuracy::Bf16
    }

    /// Whether GK, GQ, Kt and Aqk are pairs, high and low. R and Ṽ are in every form.
    pub fn splits_tiles(self) -> bool {
        self == Accuracy::Bf16Split
    }

    /// Whether the stage tensor of that name is a pair, high and low.
    pub fn splits(self, tensor: &str) -> bool {
        if tensor == "a" { self.splits_steps() } else { self.splits_tiles() }
    }

    /// Whether A and the state are pairs, high and low.
    pub fn splits_steps(self) -> bool {
        self != Accuracy::Bf16
    }
}

impl ChunkGate {
    /// Which kind of gate this is.
    pub fn kind(self) -> ChunkGateKind {
        match self {
            ChunkGate::LogDecayPerChannel { .. } => ChunkGateKind::LogDecayPerChannel,
            ChunkGate::LogDecayPerHead => ChunkGateKind::LogDecayPerHead,
            ChunkGate::BoundedSigmoid { .. } => ChunkGateKind::BoundedSigmoid,
            ChunkGate::Softplus { .. } => ChunkGateKind::Softplus,
        }
    }

    /// The least log decay of a token in nats, where there is one.
    pub fn lower_bound_nats(self) -> Option<f32> {
        match self {
            ChunkGate::LogDecayPerChannel { lower_bound_nats }
            | ChunkGate::BoundedSigmoid { lower_bound_nats, .. } => Some(lower_bound_nats),
            ChunkGate::LogDecayPerHead | ChunkGate::Softplus { .. } => None,
        }
    }
}

impl ChunkCommon {
    /// Work-items in a workgroup.
    pub fn workgroup_size(&self) -> u32 {
        self.waves.saturating_mul(self.wave_width)
    }

    /// Groups of rows into which a wave of a tile or fused kernel deals a chunk, when it owns four neighbouring channels
    /// of K a lane; 0 when the waves do not divide K so.
    pub fn row_groups(&self) -> u32 {
        let lanes = (self.head_k / self.waves.max(1) / 4).max(1);
        self.wave_width / lanes
    }

    /// Whether every key channel has a gate of its own.
    pub fn per_channel_gate(&self) -> bool {
        self.family == Family::Kda
    }
}

impl ScanPart {
    /// EV: columns of V that a workgroup owns.
    pub fn columns(&self) -> u32 {
        self.head_v / self.value_splits.max(1)
    }
}

/// k of the target's matrix operation with 16-bit operands and `m` rows: the shapes with the most.
pub fn atom_k(target: Target, m: u32) -> u32 {
    match (target, m) {
        (Target::Gfx950, 16) => 32,
        _ => 16,
    }
}
