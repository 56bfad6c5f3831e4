//! Streams, events, and graphs captured from streams.
//!
//! Work runs when it is submitted. While a stream is captured its work is kept instead, in the order of submission, which
//! is an order that the graph's dependencies allow; a launch of the graph submits it again.

use std::collections::BTreeMap;

use hip_abi::Code;

use crate::failure::{Done, fail};
use crate::launch::Launch;
use crate::runtime::{Runtime, find};

/// Something that a stream does.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// A kernel.
    Launch(Launch),
    /// Bytes from one place to another.
    Copy {
        /// Where to.
        to: Place,
        /// Where from.
        from: Place,
        /// How many.
        size_bytes: usize,
    },
    /// A pattern of 1, 2 or 4 bytes, `count` times.
    Fill {
        /// Device address.
        address: u64,
        /// The pattern.
        pattern: Vec<u8>,
        /// How often.
        count: u64,
    },
    /// A function of the host, by its address, and its argument.
    Call {
        /// The function.
        function: usize,
        /// What it is given.
        argument: usize,
    },
}

/// An address of the host or of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Host(usize),
    Device(u64),
}

/// `hipStreamCaptureMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaptureMode {
    /// Global and thread-local, which this library does not tell apart.
    Strict,
    /// Allocations and waits elsewhere are allowed.
    Relaxed,
}

/// What a capture has so far.
#[derive(Debug)]
struct Capture {
    origin: usize,
    mode: CaptureMode,
    work: Vec<Work>,
    spoilt: bool,
    /// Streams that joined: how much work there was when they submitted last, and how much the origin has waited for.
    forks: BTreeMap<usize, (usize, usize)>,
}

#[derive(Debug, Default)]
struct Stream {
    flags: u32,
    capture: Option<usize>,
}

#[derive(Debug, Default)]
struct Event {
    recorded: bool,
    /// The capture and stream that recorded it, and how much work there was.
    captured: Option<(usize, usize, usize)>,
}

/// What streams and graphs there are, by handle.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    streams: BTreeMap<usize, Stream>,
    events: BTreeMap<usize, Event>,
    captures: BTreeMap<usize, Capture>,
    graphs: BTreeMap<usize, Vec<Work>>,
    executables: BTreeMap<usize, Vec<Work>>,
}

/// Handles that always exist: the null stream, `hipStreamLegacy`, `hipStreamPerThread`.
const RESERVED_STREAMS: std::ops::RangeInclusive<usize> = 0..=2;

impl Runtime {
    pub(crate) fn create_stream(&mut self, flags: u32) -> usize {
        let handle = self.new_handle();
        self.streams.streams.insert(handle, Stream { flags, capture: None });
        handle
    }

    pub(crate) fn destroy_stream(&mut self, stream: usize) -> Done<()> {
        let captured = find(&mut self.streams.streams, stream, "stream")?.capture;
        self.streams.streams.remove(&stream);
        let Some(number) = captured else { return Ok(()) };
        match self.streams.captures.get_mut(&number) {
            // One that joined: what it did can never be waited for.
            Some(capture) if capture.origin != stream => capture.spoilt = true,
            _ => drop(self.take_capture(number)),
        }
        Ok(())
    }

    /// Ends a capture; the streams that joined it are free again.
    fn take_capture(&mut self, number: usize) -> Option<Capture> {
        let streams = self.streams.streams.values_mut();
        streams.filter(|s| s.capture == Some(number)).for_each(|stream| stream.capture = None);
        self.streams.captures.remove(&number)
    }

    pub(crate) fn stream_flags(&mut self, stream: usize) -> Done<u32> {
        self.check_stream(stream)?;
        Ok(self.streams.streams.get(&stream).map_or(0, |stream| stream.flags))
    }

    fn check_stream(&mut self, stream: usize) -> Done<()> {
        match RESERVED_STREAMS.contains(&stream) {
            true => Ok(()),
            false => find(&mut self.streams.streams, stream, "stream").map(|_| ()),
        }
    }

