//! Streams and events.

use std::ffi::c_int;

use hip_abi::Code;

use super::memory::execute;
use super::{exports, put};
use crate::failure::{Done, fail};
use crate::runtime::with;
use crate::streams::Work;

fn create(flags: u32) -> Done<usize> {
    /// `hipStreamNonBlocking`, the only flag.
    const NON_BLOCKING: u32 = 1;
    if flags & !NON_BLOCKING != 0 {
        return fail(Code::InvalidValue, format!("stream flags {flags:#x}: 0 and 1 are known"));
    }
    with(|runtime| Ok(runtime.create_stream(flags)))
}

exports! {
    fn hipStreamCreate(stream: *mut usize) { put(stream, create(0)?) }

    fn hipStreamCreateWithFlags(stream: *mut usize, flags: u32) { put(stream, create(flags)?) }

    fn hipStreamCreateWithPriority(stream: *mut usize, flags: u32, _priority: c_int) {
        put(stream, create(flags)?)
    }

    fn hipStreamDestroy(stream: usize) { with(|runtime| runtime.destroy_stream(stream)) }

    fn hipStreamSynchronize(stream: usize) { with(|runtime| runtime.synchronize_stream(stream)) }

    fn hipStreamQuery(stream: usize) { with(|runtime| runtime.synchronize_stream(stream)) }

    fn hipStreamGetFlags(stream: usize, flags: *mut u32) {
        put(flags, with(|runtime| runtime.stream_flags(stream))?)
    }

    fn hipStreamWaitEvent(stream: usize, event: usize, _flags: u32) {
        with(|runtime| runtime.stream_wait(stream, event))
    }

    fn hipLaunchHostFunc(stream: usize, function: usize, argument: usize) {
        let work = with(|runtime| runtime.submit(stream, Work::Call { function, argument }))?;
        work.map_or(Ok(()), |work| execute(work))
    }

    fn hipEventCreate(event: *mut usize) { put(event, with(|runtime| Ok(runtime.create_event()))?) }

    fn hipEventCreateWithFlags(event: *mut usize, _flags: u32) {
        put(event, with(|runtime| Ok(runtime.create_event()))?)
    }

    fn hipEventDestroy(event: usize) { with(|runtime| runtime.destroy_event(event)) }

    fn hipEventRecord(event: usize, stream: usize) { with(|runtime| runtime.record(event, stream)) }

    fn hipEventSynchronize(event: usize) { with(|runtime| runtime.synchronize_event(event)) }

    fn hipEventQuery(event: usize) { with(|runtime| runtime.synchronize_event(event)) }

    fn hipEventElapsedTime(_milliseconds: *mut f32, start: usize, stop: usize) {
        with(|runtime| runtime.check_timing(start, stop))
    }
}
