//! The device trait.

use std::sync::atomic::{AtomicU64, Ordering};

use isa::Target;
use serde::Serialize;

use crate::buffer::{Buffer, BufferRequest, BufferSlice};
use crate::error::{DeviceError, LaunchRefused};
use crate::launch::{Arg, LaunchDims, check, pack};
use crate::module::{Kernel, Module};

/// Tells the handles of one device from those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(u64);

impl DeviceId {
    /// An id that no other device of this process has.
    pub fn unique() -> DeviceId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        DeviceId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What a device tells about a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LaunchReport {
    /// The kernel.
    pub kernel: String,
    /// What the emulator saw, on devices that are emulated.
    pub emulated: Option<emulator::Report>,
}

/// Something that runs kernels.
///
/// Backends implement the memory operations and [`Device::dispatch`]; users launch through
/// [`Device::launch`], which checks first. A device may run launches later than they are asked for, in
/// order; [`Device::read`] and [`Device::synchronize`] wait for all of them and report what went wrong.
pub trait Device {
    /// What handles of this device carry.
    fn id(&self) -> DeviceId;

    /// The device's name, for reports.
    fn name(&self) -> &str;

    /// The processor that it is.
    fn target(&self) -> Target;

    /// A new buffer, aligned to [`BUFFER_ALIGN_BYTES`](crate::BUFFER_ALIGN_BYTES).
    ///
    /// # Errors
    /// The device is out of memory.
    fn allocate(&mut self, request: BufferRequest<'_>) -> Result<Buffer, DeviceError>;

    /// Frees a buffer. Every handle of it becomes invalid.
    ///
    /// # Errors
    /// The handle is of another device, or already invalid.
    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError>;

    /// Writes to a buffer, whatever kernels may do with it.
    ///
    /// # Errors
    /// The handle is invalid or of another device, or the bytes do not fit.
    fn write(
        &mut self,
        buffer: &Buffer,
        offset_bytes: u64,
        bytes: &[u8],
    ) -> Result<(), DeviceError>;

    /// The bytes of a slice, after all launches so far.
    ///
    /// # Errors
    /// The handle is invalid or of another device, the buffer does not have the bytes, or a launch
    /// failed.
    fn read(&mut self, slice: &BufferSlice) -> Result<Vec<u8>, DeviceError>;

    /// The device address of a buffer's first byte.
    ///
    /// # Errors
    /// The handle is invalid or of another device.
    fn address(&self, buffer: &Buffer) -> Result<u64, DeviceError>;

    /// Validates and loads a code object.
    ///
    /// # Errors
    /// The bytes are no valid code object, or one of another target.
    fn load(&mut self, code_object: &[u8]) -> Result<Module, DeviceError>;

    /// Unloads a module. Every handle of it and of its kernels becomes invalid, except launches that were prepared
    /// before, which keep what they need loaded.
    ///
    /// # Errors
    /// [`DeviceError::Unloaded`] when that was done before, [`DeviceError::InvalidHandle`] of another device's.
    fn unload(&mut self, module: Module) -> Result<(), DeviceError>;

    /// Runs a kernel on explicit arguments that are already packed as its metadata says. It checks
    /// nothing about them; that is [`Device::launch`]'s part.
    ///
    /// # Errors
    /// The kernel is of another device, or the launch failed.
    fn dispatch(
        &mut self,
        kernel: &Kernel,
        dims: LaunchDims,
        kernarg: &[u8],
    ) -> Result<LaunchReport, DeviceError>;

    /// Waits for all launches.
    ///
    /// # Errors
    /// A launch failed.
    fn synchronize(&mut self) -> Result<(), DeviceError>;

    /// Checks sizes and every argument against the kernel's metadata, then runs the kernel.
    ///
    /// # Errors
    /// [`LaunchRefused`] lists everything that does not fit; other errors as [`Device::dispatch`].
    fn launch(
        &mut self,
        kernel: &Kernel,
        dims: LaunchDims,
        args: &[Arg],
    ) -> Result<LaunchReport, DeviceError> {
        let problems = check(self.id(), self.target(), kernel, dims, args);
        if !problems.is_empty() {
            let kernel = kernel.name().to_owned();
            return Err(LaunchRefused { kernel, problems }.into());
        }
        let kernarg = pack(kernel.metadata(), args, |buffer| self.address(buffer))?;
        self.dispatch(kernel, dims, &kernarg)
    }
}
