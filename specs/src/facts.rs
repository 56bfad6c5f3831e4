//! What follows from a legal spec before any code exists: what `check` prints.

use serde::Serialize;

use crate::signature::Signature;
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
    /// Columns (decode step) or channels (conv step) that one workgroup owns.
    pub columns_per_workgroup: u32,
    /// Workgroups in x, y, z of one sequence; the batch multiplies z (decode step) or y (conv step).
    pub grid_of_one_sequence: [u32; 3],
    /// Bytes of LDS a workgroup: these kernels hold everything in registers.
    pub lds_bytes: u32,
    /// f32 registers a lane in which state is held between its read and its write, if any.
    pub state_registers_per_lane: Option<u32>,
    /// Bytes of the kernarg segment.
    pub kernarg_bytes: u32,
    /// Bytes that one sequence moves between memory and the kernel at least; weights, which all
    /// sequences share, are not counted.
    pub row_traffic_bytes: u64,
    /// Arguments in ABI order, as `name: type [shape]`.
    pub arguments: Vec<String>,
}

impl Spec {
    /// What follows from the spec; meaningful when it breaks no rule.
    pub fn facts(&self) -> DerivedFacts {
        let signature = self.signature();
        let (columns_per_workgroup, waves, wave_width) = match self {
            Spec::DecodeStep(spec) => (spec.columns_per_workgroup(), spec.waves, spec.wave_width),
            Spec::ConvStep(spec) => (spec.workgroup_size(), spec.waves, spec.wave_width),
        };
        DerivedFacts {
            name: self.name(),
            spec_hash: self.spec_hash(),
            family: self.family(),
            kernel: self.kernel(),
            target: self.target().name(),
            workgroup_size: self.workgroup_size(),
            waves,
            wave_width,
            columns_per_workgroup,
            grid_of_one_sequence: self.grid(1),
            lds_bytes: 0,
            state_registers_per_lane: match self {
                Spec::DecodeStep(spec) => spec.state_registers_per_lane(),
                Spec::ConvStep(_) => None,
            },
            kernarg_bytes: signature.kernarg_bytes(),
            row_traffic_bytes: row_traffic_bytes(&signature),
            arguments: signature.arguments.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Bytes of every row that belongs to one sequence; a pool's row is read and written.
fn row_traffic_bytes(signature: &Signature) -> u64 {
    let rows = signature
        .buffers()
        .filter_map(|(_, tensor)| Some((tensor.row_bytes()?, tensor.access.passes())));
    rows.fold(0, |total, (bytes, passes)| bytes.saturating_mul(passes).saturating_add(total))
}
