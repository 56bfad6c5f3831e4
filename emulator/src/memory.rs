//! Global memory: separately allocated, labelled, bounds-checked buffers at made-up 64-bit addresses.
//!
//! Every buffer is surrounded by unmapped addresses, so that an access past its end is an error and
//! never reads a neighbour. Each byte carries one bit that says whether it was ever written; a load of
//! unwritten bytes yields undefined register bits, it is not an error by itself. Buffers start at
//! multiples of 256 bytes, the alignment that HIP promises, and on purpose not at page boundaries.

pub use error::MemoryError;

/// First address ever handed out; far from zero and from the LDS and scratch apertures.
const FIRST_ADDRESS: u64 = 0x7e00_0000_0100;
/// Unmapped bytes kept free behind every buffer.
const GUARD_BYTES: u64 = 1 << 20;
/// What buffer addresses are multiples of.
const ALIGN_BYTES: u64 = 256;

/// A buffer in a [`Memory`]. Valid only for the memory that allocated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(usize);

/// What kernels may do with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Loads only: code, kernel arguments.
    ReadOnly,
    /// Loads and stores.
    ReadWrite,
}

#[derive(Debug)]
struct Buffer {
    label: String,
    address: u64,
    access: Access,
    freed: bool,
    /// Empty once freed, so that no access fits.
    bytes: Vec<u8>,
    written: WrittenBytes,
}

impl Buffer {
    fn contains(&self, address: u64, size: u64) -> bool {
        let Some(offset) = address.checked_sub(self.address) else { return false };
        let size_of_buffer = self.bytes.len() as u64;
        offset < size_of_buffer && size <= size_of_buffer - offset
    }

    fn end(&self) -> u64 {
        self.address + self.bytes.len() as u64
    }

    /// Bytes between an address and this buffer, zero inside it.
    fn distance(&self, address: u64) -> u64 {
        if address < self.address {
            self.address - address
        } else {
            address.saturating_sub(self.end())
        }
    }

    fn describe(&self, address: u64) -> String {
        let place = if address < self.address {
            format!("{} B before its start", self.address - address)
        } else if address < self.end() {
            format!("{} B before its end", self.end() - address)
        } else {
            format!("{} B past its end", address - self.end())
        };
        let freed = if self.freed { " (freed)" } else { "" };
        format!("'{}'{freed} [{:#x}, {:#x}), {place}", self.label, self.address, self.end())
    }
}

/// One bit a byte: was it ever written?
#[derive(Debug, Clone)]
pub(crate) struct WrittenBytes {
    words: Vec<u64>,
    n_unwritten: usize,
}

impl WrittenBytes {
    pub(crate) fn none(n_bytes: usize) -> WrittenBytes {
        WrittenBytes { words: vec![0; n_bytes.div_ceil(64)], n_unwritten: n_bytes }
    }

    /// Bit i of the result: byte `offset + i` was written. At most 16 bytes.
    #[inline]
    pub(crate) fn get(&self, offset: usize, n_bytes: usize) -> u32 {
        let all = mask(n_bytes);
        if self.n_unwritten == 0 {
            return all;
        }
        let (word, bit) = (offset / 64, offset % 64);
        let low = self.words[word] >> bit;
        let high =
            if bit == 0 { 0 } else { self.words.get(word + 1).copied().unwrap_or(0) << (64 - bit) };
        low_u32(low | high) & all
    }

