//! Device memory by address.

use std::collections::BTreeMap;

use emulator::{Access, BufferId, MemoryError};
use hip_abi::Code;

use crate::failure::{Done, Failure, fail};
use crate::runtime::Runtime;

/// A live allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    pub id: BufferId,
    pub address: u64,
    pub size_bytes: u64,
}

/// What is allocated, by first address.
#[derive(Debug, Default)]
pub(crate) struct Allocations {
    pub live: BTreeMap<u64, Allocation>,
    /// First address and size of what was freed: addresses are never used twice.
    freed: BTreeMap<u64, u64>,
}

/// Some bytes of an allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub id: BufferId,
    pub offset_bytes: u64,
    pub size_bytes: u64,
}

impl Allocations {
    /// The allocation that an address lies in.
    pub(crate) fn at(&self, address: u64) -> Option<&Allocation> {
        let (_, allocation) = self.live.range(..=address).next_back()?;
        (address - allocation.address < allocation.size_bytes.max(1)).then_some(allocation)
    }

    fn was_freed(&self, address: u64) -> bool {
        let before = self.freed.range(..=address).next_back();
        before.is_some_and(|(first, size)| address - first < (*size).max(1))
    }
}

impl Runtime {
    /// `None` for no bytes, which HIP answers with a null pointer.
    pub(crate) fn allocate(&mut self, size_bytes: u64) -> Done<Option<u64>> {
        if size_bytes == 0 {
            return Ok(None);
        }
        let number = self.allocations.live.len() + self.allocations.freed.len();
        let label = format!("hipMalloc #{number}");
        let memory = self.machine.memory_mut();
        let id = memory.allocate(&label, size_bytes, Access::ReadWrite).map_err(refusal)?;
        let address = memory.address(id).map_err(refusal)?;
        self.allocations.live.insert(address, Allocation { id, address, size_bytes });
        Ok(Some(address))
    }

    pub(crate) fn free(&mut self, address: u64) -> Done<()> {
        if address == 0 {
            return Ok(());
        }
        let Some(allocation) = self.allocations.live.remove(&address) else {
            let why = match self.allocations.was_freed(address) {
                true => "was freed before",
                false => "is the first address of no allocation",
            };
            return fail(Code::InvalidDevicePointer, format!("{address:#x} {why}"));
        };
        self.allocations.freed.insert(address, allocation.size_bytes);
        self.machine.memory_mut().free(allocation.id).map_err(refusal)
    }

    /// The allocation's bytes from an address on.
    pub(crate) fn range(&self, address: u64, size_bytes: u64) -> Done<Range> {
        let found = self.allocations.at(address).copied().or_else(|| self.global_at(address));
        let Some(allocation) = found else {
            let why = match self.allocations.was_freed(address) {
                true => "which was freed",
                false => "in no allocation of the device",
            };
            return fail(
                Code::InvalidValue,
                format!("{size_bytes} bytes at device address {address:#x}, {why}"),
            );
        };
        let offset_bytes = address - allocation.address;
        if size_bytes > allocation.size_bytes - offset_bytes {
            return fail(
                Code::InvalidValue,
                format!(
                    "{size_bytes} bytes at device address {address:#x}, {offset_bytes} bytes into an allocation of {} \
                     bytes: it ends {} bytes earlier",
                    allocation.size_bytes,
                    size_bytes - (allocation.size_bytes - offset_bytes)
                ),
            );
        }
        Ok(Range { id: allocation.id, offset_bytes, size_bytes })
    }

    pub(crate) fn write(&mut self, range: Range, bytes: &[u8]) -> Done<()> {
        self.machine.memory_mut().write(range.id, range.offset_bytes, bytes).map_err(refusal)
    }

    pub(crate) fn read(&self, range: Range) -> Done<&[u8]> {
        let contents = self.machine.memory().read(range.id).map_err(refusal)?;
        let start = usize::try_from(range.offset_bytes).ok();
        let size = usize::try_from(range.size_bytes).ok();
        let bytes = start.zip(size).and_then(|(start, size)| contents.get(start..start + size));
        bytes.ok_or_else(|| Failure::new(Code::InvalidValue, "bytes outside their allocation"))
    }

    /// Writes a pattern of 1, 2 or 4 bytes over and over.
    pub(crate) fn fill(&mut self, address: u64, pattern: &[u8], count: u64) -> Done<()> {
        let size_bytes = count.saturating_mul(pattern.len() as u64);
        if size_bytes == 0 {
            return Ok(());
        }
        /// Bytes at a time, a multiple of every pattern's.
        const STEP_BYTES: u64 = 1 << 16;
        let Range { id, offset_bytes, .. } = self.range(address, size_bytes)?;
        let bytes: Vec<u8> = pattern.iter().copied().cycle().take(1 << 16).collect();
        for done in (0..size_bytes).step_by(1 << 16) {
            let step = (size_bytes - done).min(STEP_BYTES);
            let range = Range { id, offset_bytes: offset_bytes + done, size_bytes: step };
            self.write(range, bytes.get(..step as usize).unwrap_or(&bytes))?;
        }
        Ok(())
    }

    /// Free and total bytes; loaded code takes some of them.
    pub(crate) fn memory_info(&self) -> (u64, u64) {
        let used = self.machine.memory().used_bytes();
        let total = self.settings.memory_bytes;
        (total.saturating_sub(used), total)
    }
}

/// HIP's code for what the emulator's memory refuses.
fn refusal(error: MemoryError) -> Failure {
    let code = match error {
        MemoryError::OutOfMemory { .. } => Code::OutOfMemory,
        _ => Code::InvalidValue,
    };
    Failure::new(code, error)
}
