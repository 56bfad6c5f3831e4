//! The fields of prefill specs, in the groups that kernels share.

use isa::Target;

use super::fields::DEFAULT_PAD_CB;
use super::{Accuracy, AccuracyKind, BetaForm, ChunkGate, ChunkGateKind, DecayForm, TokenLayout};
use crate::choice::Choice;
use crate::decode_step::{Family, HeadMap, StateLayout};
use crate::element::Dtype;
use crate::field::{Settings, Value};

/// Fields with their values, in no order.
type Pairs = Vec<(&'static str, Value)>;

/// The least exponent of a fixed-offset factor, without its sign, and how far below one keys and queries may be then, in
/// units of log2: a pair of bf16 has steps of 2^−133, and so eleven bits from 2^−124 on.
pub(crate) const LEAST_EXPONENT: u32 = 100;
const KEY_RANGE_LOG2: u32 = 24;

/// How far below one they may be, in units of log2, for their product, in Aqk, to be a pair of bf16 with eleven bits.
const LEAST_TILE_ROW_LOG2: u32 = 60;
/// Likewise in one f16, whose steps are 2^−24: a product of two rows of K channels is below theirs by √K.
const LEAST_F16_ROW_LOG2: u32 = 8;

/// What all prefill kernels share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkCommon {
    /// Gated DeltaNet or Kimi Delta Attention.
    pub family: Family,
    /// The GPU that the kernel is built for.
    pub target: Target,
    /// What operands of matrix products are rounded to.
    pub accuracy: Accuracy,
    /// HV: heads of v, g, β, o and the state.
    pub value_heads: u32,
    /// K: channels of a key head.
    pub head_k: u32,
    /// Type of q, k, v, o and of raw gates.
    pub dtype: Dtype,
    /// C: rows of a chunk.
    pub chunk: u32,
    /// The order of rows in memory.
    pub layout: TokenLayout,
    /// Whether sequences are packed, with their ends in cu_seqlens.
    pub varlen: bool,
    /// Whether the kernel writes the status word.
    pub checked: bool,
    /// Elements of padding of a row of K elements in LDS.
    pub pad_dk: u32,
    /// Elements of padding of a row of C 16-bit elements in LDS; tile kernels have no such rows.
    pub pad_cb: u32,
    /// Workgroups that must fit on a CU by their LDS.
    pub min_groups_per_cu: u32,
    /// Waves in a workgroup.
    pub waves: u32,
    /// Lanes of a wave.
    pub wave_width: u32,
}

/// How tiles are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TilePart {
    /// Where the log decay comes from.
    pub gate: ChunkGate,
    /// How decays enter the products of keys.
    pub decay: DecayForm,
    /// HK: heads of q and k.
    pub key_heads: u32,
    /// Which key head a value head reads.
    pub head_map: HeadMap,
    /// Whether rows of q and k are divided by their length.
    pub qk_l2norm: bool,
    /// Where the step size comes from.
    pub beta: BetaForm,
    /// Type of β or of what it is made from.
    pub beta_dtype: Dtype,
    /// Elements of padding of a row of C f32 elements in LDS.
    pub pad_c: u32,
    /// Rows that the triangular solve takes at once.
    pub solve_block: u32,
    /// Rows of the matrix operation in the products of keys.
    pub tile_atom_m: u32,
    /// Whether buffers that are never live together share LDS.
    pub lds_overlay: bool,
}

/// How the state is carried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanPart {
    /// V: channels of a value head.
    pub head_v: u32,
    /// Workgroups that share the columns of one value head.
    pub value_splits: u32,
    /// Orientation of one head's state in memory.
    pub state_layout: StateLayout,
    /// Whether there is an initial state; without one it is zeros.
    pub initial_state: bool,
    /// Whether the final state is stored.
    pub final_state: bool,
    /// Rows of the matrix operation in the scan's products.
    pub scan_atom_m: u32,
    /// Whether the next chunk's loads are issued before this chunk's last phases.
    pub prefetch: bool,
}

impl TilePart {
    /// Distance of the fixed-offset anchor below the first row's cumulative gate, in units of log2:
    /// `½·(C − 1)·|bound|·log2 e`, rounded up to an integer so that the scaling is exact. `None` in other
    /// forms and without a finite bound.
    pub fn anchor_offset_log2(&self, chunk: u32) -> Option<u32> {
        let bound = f64::from(self.gate.lower_bound_nats()?);
        let offset = half_span(chunk) * bound.abs() * std::f64::consts::LOG2_E;
        let is_anchored = self.decay == DecayForm::FixedOffset && bound.is_finite();
        is_anchored.then_some(offset.ceil() as u32)
    }

