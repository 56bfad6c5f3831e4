//! Loadable segments: the image that a loader makes of the file.

use object::LittleEndian as LE;
use object::elf::{PT_LOAD, ProgramHeader64};
use serde::Serialize;

use crate::error::Problem;

/// Largest image that is accepted, from the lowest mapped address to the highest, in bytes.
///
/// A limit of this reader, not of the hardware: it bounds what a damaged header can ask a device to
/// allocate. Real code objects are a few MiB at most.
pub const MAX_IMAGE_BYTES: u64 = 1 << 28;

/// One `PT_LOAD` segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// Virtual address of its first byte, relative to wherever the loader puts the image.
    pub address: u64,
    /// Bytes that come from the file.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// Bytes in memory: those of the file, then zeros.
    pub memory_size: u64,
    /// Offset of [`Segment::bytes`] in the file.
    pub file_offset: u64,
    /// Permissions.
    pub flags: SegmentFlags,
}

/// Permissions of a segment (`p_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SegmentFlags {
    /// `PF_R`.
    pub read: bool,
    /// `PF_W`.
    pub write: bool,
    /// `PF_X`.
    pub execute: bool,
}

impl SegmentFlags {
    fn from_bits(bits: u32) -> SegmentFlags {
        SegmentFlags { read: bits & 4 != 0, write: bits & 2 != 0, execute: bits & 1 != 0 }
    }
}

impl Segment {
    /// First address past the segment's memory.
    pub fn end(&self) -> u64 {
        self.address + self.memory_size
    }

    /// Whether `size` bytes at `address` lie in the segment's memory.
    pub fn contains(&self, address: u64, size: u64) -> bool {
        let end = address.checked_add(size);
        address >= self.address && end.is_some_and(|end| end <= self.end())
    }

    /// File-backed bytes from `address` to the end of them.
    fn tail_at(&self, address: u64) -> Option<&[u8]> {
        let offset = usize::try_from(address.checked_sub(self.address)?).ok()?;
        self.bytes.get(offset..)
    }
}

/// `size` file-backed bytes at `address`, if one segment holds them all.
pub(crate) fn bytes_at(segments: &[Segment], address: u64, size: u64) -> Option<&[u8]> {
    let size = usize::try_from(size).ok()?;
    segments.iter().find_map(|segment| segment.tail_at(address)?.get(..size))
}

/// File-backed bytes from `address` to the end of its segment's, if any segment holds the address.
pub(crate) fn tail_at(segments: &[Segment], address: u64) -> Option<&[u8]> {
    segments.iter().find_map(|segment| segment.tail_at(address).filter(|tail| !tail.is_empty()))
}

/// Reads the `PT_LOAD` segments, in the file's order, which must be ascending and without overlap.
pub(crate) fn read_segments(
    bytes: &[u8],
    headers: &[ProgramHeader64<LE>],
    problems: &mut Vec<Problem>,
) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut loads = headers
        .iter()
        .enumerate()
        .filter(|(_, header)| header.p_type.get(LE) == PT_LOAD)
        .peekable();
    if loads.peek().is_none() {
        problems.push(Problem::NothingToLoad);
    }
    for (index, header) in loads {
        match read_segment(bytes, index, header, &segments) {
            Ok(segment) => segments.push(segment),
            Err(problem) => problems.push(problem),
        }
    }
    segments
}

/// Copies one segment after its extent was compared with the file and with the segments before it.
fn read_segment(
    bytes: &[u8],
    index: usize,
    header: &ProgramHeader64<LE>,
    before: &[Segment],
) -> Result<Segment, Problem> {
    let (file_offset, file_size) = (header.p_offset.get(LE), header.p_filesz.get(LE));
    let (address, memory_size) = (header.p_vaddr.get(LE), header.p_memsz.get(LE));
    let contents =
        file_range(bytes, file_offset, file_size).ok_or(Problem::SegmentOutsideFile {
            index,
            offset: file_offset,
            size: file_size,
            file_size: bytes.len() as u64,
        })?;
    if memory_size < file_size {
        return Err(Problem::SegmentShrinks { index, file_size, memory_size });
    }
    let previous_end = before.last().map_or(0, Segment::end);
    if address < previous_end {
        return Err(Problem::SegmentOrder { index, address, previous_end });
    }
    let start = before.first().map_or(address, |first| first.address);
    let span = u128::from(address - start) + u128::from(memory_size);
    if span > u128::from(MAX_IMAGE_BYTES) || address.checked_add(memory_size).is_none() {
        return Err(Problem::ImageTooLarge { index, got: span });
    }
    let flags = SegmentFlags::from_bits(header.p_flags.get(LE).0);
    Ok(Segment { address, bytes: contents.to_vec(), memory_size, file_offset, flags })
}

/// `size` bytes of the file at `offset`, if the file has them.
pub(crate) fn file_range(bytes: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = usize::try_from(offset.checked_add(size)?).ok()?;
    bytes.get(start..end)
}
