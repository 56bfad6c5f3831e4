//! Scalar memory: loads into scalar registers.
//!
//! Loads count in LGKMCNT and return in any order. An address's low two bits are ignored (RDNA3 ISA
//! manual, "scalar memory"); setting them is reported as misaligned.

use isa::table::Smem;

use crate::checks::waits::{Counter, Queue};
use crate::checks::{alignment, undefined};
use crate::exec::{Exec, Outcome};
use crate::fault::Cause;
use crate::operand::{Dest, Source, Span};
use crate::prepare::Prepared;
use crate::sem::Meaning::{self, Exact, Unsupported};
use crate::sem::access::undefined_mask;
use crate::taint::Bits;

#[rustfmt::skip]
pub(crate) fn meaning(op: Smem) -> Meaning {
    match op {
        Smem::SLoadB32 => Exact(|x, i| x.scalar_load(i, 1)),
        Smem::SLoadB64 => Exact(|x, i| x.scalar_load(i, 2)),
        Smem::SLoadB128 => Exact(|x, i| x.scalar_load(i, 4)),
        Smem::SLoadB256 => Exact(|x, i| x.scalar_load(i, 8)),
        Smem::SLoadB512 => Exact(|x, i| x.scalar_load(i, 16)),
        Smem::SBufferLoadB32 | Smem::SBufferLoadB64 | Smem::SBufferLoadB128 => Unsupported,
        Smem::SBufferLoadB256 | Smem::SBufferLoadB512 => Unsupported,
        Smem::SDcacheInv | Smem::SGl1Inv => Exact(|x, i| x.scalar_count(i, Span::default())),
        // A clock would make results depend on what no document defines.
        Smem::SMemtime | Smem::SMemrealtime => Unsupported,
    }
}

impl Exec<'_> {
    fn scalar_load(&mut self, inst: &Prepared, dwords: u8) -> Outcome {
        let base = self.scalar_source(inst, 0);
        let offset = match inst.src[1] {
            Source::None => Bits::default(),
            _ => self.scalar_source(inst, 1),
        };
        if base.undefined | offset.undefined != 0 {
            undefined::address(self, inst, None);
        }
        let address =
            base.value.wrapping_add(offset.value).wrapping_add_signed(inst.inst.mods.offset.into());
        alignment::check_scalar(self, inst, address);
        let Dest::Scalar(first) = inst.dst[0] else {
            return self.scalar_count(inst, Span::default());
        };
        for dword in 0..dwords {
            let address = (address & !3).wrapping_add(u64::from(dword) * 4);
            let loaded = self.memory.load::<4>(&mut self.cursor, address);
            let (bytes, written) =
                loaded.map_err(|error| Box::new(Cause::Memory { lane: None, error }))?;
            let bits = Bits {
                value: u32::from_le_bytes(bytes).into(),
                undefined: undefined_mask(written).into(),
            };
            self.set_word(inst, first + dword, bits);
        }
        self.scalar_count(inst, inst.result_span())
    }

    fn scalar_count(&mut self, inst: &Prepared, span: Span) -> Outcome {
        self.wave.scoreboard.issue(inst.pc, Queue::Unordered, &[Counter::Lgkm], span);
        Ok(())
    }
}
