//! Memory through a buffer resource, and cache control.
//!
//! Caches are not modelled: every access reaches memory at once, so invalidating and writing back change
//! nothing but the counters and what the race checks know.

use isa::table::Buffer;

use crate::operand::Span;
use crate::sem::Meaning::{self, Exact, Unsupported};

#[rustfmt::skip]
pub(crate) fn meaning(op: Buffer) -> Meaning {
    match op {
        // Loads.
        Buffer::BufferLoadU8 | Buffer::BufferLoadI8 | Buffer::BufferLoadU16 | Buffer::BufferLoadI16 => Unsupported,
        Buffer::BufferLoadD16U8 | Buffer::BufferLoadD16HiU8 => Unsupported,
        Buffer::BufferLoadD16I8 | Buffer::BufferLoadD16HiI8 => Unsupported,
        Buffer::BufferLoadD16B16 | Buffer::BufferLoadD16HiB16 => Unsupported,
        Buffer::BufferLoadB32 | Buffer::BufferLoadB64 | Buffer::BufferLoadB96 | Buffer::BufferLoadB128 => Unsupported,

        // Stores.
        Buffer::BufferStoreB8 | Buffer::BufferStoreD16HiB8 => Unsupported,
        Buffer::BufferStoreB16 | Buffer::BufferStoreD16HiB16 => Unsupported,
        Buffer::BufferStoreB32 | Buffer::BufferStoreB64 | Buffer::BufferStoreB96 | Buffer::BufferStoreB128 => Unsupported,

        // Caches.
        Buffer::BufferWbl2 | Buffer::BufferInv | Buffer::BufferGl1Inv => Exact(|x, i| {
            x.issue(i, Span::default());
            Ok(())
        }),
        Buffer::BufferGl0Inv => Exact(|x, i| {
            x.races.invalidate(x.wave.id);
            x.issue(i, Span::default());
            Ok(())
        }),
    }
}
