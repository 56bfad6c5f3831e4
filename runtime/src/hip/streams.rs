//! Streams, events and graphs, each freed when it is dropped.
#![allow(
    unsafe_code,
    reason = "calls of the C library, whose promises the types of this file keep"
)]

use std::ffi::c_int;

use hip_abi::Version;

use crate::hip::binding::Missing;
use crate::hip::error::HipError;
use crate::hip::handles::done;
use crate::hip::library::Library;

/// A stream.
#[derive(Debug)]
pub struct Stream {
    library: Library,
    raw: usize,
    owned: bool,
}

impl Stream {
    /// A stream of its own, which does not wait for the null stream.
    ///
    /// # Errors
    /// What the call says.
    pub fn new(library: &Library) -> Result<Stream, HipError> {
        /// `hipStreamNonBlocking`.
        const NON_BLOCKING: u32 = 1;
        let mut raw = 0;
        // SAFETY: the result is written to a local.
        let number = unsafe { library.api.hipStreamCreateWithFlags(&mut raw, NON_BLOCKING) };
        done(number, "hipStreamCreateWithFlags", || "making a stream".to_owned())?;
        Ok(Stream { library: library.clone(), raw, owned: true })
    }

    /// The caller's own stream (`hipStream_t`), which is not destroyed here.
    ///
    /// # Safety
    /// It is a live stream of this library, and stays alive as long as the result.
    pub unsafe fn borrowed(library: &Library, raw: usize) -> Stream {
        Stream { library: library.clone(), raw, owned: false }
    }

    /// The handle (`hipStream_t`).
    pub fn raw(&self) -> usize {
        self.raw
    }

    /// Waits for everything on the stream.
    ///
    /// # Errors
    /// What went wrong on it.
    pub fn synchronize(&self) -> Result<(), HipError> {
        // SAFETY: the stream lives.
        let number = unsafe { self.library.api.hipStreamSynchronize(self.raw) };
        done(number, "hipStreamSynchronize", || "waiting for launches and copies".to_owned())
    }

    /// Makes what follows on this stream wait for an event.
    ///
    /// # Errors
    /// What the call says.
    pub fn wait_for(&self, event: &Event) -> Result<(), HipError> {
        // SAFETY: both live.
        let number = unsafe { self.library.api.hipStreamWaitEvent(self.raw, event.raw, 0) };
        done(number, "hipStreamWaitEvent", || "ordering two streams".to_owned())
    }

    /// Captures what `work` puts on the stream into a graph.
    ///
    /// # Errors
    /// What the calls or `work` say; [`HipError::TooOld`] without graphs.
    pub fn capture(
        &self,
        work: impl FnOnce(&Stream) -> Result<(), HipError>,
    ) -> Result<Graph, HipError> {
        const SINCE: Version = Version::new(4, 3);
        /// `hipStreamCaptureModeGlobal`: nothing may allocate or wait meanwhile.
        const GLOBAL: c_int = 0;
        let library = &self.library;
        let too_old =
            |Missing(call)| HipError::TooOld { call, version: library.version(), since: SINCE };
        // SAFETY: the stream lives.
        let begun = unsafe { library.api.hipStreamBeginCapture(self.raw, GLOBAL) };
        done(begun.map_err(too_old)?, "hipStreamBeginCapture", || "capturing".to_owned())?;
        let worked = work(self);
        let mut graph = 0;
        // SAFETY: the stream lives, the result is written to a local.
        let ended = unsafe { library.api.hipStreamEndCapture(self.raw, &mut graph) };
        worked?;
        done(ended.map_err(too_old)?, "hipStreamEndCapture", || "capturing".to_owned())?;
        let mut graph = Graph { library: library.clone(), graph, executable: 0 };
        // SAFETY: the graph lives, the result is written to a local.
        let made = unsafe {
            library.api.hipGraphInstantiateWithFlags(&mut graph.executable, graph.graph, 0)
        };
        let doing = || "making a graph executable".to_owned();
        done(made.map_err(too_old)?, "hipGraphInstantiateWithFlags", doing)?;
        Ok(graph)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: the stream lives and is this value's own.
            unsafe { self.library.api.hipStreamDestroy(self.raw) };
        }
    }
}

/// A graph that was captured, ready to be launched as often as wanted.
#[derive(Debug)]
pub struct Graph {
    library: Library,
    graph: usize,
    executable: usize,
}

impl Graph {
    /// Puts the whole graph on a stream.
    ///
    /// # Errors
    /// What the call says.
    pub fn launch(&self, stream: &Stream) -> Result<(), HipError> {
        // SAFETY: both live.
        let number = unsafe { self.library.api.hipGraphLaunch(self.executable, stream.raw) };
        let number = number.map_err(|Missing(symbol)| self.library.missing(symbol))?;
        done(number, "hipGraphLaunch", || "launching a graph".to_owned())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: both live, or were never made, and are this value's own. A failure leaves nothing to do.
        unsafe {
            if self.executable != 0 {
                let _ = self.library.api.hipGraphExecDestroy(self.executable);
            }
            let _ = self.library.api.hipGraphDestroy(self.graph);
        }
    }
}

/// An event.
#[derive(Debug)]
pub struct Event {
    library: Library,
    raw: usize,
}

impl Event {
    /// An event that keeps no time.
    ///
    /// # Errors
    /// What the call says.
    pub fn new(library: &Library) -> Result<Event, HipError> {
        /// `hipEventDisableTiming`.
        const DISABLE_TIMING: u32 = 2;
        let mut raw = 0;
        // SAFETY: the result is written to a local.
        let number = unsafe { library.api.hipEventCreateWithFlags(&mut raw, DISABLE_TIMING) };
        done(number, "hipEventCreateWithFlags", || "making an event".to_owned())?;
        Ok(Event { library: library.clone(), raw })
    }

    /// Marks the place on a stream.
    ///
    /// # Errors
    /// What the call says.
    pub fn record(&self, stream: &Stream) -> Result<(), HipError> {
        // SAFETY: both live.
        let number = unsafe { self.library.api.hipEventRecord(self.raw, stream.raw) };
        done(number, "hipEventRecord", || "marking a place on a stream".to_owned())
    }

    /// Waits until the stream has passed the place.
    ///
    /// # Errors
    /// What went wrong before it.
    pub fn synchronize(&self) -> Result<(), HipError> {
        // SAFETY: the event lives.
        let number = unsafe { self.library.api.hipEventSynchronize(self.raw) };
        done(number, "hipEventSynchronize", || "waiting for an event".to_owned())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event lives and is this value's own.
        unsafe { self.library.api.hipEventDestroy(self.raw) };
    }
}
