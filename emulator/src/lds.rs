//! The local data share of one workgroup: bounds-checked bytes with one written bit each.

use crate::memory::WrittenBytes;

/// LDS of a workgroup, of the descriptor's and the dispatch's size together. Nothing is written yet when
/// a workgroup starts.
#[derive(Debug)]
pub(crate) struct Lds {
    bytes: Vec<u8>,
    written: WrittenBytes,
}

impl Lds {
    pub(crate) fn new(size_bytes: u32) -> Lds {
        let n_bytes = size_bytes as usize;
        Lds { bytes: vec![0; n_bytes], written: WrittenBytes::none(n_bytes) }
    }

    pub(crate) fn size_bytes(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Forgets everything, for the next workgroup.
    pub(crate) fn reset(&mut self) {
        self.bytes.fill(0);
        self.written = WrittenBytes::none(self.bytes.len());
    }

    /// All bytes, which of them were written, and the address of the first, if there are at least `end`.
    pub(crate) fn window(&self, end: u64) -> Option<(&[u8], &WrittenBytes, u64)> {
        (end <= self.bytes.len() as u64).then_some((&self.bytes[..], &self.written, 0))
    }

    /// As [`Lds::window`], to be written.
    pub(crate) fn window_mut(&mut self, end: u64) -> Option<(&mut [u8], &mut WrittenBytes, u64)> {
        (end <= self.bytes.len() as u64).then_some((&mut self.bytes[..], &mut self.written, 0))
    }

    /// `N` ≤ 16 bytes and which of them were written; `None` outside the allocation.
    #[inline]
    pub(crate) fn load<const N: usize>(&self, address: u32) -> Option<([u8; N], u32)> {
        let at = address as usize;
        let bytes = self.bytes.get(at..at.checked_add(N)?)?;
        let mut value = [0; N];
        value.copy_from_slice(bytes);
        Some((value, self.written.get(at, N)))
    }

    /// Stores `N` ≤ 16 bytes; `written` is cleared where they are undefined. `None` outside the allocation.
    #[inline]
    pub(crate) fn store<const N: usize>(
        &mut self,
        address: u32,
        value: [u8; N],
        written: u32,
    ) -> Option<()> {
        let at = address as usize;
        self.bytes.get_mut(at..at.checked_add(N)?)?.copy_from_slice(&value);
        self.written.set(at, N, written);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_and_written_bits() {
        let mut lds = Lds::new(64);
        assert_eq!(lds.load::<4>(60), Some(([0; 4], 0)));
        assert_eq!(lds.load::<4>(61), None);
        assert_eq!(lds.load::<16>(u32::MAX), None);
        assert_eq!(lds.store::<8>(4, [7; 8], 0b1111_0111), Some(()));
        assert_eq!(lds.load::<8>(4), Some(([7; 8], 0b1111_0111)));
        assert_eq!(lds.store::<8>(60, [0; 8], u32::MAX), None);
    }
}
