//! Launch plans: tensors and launches of one problem, as data.

use serde::Serialize;

use crate::element::Element;
use crate::signature::{Access, Role};

/// Most workgroups in the y and z of a grid. Source: ROCr agent information, maximum grid dimensions.
pub const MAX_GRID_YZ: u32 = 65_535;

/// Everything a runtime needs to run one problem of one spec.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaunchPlan {
    /// Tensors, in the order of the first launch's arguments.
    pub tensors: Vec<TensorDecl>,
    /// Launches, in order; each sees the memory effects of those before it.
    pub launches: Vec<Launch>,
}

/// A tensor of a plan: contiguous, slowest axis first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TensorDecl {
    /// Unique name, also in tensor files.
    pub name: String,
    /// Type of one element.
    pub element: Element,
    /// Axis lengths, slowest first, none of them zero.
    pub dims: Vec<u64>,
    /// What the tensor is for.
    pub role: Role,
    /// What the launches do with it.
    pub access: Access,
    /// Alignment in bytes of its address.
    pub align_bytes: u32,
    /// What the elements must satisfy before a launch, when the tensor holds slot indices.
    pub slots: Option<SlotsContract>,
}

/// What a tensor of slot indices must satisfy: every element is the sentinel or a slot of the pool,
/// and no two live elements are equal. The kernel trusts it; whoever launches must check it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SlotsContract {
    /// The index that means *no sequence*.
    pub sentinel: i32,
    /// Slots in the pool: live elements are in `0..pool_slots`.
    pub pool_slots: u32,
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Launch {
    /// Symbol of the kernel in its code object.
    pub kernel: String,
    /// Workgroups in x, y, z; none of them zero.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    pub workgroup: [u32; 3],
    /// Every argument, in ABI order.
    pub args: Vec<ArgBinding>,
}

/// What one kernel argument is bound to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArgBinding {
    /// The argument's name in the kernel's metadata.
    pub argument: String,
    /// What is passed.
    pub value: ArgValue,
}

/// What is passed for an argument.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgValue {
    /// The address of the tensor of this name in [`LaunchPlan::tensors`].
    Tensor(String),
    /// An f32 by value.
    F32(f32),
}

impl TensorDecl {
    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    /// Size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.elements() * self.element.size_bytes()
    }
}

impl LaunchPlan {
    /// The tensor of a name.
    pub fn tensor(&self, name: &str) -> Option<&TensorDecl> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }
}
