//! An AMD GPU as a [`Device`].

use std::collections::BTreeMap;
use std::sync::Arc;

use hip_abi::Attribute;
use isa::Target;

use crate::buffer::{Buffer, BufferRequest, BufferSlice, Fill};
use crate::device::{Device, DeviceId, LaunchReport};
use crate::error::DeviceError;
use crate::hip::error::HipError;
use crate::hip::handles::{DeviceMemory, Function, LaunchSize, LoadedModule};
use crate::hip::library::Library;
use crate::hip::object::{DeviceIdentity, admit};
use crate::hip::streams::Stream;
use crate::launch::LaunchDims;
use crate::module::{Kernel, Module};

/// A device of the HIP library, with one stream on which everything happens in order.
#[derive(Debug)]
pub struct HipDevice {
    id: DeviceId,
    library: Library,
    identity: DeviceIdentity,
    name: String,
    // Freed in this order: nothing may outlive the stream's work, which dropping memory waits for.
    buffers: BTreeMap<u64, DeviceMemory>,
    /// By module number; `None` once unloaded.
    modules: Vec<Option<Loaded>>,
    stream: Stream,
    next_buffer: u64,
}

#[derive(Debug)]
struct Loaded {
    module: Arc<LoadedModule>,
    functions: BTreeMap<String, Function>,
}

impl HipDevice {
    /// The first device of a target.
    ///
    /// # Errors
    /// No library, no device, or only devices of other targets.
    pub fn of_target(target: Target) -> Result<HipDevice, HipError> {
        let library = Library::find()?;
        let count = library.device_count()?;
        let mut wrong = None;
        for number in 0..count {
            match identify(&library, number) {
                Ok(identity) if identity.target == target => {
                    return HipDevice::with_identity(library, identity);
                }
                Ok(DeviceIdentity { name, target: got, .. }) => {
                    wrong.get_or_insert(HipError::OtherTarget {
                        number,
                        name,
                        got,
                        expected: target,
                    });
                }
                Err(error) => {
                    wrong.get_or_insert(error);
                }
            }
        }
        Err(wrong.unwrap_or(HipError::NoSuchDevice { got: 0, count }))
    }

    /// A device by its number.
    ///
    /// # Errors
    /// No library, no such device, or one of a target that this project does not know.
    pub fn open(library: Library, number: i32) -> Result<HipDevice, HipError> {
        let count = library.device_count()?;
        if !(0..count).contains(&number) {
            return Err(HipError::NoSuchDevice { got: number, count });
        }
        let identity = identify(&library, number)?;
        HipDevice::with_identity(library, identity)
    }

    fn with_identity(library: Library, identity: DeviceIdentity) -> Result<HipDevice, HipError> {
        library.set_device(identity.number)?;
        let kind = if library.emulated().is_some() { "hip-emulated" } else { "hip" };
        let name = format!("{kind}: {} ({})", identity.name, identity.target_id);
        let stream = Stream::new(&library)?;
        Ok(HipDevice {
            id: DeviceId::unique(),
            library,
            identity,
            name,
            buffers: BTreeMap::new(),
            modules: Vec::new(),
            stream,
            next_buffer: 0,
        })
    }

    /// The library it belongs to.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Who it is.
    pub fn identity(&self) -> &DeviceIdentity {
        &self.identity
    }

    /// The device's own stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// LDS of a workgroup in bytes, as the device says.
    ///
    /// # Errors
    /// What the call says.
    pub fn lds_bytes_per_workgroup(&self) -> Result<i32, HipError> {
        self.library.attribute(Attribute::MaxSharedMemoryPerBlock, self.identity.number)
    }

    /// The function behind a kernel of this device.
    ///
    /// # Errors
    /// The kernel is of another device or an unloaded module, or HIP does not find it.
    pub fn function(&mut self, kernel: &Kernel) -> Result<Function, DeviceError> {
        let module = &kernel.module;
        let slot = module.slot(self.id, &mut self.modules, || kernel.describe())?;
        let loaded = slot.as_mut().ok_or_else(|| module.unloaded(kernel.describe()))?;
        if let Some(function) = loaded.functions.get(kernel.name()) {
            return Ok(function.clone());
        }
        let function = loaded.module.function(kernel.name())?;
        loaded.functions.insert(kernel.name().to_owned(), function.clone());
        Ok(function)
    }

    fn memory(&self, buffer: &Buffer) -> Result<&DeviceMemory, DeviceError> {
        let known = self.buffers.get(&buffer.id).filter(|_| buffer.device == self.id);
        known.ok_or_else(|| DeviceError::InvalidHandle {
            what: format!("buffer '{}'", buffer.label),
        })
    }