    /// Whether no byte is left unwritten.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.n_unwritten == 0
    }

    /// Whether at most 16 bytes were all written.
    #[inline]
    pub(crate) fn are_all(&self, offset: usize, n_bytes: usize) -> bool {
        self.n_unwritten == 0 || self.get(offset, n_bytes) == mask(n_bytes)
    }

    /// Sets the bits of at most 16 bytes to `written`.
    #[inline]
    pub(crate) fn set(&mut self, offset: usize, n_bytes: usize, written: u32) {
        let all = mask(n_bytes);
        if self.n_unwritten == 0 && written & all == all {
            return;
        }
        let before = self.get(offset, n_bytes);
        let after = written & all;
        self.n_unwritten =
            self.n_unwritten + before.count_ones() as usize - after.count_ones() as usize;
        let (word, bit) = (offset / 64, offset % 64);
        self.words[word] = self.words[word] & !(u64::from(all) << bit) | u64::from(after) << bit;
        if bit + n_bytes > 64 {
            let spill = 64 - bit;
            let high = &mut self.words[word + 1];
            *high = *high & !(u64::from(all) >> spill) | u64::from(after) >> spill;
        }
    }

    /// Marks a range of any length as written.
    pub(crate) fn set_range(&mut self, offset: usize, n_bytes: usize) {
        let mut at = offset;
        while at < offset + n_bytes {
            let step = (offset + n_bytes - at).min(16);
            self.set(at, step, u32::MAX);
            at += step;
        }
    }
}

fn mask(n_bytes: usize) -> u32 {
    (1 << n_bytes) - 1
}

fn low_u32(bits: u64) -> u32 {
    (bits & 0xffff_ffff) as u32
}

/// All buffers of a machine.
#[derive(Debug)]
pub struct Memory {
    /// In ascending order of addresses; freed buffers keep their place.
    buffers: Vec<Buffer>,
    next_address: u64,
    used_bytes: u64,
    limit_bytes: u64,
}

/// Remembers the buffer of the last access, since neighbouring lanes mostly hit the same one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor(usize);

impl Memory {
    pub(crate) fn new(limit_bytes: u64) -> Memory {
        Memory { buffers: Vec::new(), next_address: FIRST_ADDRESS, used_bytes: 0, limit_bytes }
    }

    /// A new buffer of `size_bytes` bytes, none of them written. Reading it before a write yields
    /// undefined values. A size of zero is legal: every access to such a buffer is out of bounds.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`] beyond the limit of the machine.
    pub fn allocate(
        &mut self,
        label: &str,
        size_bytes: u64,
        access: Access,
    ) -> Result<BufferId, MemoryError> {
        let out_of_memory = || MemoryError::OutOfMemory {
            label: label.to_owned(),
            size_bytes,
            used_bytes: self.used_bytes,
            limit_bytes: self.limit_bytes,
        };
        let used = self.used_bytes.checked_add(size_bytes).filter(|used| *used <= self.limit_bytes);
        let used = used.ok_or_else(out_of_memory)?;
        let n_bytes = usize::try_from(size_bytes).map_err(|_| out_of_memory())?;
        // Asked for once so that refusal is an error; what is then made is zero without being touched, so that the host
        // gives memory only to what is used of it.
        Vec::<u8>::new().try_reserve_exact(n_bytes).map_err(|_| out_of_memory())?;
        let bytes = vec![0; n_bytes];
        let address = self.next_address;
        let reserved = size_bytes.saturating_add(GUARD_BYTES).next_multiple_of(ALIGN_BYTES);
        self.next_address = address.checked_add(reserved).ok_or_else(out_of_memory)?;
        self.used_bytes = used;
        let written = WrittenBytes::none(n_bytes);
        self.buffers.push(Buffer {
            label: label.to_owned(),
            address,
            access,
            freed: false,
            bytes,
            written,
        });
        Ok(BufferId(self.buffers.len() - 1))
    }

    /// Buffers at fixed distances from each other: label, distance from the first address, size and access of
    /// each, ascending. Returns the first address, a multiple of 4096, and the buffers.
    pub(crate) fn allocate_image(
        &mut self,
        parts: Vec<(String, u64, u64, Access)>,
    ) -> Result<(u64, Vec<BufferId>), MemoryError> {
        let base = self.next_address.next_multiple_of(4096);
        let mut ids = Vec::with_capacity(parts.len());
        for (label, distance, size_bytes, access) in parts {
            self.next_address = base + distance;
            match self.allocate(&label, size_bytes, access) {
                Ok(id) => ids.push(id),
                Err(error) => {
                    ids.into_iter().try_for_each(|id| self.free(id))?;
                    return Err(error);
                }
            }
        }
        // Segments lie where the image wants them; what comes next is aligned again.
        self.next_address = self.next_address.next_multiple_of(ALIGN_BYTES);
        Ok((base, ids))
    }