    /// By what power of two the fixed-offset factors X, Y and XQ are multiplied, so that small keys and queries keep
    /// normal ones where the offset is large: their exponents lie in [shift − offset, shift + offset].
    pub fn factor_shift_log2(&self, chunk: u32) -> u32 {
        self.anchor_offset_log2(chunk).map_or(0, |offset| offset.saturating_sub(LEAST_EXPONENT))
    }

    /// What the largest magnitude in a row of keys or queries (divided by its length where the spec asks for that) is at
    /// least, if the row is not of zeros, for its operands to hold eleven bits of it: a power of two. A checked kernel
    /// reports a breach.
    pub fn least_row(&self, common: &ChunkCommon) -> f32 {
        let shift = self.factor_shift_log2(common.chunk);
        let offset = self.anchor_offset_log2(common.chunk).unwrap_or(0);
        let range = match common.target {
            Target::Gfx950 => KEY_RANGE_LOG2,
            // Subnormal bf16 are zeros to its matrix operations: the low halves' least number is 2⁻¹²⁶.
            Target::Gfx1100 => KEY_RANGE_LOG2 - 9,
        };
        let of_factors = (LEAST_EXPONENT + range + shift).saturating_sub(offset);
        let of_factors = of_factors.min(LEAST_TILE_ROW_LOG2);
        let least_log2 = match common.accuracy {
            Accuracy::Bf16 | Accuracy::Bf16Split => of_factors,
            Accuracy::F16 { .. } => of_factors.min(LEAST_F16_ROW_LOG2),
        };
        2f32.powi(-(least_log2 as i32))
    }

    pub(super) fn from_settings(settings: &Settings) -> Option<TilePart> {
        Some(TilePart {
            gate: gate_from(settings)?,
            decay: settings.choice("decay")?,
            key_heads: settings.count("key_heads")?,
            head_map: settings.choice("head_map")?,
            qk_l2norm: settings.flag("qk_l2norm")?,
            beta: settings.choice("beta")?,
            beta_dtype: settings.choice("beta_dtype")?,
            pad_c: settings.count("pad_c")?,
            solve_block: settings.count("solve_block")?,
            tile_atom_m: settings.count("tile_atom_m")?,
            lds_overlay: settings.flag("lds_overlay")?,
        })
    }

