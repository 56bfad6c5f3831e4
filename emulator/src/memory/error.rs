//! Why accesses to global memory fail.

use serde::Serialize;

/// Why an access to global memory is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
pub enum MemoryError {
    /// The bytes do not lie inside one buffer.
    #[error(
        "{size_bytes} B at {address:#x} are outside every buffer; {}",
        whereabouts(*address, nearest)
    )]
    OutOfBounds {
        /// First byte of the access.
        address: u64,
        /// Bytes accessed.
        size_bytes: u64,
        /// The closest buffer and where the access lies relative to it.
        nearest: String,
    },
    /// A store to a read-only buffer.
    #[error("store of {size_bytes} B at {address:#x} into read-only buffer '{label}'")]
    ReadOnly {
        /// First byte of the access.
        address: u64,
        /// Bytes accessed.
        size_bytes: u64,
        /// Name of the buffer.
        label: String,
    },
    /// An allocation beyond the limit of the machine.
    #[error(
        "buffer '{label}' of {size_bytes} B: {used_bytes} B of the limit of {limit_bytes} B are in use; raise the memory limit"
    )]
    OutOfMemory {
        /// Name of the buffer.
        label: String,
        /// Bytes asked for.
        size_bytes: u64,
        /// Bytes already allocated.
        used_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// A buffer id of another memory, or of a freed buffer.
    #[error("no such buffer: freed, or allocated by another machine")]
    NoSuchBuffer,
    /// A host access past the end of a buffer.
    #[error(
        "host access to bytes {offset_bytes}..{end_bytes} of buffer '{label}', which has {size_bytes} B"
    )]
    HostOutOfBounds {
        /// Name of the buffer.
        label: String,
        /// First byte of the access within the buffer.
        offset_bytes: u64,
        /// First byte after the access.
        end_bytes: u64,
        /// Size of the buffer.
        size_bytes: u64,
    },
}

/// What to say of an address in no buffer. Close to zero the closest buffer is beside the point.
fn whereabouts(address: u64, nearest: &str) -> String {
    /// What 32-bit offsets reach from zero.
    const NEAR_NULL_BYTES: u64 = 1 << 32;
    let below = address.wrapping_neg();
    if address == 0 {
        "the address is null".to_owned()
    } else if address < NEAR_NULL_BYTES {
        format!(
            "the address is {address} B past null: a null pointer with an offset, or half a pointer"
        )
    } else if below <= NEAR_NULL_BYTES {
        format!("the address is {below} B before null: a null pointer with a negative offset")
    } else {
        format!("nearest is {nearest}")
    }
}
