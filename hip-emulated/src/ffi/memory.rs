//! Memory of the device and of the host, and copies between them.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::sync::PoisonError;

use hip_abi::{Code, PointerAttribute};

use super::{bytes, exports, put, put_if};
use crate::failure::{Done, Failure, fail};
use crate::host::{self, Use};
use crate::runtime::{Runtime, with};
use crate::streams::{Place, Work};

/// Host memory of `hipHostMalloc`: address and size.
static HOST: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// Alignment of host memory in bytes: a page.
const HOST_ALIGN: usize = 4096;

/// Bytes that copies move at a time.
const STEP_BYTES: usize = 1 << 24;

/// Which call waits until it is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Yes,
    No,
}

/// Where an address lies, by the direction that the caller names (`hipMemcpyKind`).
fn places(runtime: &Runtime, to: usize, from: usize, kind: c_int) -> Done<(Place, Place)> {
    let device = |address: usize| Place::Device(address as u64);
    let guess = |address: usize| match runtime.range(address as u64, 0) {
        Ok(_) => device(address),
        Err(_) => Place::Host(address),
    };
    match kind {
        0 => Ok((Place::Host(to), Place::Host(from))),
        1 => Ok((device(to), Place::Host(from))),
        2 => Ok((Place::Host(to), device(from))),
        3 => Ok((device(to), device(from))),
        4 => Ok((guess(to), guess(from))),
        _ => fail(Code::InvalidMemcpyDirection, format!("direction {kind} is not one of 0 to 4")),
    }
}

/// Copies, now or when the graph that is being captured runs.
///
/// # Safety
/// Addresses of the host are valid for as many bytes, until the copy is done.
unsafe fn copy(
    to: usize,
    from: usize,
    size_bytes: usize,
    kind: c_int,
    stream: usize,
    waits: Waits,
) -> Done<()> {
    if size_bytes == 0 {
        return Ok(());
    }
    let work = with(|runtime| {
        if waits == Waits::Yes {
            runtime.refuse_in_capture("a copy that waits", Code::StreamCaptureUnsupported)?;
            runtime.wait()?;
        }
        let (to, from) = places(runtime, to, from, kind)?;
        check_place(runtime, to, size_bytes)?;
        check_place(runtime, from, size_bytes)?;
        runtime.submit(stream, Work::Copy { to, from, size_bytes })
    })?;
    // SAFETY: as this function's contract says.
    work.map_or(Ok(()), |work| unsafe { execute(work) })
}

fn check_place(runtime: &Runtime, place: Place, size_bytes: usize) -> Done<()> {
    match place {
        Place::Host(0) => fail(Code::InvalidValue, "the host's address is null"),
        Place::Host(_) => Ok(()),
        Place::Device(address) => runtime.range(address, size_bytes as u64).map(|_| ()),
    }
}

/// Does what a stream was given.
///
/// # Safety
/// Addresses of the host in copies are valid for their sizes, functions of the host are what `hipHostFn_t` says.
pub(super) unsafe fn execute(work: Work) -> Done<()> {
    match work {
        Work::Launch(launch) => with(|runtime| runtime.run(&launch)),
        Work::Fill { address, pattern, count } => {
            with(|runtime| runtime.fill(address, &pattern, count))
        }
        Work::Copy { to: Place::Device(to), from: Place::Host(from), size_bytes } => {
            with(|runtime| runtime.range(to, size_bytes as u64).map(|_| ()))?;
            for done in (0..size_bytes).step_by(STEP_BYTES) {
                let step = (size_bytes - done).min(STEP_BYTES);
                let at = from.wrapping_add(done);
                // SAFETY: the host's bytes are valid by this function's contract.
                let bytes = unsafe { bytes(at as *const u8, step, "the host's bytes") }?;
                let to = to + done as u64;
                with(|runtime| runtime.write(runtime.range(to, step as u64)?, &bytes))?;
            }
            Ok(())
        }
        Work::Copy { to: Place::Host(to), from: Place::Device(from), size_bytes } => {
            host::check(to, size_bytes, Use::Write)?;
            with(|runtime| {
                let bytes = runtime.read(runtime.range(from, size_bytes as u64)?)?;
                // SAFETY: the host's bytes are valid for writes by this function's contract, and the device's are memory of
                // this library, which no caller has an address of.
                unsafe { (to as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), size_bytes) };
                Ok(())
            })
        }
        Work::Copy { to: Place::Device(to), from: Place::Device(from), size_bytes } => {
            with(|runtime| {
                let range = runtime.range(from, size_bytes as u64)?;
                let mut bytes = Vec::new();
                let taken = bytes.try_reserve_exact(size_bytes);
                taken.map_err(|error| Failure::new(Code::OutOfMemory, error))?;
                bytes.extend_from_slice(runtime.read(range)?);
                runtime.write(runtime.range(to, size_bytes as u64)?, &bytes)
            })
        }
        Work::Copy { to: Place::Host(to), from: Place::Host(from), size_bytes } => {
            // SAFETY: the host's bytes are valid by this function's contract.
            let bytes = unsafe { bytes(from as *const u8, size_bytes, "the host's bytes") }?;
            host::check(to, size_bytes, Use::Write)?;
            // SAFETY: valid for writes by this function's contract; the bytes are a copy.
            unsafe { (to as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), size_bytes) };
            Ok(())
        }
        Work::Call { function, argument } => {
            if function == 0 {
                return fail(Code::InvalidValue, "the host's function is null");
            }
            host::check(function, 1, Use::Execute)?;
            // SAFETY: not null, so a function of this type by this function's contract.
            let function = unsafe {
                std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void)>(function)
            };
            // SAFETY: its argument is the caller's own.
            unsafe { function(argument as *mut c_void) };
            Ok(())
        }
    }
}