    /// A new read-write buffer holding `bytes`, all of them written.
    ///
    /// # Errors
    /// As [`Memory::allocate`].
    pub fn allocate_with(&mut self, label: &str, bytes: &[u8]) -> Result<BufferId, MemoryError> {
        let id = self.allocate(label, bytes.len() as u64, Access::ReadWrite)?;
        self.write(id, 0, bytes)?;
        Ok(id)
    }

    /// Frees a buffer; its addresses are never handed out again.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchBuffer`].
    pub fn free(&mut self, id: BufferId) -> Result<(), MemoryError> {
        let buffer = self.buffer_mut(id)?;
        let bytes = std::mem::take(&mut buffer.bytes);
        buffer.written = WrittenBytes::none(0);
        buffer.freed = true;
        self.used_bytes -= bytes.len() as u64;
        Ok(())
    }

    /// Bytes that all live buffers have together.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// The address that kernels use for byte 0 of a buffer.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchBuffer`].
    pub fn address(&self, id: BufferId) -> Result<u64, MemoryError> {
        Ok(self.buffer(id)?.address)
    }

    /// The buffer whose first byte has this address.
    pub fn buffer_at(&self, address: u64) -> Option<BufferId> {
        let index = self.buffers.binary_search_by_key(&address, |buffer| buffer.address).ok()?;
        Some(BufferId(index)).filter(|_| !self.buffers[index].freed)
    }

    /// Size of a buffer in bytes.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchBuffer`].
    pub fn size_bytes(&self, id: BufferId) -> Result<u64, MemoryError> {
        Ok(self.buffer(id)?.bytes.len() as u64)
    }

    /// The whole content of a buffer. Bytes never written read as zero; see [`Memory::all_written`].
    ///
    /// # Errors
    /// [`MemoryError::NoSuchBuffer`].
    pub fn read(&self, id: BufferId) -> Result<&[u8], MemoryError> {
        Ok(&self.buffer(id)?.bytes)
    }

    /// Whether every byte of a buffer has been written by the host or by a kernel.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchBuffer`].
    pub fn all_written(&self, id: BufferId) -> Result<bool, MemoryError> {
        Ok(self.buffer(id)?.written.n_unwritten == 0)
    }

    /// Host write of `bytes` at `offset_bytes`; read-only buffers accept it too.
    ///
    /// # Errors
    /// [`MemoryError::NoSuchBuffer`], [`MemoryError::HostOutOfBounds`].
    pub fn write(
        &mut self,
        id: BufferId,
        offset_bytes: u64,
        bytes: &[u8],
    ) -> Result<(), MemoryError> {
        let buffer = self.buffer_mut(id)?;
        let end = offset_bytes.saturating_add(bytes.len() as u64);
        if end > buffer.bytes.len() as u64 {
            return Err(MemoryError::HostOutOfBounds {
                label: buffer.label.clone(),
                offset_bytes,
                end_bytes: end,
                size_bytes: buffer.bytes.len() as u64,
            });
        }
        let offset = index(offset_bytes);
        buffer.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        buffer.written.set_range(offset, bytes.len());
        Ok(())
    }

    /// Host write of zeros.
    pub(crate) fn fill_zero(
        &mut self,
        id: BufferId,
        offset_bytes: u64,
        n_bytes: u64,
    ) -> Result<(), MemoryError> {
        const ZEROS: [u8; 4096] = [0; 4096];
        let mut at = 0;
        while at < n_bytes {
            let step = (n_bytes - at).min(ZEROS.len() as u64);
            self.write(id, offset_bytes + at, &ZEROS[..index(step)])?;
            at += step;
        }
        Ok(())
    }

