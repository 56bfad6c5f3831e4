//! Code objects and their kernels.

use std::collections::BTreeMap;
use std::sync::Arc;

use codeobj::{AbiVersion, CodeObject, Kernel, Problem};
use emulator::LoadedObject;
use hip_abi::{Code, FIRST_WITH_CODE_OBJECTS_V5, FIRST_WITH_CODE_OBJECTS_V6};

use crate::failure::{Done, Failure, fail};
use crate::memory::Allocation;
use crate::runtime::Runtime;

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
    /// Handles of what went with a module: its own and its functions', with the words that tell so.
    unloaded: BTreeMap<usize, Arc<str>>,
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
        let needs = match object.abi_version {
            AbiVersion::V5 => FIRST_WITH_CODE_OBJECTS_V5,
            AbiVersion::V6 => FIRST_WITH_CODE_OBJECTS_V6,
        };
        let (got, version) = (object.abi_version, self.settings.version);
        if version < needs {
            let words = format!("a code object {got} needs HIP {needs}, this is HIP {version}");
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

    /// Frees the module's memory; its kernels go with it.
    pub(crate) fn unload(&mut self, module: usize) -> Done<()> {
        let Module { object, loaded } = self.module(module)?;
        let names: Vec<&str> = object.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        let words: Arc<str> =
            format!("module {module:#x} ('{}') was unloaded", names.join("', '")).into();
        let loaded = *loaded;
        let of_it = |function: &Function| function.module == module;
        let functions = self.modules.functions.extract_if(.., |_, function| of_it(function));
        let handles = functions.map(|(handle, _)| handle).chain([module]);
        self.modules.unloaded.extend(handles.map(|handle| (handle, words.clone())));
        self.modules.modules.remove(&module);
        let freed = self.machine.unload(loaded);
        freed.map_err(|error| Failure::new(Code::InvalidHandle, error))
    }

    fn module(&self, handle: usize) -> Done<&Module> {
        let known = self.modules.modules.get(&handle);
        known.ok_or_else(|| self.gone(Code::InvalidHandle, "module", handle))
    }

    /// Why a handle of a module or function names nothing.
    fn gone(&self, code: Code, what: &str, handle: usize) -> Failure {
        match self.modules.unloaded.get(&handle) {
            Some(words) => Failure::new(code, format!("{what} {handle:#x}: {words}")),
            None => Failure::new(code, format!("{what} {handle:#x} was never made")),
        }
    }

    pub(crate) fn get_function(&mut self, module: usize, name: &str) -> Done<usize> {
        let Module { object, loaded } = self.module(module)?;
        let kernel =
            object.kernel(name).map_err(|unknown| Failure::new(Code::NotFound, unknown))?;
        let function = Function { module, kernel: Arc::new(kernel.clone()), loaded: *loaded };
        let handle = self.new_handle();
        self.modules.functions.insert(handle, function);
        Ok(handle)
    }

    pub(crate) fn function(&self, handle: usize) -> Done<Function> {
        let known = self.modules.functions.get(&handle).cloned();
        known.ok_or_else(|| self.gone(Code::InvalidDeviceFunction, "function", handle))
    }

    /// Address and size of a symbol.
    pub(crate) fn global(&self, module: usize, name: &str) -> Done<(u64, u64)> {
        let Module { object, loaded } = self.module(module)?;
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
