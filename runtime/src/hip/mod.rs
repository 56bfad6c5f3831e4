//! The HIP device: kernels on an AMD GPU, through the HIP library that is found at run time.
//!
//! Nothing of ROCm is needed to build. [`Library::find`] looks for the library in the order that `wavesmith doctor` prints;
//! [`HipDevice`] is a [`Device`](crate::Device) that allocates, copies and launches through it, and [`PreparedLaunch`] is
//! the part that engines use on their own stream, where nothing is allocated and nothing waited for.
//!
//! What a driver would answer with one code for ten causes is checked before it is asked: [`object::admit`] reads a code
//! object's header, and launches are checked against the kernel's own argument table ([`crate::launch`]).
//!
//! No GPU was at hand while this was written: it was exercised with the emulated library of this project (`docs/hip.md`),
//! with other people's clients of that library, and with AMD's library on a machine without a device.

mod binding;
pub mod device;
pub mod error;
mod handles;
pub mod library;
pub mod object;
pub mod prepared;
mod streams;
mod whole;

pub use device::HipDevice;
pub use error::{HipError, LoadRefused, PrepareError};
pub use handles::{DeviceMemory, Function, LoadedModule};
pub use library::{Attempt, EMULATED_LABEL, Found, LIBRARY_VARIABLE, Library, Search};
pub use object::DeviceIdentity;
pub use prepared::{ArgumentId, DevicePointer, PreparedLaunch, PreparedPlan};
pub use streams::{Event, Graph, Stream};
