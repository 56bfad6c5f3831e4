//! What can be wrong with a code object.

use std::fmt;

use isa::Target;
use isa::target::UnknownMach;
use thiserror::Error;

use crate::identity::FeatureSetting;
use crate::near::hint;
use crate::segment::MAX_IMAGE_BYTES;

/// Bytes that are not a code object which a loader of a known target would accept.
///
/// Independent problems are reported together; problems that only follow from others are not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct CodeObjectError {
    /// Everything found, in the order in which it was looked for; never empty.
    pub problems: Vec<Problem>,
}

impl fmt::Display for CodeObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [problem] => write!(f, "not a loadable code object: {problem}"),
            problems => {
                write!(f, "not a loadable code object ({} problems)", problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl From<Problem> for CodeObjectError {
    fn from(problem: Problem) -> CodeObjectError {
        CodeObjectError { problems: vec![problem] }
    }
}

/// A code object has no kernel of that name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no kernel '{got}' in the code object, which has {}{}", list(.available), hint(.nearest))]
pub struct UnknownKernel {
    /// The name asked for.
    pub got: String,
    /// The kernel that was probably meant.
    pub nearest: Option<String>,
    /// The kernels there are.
    pub available: Vec<String>,
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "no kernels at all".to_owned() } else { names.join(", ") }
}

/// One reason why a code object is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of each variant names its fields, with their units")]
pub enum Problem {
    #[error(
        "{what} needs {need} bytes at file offset {offset:#x}, the file has {file_size} bytes: it is truncated or damaged"
    )]
    Truncated { what: &'static str, offset: u64, need: u64, file_size: u64 },
    #[error(
        "file offset 0x0: the file starts with bytes {got:02x?}, not with the ELF magic 7f 45 4c 46"
    )]
    NotElf { got: [u8; 4] },
    #[error("ELF header, file offset {offset:#x}: {field} is {got}, not {expected} ({meaning})")]
    HeaderField { field: &'static str, offset: u64, got: u64, expected: u64, meaning: &'static str },
    #[error("ELF header, file offset 0x8: EI_ABIVERSION is {got}{}, supported are 3 (v5) and 4 (v6): rebuild with code object version 5", version_name(*.got))]
    AbiVersion { got: u8 },
    #[error("ELF header, file offset 0x30: {0}: build for one of them")]
    UnknownProcessor(#[from] UnknownMach),
    #[error(
        "ELF header, file offset 0x30: e_flags {got:#x} has reserved bits set, {reserved:#x} must be 0"
    )]
    ReservedFlags { got: u32, reserved: u32 },
    #[error("ELF header, file offset 0x30: e_flags {flags:#x} sets {feature} to {setting:?}, which {target} {}", feature_rule(*.supported))]
    Feature {
        feature: &'static str,
        target: Target,
        setting: FeatureSetting,
        supported: bool,
        flags: u32,
    },

    #[error("no PT_LOAD segment among the program headers: there is nothing to load")]
    NothingToLoad,
    #[error(
        "program header {index}: {size} bytes at file offset {offset:#x} lie outside the file of {file_size} bytes: it is truncated or damaged"
    )]
    SegmentOutsideFile { index: usize, offset: u64, size: u64, file_size: u64 },
    #[error(
        "program header {index}: {memory_size} bytes in memory are fewer than its {file_size} bytes in the file"
    )]
    SegmentShrinks { index: usize, file_size: u64, memory_size: u64 },
    #[error(
        "program header {index}: address {address:#x} is below the end {previous_end:#x} of the segment before it: segments must ascend without overlap"
    )]
    SegmentOrder { index: usize, address: u64, previous_end: u64 },
    #[error(
        "program header {index}: the image spans {got} bytes, the limit is {MAX_IMAGE_BYTES} bytes"
    )]
    ImageTooLarge { index: usize, got: u128 },
    #[error(
        "{what}: {size} bytes at address {address:#x} are not in any loaded segment's file contents"
    )]
    NotLoaded { what: String, address: u64, size: u64 },

    #[error(
        "no PT_DYNAMIC segment: symbols of the code object cannot be found; link it with lld -shared"
    )]
    NoDynamicSegment,
    #[error("dynamic segment: entry {tag} is missing; link the object with lld -shared")]
    DynamicEntryMissing { tag: &'static str },
    #[error("dynamic segment: {tag} is {got}, not {expected}")]
    DynamicEntryValue { tag: &'static str, got: u64, expected: u64 },
    #[error(
        "dynamic segment: {tag} asks for {what}, which loaders of code objects do not support; relink without it"
    )]
    DynamicEntryUnsupported { tag: &'static str, what: &'static str },
    #[error(
        "hash table at address {address:#x}: it is damaged, so the number of symbols is unknown"
    )]
    HashTable { address: u64 },
    #[error(
        "dynamic symbol {index}: its name at string table offset {offset:#x} is not a terminated UTF-8 string"
    )]
    SymbolName { index: usize, offset: u32 },
    #[error(
        "undefined symbol '{name}': nothing will define it at load time; link with --no-undefined to find out who refers to it"
    )]
    UndefinedSymbol { name: String },
    #[error("symbol '{name}' is defined twice in the dynamic symbol table")]
    DuplicateSymbol { name: String },
    #[error(
        "relocation {index}: type {got} is not one of R_AMDGPU_ABS32_LO (1), R_AMDGPU_ABS32_HI (2), R_AMDGPU_ABS64 (3), R_AMDGPU_RELATIVE64 (13)"
    )]
    RelocationType { index: usize, got: u32 },
    #[error("relocation {index}: symbol index {got} is not below the number of symbols {limit}")]
    RelocationSymbol { index: usize, got: u32, limit: usize },
    #[error(
        "relocation {index}: it adds the image's address to the absolute symbol '{symbol}', which does not move with the image"
    )]
    RelocationAgainstAbsolute { index: usize, symbol: String },
    #[error(
        "relocation {index}: its {size} bytes at address {address:#x} are not in any loaded segment"
    )]
    RelocationPlace { index: usize, address: u64, size: u64 },

    #[error(
        "no metadata: no PT_NOTE segment has a note of owner AMDGPU and type 32 (NT_AMDGPU_METADATA)"
    )]
    NoMetadata,
    #[error("program header {index}: its notes are damaged ({reason})")]
    Notes { index: usize, reason: String },
    #[error("metadata note of {size} bytes: not one MessagePack document ({reason})")]
    MessagePack { size: usize, reason: String },
    #[error("metadata: {path} is missing")]
    KeyMissing { path: String },
    #[error("metadata: {path} is given twice")]
    KeyTwice { path: String },
    #[error("metadata: {path} is {got}, not {expected}")]
    KeyType { path: String, got: String, expected: &'static str },
    #[error("metadata: {path} is {got}, {rule}")]
    KeyValue { path: String, got: String, rule: String },

    #[error("kernel '{kernel}': symbol '{symbol}' is not in the dynamic symbol table{}", hint(.nearest))]
    KernelSymbol { kernel: String, symbol: String, nearest: Option<String> },
    #[error("kernel '{kernel}' is described twice in the metadata")]
    KernelTwice { kernel: String },
    #[error("symbol '{symbol}' names a kernel descriptor, but the metadata has no kernel for it")]
    NoMetadataForDescriptor { symbol: String },
    #[error("kernel '{kernel}': {what} is {got}, {rule}")]
    Kernel { kernel: String, what: &'static str, got: i128, rule: String },
    #[error(
        "kernel '{kernel}': descriptor byte {offset}: bits {bits:#x} of {field} are set but must be 0 on {target}"
    )]
    ReservedBits { kernel: String, field: &'static str, offset: usize, bits: u64, target: Target },
    #[error(
        "kernel '{kernel}': {what} is {descriptor} in the descriptor and {metadata} in the metadata: the object contradicts itself"
    )]
    Contradiction { kernel: String, what: &'static str, descriptor: u64, metadata: u64 },
}

fn version_name(byte: u8) -> &'static str {
    match byte {
        0 => " (v2)",
        1 => " (v3)",
        2 => " (v4)",
        _ => "",
    }
}

fn feature_rule(supported: bool) -> &'static str {
    if supported { "needs as any, off or on" } else { "does not have" }
}
