//! Code objects and their kernels.

use std::collections::BTreeMap;
use std::sync::Arc;

use codeobj::{AbiVersion, CodeObject, Kernel, Problem};
use emulator::LoadedObject;
use hip_abi::Code;

use crate::failure::{Done, Failure, fail};
use crate::memory::Allocation;
use crate::runtime::{Runtime, find};
use crate::settings::{FIRST_WITH_V6, version};

/// A loaded code object.
#[derive(Debug)]
pub(crate) struct Module {
    pub object: Arc<CodeObject>,
    loaded: LoadedObject,
}

/// A kernel of a loaded code object.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    module: usize,
    pub kernel: Arc<Kernel>,
    pub loaded: LoadedObject,
}

/// What is loaded, by handle.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    modules: BTreeMap<usize, Module>,
    functions: BTreeMap<usize, Function>,
}

impl Runtime {
    pub(crate) fn load(&mut self, bytes: &[u8]) -> Done<usize> {
        let object = CodeObject::parse(bytes).map_err(|error| {
            let undefined = |problem: &Problem| matches!(problem, Problem::UndefinedSymbol { .. });
            let code = match error.problems.iter().any(undefined) {
                true => Code::SharedObjectInitFailed,
                false => Code::InvalidImage,
            };
            Failure::new(code, error)
        })?;
        let (got, expected) = (object.target, self.settings.target);
        if got != expected {
            let words = format!("the code object is for {got}, the device is {expected}");
            return fail(Code::NoBinaryForGpu, words);
        }
        if object.abi_version == AbiVersion::V6 && version() < FIRST_WITH_V6 {
            let words =
                format!("a code object v6 needs HIP {FIRST_WITH_V6}, this is HIP {}", version());
            return fail(Code::InvalidImage, words);
        }
        let loaded = self
            .machine
            .load(&object)
            .map_err(|error| Failure::new(Code::SharedObjectInitFailed, error))?;
        let handle = self.new_handle();
        self.modules.modules.insert(handle, Module { object: Arc::new(object), loaded });
        Ok(handle)
    }

    /// The module's kernels go with it.
    pub(crate) fn unload(&mut self, module: usize) -> Done<()> {
        find(&mut self.modules.modules, module, "module")?;
        self.modules.modules.remove(&module);
        self.modules.functions.retain(|_, function| function.module != module);
        Ok(())
    }

    pub(crate) fn get_function(&mut self, module: usize, name: &str) -> Done<usize> {
        let Module { object, loaded } = find(&mut self.modules.modules, module, "module")?;
        let kernel =
            object.kernel(name).map_err(|unknown| Failure::new(Code::NotFound, unknown))?;
        let function = Function { module, kernel: Arc::new(kernel.clone()), loaded: *loaded };
        let handle = self.new_handle();
        self.modules.functions.insert(handle, function);
        Ok(handle)
    }

    pub(crate) fn function(&self, handle: usize) -> Done<Function> {
        self.modules.functions.get(&handle).cloned().ok_or_else(|| {
            Failure::new(
                Code::InvalidDeviceFunction,
                format!(
                    "function {handle:#x} belongs to a module that was unloaded, or was never made"
                ),
            )
        })
    }

    /// Address and size of a symbol.
    pub(crate) fn global(&mut self, module: usize, name: &str) -> Done<(u64, u64)> {
        let Module { object, loaded } = find(&mut self.modules.modules, module, "module")?;
        let symbol = object.symbols.iter().find(|symbol| symbol.name == name);
        match symbol {
            Some(symbol) => Ok((loaded.address_of(symbol.address), symbol.size)),
            None => fail(Code::NotFound, format!("the module has no symbol '{name}'")),
        }
    }

    /// The segment of a loaded code object that an address lies in.
    pub(crate) fn global_at(&self, address: u64) -> Option<Allocation> {
        let segments = self.modules.modules.values().flat_map(|module| {
            let placed = |segment: &codeobj::Segment| {
                (module.loaded.address_of(segment.address), segment.memory_size)
            };
            module.object.segments.iter().map(placed)
        });
        let mut holding = segments.filter(|(first, size)| address.wrapping_sub(*first) < *size);
        let (address, size_bytes) = holding.next()?;
        let id = self.machine.memory().buffer_at(address)?;
        Some(Allocation { id, address, size_bytes })
    }
}
