//! Buffers, kernel arguments and the run itself, on a machine of the object's own target.

use std::collections::BTreeMap;

use codeobj::CodeObject;
use emulator::{
    Access, BufferId, Dispatch, Fault, LaunchError, LoadedObject, Machine, MemoryError, Options,
    Report,
};

use crate::emulate::bind::Supplied;
use crate::emulate::element::Element;
use crate::emulate::tensor::Tensor;
use crate::emulate::trace::Trace;
use crate::emulate::value::{Contents, Value};

/// Elements that are written to a buffer at a time.
const CHUNK: u64 = 1 << 16;

/// Sizes of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Workgroups in x, y, z.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    pub block: [u32; 3],
    /// LDS beyond what the kernel's descriptor asks for, in bytes.
    pub dynamic_lds_bytes: u32,
}

/// A machine with one code object and the buffers of one launch.
pub struct Bench {
    machine: Machine,
    object: LoadedObject,
    buffers: BTreeMap<String, Buffer>,
    kernarg: Vec<u8>,
}

/// A buffer as its argument described it.
struct Buffer {
    id: BufferId,
    element: Element,
    shape: Vec<u64>,
}

impl Bench {
    /// Loads the object and makes the buffers and the kernel-argument segment.
    ///
    /// # Errors
    /// [`LaunchError`] when code or buffers do not fit into memory.
    pub fn new(
        object: &CodeObject,
        args: &[Supplied],
        options: Options,
    ) -> Result<Bench, LaunchError> {
        let mut machine = Machine::new(object.target, options);
        let object = machine.load(object)?;
        let mut buffers = BTreeMap::new();
        for bound in args {
            if let Value::Buffer(contents) = &bound.value {
                let id = fill(&mut machine, &bound.key, contents)?;
                let (element, shape) = (contents.element(), contents.shape());
                buffers.insert(bound.key.clone(), Buffer { id, element, shape });
            }
        }
        let mut bench = Bench { machine, object, buffers, kernarg: Vec::new() };
        bench.kernarg = bench.pack(args)?;
        Ok(bench)
    }

    /// The explicit arguments at their offsets, gaps zero; the emulator supplies the hidden ones.
    fn pack(&self, args: &[Supplied]) -> Result<Vec<u8>, MemoryError> {
        let mut kernarg = Vec::new();
        for Supplied { key, arg, value, .. } in args {
            let bytes = match value {
                Value::Scalar(bytes) => bytes.clone(),
                Value::Null => vec![0; 8],
                Value::Buffer(_) => self.address(key)?.to_le_bytes().to_vec(),
                Value::Same(other) => self.address(other)?.to_le_bytes().to_vec(),
            };
            // Metadata has its arguments in ascending order of offsets.
            kernarg.resize(arg.offset as usize, 0);
            kernarg.extend(bytes);
        }
        Ok(kernarg)
    }

    fn address(&self, key: &str) -> Result<u64, MemoryError> {
        let buffer = self.buffers.get(key).ok_or(MemoryError::NoSuchBuffer)?;
        self.machine.memory().address(buffer.id)
    }

    /// Runs the kernel.
    ///
    /// # Errors
    /// As [`Machine::dispatch`].
    pub fn run(
        &mut self,
        kernel: &str,
        sizes: Sizes,
        trace: Option<&mut Trace>,
    ) -> Result<Report, Fault> {
        let dispatch = Dispatch {
            object: self.object,
            kernel,
            workgroups: sizes.grid,
            workgroup_size: sizes.block,
            kernarg: &self.kernarg,
            dynamic_lds_bytes: sizes.dynamic_lds_bytes,
        };
        match trace {
            Some(trace) => self.machine.dispatch_traced(&dispatch, trace),
            None => self.machine.dispatch(&dispatch),
        }
    }

    /// The buffers as they are now, by the arguments that made them.
    ///
    /// # Errors
    /// [`MemoryError`] when the machine has lost one.
    pub fn buffers(&self) -> Result<BTreeMap<String, Tensor>, MemoryError> {
        let tensor = |(key, buffer): (&String, &Buffer)| {
            let bytes = self.machine.memory().read(buffer.id)?.to_vec();
            // A buffer whose bytes are in memory has extents that memory can hold.
            let shape = buffer.shape.iter().map(|extent| *extent as usize).collect();
            Ok((key.clone(), Tensor { element: buffer.element, shape, bytes }))
        };
        self.buffers.iter().map(tensor).collect()
    }
}

fn fill(machine: &mut Machine, key: &str, contents: &Contents) -> Result<BufferId, MemoryError> {
    let memory = machine.memory_mut();
    let id = memory.allocate(key, contents.size_bytes(), Access::ReadWrite)?;
    let size = contents.element().size_bytes() as u64;
    let n_elements = contents.size_bytes() / size;
    let mut from = 0;
    while from < n_elements {
        let to = n_elements.min(from + CHUNK);
        memory.write(id, from * size, &contents.bytes(from, to))?;
        from = to;
    }
    Ok(id)
}
