//! Which bytes of a code object a hash covers.

use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::code_object::CodeObject;
use crate::segment::Segment;

/// Names the layout of the hashed stream, so that a change of it cannot look like a change of objects.
const DOMAIN: &[u8] = b"wavesmith loaded bytes 1\0";

/// Fields of the ELF header that only locate section headers, as ranges of file offsets: `e_shoff`, and
/// `e_shentsize`, `e_shnum`, `e_shstrndx`.
const SECTION_TABLE_FIELDS: [Range<u64>; 2] = [0x28..0x30, 0x3a..0x40];

impl CodeObject {
    /// SHA-256, in lower-case hexadecimal, of what a loader sees of this object.
    ///
    /// Covered: the ABI version, `e_flags`; of each `PT_LOAD`, `PT_DYNAMIC` and `PT_NOTE` program header
    /// its type, permissions, alignment, virtual address, size in the file and size in memory; and the
    /// contents of every `PT_LOAD` segment, in which symbols, relocations, descriptors, metadata and code
    /// lie.
    ///
    /// Not covered: what is not mapped, such as section headers, `.symtab` and `.comment` (which names
    /// the linker); where in the file a segment's bytes are; and, although the ELF header is mapped, its
    /// fields that locate the section headers, which are hashed as zeros.
    pub fn loaded_bytes_sha256(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update([self.abi_version.byte()]);
        self.header_words.iter().for_each(|word| hash.update(word.to_le_bytes()));
        self.segments.iter().for_each(|segment| hash.update(without_section_table(segment)));
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn without_section_table(segment: &Segment) -> Vec<u8> {
    let mut bytes = segment.bytes.clone();
    for offset in SECTION_TABLE_FIELDS.into_iter().flatten() {
        let index =
            offset.checked_sub(segment.file_offset).and_then(|index| usize::try_from(index).ok());
        if let Some(byte) = index.and_then(|index| bytes.get_mut(index)) {
            *byte = 0;
        }
    }
    bytes
}
