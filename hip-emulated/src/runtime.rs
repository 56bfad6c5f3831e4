//! The one device and everything that handles name.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use emulator::{Machine, Options};
use hip_abi::Code;

use crate::failure::{Done, Failure, fail};
use crate::memory::Allocations;
use crate::modules::Modules;
use crate::settings::Settings;
use crate::streams::Streams;

/// The device and its handles. Handles are numbers that are never used twice and never addresses, so that one which was
/// destroyed is told from one that lives.
#[derive(Debug)]
pub(crate) struct Runtime {
    pub settings: Settings,
    pub machine: Machine,
    pub allocations: Allocations,
    pub modules: Modules,
    pub streams: Streams,
    /// Findings of all launches so far.
    pub findings: u64,
    /// A fault that no waiting call has told yet.
    pub fault: Option<Failure>,
}

/// The last handle of this process, far above those that HIP reserves (`hipStreamLegacy`, `hipStreamPerThread`). Outlives
/// the device, so that a handle of before a reset names nothing after it.
static LAST_HANDLE: AtomicUsize = AtomicUsize::new(0x1000);

static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

impl Runtime {
    fn new(settings: Settings) -> Runtime {
        let options = Options { memory_limit_bytes: settings.memory_bytes, ..Options::default() };
        Runtime {
            settings,
            machine: Machine::new(settings.target, options),
            allocations: Allocations::default(),
            modules: Modules::default(),
            streams: Streams::default(),
            findings: 0,
            fault: None,
        }
    }

    /// A number that names something new.
    pub(crate) fn new_handle(&mut self) -> usize {
        LAST_HANDLE.fetch_add(16, Ordering::Relaxed) + 16
    }

    /// Tells a fault of an earlier launch, once.
    pub(crate) fn wait(&mut self) -> Done<()> {
        self.fault.take().map_or(Ok(()), Err)
    }
}

fn lock() -> MutexGuard<'static, Option<Runtime>> {
    // A call that panicked left at worst a handle without an owner.
    RUNTIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with the device, which the first call makes.
///
/// # Errors
/// There is no device, or what the work says.
pub(crate) fn with<T>(work: impl FnOnce(&mut Runtime) -> Done<T>) -> Done<T> {
    let mut runtime = lock();
    if runtime.is_none() {
        *runtime = Some(Runtime::new(Settings::from_environment()?));
    }
    match runtime.as_mut() {
        Some(runtime) => work(runtime),
        None => fail(Code::NotInitialized, "no device"),
    }
}

/// Forgets the device and every handle (`hipDeviceReset`).
pub(crate) fn reset() {
    *lock() = None;
}

/// Something that a handle names, or the failure that says why not.
pub(crate) fn find<'m, T>(
    map: &'m mut BTreeMap<usize, T>,
    handle: usize,
    what: &str,
) -> Done<&'m mut T> {
    map.get_mut(&handle).ok_or_else(|| {
        Failure::new(Code::InvalidHandle, format!("{what} {handle:#x} was destroyed or never made"))
    })
}