/// Fills, now or when the graph runs.
fn fill(address: u64, pattern: &[u8], count: usize, stream: usize, waits: Waits) -> Done<()> {
    let count = count as u64;
    let work = with(|runtime| {
        if waits == Waits::Yes {
            runtime.refuse_in_capture("a fill that waits", Code::StreamCaptureUnsupported)?;
        }
        if count > 0 {
            runtime.range(address, count.saturating_mul(pattern.len() as u64))?;
        }
        runtime.submit(stream, Work::Fill { address, pattern: pattern.to_vec(), count })
    })?;
    match work {
        Some(Work::Fill { address, pattern, count }) => {
            with(|runtime| runtime.fill(address, &pattern, count))
        }
        _ => Ok(()),
    }
}

/// The lowest byte of a value, which is what `hipMemset` writes.
fn low_byte(value: c_int) -> [u8; 1] {
    [value.to_le_bytes()[0]]
}

fn allocate(size: usize) -> Done<u64> {
    with(|runtime| {
        runtime.refuse_in_capture("an allocation", Code::StreamCaptureUnsupported)?;
        Ok(runtime.allocate(size as u64)?.unwrap_or(0))
    })
}

fn free(address: u64) -> Done<()> {
    with(|runtime| {
        runtime.refuse_in_capture("freeing", Code::StreamCaptureUnsupported)?;
        let fault = runtime.wait();
        runtime.free(address)?;
        fault
    })
}

/// Host memory, page-aligned and zero.
fn allocate_host(size: usize) -> Done<usize> {
    let layout = Layout::from_size_align(size.max(1), HOST_ALIGN)
        .map_err(|error| Failure::new(Code::OutOfMemory, format!("{size} bytes: {error}")))?;
    // SAFETY: the layout's size is not zero.
    let address = unsafe { alloc_zeroed(layout) } as usize;
    if address == 0 {
        return fail(Code::OutOfMemory, format!("the host has no {size} bytes"));
    }
    HOST.lock().unwrap_or_else(PoisonError::into_inner).insert(address, layout.size());
    Ok(address)
}

fn free_host(address: usize) -> Done<()> {
    if address == 0 {
        return Ok(());
    }
    let known = HOST.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
    let layout = known.and_then(|size| Layout::from_size_align(size, HOST_ALIGN).ok());
    let Some(layout) = layout else {
        return fail(
            Code::InvalidValue,
            format!("{address:#x} is no host memory of hipHostMalloc"),
        );
    };
    // SAFETY: allocated by `allocate_host` with this layout, and taken out of the list, so freed once.
    unsafe { dealloc(address as *mut u8, layout) };
    Ok(())
}

/// Answers one attribute of a pointer.
///
/// # Safety
/// `data` is null or valid for a write of what the attribute is.
unsafe fn pointer_attribute(data: *mut c_void, attribute: c_int, pointer: u64) -> Done<()> {
    let found = with(|runtime| Ok(runtime.allocations.at(pointer).copied()))?;
    let Some(allocation) = found else {
        let words = format!("{pointer:#x} is in no allocation of the device");
        return fail(Code::InvalidValue, words);
    };
    const MEMORY_TYPE_DEVICE: c_int = 2;
    // SAFETY: valid for what the attribute is, by this function's contract.
    unsafe {
        match attribute {
            a if a == PointerAttribute::MemoryType as c_int => put(data.cast(), MEMORY_TYPE_DEVICE),
            a if a == PointerAttribute::DevicePointer as c_int => put(data.cast(), pointer),
            a if a == PointerAttribute::IsManaged as c_int => put(data.cast(), 0_u8),
            a if a == PointerAttribute::DeviceOrdinal as c_int => put(data.cast(), 0_i32),
            a if a == PointerAttribute::RangeStartAddr as c_int => {
                put(data.cast(), allocation.address)
            }
            a if a == PointerAttribute::RangeSize as c_int => {
                put(data.cast(), allocation.size_bytes)
            }
            _ => fail(Code::NotSupported, format!("pointer attribute {attribute} is not answered")),
        }
    }
}

