//! Launches: sizes and arguments, checked against the kernel's own metadata, and packed by it.
//!
//! [`check`] is the whole list of what is refused:
//!
//! * a kernel of another device;
//! * a grid or workgroup with a zero, more work-items than a packet can count, a workgroup larger than
//!   the kernel or unlike the one it was compiled for;
//! * a wave width that differs from the target's;
//! * too few or too many arguments; an argument of another kind or size; a kind that cannot be passed;
//! * a slice that its buffer does not have, or of another device's buffer, or not aligned to what the
//!   metadata asks for;
//! * a read-only buffer for an argument that the kernel is known to write;
//! * two slices that overlap where the kernel was promised that they do not, and one is written.
//!
//! It cannot see more than the metadata says: an argument's element type, the bytes a kernel touches, and
//! aliasing or writes that the compiler did not record.

use codeobj::{Access, KernelArg, KernelMetadata, ValueKind};
use isa::Target;

use crate::buffer::{Buffer, BufferAccess, BufferSlice};
use crate::device::DeviceId;
use crate::error::{ArgumentProblem, DeviceError, LaunchProblem};
use crate::module::Kernel;

/// Sizes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchDims {
    /// Workgroups in x, y, z.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    pub workgroup: [u32; 3],
}

/// One explicit kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// The address of a slice's first byte.
    Buffer(BufferSlice),
    /// 4 bytes by value.
    I32(i32),
    /// 8 bytes by value.
    I64(i64),
    /// 4 bytes by value.
    F32(f32),
    /// Any bytes by value, as the kernel expects them in memory.
    Bytes(Vec<u8>),
}

impl Arg {
    /// What the argument is, for messages.
    fn describe(&self) -> String {
        match self {
            Arg::Buffer(slice) => slice.to_string(),
            Arg::I32(value) => format!("the i32 {value} (4 bytes)"),
            Arg::I64(value) => format!("the i64 {value} (8 bytes)"),
            Arg::F32(value) => format!("the f32 {value} (4 bytes)"),
            Arg::Bytes(bytes) => format!("a value of {} bytes", bytes.len()),
        }
    }

    /// The bytes of a value; `None` for a buffer, whose address only its device knows.
    fn value_bytes(&self) -> Option<Vec<u8>> {
        match self {
            Arg::Buffer(_) => None,
            Arg::I32(value) => Some(value.to_le_bytes().to_vec()),
            Arg::I64(value) => Some(value.to_le_bytes().to_vec()),
            Arg::F32(value) => Some(value.to_le_bytes().to_vec()),
            Arg::Bytes(bytes) => Some(bytes.clone()),
        }
    }
}

/// Everything about a launch that does not fit the kernel's metadata.
pub fn check(
    device: DeviceId,
    target: Target,
    kernel: &Kernel,
    dims: LaunchDims,
    args: &[Arg],
) -> Vec<LaunchProblem> {
    if kernel.module.device != device {
        return vec![LaunchProblem::ForeignKernel];
    }
    let metadata = kernel.metadata();
    let mut problems = check_dims(target, metadata, dims);
    let expected: Vec<&KernelArg> = metadata.explicit_args().collect();
    if expected.len() != args.len() {
        let names = expected.iter().enumerate().map(|(index, arg)| name(index, arg)).collect();
        problems.push(LaunchProblem::ArgumentCount {
            got: args.len(),
            expected: expected.len(),
            names,
        });
        return problems;
    }
    for (index, (expected, arg)) in expected.iter().zip(args).enumerate() {
        let found = check_arg(device, expected, arg);
        problems.extend(
            found
                .into_iter()
                .map(|problem| LaunchProblem::Argument { name: name(index, expected), problem }),
        );
    }
    problems.extend(check_overlaps(&expected, args));
    problems
}

/// The argument's name, or its position where the compiler kept no name.
fn name(index: usize, arg: &KernelArg) -> String {
    arg.name.clone().unwrap_or_else(|| format!("#{index}"))
}

/// What does not fit about a grid.
pub(crate) fn check_grid(grid: [u32; 3], workgroup: [u32; 3]) -> Vec<LaunchProblem> {
    let mut problems = Vec::new();
    if grid.contains(&0) {
        problems.push(LaunchProblem::EmptyGrid { got: grid });
    }
    for (axis, (groups, items)) in ["x", "y", "z"].into_iter().zip(grid.into_iter().zip(workgroup))
    {
        let got = u64::from(groups) * u64::from(items);
        if got > u64::from(u32::MAX) {
            problems.push(LaunchProblem::GridTooLarge { axis, got });
        }
    }
    problems
}

