//! Graphs captured from streams.

use std::ffi::{c_char, c_int};

use hip_abi::Code;

use super::memory::execute;
use super::{exports, put, put_if};
use crate::failure::{Done, fail};
use crate::runtime::with;
use crate::streams::CaptureMode;

fn capture_mode(number: c_int) -> Done<CaptureMode> {
    match number {
        0 | 1 => Ok(CaptureMode::Strict),
        2 => Ok(CaptureMode::Relaxed),
        _ => fail(Code::InvalidValue, format!("capture mode {number} is not one of 0 to 2")),
    }
}

exports! {
    fn hipStreamBeginCapture(stream: usize, mode: c_int) {
        let mode = capture_mode(mode)?;
        with(|runtime| runtime.begin_capture(stream, mode))
    }

    fn hipStreamEndCapture(stream: usize, graph: *mut usize) {
        put(graph, with(|runtime| runtime.end_capture(stream))?)
    }

    fn hipStreamIsCapturing(stream: usize, status: *mut c_int) {
        put(status, with(|runtime| runtime.capture_status(stream))?.0)
    }

    fn hipStreamGetCaptureInfo(stream: usize, status: *mut c_int, id: *mut u64) {
        let (state, number) = with(|runtime| runtime.capture_status(stream))?;
        put(status, state)?;
        put_if(id, number)
    }

    fn hipGraphInstantiate(
        executable: *mut usize,
        graph: usize,
        error_node: *mut usize,
        _log: *mut c_char,
        _log_bytes: usize,
    ) {
        put_if(error_node, 0)?;
        put(executable, with(|runtime| runtime.instantiate(graph))?)
    }

    fn hipGraphInstantiateWithFlags(executable: *mut usize, graph: usize, _flags: u64) {
        put(executable, with(|runtime| runtime.instantiate(graph))?)
    }

    fn hipGraphLaunch(executable: usize, stream: usize) {
        for work in with(|runtime| runtime.executable(executable))? {
            if let Some(work) = with(|runtime| runtime.submit(stream, work))? {
                execute(work)?;
            }
        }
        Ok(())
    }

    fn hipGraphGetNodes(graph: usize, nodes: *mut usize, count: *mut usize) {
        let n_nodes = with(|runtime| runtime.graph_nodes(graph))?;
        if !nodes.is_null() {
            return fail(Code::NotSupported, "nodes have no handles here; their number is told");
        }
        put(count, n_nodes)
    }

    fn hipGraphDestroy(graph: usize) { with(|runtime| runtime.destroy_graph(graph)) }

    fn hipGraphExecDestroy(executable: usize) {
        with(|runtime| runtime.destroy_executable(executable))
    }
}