    fn capture_of(&self, stream: usize) -> Option<usize> {
        self.streams.streams.get(&stream)?.capture
    }

    /// Work to do at once; `None` where a capture keeps it.
    pub(crate) fn submit(&mut self, stream: usize, work: Work) -> Done<Option<Work>> {
        self.check_stream(stream)?;
        let Some(number) = self.capture_of(stream) else {
            if RESERVED_STREAMS.contains(&stream) && stream != 2 {
                self.refuse_in_capture("work on the null stream", Code::StreamCaptureImplicit)?;
            }
            return Ok(Some(work));
        };
        let capture = find(&mut self.streams.captures, number, "capture")?;
        if capture.spoilt {
            return fail(Code::StreamCaptureInvalidated, "the capture was spoilt before");
        }
        capture.work.push(work);
        if stream != capture.origin {
            let seen = capture.work.len();
            capture.forks.entry(stream).or_default().0 = seen;
        }
        Ok(None)
    }

    /// Refuses what may not happen while any stream is captured, and spoils those captures.
    pub(crate) fn refuse_in_capture(&mut self, what: &str, code: Code) -> Done<()> {
        let strict = self
            .streams
            .captures
            .values_mut()
            .filter(|capture| capture.mode == CaptureMode::Strict);
        let mut any = false;
        for capture in strict {
            capture.spoilt = true;
            any = true;
        }
        match any {
            true => fail(code, format!("{what} while a stream is captured; the capture is lost")),
            false => Ok(()),
        }
    }

    /// Waits for a stream, which has nothing to do but to tell of faults.
    pub(crate) fn synchronize_stream(&mut self, stream: usize) -> Done<()> {
        self.check_stream(stream)?;
        if let Some(number) = self.capture_of(stream) {
            find(&mut self.streams.captures, number, "capture")?.spoilt = true;
            let words = "a wait for a stream that is captured; the capture is lost";
            return fail(Code::StreamCaptureUnsupported, words);
        }
        self.wait()
    }

    pub(crate) fn begin_capture(&mut self, stream: usize, mode: CaptureMode) -> Done<()> {
        if RESERVED_STREAMS.contains(&stream) {
            let words = "the null stream cannot be captured: make a stream";
            return fail(Code::StreamCaptureUnsupported, words);
        }
        let found = find(&mut self.streams.streams, stream, "stream")?;
        if found.capture.is_some() {
            return fail(Code::IllegalState, "the stream is captured already");
        }
        let number = self.new_handle();
        let capture = Capture {
            origin: stream,
            mode,
            work: Vec::new(),
            spoilt: false,
            forks: BTreeMap::new(),
        };
        self.streams.captures.insert(number, capture);
        find(&mut self.streams.streams, stream, "stream")?.capture = Some(number);
        Ok(())
    }

    pub(crate) fn end_capture(&mut self, stream: usize) -> Done<usize> {
        self.check_stream(stream)?;
        let Some(number) = self.capture_of(stream) else {
            return fail(Code::IllegalState, "the stream is not captured");
        };
        if find(&mut self.streams.captures, number, "capture")?.origin != stream {
            return fail(Code::StreamCaptureUnmatched, "the capture was begun on another stream");
        }
        let Some(capture) = self.take_capture(number) else {
            return fail(Code::IllegalState, "the stream is not captured");
        };
        if capture.spoilt {
            return fail(
                Code::StreamCaptureInvalidated,
                "the capture was spoilt by an earlier call",
            );
        }
        if let Some((fork, _)) = capture.forks.iter().find(|(_, (last, joined))| last > joined) {
            let words =
                format!("stream {fork:#x} did work that the captured stream never waits for");
            return fail(Code::StreamCaptureUnjoined, words);
        }
        let graph = self.new_handle();
        self.streams.graphs.insert(graph, capture.work);
        Ok(graph)
    }