/// What does not fit about the sizes of a launch.
pub(crate) fn check_dims(
    target: Target,
    metadata: &KernelMetadata,
    dims: LaunchDims,
) -> Vec<LaunchProblem> {
    let LaunchDims { grid, workgroup } = dims;
    let mut problems = check_grid(grid, workgroup);
    let items: u128 = workgroup.iter().map(|&items| u128::from(items)).product();
    let limit = metadata.max_flat_workgroup_size;
    if items == 0 || items > u128::from(limit) {
        problems.push(LaunchProblem::WorkgroupSize { got: workgroup, items, limit });
    }
    match metadata.reqd_workgroup_size {
        Some(required) if required != workgroup => {
            problems.push(LaunchProblem::RequiredWorkgroup { got: workgroup, required });
        }
        _ => {}
    }
    if metadata.wavefront_size != target.wave_width() {
        let (got, expected) = (metadata.wavefront_size, target.wave_width());
        problems.push(LaunchProblem::WaveWidth { got, expected, target });
    }
    problems
}

fn check_arg(device: DeviceId, expected: &KernelArg, arg: &Arg) -> Vec<ArgumentProblem> {
    match (expected.value_kind, arg) {
        (ValueKind::GlobalBuffer, Arg::Buffer(slice)) => check_slice(device, expected, slice),
        (ValueKind::ByValue, value)
            if value.value_bytes().is_some_and(|bytes| bytes.len() == expected.size as usize) =>
        {
            Vec::new()
        }
        (ValueKind::GlobalBuffer, value) => {
            vec![ArgumentProblem::NotABuffer { got: value.describe() }]
        }
        (ValueKind::ByValue, value) => {
            vec![ArgumentProblem::Value { got: value.describe(), expected_bytes: expected.size }]
        }
        (kind, _) => vec![ArgumentProblem::Kind { kind }],
    }
}

fn check_slice(
    device: DeviceId,
    expected: &KernelArg,
    slice: &BufferSlice,
) -> Vec<ArgumentProblem> {
    let BufferSlice { buffer, bytes } = slice;
    let mut problems = Vec::new();
    if buffer.device != device {
        problems.push(ArgumentProblem::ForeignBuffer { label: buffer.label.to_string() });
    }
    if bytes.start > bytes.end || bytes.end > buffer.size_bytes {
        problems.push(ArgumentProblem::OutsideBuffer { slice: slice.clone() });
    }
    let align = u64::from(expected.pointee_align.unwrap_or(1).max(1));
    if !bytes.start.is_multiple_of(align) {
        problems.push(ArgumentProblem::Misaligned { offset: bytes.start, align });
    }
    if buffer.access == BufferAccess::ReadOnly && writes(expected) == Some(true) {
        problems.push(ArgumentProblem::ReadOnlyBuffer { label: buffer.label.to_string() });
    }
    problems
}

/// Whether the kernel writes through an argument, where the metadata knows.
fn writes(arg: &KernelArg) -> Option<bool> {
    arg.known_access().map(|access| access != Access::ReadOnly)
}

/// Whether the kernel was compiled on the promise that nothing else points where this argument does.
/// Compilers record what they saw a kernel do with an argument only for such arguments.
fn promised_alone(arg: &KernelArg) -> bool {
    arg.is_restrict || arg.actual_access.is_some()
}

fn check_overlaps(expected: &[&KernelArg], args: &[Arg]) -> Vec<LaunchProblem> {
    let slices: Vec<(usize, &KernelArg, &BufferSlice)> = expected
        .iter()
        .zip(args)
        .enumerate()
        .filter_map(|(index, (expected, arg))| match (expected.value_kind, arg) {
            (ValueKind::GlobalBuffer, Arg::Buffer(slice)) => Some((index, *expected, slice)),
            _ => None,
        })
        .collect();
    let mut problems = Vec::new();
    for (position, (first_index, first, first_slice)) in slices.iter().enumerate() {
        for (second_index, second, second_slice) in &slices[position + 1..] {
            let promised = promised_alone(first) || promised_alone(second);
            let written = writes(first) != Some(false) || writes(second) != Some(false);
            if promised && written && first_slice.overlaps(second_slice) {
                problems.push(LaunchProblem::Overlap {
                    first: name(*first_index, first),
                    first_slice: (*first_slice).clone(),
                    second: name(*second_index, second),
                    second_slice: (*second_slice).clone(),
                });
            }
        }
    }
    problems
}

/// The explicit arguments as the kernel expects them in memory, each at its offset, gaps zero. Hidden
/// arguments, which follow, are the device's to supply.
///
/// # Errors
/// A buffer has no address on the device.
pub(crate) fn pack(
    metadata: &KernelMetadata,
    args: &[Arg],
    address: impl Fn(&Buffer) -> Result<u64, DeviceError>,
) -> Result<Vec<u8>, DeviceError> {
    let mut kernarg = Vec::new();
    for (expected, arg) in metadata.explicit_args().zip(args) {
        let bytes = match arg {
            Arg::Buffer(slice) => {
                (address(&slice.buffer)? + slice.bytes.start).to_le_bytes().to_vec()
            }
            value => value.value_bytes().unwrap_or_default(),
        };
        kernarg.resize(expected.offset as usize, 0);
        kernarg.extend(bytes);
    }
    Ok(kernarg)
}
