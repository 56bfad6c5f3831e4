//! What follows from a legal spec before any code exists: what `check` prints.

use isa::occupancy::workgroups_by_lds_granules;
use serde::Serialize;

use crate::attention::AttentionProblem;
use crate::chunk::tables::CHUNK_ROW;
use crate::chunk::{ChunkCommon, PrefillProblem, ScanPart};
use crate::lds_map::LdsMap;
use crate::packed::ConvChunkProblem;
use crate::problem::{ConvStepProblem, DecodeStepProblem, Problem};
use crate::signature::{Extent, Signature};
use crate::spec::{KernelKind, Spec};

/// Facts that follow from a spec alone. Registers and waits are known only of emitted code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DerivedFacts {
    /// The variant's name, also the kernel's symbol.
    pub name: String,
    /// SHA-256 of the spec's canonical form.
    pub spec_hash: String,
    /// Family's name.
    pub family: &'static str,
    /// Which kernel it is.
    pub kernel: KernelKind,
    /// The target's name.
    pub target: &'static str,
    /// Work-items in a workgroup.
    pub workgroup_size: u32,
    /// Waves in a workgroup.
    pub waves: u32,
    /// Lanes of a wave.
    pub wave_width: u32,
    /// Columns of V (channels of a conv step or chunk) that one workgroup owns; none of a tile kernel, which has no V, and
    /// of attention, whose workgroups own whole heads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns_per_workgroup: Option<u32>,
    /// Workgroups in x, y, z of one sequence, of one chunk in prefill kernels, of one token in kernels that take steps of
    /// many; the batch multiplies z (decode step, recurrent, scan, fused, attention) or y (conv step and chunk), chunks multiply x
    /// (tile), segments z (conv chunk).
    pub grid_of_one_sequence: [u32; 3],
    /// Bytes of LDS a workgroup.
    pub lds_bytes: u64,
    /// LDS by buffer, of kernels that use any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lds_map: Option<LdsMap>,
    /// Workgroups that fit on a CU by their LDS in whole granules; registers are known only of emitted code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_per_cu_by_lds: Option<u32>,
    /// f32 registers a lane in which state is held between its read and its write, if any.
    pub state_registers_per_lane: Option<u32>,
    /// Bytes of the kernarg segment.
    pub kernarg_bytes: u32,
    /// Bytes that one sequence moves between memory and the kernel at least; weights, which all
    /// sequences share, are not counted.
    pub row_traffic_bytes: u64,
    /// Bytes that one token of all heads moves at least, of prefill kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_traffic_bytes: Option<u64>,
    /// Bytes of stage tensors that one chunk of all heads moves, of kernels of a split prefill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_traffic_bytes: Option<u64>,
    /// Arguments in ABI order, as `name: type [shape]`.
    pub arguments: Vec<String>,
}

impl Spec {
    /// What follows from the spec; meaningful when it breaks no rule.
    pub fn facts(&self) -> DerivedFacts {
        let signature = self.signature();
        let lds_map = self.lds_map();
        let lds_bytes = self.lds_bytes();
        let by_rows = |extent| Some(traffic_bytes(&signature, extent)).filter(|bytes| *bytes > 0);
        DerivedFacts {
            name: self.name(),
            spec_hash: self.spec_hash(),
            family: self.family(),
            kernel: self.kernel(),
            target: self.target().name(),
            workgroup_size: self.workgroup_size(),
            waves: self.waves(),
            wave_width: self.wave_width(),
            columns_per_workgroup: match self {
                Spec::DecodeStep(spec) => Some(spec.columns_per_workgroup()),
                Spec::ConvStep(spec) => Some(spec.workgroup_size()),
                Spec::Chunk(spec) => spec.scan().map(ScanPart::columns),
                Spec::Recurrent(spec) => Some(spec.step.columns_per_workgroup()),
                Spec::ConvChunk(spec) => Some(spec.step.workgroup_size()),
                Spec::Attention(_) | Spec::AttentionChunk(_) => None,
            },
            grid_of_one_sequence: self.grid(&self.smallest_problem()),
            lds_bytes,
            groups_per_cu_by_lds: (lds_bytes > 0).then(|| {
                let bytes = u32::try_from(lds_bytes).unwrap_or(u32::MAX);
                workgroups_by_lds_granules(self.target(), bytes)
            }),
            state_registers_per_lane: match self {
                Spec::DecodeStep(spec) => spec.state_registers_per_lane(),
                Spec::Chunk(spec) => spec.scan().map(|scan| state_registers(spec.common(), scan)),
                Spec::Recurrent(spec) => Some(spec.state_registers_per_lane()),
                Spec::ConvStep(_)
                | Spec::ConvChunk(_)
                | Spec::Attention(_)
                | Spec::AttentionChunk(_) => None,
            },
            kernarg_bytes: signature.kernarg_bytes(),
            row_traffic_bytes: match self {
                Spec::DecodeStep(_) | Spec::ConvStep(_) => row_traffic_bytes(&signature),
                _ => traffic_bytes(&signature, Extent::Batch),
            },
            token_traffic_bytes: by_rows(Extent::Tokens),
            chunk_traffic_bytes: by_rows(Extent::Chunks).filter(|bytes| *bytes > CHUNK_ROW_BYTES),
            arguments: signature.arguments.iter().map(ToString::to_string).collect(),
            lds_map,
        }
    }

    /// One sequence; of one chunk in prefill kernels.
    fn smallest_problem(&self) -> Problem {
        match self {
            Spec::DecodeStep(spec) => Problem::DecodeStep(DecodeStepProblem {
                batch: 1,
                pool_slots: None,
                scale: spec.default_scale(),
            }),
            Spec::ConvStep(_) => Problem::ConvStep(ConvStepProblem { batch: 1 }),
            Spec::Recurrent(_) => Problem::Prefill(PrefillProblem::of(vec![1], 1.0)),
            Spec::ConvChunk(_) => Problem::ConvChunk(ConvChunkProblem { lengths: vec![1] }),
            Spec::Attention(_) | Spec::AttentionChunk(_) => Problem::Attention(AttentionProblem {
                lengths: matches!(self, Spec::AttentionChunk(_)).then(|| vec![1]),
                contexts: vec![1],
                blocks: 1,
                max_blocks: 1,
                scale: 1.0,
            }),
            Spec::Chunk(spec) => {
                Problem::Prefill(PrefillProblem::of(vec![spec.common().chunk], 1.0))
            }
        }
    }
}

/// Bytes of a row of the table of chunks, which fused kernels read too.
const CHUNK_ROW_BYTES: u64 = 4 * CHUNK_ROW as u64;

/// f32 registers that a lane holds of its wave's columns of the state: K × `scan_atom_m` of them.
fn state_registers(common: &ChunkCommon, scan: &ScanPart) -> u32 {
    common.head_k.saturating_mul(scan.scan_atom_m) / common.wave_width.max(1)
}

/// Bytes that one of these has of all tensors whose rows it counts.
fn traffic_bytes(signature: &Signature, extent: Extent) -> u64 {
    let rows = signature.buffers().filter(|(_, tensor)| tensor.rows() == Some(extent));
    rows.filter_map(|(_, tensor)| tensor.row_bytes()).fold(0, u64::saturating_add)
}

/// Bytes of every row that belongs to one sequence; a pool's row is read and written.
fn row_traffic_bytes(signature: &Signature) -> u64 {
    let rows = signature
        .buffers()
        .filter_map(|(_, tensor)| Some((tensor.row_bytes()?, tensor.access.passes())));
    rows.fold(0, |total, (bytes, passes)| bytes.saturating_mul(passes).saturating_add(total))
}
