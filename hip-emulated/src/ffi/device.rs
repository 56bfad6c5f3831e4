//! Devices: there is one, number 0.

use std::ffi::{c_char, c_int, c_void};

use hip_abi::{Attribute, Code, Layout, PROPERTIES_R0000, PROPERTIES_R0600};

use super::{exports, put, put_text};
use crate::failure::{Done, fail};
use crate::host::{self, Use};
use crate::runtime::{Runtime, reset, with};

/// Does something with the device of a number.
fn with_device<T>(device: c_int, work: impl FnOnce(&mut Runtime) -> Done<T>) -> Done<T> {
    with(|runtime| match device {
        0 => work(runtime),
        _ => fail(Code::InvalidDevice, format!("device {device}: there is one, number 0")),
    })
}

/// Fills a caller's properties struct.
///
/// # Safety
/// `properties` is null or valid for writes of the layout's size.
unsafe fn fill_properties(properties: *mut c_void, device: c_int, layout: &Layout) -> Done<()> {
    let bytes = with_device(device, |runtime| Ok(runtime.properties(layout)))?;
    if properties.is_null() {
        return fail(Code::InvalidValue, "the pointer for properties is null");
    }
    host::check(properties as usize, bytes.len(), Use::Write)?;
    // SAFETY: not null, so valid for as many bytes as the layout has by this function's contract.
    unsafe { properties.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

/// Waits for the device.
pub(super) fn synchronize() -> Done<()> {
    with(|runtime| {
        runtime.refuse_in_capture("a wait for the device", Code::StreamCaptureUnsupported)?;
        runtime.wait()
    })
}

exports! {
    fn hipGetDeviceCount(count: *mut c_int) {
        let there = with(|_| Ok(()));
        put(count, i32::from(there.is_ok()))?;
        there
    }

    fn hipDeviceGet(device: *mut c_int, number: c_int) { put(device, with_device(number, |_| Ok(0))?) }

    fn hipGetDevice(device: *mut c_int) { put(device, with(|_| Ok(0))?) }

    fn hipSetDevice(device: c_int) { with_device(device, |_| Ok(())) }

    fn hipDeviceGetName(name: *mut c_char, size: c_int, device: c_int) {
        put_text(name, size, &with_device(device, |runtime| Ok(runtime.name()))?)
    }

    fn hipDeviceGetPCIBusId(id: *mut c_char, size: c_int, device: c_int) {
        with_device(device, |_| Ok(()))?;
        put_text(id, size, "0000:00:00.0")
    }

    fn hipDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) {
        with_device(device, |_| Ok(()))?;
        put(uuid, *b"hip-emulated-000")
    }

    fn hipDeviceTotalMem(bytes: *mut usize, device: c_int) {
        let total = with_device(device, |runtime| Ok(runtime.memory_info().1))?;
        put(bytes, usize::try_from(total).unwrap_or(usize::MAX))
    }

    fn hipDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) {
        let (first, second) = with_device(device, |runtime| Ok(runtime.capability()))?;
        put(major, first)?;
        put(minor, second)
    }

    fn hipDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) {
        let Some(attribute) = Attribute::from_number(attribute) else {
            return fail(Code::InvalidValue, format!("attribute {attribute} is not answered"));
        };
        put(value, with_device(device, |runtime| Ok(runtime.attribute(attribute)))?)
    }

    fn hipGetDeviceProperties(properties: *mut c_void, device: c_int) {
        fill_properties(properties, device, &PROPERTIES_R0000)
    }

    fn hipGetDevicePropertiesR0000(properties: *mut c_void, device: c_int) {
        fill_properties(properties, device, &PROPERTIES_R0000)
    }

    fn hipGetDevicePropertiesR0600(properties: *mut c_void, device: c_int) {
        fill_properties(properties, device, &PROPERTIES_R0600)
    }

    fn hipDeviceSynchronize() { synchronize() }

    fn hipDeviceReset() {
        reset();
        Ok(())
    }

    fn hipDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        put(least, 0)?;
        put(greatest, 0)
    }
}
