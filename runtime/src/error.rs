//! What can go wrong on a device.

use std::fmt;

use codeobj::{CodeObjectError, UnknownKernel, ValueKind};
use isa::Target;
use thiserror::Error;

use crate::buffer::BufferSlice;

/// An operation on a device failed.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The bytes to load are no valid code object.
    #[error(transparent)]
    CodeObject(#[from] CodeObjectError),
    /// The code object was built for another processor.
    #[error(
        "the code object is for {got}, the device is {expected}: load it on a {got} device or build it for {expected}"
    )]
    WrongTarget {
        /// Target of the object.
        got: Target,
        /// Target of the device.
        expected: Target,
    },
    /// No such kernel.
    #[error(transparent)]
    UnknownKernel(#[from] UnknownKernel),
    /// A launch does not fit the kernel.
    #[error(transparent)]
    Refused(#[from] LaunchRefused),
    /// A handle of something freed, or of another device.
    #[error("{what} was freed or belongs to another device")]
    InvalidHandle {
        /// What the handle is of.
        what: String,
    },
    /// A kernel of a module that was unloaded.
    #[error("{what} is of module {module}, which was unloaded: load the code object again")]
    Unloaded {
        /// What is asked for.
        what: String,
        /// The device's number of the module, counted from 0 in the order of loading.
        module: u64,
    },
    /// A buffer does not have the bytes that the host wants.
    #[error("{slice} lie outside it")]
    OutsideBuffer {
        /// What was asked for.
        slice: BufferSlice,
    },
    /// Memory of the emulated device.
    #[error(transparent)]
    Memory(#[from] emulator::MemoryError),
    /// The kernel failed on the emulated device.
    #[error(transparent)]
    Fault(#[from] emulator::Fault),
    /// HIP, or the way to it.
    #[error(transparent)]
    Hip(#[from] crate::hip::HipError),
}

/// A launch that does not fit the kernel, with everything that does not.
#[derive(Clone, Debug, PartialEq, Error)]
pub struct LaunchRefused {
    /// The kernel.
    pub kernel: String,
    /// What does not fit; never empty.
    pub problems: Vec<LaunchProblem>,
}

impl fmt::Display for LaunchRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "launch of '{}' refused", self.kernel)?;
        match self.problems.as_slice() {
            [problem] => write!(f, ": {problem}"),
            problems => problems.iter().try_for_each(|problem| write!(f, "\n  {problem}")),
        }
    }
}

/// One thing about a launch that does not fit the kernel.
#[derive(Clone, Debug, PartialEq, Error)]
#[expect(missing_docs, reason = "the message of each variant names its fields, with their units")]
pub enum LaunchProblem {
    #[error("the kernel was loaded on another device")]
    ForeignKernel,
    #[error("grid is {got:?} workgroups: every axis needs at least 1")]
    EmptyGrid { got: [u32; 3] },
    #[error(
        "the grid has {got} work-items in {axis}, the limit is {}: launch fewer workgroups at a time",
        u32::MAX
    )]
    GridTooLarge { axis: &'static str, got: u64 },
    #[error(
        "workgroup is {got:?}, {items} work-items, not in 1 to {limit} (.max_flat_workgroup_size)"
    )]
    WorkgroupSize { got: [u32; 3], items: u128, limit: u32 },
    #[error(
        "workgroup is {got:?}, but the kernel was compiled for {required:?} (.reqd_workgroup_size)"
    )]
    RequiredWorkgroup { got: [u32; 3], required: [u32; 3] },
    #[error(
        "the kernel's waves have {got} lanes, {target} runs {expected}: compile it for wave{expected}"
    )]
    WaveWidth { got: u32, expected: u32, target: Target },
    #[error("{got} arguments, the kernel takes {expected}: {}", .names.join(", "))]
    ArgumentCount { got: usize, expected: usize, names: Vec<String> },
    #[error("argument '{name}': {problem}")]
    Argument { name: String, problem: ArgumentProblem },
    #[error(
        "arguments '{first}' ({first_slice}) and '{second}' ({second_slice}) overlap, but the kernel was compiled on the promise that they do not, and writes"
    )]
    Overlap { first: String, first_slice: BufferSlice, second: String, second_slice: BufferSlice },
}

/// What is wrong with an argument.
#[derive(Clone, Debug, PartialEq, Error)]
#[expect(missing_docs, reason = "the message of each variant names its fields, with their units")]
pub enum ArgumentProblem {
    #[error("got {got}, the kernel takes a buffer")]
    NotABuffer { got: String },
    #[error("got {got}, the kernel takes a value of {expected_bytes} bytes")]
    Value { got: String, expected_bytes: u32 },
    #[error("the kernel takes a {kind:?}, which this runtime cannot pass")]
    Kind { kind: ValueKind },
    #[error("buffer '{label}' belongs to another device")]
    ForeignBuffer { label: String },
    #[error("got {slice}, which lie outside it")]
    OutsideBuffer { slice: BufferSlice },
    #[error("starts {offset} bytes into its buffer, not at a multiple of {align} bytes")]
    Misaligned { offset: u64, align: u64 },
    #[error("buffer '{label}' is read-only, but the kernel writes to it")]
    ReadOnlyBuffer { label: String },
}
