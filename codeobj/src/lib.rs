//! HSA code objects: reading and validating what a loader of AMD GPUs will see.
//!
//! [`CodeObject::parse`] takes the bytes of a linked code object (an ELF shared object for
//! `amdgcn-amd-amdhsa`, code object version 5 or 6) and either explains everything that is wrong with
//! it or hands out the loaded [`Segment`]s and, for each [`Kernel`], its entry, its decoded
//! [`KernelDescriptor`] and its [`KernelMetadata`].
//!
//! Everything is read the way it is loaded: program headers, the dynamic segment and the note segment.
//! Section headers, `.symtab` and `.comment` are never consulted, so [`CodeObject::loaded_bytes_sha256`]
//! covers all that can influence the result, apart from the ELF header's identity fields, which it
//! covers as well.
//!
//! Any bytes are a legal input: nothing here panics, and nothing is allocated from a length that was not
//! first compared with the bytes at hand.

mod code_object;
mod descriptor;
mod dynamic;
mod error;
mod fingerprint;
mod identity;
mod kernel;
mod metadata;
mod near;
mod note;
mod segment;
pub mod write;

pub use code_object::CodeObject;
pub use descriptor::{
    DenormMode, FloatExceptions, KernargPreload, KernelDescriptor, RoundMode, UserSgprs,
    WorkgroupIds,
};
pub use dynamic::{Relocation, RelocationKind, Symbol, SymbolKind};
pub use error::{CodeObjectError, Problem, UnknownKernel};
pub use identity::{AbiVersion, FeatureSetting, TargetFeatures};
pub use kernel::Kernel;
pub use metadata::{Access, AddressSpace, HiddenArg, KernelArg, KernelMetadata, ValueKind};
pub use segment::{MAX_IMAGE_BYTES, Segment, SegmentFlags};