/// `hipPointerAttribute_t` of HIP 6 and later.
#[repr(C)]
struct PointerAttributes {
    memory_type: c_int,
    device: c_int,
    device_pointer: u64,
    host_pointer: u64,
    is_managed: c_int,
    allocation_flags: u32,
}

exports! {
    fn hipMalloc(pointer: *mut u64, size: usize) { put(pointer, allocate(size)?) }

    fn hipMallocAsync(pointer: *mut u64, size: usize, _stream: usize) { put(pointer, allocate(size)?) }

    fn hipMallocManaged(_pointer: *mut u64, _size: usize, _flags: u32) {
        fail(Code::NotSupported, "kernels of this library cannot reach the host's memory: use hipMalloc and copies")
    }

    fn hipFree(pointer: u64) { free(pointer) }

    fn hipFreeAsync(pointer: u64, _stream: usize) { free(pointer) }

    fn hipHostMalloc(pointer: *mut usize, size: usize, _flags: u32) {
        put(pointer, allocate_host(size)?)
    }

    fn hipHostFree(pointer: usize) { free_host(pointer) }

    fn hipMemGetInfo(free: *mut usize, total: *mut usize) {
        let (unused, all) = with(|runtime| Ok(runtime.memory_info()))?;
        put(free, usize::try_from(unused).unwrap_or(usize::MAX))?;
        put(total, usize::try_from(all).unwrap_or(usize::MAX))
    }

    fn hipMemGetAddressRange(base: *mut u64, size: *mut usize, pointer: u64) {
        let found = with(|runtime| Ok(runtime.allocations.at(pointer).copied()))?;
        let Some(found) = found else {
            return fail(Code::InvalidValue, format!("{pointer:#x} is in no allocation of the device"));
        };
        put_if(base, found.address)?;
        put_if(size, usize::try_from(found.size_bytes).unwrap_or(usize::MAX))
    }

    fn hipPointerGetAttribute(data: *mut c_void, attribute: c_int, pointer: u64) {
        pointer_attribute(data, attribute, pointer)
    }

    fn hipPointerGetAttributes(attributes: *mut PointerAttributes, pointer: u64) {
        with(|runtime| runtime.range(pointer, 0))?;
        put(attributes, PointerAttributes {
            memory_type: 2,
            device: 0,
            device_pointer: pointer,
            host_pointer: 0,
            is_managed: 0,
            allocation_flags: 0,
        })
    }

    fn hipMemcpy(to: usize, from: usize, size: usize, kind: c_int) {
        copy(to, from, size, kind, 0, Waits::Yes)
    }

    fn hipMemcpyWithStream(to: usize, from: usize, size: usize, kind: c_int, stream: usize) {
        copy(to, from, size, kind, stream, Waits::Yes)
    }

    fn hipMemcpyAsync(to: usize, from: usize, size: usize, kind: c_int, stream: usize) {
        copy(to, from, size, kind, stream, Waits::No)
    }

    fn hipMemcpyHtoD(to: usize, from: usize, size: usize) { copy(to, from, size, 1, 0, Waits::Yes) }

    fn hipMemcpyDtoH(to: usize, from: usize, size: usize) { copy(to, from, size, 2, 0, Waits::Yes) }

    fn hipMemcpyDtoD(to: usize, from: usize, size: usize) { copy(to, from, size, 3, 0, Waits::Yes) }

    fn hipMemcpyHtoDAsync(to: usize, from: usize, size: usize, stream: usize) {
        copy(to, from, size, 1, stream, Waits::No)
    }

    fn hipMemcpyDtoHAsync(to: usize, from: usize, size: usize, stream: usize) {
        copy(to, from, size, 2, stream, Waits::No)
    }

    fn hipMemcpyDtoDAsync(to: usize, from: usize, size: usize, stream: usize) {
        copy(to, from, size, 3, stream, Waits::No)
    }

    fn hipMemset(to: u64, value: c_int, size: usize) { fill(to, &low_byte(value), size, 0, Waits::Yes) }

    fn hipMemsetAsync(to: u64, value: c_int, size: usize, stream: usize) {
        fill(to, &low_byte(value), size, stream, Waits::No)
    }

    fn hipMemsetD8(to: u64, value: u8, count: usize) { fill(to, &[value], count, 0, Waits::Yes) }

    fn hipMemsetD8Async(to: u64, value: u8, count: usize, stream: usize) {
        fill(to, &[value], count, stream, Waits::No)
    }

    fn hipMemsetD16(to: u64, value: u16, count: usize) {
        fill(to, &value.to_le_bytes(), count, 0, Waits::Yes)
    }

    fn hipMemsetD16Async(to: u64, value: u16, count: usize, stream: usize) {
        fill(to, &value.to_le_bytes(), count, stream, Waits::No)
    }

    fn hipMemsetD32(to: u64, value: c_int, count: usize) {
        fill(to, &value.to_le_bytes(), count, 0, Waits::Yes)
    }

    fn hipMemsetD32Async(to: u64, value: c_int, count: usize, stream: usize) {
        fill(to, &value.to_le_bytes(), count, stream, Waits::No)
    }
}