    /// Host write at an address, as a loader's relocations do; read-only buffers accept it too.
    pub(crate) fn patch(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let at = self.find_index(&mut Cursor::default(), address, bytes.len() as u64)?;
        let offset = address - self.buffers[at].address;
        self.write(BufferId(at), offset, bytes)
    }

    /// The word at an offset, if it lies in the buffer and was written.
    pub(crate) fn written_word(
        &self,
        id: BufferId,
        offset_bytes: u64,
    ) -> Result<Option<u32>, MemoryError> {
        let buffer = self.buffer(id)?;
        if !buffer.contains(buffer.address.saturating_add(offset_bytes), 4) {
            return Ok(None);
        }
        let offset = index(offset_bytes);
        let bytes = std::array::from_fn(|byte| buffer.bytes[offset + byte]);
        Ok(Some(u32::from_le_bytes(bytes)).filter(|_| buffer.written.get(offset, 4) == 0xf))
    }

    fn buffer(&self, id: BufferId) -> Result<&Buffer, MemoryError> {
        self.buffers.get(id.0).filter(|buffer| !buffer.freed).ok_or(MemoryError::NoSuchBuffer)
    }

    fn buffer_mut(&mut self, id: BufferId) -> Result<&mut Buffer, MemoryError> {
        self.buffers.get_mut(id.0).filter(|buffer| !buffer.freed).ok_or(MemoryError::NoSuchBuffer)
    }

    /// Kernel load of `N` ≤ 16 bytes: the bytes, and one bit a byte that is set when it was written.
    #[inline]
    pub(crate) fn load<const N: usize>(
        &self,
        cursor: &mut Cursor,
        address: u64,
    ) -> Result<([u8; N], u32), MemoryError> {
        let buffer = &self.buffers[self.find_index(cursor, address, N as u64)?];
        let offset = index(address - buffer.address);
        let mut bytes = [0; N];
        bytes.copy_from_slice(&buffer.bytes[offset..offset + N]);
        Ok((bytes, buffer.written.get(offset, N)))
    }

    /// Kernel store of `N` ≤ 16 bytes; `written` has one bit a byte, cleared where the value is undefined.
    #[inline]
    pub(crate) fn store<const N: usize>(
        &mut self,
        cursor: &mut Cursor,
        address: u64,
        bytes: [u8; N],
        written: u32,
    ) -> Result<(), MemoryError> {
        let at = self.find_index(cursor, address, N as u64)?;
        let buffer = &mut self.buffers[at];
        if buffer.access == Access::ReadOnly {
            return Err(MemoryError::ReadOnly {
                address,
                size_bytes: N as u64,
                label: buffer.label.clone(),
            });
        }
        let offset = index(address - buffer.address);
        buffer.bytes[offset..offset + N].copy_from_slice(&bytes);
        buffer.written.set(offset, N, written);
        Ok(())
    }

    #[inline]
    fn find_index(
        &self,
        cursor: &mut Cursor,
        address: u64,
        size: u64,
    ) -> Result<usize, MemoryError> {
        if self.buffers.get(cursor.0).is_some_and(|buffer| buffer.contains(address, size)) {
            return Ok(cursor.0);
        }
        let after = self.buffers.partition_point(|buffer| buffer.address <= address);
        let found = after.checked_sub(1).filter(|at| self.buffers[*at].contains(address, size));
        cursor.0 = found.ok_or_else(|| self.out_of_bounds(address, size))?;
        Ok(cursor.0)
    }

    #[cold]
    fn out_of_bounds(&self, address: u64, size_bytes: u64) -> MemoryError {
        let nearest = self.buffers.iter().min_by_key(|buffer| buffer.distance(address));
        let nearest = nearest.map_or_else(
            || "none: nothing is allocated".to_owned(),
            |buffer| buffer.describe(address),
        );
        MemoryError::OutOfBounds { address, size_bytes, nearest }
    }
}

/// An offset inside a buffer, which exists in host memory and so fits its index type.
fn index(offset: u64) -> usize {
    offset as usize
}

mod error;
#[cfg(test)]
mod tests;
mod window;
