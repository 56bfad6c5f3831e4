//! A buffer looked up once for many accesses.

use super::{Access, Cursor, Memory, WrittenBytes};

impl Memory {
    /// The buffer that has all bytes from `first` up to `end`: its bytes, which of them were written, its
    /// address.
    pub(crate) fn window(
        &self,
        cursor: &mut Cursor,
        first: u64,
        end: u64,
    ) -> Option<(&[u8], &WrittenBytes, u64)> {
        let buffer = &self.buffers[self.find_index(cursor, first, end.checked_sub(first)?).ok()?];
        Some((&buffer.bytes, &buffer.written, buffer.address))
    }

    /// As [`Memory::window`], of a buffer that kernels may write.
    pub(crate) fn window_mut(
        &mut self,
        cursor: &mut Cursor,
        first: u64,
        end: u64,
    ) -> Option<(&mut [u8], &mut WrittenBytes, u64)> {
        let at = self.find_index(cursor, first, end.checked_sub(first)?).ok()?;
        let buffer = &mut self.buffers[at];
        if buffer.access == Access::ReadOnly {
            return None;
        }
        Some((&mut buffer.bytes, &mut buffer.written, buffer.address))
    }
}
