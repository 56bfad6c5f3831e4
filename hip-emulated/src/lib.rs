//! A `libamdhip64.so` without a GPU: HIP's module interface on the instruction-level emulator.
//!
//! Programs that load code objects through HIP run unchanged: they open this library instead of AMD's, and every launch
//! is executed by the emulator, which reports on stderr what it finds wrong. Nothing that this library says about a
//! kernel was measured on a GPU, and it says so: the device's name begins with *emulated*, and the library has the
//! symbol [`hip_abi::IDENTITY_SYMBOL`], which none of AMD's has.
//!
//! What it is and what it is not is written in `docs/hip.md`. In short: one device; calls run when they are made,
//! in the order in which they are made, which is one of the orders that HIP allows; a fault of a kernel becomes an error
//! of the next call that waits; there is no time; the host's memory is out of a kernel's reach.

mod device;
mod failure;
mod ffi;
mod host;
mod launch;
mod memory;
mod modules;
mod runtime;
mod settings;
mod streams;

pub use settings::{MEMORY_VARIABLE, TARGET_VARIABLE, VERSION_VARIABLE};

/// File name of the library that this crate builds; clients look for [`CLIENT_FILE_NAME`].
pub const BUILT_FILE_NAME: &str = "libwavesmith_hip_emulated.so";

/// File name under which clients of HIP look for it.
pub const CLIENT_FILE_NAME: &str = "libamdhip64.so";
