//! Running kernels: devices, buffers, checked launches, launch plans.
//!
//! A [`Device`] allocates [`Buffer`]s, loads code objects into [`Module`]s and launches their
//! [`Kernel`]s. Before anything is launched, every argument is checked against the code object's own
//! metadata ([`launch`]), whichever device runs it; [`plan`] runs whole launch plans.
//!
//! [`HipDevice`] runs on an AMD GPU through the HIP library that it finds at run time ([`hip`]).
//! [`EmulatedDevice`] runs on the instruction-level emulator and reports what it found. Nothing here
//! assumes that a device is emulated: findings are an optional part of a [`LaunchReport`].

pub mod buffer;
pub mod device;
pub mod emulated;
pub mod error;
pub mod hip;
pub mod launch;
pub mod module;
pub mod plan;

pub use buffer::{BUFFER_ALIGN_BYTES, Buffer, BufferAccess, BufferRequest, BufferSlice, Fill};
pub use device::{Device, DeviceId, LaunchReport};
pub use emulated::EmulatedDevice;
pub use error::{ArgumentProblem, DeviceError, LaunchProblem, LaunchRefused};
pub use hip::{HipDevice, HipError};
pub use launch::{Arg, LaunchDims};
pub use module::{Kernel, Module};
pub use plan::{PlanFailure, PlanOutcome, PlanProblem, Tensors, run_plan};