    fn fill(&self, memory: &DeviceMemory, fill: Fill<'_>) -> Result<(), DeviceError> {
        match fill {
            Fill::Undefined | Fill::Repeat([]) => Ok(()),
            Fill::Repeat([byte]) => Ok(memory.fill(&self.stream, *byte)?),
            Fill::Repeat(pattern) => {
                let size = usize::try_from(memory.size_bytes()).unwrap_or(usize::MAX);
                let bytes: Vec<u8> = pattern.iter().copied().cycle().take(size).collect();
                Ok(memory.write(&self.stream, 0, &bytes).unwrap_or(Ok(()))?)
            }
        }
    }
}

fn identify(library: &Library, number: i32) -> Result<DeviceIdentity, HipError> {
    let (name, target_id) = (library.device_name(number)?, library.device_target_id(number)?);
    DeviceIdentity::new(number, name, target_id)
}

impl Device for HipDevice {
    fn id(&self) -> DeviceId {
        self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn target(&self) -> Target {
        self.identity.target
    }

    fn allocate(&mut self, request: BufferRequest<'_>) -> Result<Buffer, DeviceError> {
        let BufferRequest { label, size_bytes, access, fill } = request;
        self.library.set_device(self.identity.number)?;
        let memory = DeviceMemory::new(&self.library, label, size_bytes)?;
        self.fill(&memory, fill)?;
        let id = self.next_buffer;
        self.next_buffer += 1;
        self.buffers.insert(id, memory);
        Ok(Buffer { device: self.id, id, label: Arc::from(label), size_bytes, access })
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.memory(&buffer)?;
        self.buffers.remove(&buffer.id);
        Ok(())
    }

    fn write(
        &mut self,
        buffer: &Buffer,
        offset_bytes: u64,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        let end = offset_bytes.saturating_add(bytes.len() as u64);
        let outside = || DeviceError::OutsideBuffer { slice: buffer.slice(offset_bytes..end) };
        let written = self.memory(buffer)?.write(&self.stream, offset_bytes, bytes);
        Ok(written.ok_or_else(outside)??)
    }

    fn read(&mut self, slice: &BufferSlice) -> Result<Vec<u8>, DeviceError> {
        let BufferSlice { buffer, bytes } = slice;
        let outside = || DeviceError::OutsideBuffer { slice: slice.clone() };
        let size = bytes.end.checked_sub(bytes.start).and_then(|size| usize::try_from(size).ok());
        let read = self.memory(buffer)?.read(&self.stream, bytes.start, size.ok_or_else(outside)?);
        Ok(read.ok_or_else(outside)??)
    }

    fn address(&self, buffer: &Buffer) -> Result<u64, DeviceError> {
        Ok(self.memory(buffer)?.address())
    }

    fn load(&mut self, code_object: &[u8]) -> Result<Module, DeviceError> {
        let object = admit(code_object, &self.identity, self.library.version())?;
        self.library.set_device(self.identity.number)?;
        let module = LoadedModule::new(&self.library, code_object)?;
        let id = self.modules.len() as u64;
        self.modules.push(Some(Loaded { module, functions: BTreeMap::new() }));
        Ok(Module { device: self.id, id, code_object: Arc::new(object) })
    }

    fn unload(&mut self, module: Module) -> Result<(), DeviceError> {
        let slot = module.slot(self.id, &mut self.modules, || module.describe())?;
        match slot.take() {
            // The driver is asked when the last prepared launch of it goes too. Launches under way must be over by then.
            Some(loaded) => {
                self.stream.synchronize()?;
                drop(loaded);
                Ok(())
            }
            None => Err(module.unloaded(module.describe())),
        }
    }

    fn dispatch(
        &mut self,
        kernel: &Kernel,
        dims: LaunchDims,
        kernarg: &[u8],
    ) -> Result<LaunchReport, DeviceError> {
        let function = self.function(kernel)?;
        let offsets: Vec<u32> = kernel.metadata().explicit_args().map(|arg| arg.offset).collect();
        let mut addresses = vec![0; offsets.len()];
        let LaunchDims { grid, workgroup } = dims;
        let size = LaunchSize { grid, workgroup, dynamic_lds_bytes: 0 };
        function.launch(size, &self.stream, kernarg, &offsets, &mut addresses)?;
        Ok(LaunchReport { kernel: kernel.name().to_owned(), emulated: None })
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(self.stream.synchronize()?)
    }
}
