//! One exchange with a worker process: spawn, talk, wait, reap.

use std::io::{self, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use wait_timeout::ChildExt;

use super::protocol::{
    Failure, FrameError, MAX_BODY_BYTES, Reply, Request, read_frame, write_frame,
};
use super::{Cause, broken};

/// How much of the worker's standard error is kept.
const MAX_STDERR_BYTES: u64 = 16 << 10;

/// Number of the signal that ends a writer whose reader has gone (POSIX `signal.h`, Linux).
const SIGPIPE: i32 = 13;

/// Sends one request and waits for its reply. The pipes have a thread each, so that neither side can block
/// the other; a worker that is too slow is killed.
pub fn exchange(
    worker: &Path,
    request: Request,
    body: Vec<u8>,
    time_limit: Duration,
) -> Result<(Reply, Vec<u8>), Cause> {
    if body.len() as u64 > MAX_BODY_BYTES {
        let message = FrameError::BodyTooLong { got: body.len() as u64 }.to_string();
        return Err(Cause::Failed(Failure::Rejected { message }));
    }
    let started = Instant::now();
    let mut child = spawn(worker)?;
    let pipes = Pipes::attach(&mut child, request, body);
    let status = wait(&mut child, worker, time_limit)?;
    // What the worker wrote is in the pipes already; only a stranger that still holds them can delay it.
    let left = time_limit.saturating_sub(started.elapsed()).max(Duration::from_secs(1));
    let stderr = pipes.stderr.recv_timeout(left).unwrap_or_default();
    if status.signal() == Some(SIGPIPE) {
        return Err(broken(worker, "it wrote more than a reply and was cut off"));
    }
    if let Some(signal) = status.signal() {
        return Err(Cause::Crashed { signal, stderr });
    }
    match pipes.reply.recv_timeout(left) {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(error)) => Err(broken(worker, &format!("{error} ({status}) {}", stderr.trim()))),
        Err(_) => Err(Cause::TimedOut { limit: time_limit }),
    }
}

fn spawn(worker: &Path) -> Result<Child, Cause> {
    let mut command = Command::new(worker);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| broken(worker, &format!("it does not start: {error}")))
}

fn wait(child: &mut Child, worker: &Path, time_limit: Duration) -> Result<ExitStatus, Cause> {
    match child.wait_timeout(time_limit) {
        Ok(Some(status)) => Ok(status),
        Ok(None) => {
            // It may have ended in this very moment; either way it is reaped.
            child.kill().and_then(|()| child.wait()).ok();
            Err(Cause::TimedOut { limit: time_limit })
        }
        Err(error) => Err(broken(worker, &format!("it cannot be waited for: {error}"))),
    }
}

/// What the threads at the worker's outputs deliver.
struct Pipes {
    reply: Receiver<Result<(Reply, Vec<u8>), FrameError>>,
    stderr: Receiver<String>,
}

impl Pipes {
    fn attach(child: &mut Child, request: Request, body: Vec<u8>) -> Pipes {
        if let Some(stdin) = child.stdin.take() {
            // A worker that refuses early closes its input; its reply says more than the broken pipe.
            thread::spawn(move || write_frame(stdin, request, &[&body]).ok());
        }
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        Pipes {
            reply: deliver(move || read_frame(BufReader::new(readable(stdout)))),
            stderr: deliver(move || beginning_of(readable(stderr))),
        }
    }
}

/// A pipe, or an empty stream where there is none.
fn readable<'a>(pipe: Option<impl Read + 'a>) -> Box<dyn Read + 'a> {
    match pipe {
        Some(pipe) => Box::new(pipe),
        None => Box::new(io::empty()),
    }
}

/// Runs in a thread of its own; nobody waits for the thread, only for what it delivers.
fn deliver<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = channel();
    thread::spawn(move || sender.send(work()).ok());
    receiver
}

/// The beginning of a stream as text; the rest is read and dropped, so that the writer never blocks.
fn beginning_of(mut stream: impl Read) -> String {
    let mut kept = Vec::new();
    stream.by_ref().take(MAX_STDERR_BYTES).read_to_end(&mut kept).ok();
    io::copy(&mut stream, &mut io::sink()).ok();
    String::from_utf8_lossy(&kept).into_owned()
}
