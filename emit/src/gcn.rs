//! The GCN back end: kernel IR to a code object in pure Rust.
//!
//! | step | does |
//! |---|---|
//! | [`select`](mod@select) | instructions with virtual registers, by where operands are |
//! | [`dead`] | removes what nobody reads |
//! | [`schedule`](mod@schedule) | the order: few registers, hidden latency |
//! | [`coalesce`] | makes the two sides of copies the same registers |
//! | [`relieve`] | room without memory: constants again, scalars in VGPRs, AGPRs |
//! | [`allocate`] | numbers in both vector files; what does not fit is refused |
//! | [`check`] | follows every value through the numbered code, without trust in the steps before |
//! | [`finish`] | the shortest form of every instruction |
//! | [`waits`], [`wait_states`] | what software must wait for |
//! | [`layout`] | branches |
//! | [`assembly`], [`object`] | text and code object |
//! | [`profile`] | what the code holds and waits for, for people |

pub mod allocate;
pub mod assembly;
pub mod check;
pub mod coalesce;
pub mod dead;
pub mod error;
pub mod files;
pub mod finish;
pub mod layout;
pub mod liveness;
pub mod mir;
pub mod object;
mod plan;
pub mod profile;
pub mod relieve;
pub mod schedule;
pub mod select;
mod simplify;
pub mod wait_states;
pub mod waits;

use dsl::ir::{Kernel, Value};
use isa::Target;

pub use error::{Cause, GcnError};
pub use profile::Profile;

/// A statement of the kernel, as messages and comments name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its first result.
    pub value: Option<Value>,
    /// Where its author wrote it.
    pub text: String,
}

/// Statements by the numbers that instructions carry.
pub type Phases = Vec<Phase>;

/// How to compile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Most VGPRs that the kernel may take, beside its own budget; the target's limit if both are absent.
    pub max_vgprs: Option<u32>,
    /// Follow every value through the allocated code (see [`check`]); tests do.
    pub check: bool,
}

/// What a kernel becomes.
#[derive(Clone, Debug)]
pub struct Artefacts {
    /// Assembly with directives, which LLVM's assembler takes for the same bytes.
    pub assembly: String,
    /// The code object.
    pub code_object: Vec<u8>,
}

/// Signed words that a branch reaches (ISA manuals, SOPP).
const BRANCH_WORDS: i64 = 1 << 15;

/// Compiles a kernel.
///
/// # Errors
/// [`GcnError`] names the kernel, the value and the place where it was asked for.
pub fn compile(kernel: &Kernel, options: &Options) -> Result<Artefacts, GcnError> {
    let compiled = allocated(kernel, options).and_then(|allocated| artefacts(kernel, &allocated));
    compiled.map_err(|cause| GcnError { kernel: kernel.name.clone(), cause })
}

/// Compiles a kernel to its code object alone.
///
/// # Errors
/// As [`compile`].
pub fn code_object(kernel: &Kernel, options: &Options) -> Result<Vec<u8>, GcnError> {
    let compiled = allocated(kernel, options).and_then(|allocated| {
        let code = finished(kernel.target, &allocated)?;
        object_of(kernel, &allocated, &code)
    });
    compiled.map_err(|cause| GcnError { kernel: kernel.name.clone(), cause })
}

/// Compiles a kernel and looks at what its code holds and waits for.
///
/// # Errors
/// As [`compile`].
pub fn profiled(kernel: &Kernel, options: &Options) -> Result<Profile, GcnError> {
    let profiled = allocated(kernel, options).and_then(|allocated| {
        let code = finished(kernel.target, &allocated)?;
        let Allocated { function, allocation, phases, .. } = &allocated;
        Ok(profile::profile(function, allocation, phases, &code))
    });
    profiled.map_err(|cause| GcnError { kernel: kernel.name.clone(), cause })
}

/// Code whose registers have numbers.
struct Allocated {
    function: mir::Function,
    allocation: allocate::Allocation,
    phases: Phases,
    /// Which workgroup ids it reads.
    ids: [bool; 3],
}

fn allocated(kernel: &Kernel, options: &Options) -> Result<Allocated, Cause> {
    refuse_large_lds(kernel)?;
    let simple = simplify::simplify(kernel);
    let plan = plan::Plan::of(&simple);
    let select::Selected { mut function, inputs, phases } = select::select(&simple, plan)?;
    dead::remove(&mut function);
    let liveness = liveness::Liveness::of(&function);
    schedule::schedule(&mut function, &liveness);
    let budget = options.max_vgprs.into_iter().chain(kernel.max_vgprs).min();
    let allocation = relieve::allocate(&mut function, &phases, budget)
        .map_err(|cause| over_budget(cause, budget))?;
    if options.check {
        check::check(&function, &allocation)?;
    }
    Ok(Allocated { function, allocation, phases, ids: inputs.workgroup_ids() })
}

/// The instructions in their order, with waits and branches.
fn finished(target: Target, allocated: &Allocated) -> Result<Vec<finish::Placed>, Cause> {
    let mut code = finish::finish(&allocated.function, &allocated.allocation)?;
    layout::remove_idle_branches(&mut code);
    waits::insert(target, &mut code)?;
    wait_states::insert(target, &mut code)?;
    layout::lay_out(target, &code, BRANCH_WORDS)
}

fn artefacts(kernel: &Kernel, allocated: &Allocated) -> Result<Artefacts, Cause> {
    let code = finished(kernel.target, allocated)?;
    let Allocated { allocation, phases, ids, .. } = allocated;
    let assembly = assembly::assembly(kernel, &code, phases, allocation, *ids);
    Ok(Artefacts { assembly, code_object: object_of(kernel, allocated, &code)? })
}

fn object_of(
    kernel: &Kernel,
    allocated: &Allocated,
    code: &[finish::Placed],
) -> Result<Vec<u8>, Cause> {
    let bytes = object::encode_all(kernel.target, code)?;
    object::object(kernel, &bytes, &allocated.allocation, allocated.ids)
}

/// A refusal for want of registers that the target would have had.
fn over_budget(cause: Cause, budget: Option<u32>) -> Cause {
    match cause {
        Cause::Registers { file: "VGPRs", needed, limit, value, phase, target }
            if Some(limit) == budget && limit < target.limits().addressable_vgprs.into() =>
        {
            Cause::Budget { needed, budget: limit, value, phase }
        }
        other => other,
    }
}

fn refuse_large_lds(kernel: &Kernel) -> Result<(), Cause> {
    let (target, (offsets, got)) = (kernel.target, kernel.lds_layout());
    let limit = target.limits().lds_bytes_per_workgroup;
    if got <= limit {
        return Ok(());
    }
    let ends = kernel.lds.iter().zip(offsets);
    let beyond = ends.into_iter().find(|(b, start)| start.saturating_add(b.size_bytes) > limit);
    let buffer = beyond.map(|(buffer, _)| buffer.name.clone()).unwrap_or_default();
    Err(Cause::Lds { got, buffer, limit, target })
}
