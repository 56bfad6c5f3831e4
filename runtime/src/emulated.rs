//! The emulated device: code objects run on the instruction-level emulator of this project.
//!
//! Nothing it reports was measured on a GPU. Launches are synchronous; accesses outside a buffer, stores
//! to read-only buffers and instructions without a meaning end them with a fault, and a launch's report
//! carries everything else that the emulator found wrong. Hidden arguments that follow from a launch's sizes
//! are filled in by the emulator; those that point to services of a real runtime stay undefined.

use std::collections::BTreeMap;
use std::sync::Arc;

use codeobj::CodeObject;
use emulator::{BufferId, Dispatch, Fault, LoadedObject, Machine, Options};
use isa::Target;

use crate::buffer::{Buffer, BufferAccess, BufferRequest, BufferSlice, Fill};
use crate::device::{Device, DeviceId, LaunchReport};
use crate::error::DeviceError;
use crate::launch::LaunchDims;
use crate::module::{Kernel, Module};

/// A device that the emulator plays.
#[derive(Debug)]
pub struct EmulatedDevice {
    id: DeviceId,
    machine: Machine,
    buffers: BTreeMap<u64, BufferId>,
    /// By module number; `None` once unloaded.
    objects: Vec<Option<LoadedObject>>,
    next_buffer: u64,
}

impl EmulatedDevice {
    /// A device of a target, with the emulator's limits on instructions and memory.
    pub fn new(target: Target, options: Options) -> EmulatedDevice {
        EmulatedDevice {
            id: DeviceId::unique(),
            machine: Machine::new(target, options),
            buffers: BTreeMap::new(),
            objects: Vec::new(),
            next_buffer: 0,
        }
    }

    /// Whether every byte of a buffer was written, by the host or by a kernel.
    ///
    /// # Errors
    /// The handle is invalid or of another device.
    pub fn all_written(&self, buffer: &Buffer) -> Result<bool, DeviceError> {
        Ok(self.machine.memory().all_written(self.buffer(buffer)?)?)
    }

    fn buffer(&self, buffer: &Buffer) -> Result<BufferId, DeviceError> {
        let known = self.buffers.get(&buffer.id).filter(|_| buffer.device == self.id);
        known.copied().ok_or_else(|| invalid(buffer))
    }
}

fn invalid(buffer: &Buffer) -> DeviceError {
    DeviceError::InvalidHandle { what: format!("buffer '{}'", buffer.label) }
}

impl Device for EmulatedDevice {
    fn id(&self) -> DeviceId {
        self.id
    }

    fn name(&self) -> &str {
        "emulated"
    }

    fn target(&self) -> Target {
        self.machine.target()
    }

    fn allocate(&mut self, request: BufferRequest<'_>) -> Result<Buffer, DeviceError> {
        let BufferRequest { label, size_bytes, access, fill } = request;
        let emulated_access = match access {
            BufferAccess::ReadOnly => emulator::Access::ReadOnly,
            BufferAccess::ReadWrite => emulator::Access::ReadWrite,
        };
        let memory = self.machine.memory_mut();
        let buffer = memory.allocate(label, size_bytes, emulated_access)?;
        if let Some(bytes) = repeated(fill, memory.read(buffer)?.len()) {
            memory.write(buffer, 0, &bytes)?;
        }
        let id = self.next_buffer;
        self.next_buffer += 1;
        self.buffers.insert(id, buffer);
        Ok(Buffer { device: self.id, id, label: Arc::from(label), size_bytes, access })
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        let id = self.buffer(&buffer)?;
        self.buffers.remove(&buffer.id);
        Ok(self.machine.memory_mut().free(id)?)
    }

    fn write(
        &mut self,
        buffer: &Buffer,
        offset_bytes: u64,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        let id = self.buffer(buffer)?;
        Ok(self.machine.memory_mut().write(id, offset_bytes, bytes)?)
    }

    fn read(&mut self, slice: &BufferSlice) -> Result<Vec<u8>, DeviceError> {
        let BufferSlice { buffer, bytes: range } = slice;
        let contents = self.machine.memory().read(self.buffer(buffer)?)?;
        let in_host = |offset: u64| usize::try_from(offset).ok();
        let bytes = in_host(range.start)
            .zip(in_host(range.end))
            .and_then(|(start, end)| contents.get(start..end));
        bytes.map(<[u8]>::to_vec).ok_or_else(|| DeviceError::OutsideBuffer { slice: slice.clone() })
    }

    fn address(&self, buffer: &Buffer) -> Result<u64, DeviceError> {
        Ok(self.machine.memory().address(self.buffer(buffer)?)?)
    }

    fn load(&mut self, code_object: &[u8]) -> Result<Module, DeviceError> {
        let code_object = CodeObject::parse(code_object)?;
        let (got, expected) = (code_object.target, self.target());
        if got != expected {
            return Err(DeviceError::WrongTarget { got, expected });
        }
        let id = self.objects.len() as u64;
        let loaded = self.machine.load(&code_object).map_err(Fault::from)?;
        self.objects.push(Some(loaded));
        Ok(Module { device: self.id, id, code_object: Arc::new(code_object) })
    }

    fn unload(&mut self, module: Module) -> Result<(), DeviceError> {
        let slot = module.slot(self.id, &mut self.objects, || module.describe())?;
        let loaded = slot.take().ok_or_else(|| module.unloaded(module.describe()))?;
        Ok(self.machine.unload(loaded).map_err(Fault::from)?)
    }

    fn dispatch(
        &mut self,
        kernel: &Kernel,
        dims: LaunchDims,
        kernarg: &[u8],
    ) -> Result<LaunchReport, DeviceError> {
        let module = &kernel.module;
        let slot = module.slot(self.id, &mut self.objects, || kernel.describe())?;
        let object = slot.ok_or_else(|| module.unloaded(kernel.describe()))?;
        let dispatch = Dispatch {
            object,
            kernel: kernel.name(),
            workgroups: dims.grid,
            workgroup_size: dims.workgroup,
            kernarg,
            dynamic_lds_bytes: 0,
        };
        let report = self.machine.dispatch(&dispatch)?;
        Ok(LaunchReport { kernel: kernel.name().to_owned(), emulated: Some(report) })
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// As many bytes of a fill's pattern as the buffer has; `None` where it stays undefined.
fn repeated(fill: Fill<'_>, size: usize) -> Option<Vec<u8>> {
    match fill {
        Fill::Undefined | Fill::Repeat([]) => None,
        Fill::Repeat(pattern) => Some(pattern.iter().copied().cycle().take(size).collect()),
    }
}
