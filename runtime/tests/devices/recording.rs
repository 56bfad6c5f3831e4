//! A device that is not emulated: it records what it is asked to run, and plays one kernel on the host.

use std::sync::Arc;

use wavesmith_runtime::{
    Buffer, BufferRequest, BufferSlice, Device, DeviceError, DeviceId, Fill, Kernel, LaunchDims,
    LaunchReport, Module,
};

/// Bytes between the addresses of two buffers.
const SPACING: u64 = 1 << 20;

pub struct Recording {
    id: DeviceId,
    target: isa::Target,
    pub buffers: Vec<Option<Vec<u8>>>,
    pub dispatched: Vec<(String, LaunchDims, Vec<u8>)>,
}

impl Recording {
    pub fn new(target: isa::Target) -> Recording {
        Recording { id: DeviceId::unique(), target, buffers: Vec::new(), dispatched: Vec::new() }
    }

    fn index(&self, buffer: &Buffer) -> Result<usize, DeviceError> {
        let index = buffer.id as usize;
        let valid =
            buffer.device == self.id && self.buffers.get(index).is_some_and(Option::is_some);
        valid.then_some(index).ok_or_else(|| DeviceError::InvalidHandle {
            what: format!("buffer '{}'", buffer.label),
        })
    }

    /// The buffer at an address of the kernel arguments.
    fn at(&mut self, address: &[u8]) -> &mut Vec<u8> {
        let address = u64::from_le_bytes(address.try_into().expect("eight bytes"));
        let index = (address / SPACING - 1) as usize;
        self.buffers[index].as_mut().expect("the kernel got a live buffer")
    }

    /// What `update_slots.ll` says, in Rust.
    fn play_update_slots(&mut self, rows: u32, kernarg: &[u8]) {
        let (x, slots) = (self.at(&kernarg[..8]).clone(), self.at(&kernarg[16..24]).clone());
        let factor = f32::from_le_bytes(kernarg[32..36].try_into().expect("four bytes"));
        let float = |bytes: &[u8], at: usize| {
            f32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().expect("four bytes"))
        };
        for row in 0..rows as usize {
            let slot =
                i32::from_le_bytes(slots[4 * row..4 * row + 4].try_into().expect("four bytes"));
            for lane in 0..64 {
                let mut result = 0.0;
                if slot != -1 {
                    let pool = self.at(&kernarg[8..16]);
                    let element = slot as usize * 64 + lane;
                    result = float(pool, element) + float(&x, 64 * row + lane) * factor;
                    pool[4 * element..4 * element + 4].copy_from_slice(&result.to_le_bytes());
                }
                let at = 4 * (64 * row + lane);
                self.at(&kernarg[24..32])[at..at + 4].copy_from_slice(&f32::to_le_bytes(result));
            }
        }
    }
}

impl Device for Recording {
    fn id(&self) -> DeviceId {
        self.id
    }

    fn name(&self) -> &str {
        "recording"
    }

    fn target(&self) -> isa::Target {
        self.target
    }

    fn allocate(&mut self, request: BufferRequest<'_>) -> Result<Buffer, DeviceError> {
        let pattern = match request.fill {
            Fill::Undefined => &[0x5a],
            Fill::Repeat(pattern) => pattern,
        };
        let bytes = pattern.iter().copied().cycle().take(request.size_bytes as usize).collect();
        self.buffers.push(Some(bytes));
        Ok(Buffer {
            device: self.id,
            id: self.buffers.len() as u64 - 1,
            label: Arc::from(request.label),
            size_bytes: request.size_bytes,
            access: request.access,
        })
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        let index = self.index(&buffer)?;
        self.buffers[index] = None;
        Ok(())
    }

    fn write(
        &mut self,
        buffer: &Buffer,
        offset_bytes: u64,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        let index = self.index(buffer)?;
        let contents = self.buffers[index].as_mut().expect("the index is valid");
        contents[offset_bytes as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, slice: &BufferSlice) -> Result<Vec<u8>, DeviceError> {
        let contents =
            self.buffers[self.index(&slice.buffer)?].as_ref().expect("the index is valid");
        Ok(contents[slice.bytes.start as usize..slice.bytes.end as usize].to_vec())
    }

    fn address(&self, buffer: &Buffer) -> Result<u64, DeviceError> {
        Ok(SPACING * (self.index(buffer)? as u64 + 1))
    }

    fn load(&mut self, code_object: &[u8]) -> Result<Module, DeviceError> {
        let code_object = Arc::new(codeobj::CodeObject::parse(code_object)?);
        Ok(Module { device: self.id, id: 0, code_object })
    }

    fn unload(&mut self, _: Module) -> Result<(), DeviceError> {
        Ok(())
    }

    fn dispatch(
        &mut self,
        kernel: &Kernel,
        dims: LaunchDims,
        kernarg: &[u8],
    ) -> Result<LaunchReport, DeviceError> {
        self.dispatched.push((kernel.name().to_owned(), dims, kernarg.to_vec()));
        if kernel.name() == "update_slots" {
            self.play_update_slots(dims.grid[0], kernarg);
        }
        Ok(LaunchReport { kernel: kernel.name().to_owned(), emulated: None })
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}
