//! Loaded code objects and their kernels.

use std::sync::Arc;

use codeobj::{CodeObject, KernelMetadata, UnknownKernel};

use crate::device::DeviceId;
use crate::error::DeviceError;

/// A code object on a device; cloning it names the same one.
#[derive(Clone, Debug)]
pub struct Module {
    /// The device that loaded it.
    pub device: DeviceId,
    /// The device's own number for it.
    pub id: u64,
    /// What was loaded.
    pub code_object: Arc<CodeObject>,
}

impl Module {
    /// The kernel of that name.
    ///
    /// # Errors
    /// [`UnknownKernel`] with the names there are.
    pub fn kernel(&self, name: &str) -> Result<Kernel, UnknownKernel> {
        let kernel = self.code_object.kernel(name)?.clone();
        Ok(Kernel { module: self.clone(), kernel: Arc::new(kernel) })
    }

    /// Its entry in the list of a device, if the device is its own.
    pub(crate) fn slot<'l, T>(
        &self,
        device: DeviceId,
        list: &'l mut [T],
        what: impl FnOnce() -> String,
    ) -> Result<&'l mut T, DeviceError> {
        let index = usize::try_from(self.id).ok().filter(|_| self.device == device);
        let slot = index.and_then(|index| list.get_mut(index));
        slot.ok_or_else(|| DeviceError::InvalidHandle { what: what() })
    }

    pub(crate) fn unloaded(&self, what: String) -> DeviceError {
        DeviceError::Unloaded { what, module: self.id }
    }

    /// What errors call it: its kernels.
    pub(crate) fn describe(&self) -> String {
        let names: Vec<&str> =
            self.code_object.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        format!("the code object of '{}'", names.join("', '"))
    }
}

/// A kernel that can be launched; cloning it names the same one.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Where it lives.
    pub module: Module,
    kernel: Arc<codeobj::Kernel>,
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.kernel.name
    }

    /// What errors call it.
    pub(crate) fn describe(&self) -> String {
        format!("kernel '{}'", self.name())
    }

    /// What its code object promises about it.
    pub fn metadata(&self) -> &KernelMetadata {
        &self.kernel.metadata
    }
}
