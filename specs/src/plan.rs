//! Launch plans: tensors and launches of one problem, as data.

use serde::Serialize;

use crate::element::Element;
use crate::problem::{InvalidProblem, Problem};
use crate::rule::{Violation, is_valid_spec};
use crate::signature::{
    Access, Argument, ArgumentKind, Axis, BUFFER_ALIGN_BYTES, BufferArgument, Extent,
};
use crate::signature::{Role, ScalarType};
use crate::spec::Spec;

/// Most workgroups in the y and z of a grid. Source: ROCr agent information, maximum grid dimensions.
pub const MAX_GRID_YZ: u32 = 65_535;

/// Most bytes of one tensor: beyond the memory of every supported GPU.
pub const MAX_TENSOR_BYTES: u64 = 1 << 40;

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

/// Why there is no launch plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The spec breaks rules.
    #[error("the spec breaks {} rule(s), first: {}", .0.len(), .0[0])]
    BreaksRules(Vec<Violation>),
    /// The problem is out of its limits or of another kernel.
    #[error(transparent)]
    InvalidProblem(#[from] InvalidProblem),
    /// A tensor would be larger than any GPU's memory.
    #[error(
        "tensor `{tensor}`: dims {dims:?} of {element} exceed the limit of {MAX_TENSOR_BYTES} bytes; reduce batch or pool_slots"
    )]
    TensorTooLarge {
        /// Name of the tensor.
        tensor: &'static str,
        /// Axis lengths, slowest first.
        dims: Vec<u64>,
        /// Type of one element.
        element: Element,
    },
}

impl Spec {
    /// The tensors and launches of a problem.
    ///
    /// # Errors
    /// A spec that breaks rules, a problem out of its limits, a tensor beyond [`MAX_TENSOR_BYTES`].
    pub fn plan(&self, problem: &Problem) -> Result<LaunchPlan, PlanError> {
        is_valid_spec(self).map_err(PlanError::BreaksRules)?;
        self.check_problem(problem)?;
        let signature = self.signature();
        let tensors = signature.buffers().map(|(name, buffer)| self.tensor(name, buffer, problem));
        let tensors = tensors.collect::<Result<_, _>>()?;
        let args = signature.arguments.iter().map(|argument| bind(argument, problem)).collect();
        let launch = Launch {
            kernel: self.name(),
            grid: self.grid(problem.batch()),
            workgroup: [self.workgroup_size(), 1, 1],
            args,
        };
        Ok(LaunchPlan { tensors, launches: vec![launch] })
    }

    /// Workgroups in x, y, z of a batch.
    pub fn grid(&self, batch: u32) -> [u32; 3] {
        match self {
            Spec::DecodeStep(spec) => {
                let blocks = spec.head_v.div_ceil(spec.columns_per_workgroup().max(1));
                [blocks, spec.value_heads, batch]
            }
            Spec::ConvStep(spec) => {
                [spec.channels.div_ceil(spec.workgroup_size().max(1)), batch, 1]
            }
        }
    }

    fn tensor(
        &self,
        name: &'static str,
        buffer: &BufferArgument,
        problem: &Problem,
    ) -> Result<TensorDecl, PlanError> {
        let dims: Vec<u64> = buffer.shape.iter().map(|axis| length(*axis, problem)).collect();
        let bytes =
            dims.iter().try_fold(buffer.element.size_bytes(), |bytes, dim| bytes.checked_mul(*dim));
        if bytes.is_none_or(|bytes| bytes > MAX_TENSOR_BYTES) {
            return Err(PlanError::TensorTooLarge { tensor: name, dims, element: buffer.element });
        }
        Ok(TensorDecl {
            name: name.to_owned(),
            element: buffer.element,
            dims,
            role: buffer.role,
            access: buffer.access,
            align_bytes: BUFFER_ALIGN_BYTES,
            slots: self.slots_contract(buffer.role, problem),
        })
    }

    fn slots_contract(&self, role: Role, problem: &Problem) -> Option<SlotsContract> {
        let Spec::DecodeStep(spec) = self else { return None };
        let (sentinel, pool_slots) = (spec.pool_sentinel()?, problem.pool_slots()?);
        (role == Role::Slots).then_some(SlotsContract { sentinel, pool_slots })
    }
}

fn length(axis: Axis, problem: &Problem) -> u64 {
    u64::from(match axis.extent {
        Extent::Fixed(length) => length,
        Extent::Batch => problem.batch(),
        Extent::PoolSlots => problem.pool_slots().unwrap_or(0),
    })
}

fn bind(argument: &Argument, problem: &Problem) -> ArgBinding {
    let value = match (&argument.kind, problem) {
        (ArgumentKind::Scalar(ScalarType::F32), Problem::DecodeStep(problem)) => {
            ArgValue::F32(problem.scale)
        }
        _ => ArgValue::Tensor(argument.name.to_owned()),
    };
    ArgBinding { argument: argument.name.to_owned(), value }
}
