//! The whole code object.

use std::collections::BTreeSet;

use isa::Target;
use object::LittleEndian as LE;
use object::elf::{FileHeader64, PT_DYNAMIC, PT_LOAD, PT_NOTE, ProgramHeader64};
use object::pod::{from_bytes, slice_from_bytes};
use serde::Serialize;

use crate::dynamic::{Dynamic, Relocation, Symbol, read_dynamic};
use crate::error::{CodeObjectError, Problem, UnknownKernel};
use crate::identity::{AbiVersion, Identity, TargetFeatures, read_identity, serialize_target};
use crate::kernel::{Kernel, assemble};
use crate::near::nearest;
use crate::note::read_notes;
use crate::segment::{Segment, bytes_at, file_range, read_segments};

/// A validated code object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodeObject {
    /// The processor it was built for.
    #[serde(serialize_with = "serialize_target")]
    pub target: Target,
    /// What it demands of the processor's optional features.
    pub features: TargetFeatures,
    /// Its version.
    pub abi_version: AbiVersion,
    /// What is mapped, in ascending order of addresses.
    pub segments: Vec<Segment>,
    /// Defined dynamic symbols, in the file's order.
    pub symbols: Vec<Symbol>,
    /// Words that a loader must adjust.
    pub relocations: Vec<Relocation>,
    /// Its kernels, in the metadata's order; names are distinct.
    pub kernels: Vec<Kernel>,
    /// `e_flags`, and the program headers that say what is mapped and where to look: hashed.
    #[serde(skip)]
    pub(crate) header_words: Vec<u64>,
}

impl CodeObject {
    /// Reads and validates a code object.
    ///
    /// # Errors
    /// [`CodeObjectError`] lists every problem found: the ELF header first, and only if that is right
    /// segments, dynamic segment and metadata together, and only if those are right the kernels.
    pub fn parse(bytes: &[u8]) -> Result<CodeObject, CodeObjectError> {
        let header = read_header(bytes)?;
        let identity = read_identity(header).map_err(|problems| CodeObjectError { problems })?;
        let headers = read_program_headers(bytes, header)?;
        let mut problems = Vec::new();
        let segments = read_segments(bytes, headers, &mut problems);
        done(&mut problems)?;
        let Dynamic { symbols, relocations } = read_dynamic(headers, &segments, &mut problems);
        let metadata = read_notes(headers, &segments, &identity, &mut problems);
        done(&mut problems)?;
        let kernels = assemble(identity.target, &segments, &symbols, metadata, &mut problems);
        check_distinct(&kernels, &mut problems);
        done(&mut problems)?;
        let Identity { target, features, abi_version } = identity;
        let header_words = header_words(header, headers);
        Ok(CodeObject {
            target,
            features,
            abi_version,
            segments,
            symbols,
            relocations,
            kernels,
            header_words,
        })
    }

    /// The kernel of that name.
    ///
    /// # Errors
    /// [`UnknownKernel`] with the names there are.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, UnknownKernel> {
        let found = self.kernels.iter().find(|kernel| kernel.name == name);
        found.ok_or_else(|| UnknownKernel {
            got: name.to_owned(),
            nearest: nearest(name, self.kernels.iter().map(|kernel| kernel.name.as_str())),
            available: self.kernels.iter().map(|kernel| kernel.name.clone()).collect(),
        })
    }

    /// `size` bytes of the file's contents at an address of the image, if one segment holds them all.
    pub fn bytes_at(&self, address: u64, size: u64) -> Option<&[u8]> {
        bytes_at(&self.segments, address, size)
    }

    /// The code of one of this object's kernels.
    pub fn code(&self, kernel: &Kernel) -> Option<&[u8]> {
        self.bytes_at(kernel.entry_address, kernel.code_size)
    }
}

/// Stops if anything was found.
fn done(problems: &mut Vec<Problem>) -> Result<(), CodeObjectError> {
    if problems.is_empty() {
        Ok(())
    } else {
        Err(CodeObjectError { problems: std::mem::take(problems) })
    }
}

fn read_header(bytes: &[u8]) -> Result<&FileHeader64<LE>, Problem> {
    let found = from_bytes::<FileHeader64<LE>>(bytes);
    let need = size_of::<FileHeader64<LE>>() as u64;
    found.map(|(header, _)| header).map_err(|()| truncated(bytes, "the ELF header", 0, need))
}

fn read_program_headers<'f>(
    bytes: &'f [u8],
    header: &FileHeader64<LE>,
) -> Result<&'f [ProgramHeader64<LE>], Problem> {
    let (offset, count) = (header.e_phoff.get(LE), header.e_phnum.get(LE));
    let size = u64::from(count) * size_of::<ProgramHeader64<LE>>() as u64;
    let table = file_range(bytes, offset, size)
        .and_then(|table| slice_from_bytes(table, count.into()).ok());
    let found = table.map(|(headers, _)| headers);
    found.ok_or_else(|| truncated(bytes, "the program header table", offset, size))
}

fn truncated(bytes: &[u8], what: &'static str, offset: u64, need: u64) -> Problem {
    Problem::Truncated { what, offset, need, file_size: bytes.len() as u64 }
}

fn check_distinct(kernels: &[Kernel], problems: &mut Vec<Problem>) {
    let mut names = BTreeSet::new();
    let twice = kernels.iter().filter(|kernel| !names.insert(kernel.name.as_str()));
    problems.extend(twice.map(|kernel| Problem::KernelTwice { kernel: kernel.name.clone() }));
}

/// The headers' words that decide what is loaded and read.
fn header_words(header: &FileHeader64<LE>, headers: &[ProgramHeader64<LE>]) -> Vec<u64> {
    let mut words = vec![header.e_flags.get(LE).0.into()];
    let kinds = [PT_LOAD, PT_DYNAMIC, PT_NOTE];
    for header in headers.iter().filter(|header| kinds.contains(&header.p_type.get(LE))) {
        words.extend([
            header.p_type.get(LE).0.into(),
            header.p_flags.get(LE).0.into(),
            header.p_align.get(LE),
        ]);
        words.extend([header.p_vaddr.get(LE), header.p_filesz.get(LE), header.p_memsz.get(LE)]);
    }
    words
}