    pub(super) fn settings(&self) -> Pairs {
        // Destructured, so that a new field cannot be left out of name and hash.
        let TilePart {
            gate,
            decay,
            key_heads,
            head_map,
            qk_l2norm,
            beta,
            beta_dtype,
            pad_c,
            solve_block,
            tile_atom_m,
            lds_overlay,
        } = *self;
        let dt_bias = match gate {
            ChunkGate::BoundedSigmoid { dt_bias, .. } | ChunkGate::Softplus { dt_bias } => {
                Some(Value::Flag(dt_bias))
            }
            ChunkGate::LogDecayPerChannel { .. } | ChunkGate::LogDecayPerHead => None,
        };
        let values = [
            ("gate", Some(Value::Name(gate.kind().name()))),
            ("gate_lower_bound_nats", gate.lower_bound_nats().map(Value::Number)),
            ("dt_bias", dt_bias),
            ("decay", Some(Value::Name(decay.name()))),
            ("key_heads", Some(Value::Count(key_heads))),
            ("head_map", Some(Value::Name(head_map.name()))),
            ("qk_l2norm", Some(Value::Flag(qk_l2norm))),
            ("beta", Some(Value::Name(beta.name()))),
            ("beta_dtype", Some(Value::Name(beta_dtype.name()))),
            ("pad_c", Some(Value::Count(pad_c))),
            ("solve_block", Some(Value::Count(solve_block))),
            ("tile_atom_m", Some(Value::Count(tile_atom_m))),
            ("lds_overlay", Some(Value::Flag(lds_overlay))),
        ];
        values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// Most steps between a row of a chunk and its middle.
pub(crate) fn half_span(chunk: u32) -> f64 {
    0.5 * (f64::from(chunk) - 1.0)
}

fn gate_from(settings: &Settings) -> Option<ChunkGate> {
    let bound = || settings.number("gate_lower_bound_nats");
    Some(match settings.choice("gate")? {
        ChunkGateKind::LogDecayPerChannel => {
            ChunkGate::LogDecayPerChannel { lower_bound_nats: bound()? }
        }
        ChunkGateKind::LogDecayPerHead => ChunkGate::LogDecayPerHead,
        ChunkGateKind::BoundedSigmoid => ChunkGate::BoundedSigmoid {
            lower_bound_nats: bound()?,
            dt_bias: settings.flag("dt_bias")?,
        },
        ChunkGateKind::Softplus => ChunkGate::Softplus { dt_bias: settings.flag("dt_bias")? },
    })
}

impl ScanPart {
    pub(super) fn from_settings(settings: &Settings) -> Option<ScanPart> {
        Some(ScanPart {
            head_v: settings.count("head_v")?,
            value_splits: settings.count("value_splits")?,
            state_layout: settings.choice("state_layout")?,
            initial_state: settings.flag("initial_state")?,
            final_state: settings.flag("final_state")?,
            scan_atom_m: settings.count("scan_atom_m")?,
            prefetch: settings.flag("prefetch")?,
        })
    }

    pub(super) fn settings(&self) -> Pairs {
        // Destructured, so that a new field cannot be left out of name and hash.
        let ScanPart {
            head_v,
            value_splits,
            state_layout,
            initial_state,
            final_state,
            scan_atom_m,
            prefetch,
        } = *self;
        vec![
            ("head_v", Value::Count(head_v)),
            ("value_splits", Value::Count(value_splits)),
            ("state_layout", Value::Name(state_layout.name())),
            ("initial_state", Value::Flag(initial_state)),
            ("final_state", Value::Flag(final_state)),
            ("scan_atom_m", Value::Count(scan_atom_m)),
            ("prefetch", Value::Flag(prefetch)),
        ]
    }
}

impl ChunkCommon {
    pub(super) fn from_settings(settings: &Settings) -> Option<ChunkCommon> {
        let accuracy = match settings.choice("accuracy")? {
            AccuracyKind::Bf16 => Accuracy::Bf16,
            AccuracyKind::Bf16Split => Accuracy::Bf16Split,
            AccuracyKind::F16 => Accuracy::F16 { value_bound: settings.number("value_bound")? },
        };
        Some(ChunkCommon {
            family: settings.choice("family")?,
            target: settings.target()?,
            accuracy,
            value_heads: settings.count("value_heads")?,
            head_k: settings.count("head_k")?,
            dtype: settings.choice("dtype")?,
            chunk: settings.count("chunk")?,
            layout: settings.choice("layout")?,
            varlen: settings.flag("varlen")?,
            checked: settings.flag("checked")?,
            pad_dk: settings.count("pad_dk")?,
            pad_cb: settings.count("pad_cb").unwrap_or(DEFAULT_PAD_CB),
            min_groups_per_cu: settings.count("min_groups_per_cu")?,
            waves: settings.count("waves")?,
            wave_width: settings.count("wave_width")?,
        })
    }

    pub(super) fn settings(&self) -> Pairs {
        // Destructured, so that a new field cannot be left out of name and hash.
        let ChunkCommon {
            family,
            target,
            accuracy,
            value_heads,
            head_k,
            dtype,
            chunk,
            layout,
            varlen,
            checked,
            pad_dk,
            pad_cb,
            min_groups_per_cu,
            waves,
            wave_width,
        } = *self;
        let value_bound = match accuracy {
            Accuracy::F16 { value_bound } => Some(("value_bound", Value::Number(value_bound))),
            Accuracy::Bf16 | Accuracy::Bf16Split => None,
        };
        let mut pairs = vec![
            ("family", Value::Name(family.name())),
            ("target", Value::Name(target.name())),
            ("accuracy", Value::Name(accuracy.kind().name())),
            ("value_heads", Value::Count(value_heads)),
            ("head_k", Value::Count(head_k)),
            ("dtype", Value::Name(dtype.name())),
            ("chunk", Value::Count(chunk)),
            ("layout", Value::Name(layout.name())),
            ("varlen", Value::Flag(varlen)),
            ("checked", Value::Flag(checked)),
            ("pad_dk", Value::Count(pad_dk)),
            ("pad_cb", Value::Count(pad_cb)),
            ("min_groups_per_cu", Value::Count(min_groups_per_cu)),
            ("waves", Value::Count(waves)),
            ("wave_width", Value::Count(wave_width)),
        ];
        pairs.extend(value_bound);
        pairs
    }
}
