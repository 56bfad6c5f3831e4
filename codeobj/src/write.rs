//! Writing a code object: one kernel as the ELF shared object that a loader takes.
//!
//! The image has the layout that linkers give it: a read-only segment with the note, the symbols and the
//! descriptor, an executable segment with the code, a segment with the dynamic section. Section headers are
//! for disassemblers; loaders never read them.
//!
//! Source: ELF gABI; AMDGPUUsage (LLVM 22), sections *ELF Code Object*, *Kernel Descriptor*, *Code Object Metadata*.

mod descriptor;
mod elf;
mod metadata;

use isa::Target;

use crate::descriptor::KernelDescriptor;
use crate::metadata::KernelMetadata;

/// A kernel to write.
#[derive(Clone, Debug)]
pub struct NewKernel<'k> {
    /// The target; the code object runs on every setting of its optional features.
    pub target: Target,
    /// The machine code, whole instructions.
    pub code: &'k [u8],
    /// What the hardware needs to know. The entry offset is computed.
    pub descriptor: KernelDescriptor,
    /// What the loader and the launch need to know. Its name is the kernel's.
    pub metadata: KernelMetadata,
}

/// A kernel that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A field of the descriptor does not hold its value.
    #[error("descriptor field {field} is {got}, which is not {rule}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        got: u64,
        /// What it may be.
        rule: String,
    },
    /// The code is empty or no whole number of words.
    #[error("the code has {got} bytes, which is not a positive multiple of 4")]
    Code {
        /// Its size in bytes.
        got: usize,
    },
    /// The metadata document cannot be encoded.
    #[error("the metadata cannot be written: {reason}")]
    Metadata {
        /// What the encoder says.
        reason: String,
    },
}

/// The bytes of a code object of version 5 with this kernel alone.
///
/// # Errors
/// [`WriteError`] names the field that does not fit.
pub fn write(kernel: &NewKernel<'_>) -> Result<Vec<u8>, WriteError> {
    if kernel.code.is_empty() || !kernel.code.len().is_multiple_of(4) {
        return Err(WriteError::Code { got: kernel.code.len() });
    }
    let note = metadata::note(kernel.target, &kernel.metadata)?;
    let layout = elf::Layout::new(&kernel.metadata.name, &note, kernel.code.len());
    let descriptor =
        descriptor::encode(kernel.target, &kernel.descriptor, layout.entry_byte_offset())?;
    Ok(layout.write(kernel.target, &note, &descriptor, kernel.code))
}

/// The metadata document of a kernel as an assembler takes it between `.amdgpu_metadata` and `.end_amdgpu_metadata`.
pub fn metadata_yaml(target: Target, metadata: &KernelMetadata) -> String {
    metadata::yaml(target, metadata)
}