    /// 0 none, 1 active, 2 invalidated, as `hipStreamCaptureStatus`; and the capture's number.
    pub(crate) fn capture_status(&mut self, stream: usize) -> Done<(i32, u64)> {
        self.check_stream(stream)?;
        let Some(number) = self.capture_of(stream) else { return Ok((0, 0)) };
        let spoilt = find(&mut self.streams.captures, number, "capture")?.spoilt;
        Ok((if spoilt { 2 } else { 1 }, number as u64))
    }

    pub(crate) fn instantiate(&mut self, graph: usize) -> Done<usize> {
        let work = find(&mut self.streams.graphs, graph, "graph")?.clone();
        let handle = self.new_handle();
        self.streams.executables.insert(handle, work);
        Ok(handle)
    }

    pub(crate) fn graph_nodes(&mut self, graph: usize) -> Done<usize> {
        Ok(find(&mut self.streams.graphs, graph, "graph")?.len())
    }

    pub(crate) fn executable(&mut self, executable: usize) -> Done<Vec<Work>> {
        Ok(find(&mut self.streams.executables, executable, "executable graph")?.clone())
    }

    pub(crate) fn destroy_graph(&mut self, graph: usize) -> Done<()> {
        find(&mut self.streams.graphs, graph, "graph")?;
        self.streams.graphs.remove(&graph);
        Ok(())
    }

    pub(crate) fn destroy_executable(&mut self, executable: usize) -> Done<()> {
        find(&mut self.streams.executables, executable, "executable graph")?;
        self.streams.executables.remove(&executable);
        Ok(())
    }

    pub(crate) fn create_event(&mut self) -> usize {
        let handle = self.new_handle();
        self.streams.events.insert(handle, Event::default());
        handle
    }

    pub(crate) fn destroy_event(&mut self, event: usize) -> Done<()> {
        find(&mut self.streams.events, event, "event")?;
        self.streams.events.remove(&event);
        Ok(())
    }

    pub(crate) fn record(&mut self, event: usize, stream: usize) -> Done<()> {
        self.check_stream(stream)?;
        let captured = match self.capture_of(stream) {
            Some(number) => {
                let capture = find(&mut self.streams.captures, number, "capture")?;
                Some((number, stream, capture.work.len()))
            }
            None => None,
        };
        let event = find(&mut self.streams.events, event, "event")?;
        event.recorded = true;
        event.captured = captured;
        Ok(())
    }

    pub(crate) fn stream_wait(&mut self, stream: usize, event: usize) -> Done<()> {
        self.check_stream(stream)?;
        let captured = find(&mut self.streams.events, event, "event")?.captured;
        let Some((number, recorder, seen)) = captured else {
            return match self.capture_of(stream) {
                Some(_) => {
                    fail(Code::StreamCaptureIsolation, "the event was recorded outside the capture")
                }
                None => Ok(()),
            };
        };
        let Some(capture) = self.streams.captures.get_mut(&number) else { return Ok(()) };
        if stream == capture.origin {
            capture.forks.entry(recorder).and_modify(|(_, joined)| *joined = seen.max(*joined));
            return Ok(());
        }
        if RESERVED_STREAMS.contains(&stream) {
            return fail(Code::StreamCaptureImplicit, "the null stream cannot join a capture");
        }
        find(&mut self.streams.streams, stream, "stream")?.capture = Some(number);
        Ok(())
    }

    /// Waits for an event on the host.
    pub(crate) fn synchronize_event(&mut self, event: usize) -> Done<()> {
        let event = find(&mut self.streams.events, event, "event")?;
        if event.captured.is_some() {
            return fail(Code::CapturedEvent, "the event belongs to a capture");
        }
        self.wait()
    }

    pub(crate) fn check_timing(&mut self, start: usize, stop: usize) -> Done<()> {
        for event in [start, stop] {
            if !find(&mut self.streams.events, event, "event")?.recorded {
                return fail(Code::InvalidHandle, "the event was never recorded");
            }
        }
        fail(
            Code::NotSupported,
            "an emulated device has no time: wavesmith models it, see docs/hip.md",
        )
    }
}
