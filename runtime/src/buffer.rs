//! Handles of device memory.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::device::DeviceId;

/// Every buffer's address is a multiple of this many bytes, on every device. Source: HIP, `hipMalloc`.
pub const BUFFER_ALIGN_BYTES: u32 = 256;

/// What kernels may do with a buffer. Devices that can enforce it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferAccess {
    /// Loads only.
    ReadOnly,
    /// Loads and stores.
    ReadWrite,
}

/// What a buffer holds before anything is written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill<'p> {
    /// Nothing: reading it yields undefined values, which the emulated device tracks.
    Undefined,
    /// These bytes, repeated, the last repetition cut where the buffer ends. An empty pattern leaves the
    /// buffer undefined.
    Repeat(&'p [u8]),
}

impl Fill<'static> {
    /// A pattern that is a NaN in every float type and −1 in every integer type: what an output starts
    /// with when everything the kernel forgets to write is to be seen.
    pub const POISON: Fill<'static> = Fill::Repeat(&[0xff]);
}

/// What is asked of [`Device::allocate`](crate::Device::allocate).
#[derive(Clone, Copy, Debug)]
pub struct BufferRequest<'r> {
    /// Name for errors and findings.
    pub label: &'r str,
    /// Size in bytes.
    pub size_bytes: u64,
    /// What kernels may do with it.
    pub access: BufferAccess,
    /// What it holds at first.
    pub fill: Fill<'r>,
}

/// A handle of device memory; cloning it names the same memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The device that the memory belongs to.
    pub device: DeviceId,
    /// The device's own number for it.
    pub id: u64,
    /// Name for errors and findings.
    pub label: Arc<str>,
    /// Size in bytes.
    pub size_bytes: u64,
    /// What kernels may do with it.
    pub access: BufferAccess,
}

impl Buffer {
    /// All of the buffer.
    pub fn whole(&self) -> BufferSlice {
        self.slice(0..self.size_bytes)
    }

    /// The bytes of the buffer in a range; whether the buffer has them is checked at the launch.
    pub fn slice(&self, bytes: Range<u64>) -> BufferSlice {
        BufferSlice { buffer: self.clone(), bytes }
    }
}

/// Some bytes of a buffer: what a kernel gets as a pointer argument.
///
/// The kernel gets the address of the first byte. The end serves the checks of a launch; a kernel that
/// runs past it but stays in the buffer is not caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferSlice {
    /// The buffer.
    pub buffer: Buffer,
    /// Bytes from the buffer's start.
    pub bytes: Range<u64>,
}

impl BufferSlice {
    /// Whether two slices share a byte.
    pub fn overlaps(&self, other: &BufferSlice) -> bool {
        let same = (self.buffer.device, self.buffer.id) == (other.buffer.device, other.buffer.id);
        same && self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end
    }
}

impl fmt::Display for BufferSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.bytes;
        write!(
            f,
            "bytes {start}..{end} of buffer '{}' ({} bytes)",
            self.buffer.label, self.buffer.size_bytes
        )
    }
}
