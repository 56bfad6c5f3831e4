//! Contexts, which HIP keeps for programs that come from elsewhere: there is one.

use std::ffi::c_int;

use hip_abi::Code;

use super::{exports, put};
use crate::failure::{Done, fail};
use crate::runtime::with;

/// The handle of the one context.
const CONTEXT: usize = 0x800;

fn check_context(context: usize) -> Done<()> {
    with(|_| match context {
        CONTEXT => Ok(()),
        _ => fail(Code::InvalidContext, format!("context {context:#x} does not exist")),
    })
}

fn check_device(device: c_int) -> Done<()> {
    with(|_| match device {
        0 => Ok(()),
        _ => fail(Code::InvalidDevice, format!("device {device}: there is one, number 0")),
    })
}

exports! {
    fn hipCtxCreate(context: *mut usize, _flags: u32, device: c_int) {
        check_device(device)?;
        put(context, CONTEXT)
    }

    fn hipCtxDestroy(context: usize) { check_context(context) }

    fn hipCtxSetCurrent(context: usize) { if context == 0 { Ok(()) } else { check_context(context) } }

    fn hipCtxGetCurrent(context: *mut usize) {
        with(|_| Ok(()))?;
        put(context, CONTEXT)
    }

    fn hipCtxPushCurrent(context: usize) { check_context(context) }

    fn hipCtxPopCurrent(context: *mut usize) {
        with(|_| Ok(()))?;
        put(context, CONTEXT)
    }

    fn hipCtxGetDevice(device: *mut c_int) {
        with(|_| Ok(()))?;
        put(device, 0)
    }

    fn hipCtxSynchronize() { super::device::synchronize() }

    fn hipDevicePrimaryCtxRetain(context: *mut usize, device: c_int) {
        check_device(device)?;
        put(context, CONTEXT)
    }

    fn hipDevicePrimaryCtxRelease(device: c_int) { check_device(device) }

    fn hipDevicePrimaryCtxGetState(device: c_int, flags: *mut u32, active: *mut c_int) {
        check_device(device)?;
        put(flags, 0)?;
        put(active, 1)
    }
}
