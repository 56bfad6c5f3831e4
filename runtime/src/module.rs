//! Loaded code objects and their kernels.

use std::sync::Arc;

use codeobj::{CodeObject, KernelMetadata, UnknownKernel};

use crate::device::DeviceId;

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

    /// What its code object promises about it.
    pub fn metadata(&self) -> &KernelMetadata {
        &self.kernel.metadata
    }
}
