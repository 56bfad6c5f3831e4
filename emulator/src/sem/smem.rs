//! Scalar memory: loads into scalar registers.
//!
//! Loads count in LGKMCNT and return in any order. An address's low two bits are ignored (RDNA3 ISA
//! manual, "scalar memory"); setting them is reported as misaligned.

use isa::table::Smem;

use crate::checks::waits::{Counter, Queue};
use crate::checks::{alignment, undefined};
use crate::exec::{Exec, Outcome};
use crate::fault::Cause;
use crate::fidelity::Bound::Clock;
use crate::operand::{Dest, Source, Span};
use crate::prepare::Prepared;
use crate::sem::Meaning::{self, Approximate, Exact};
use crate::sem::access::undefined_mask;
use crate::taint::Bits;
use crate::traffic;

#[rustfmt::skip]
pub(crate) fn meaning(op: Smem) -> Meaning {
    match op {
        Smem::SLoadB32 => Exact(|x, i| x.scalar_load(i, 1)),
        Smem::SLoadB64 => Exact(|x, i| x.scalar_load(i, 2)),
        Smem::SLoadB128 => Exact(|x, i| x.scalar_load(i, 4)),
        Smem::SLoadB256 => Exact(|x, i| x.scalar_load(i, 8)),
        Smem::SLoadB512 => Exact(|x, i| x.scalar_load(i, 16)),
        Smem::SBufferLoadB32 => Exact(|x, i| x.scalar_buffer_load(i, 1)),
        Smem::SBufferLoadB64 => Exact(|x, i| x.scalar_buffer_load(i, 2)),
        Smem::SBufferLoadB128 => Exact(|x, i| x.scalar_buffer_load(i, 4)),
        Smem::SBufferLoadB256 => Exact(|x, i| x.scalar_buffer_load(i, 8)),
        Smem::SBufferLoadB512 => Exact(|x, i| x.scalar_buffer_load(i, 16)),
        Smem::SDcacheInv | Smem::SDcacheInvVol | Smem::SGl1Inv | Smem::SDcacheWb | Smem::SDcacheWbVol => Exact(|x, i| x.scalar_count(i, Span::default())),
        Smem::SMemtime | Smem::SMemrealtime => Approximate(Clock, |x, i| {
            let time = x.wave.read_clock();
            x.set_scalar64(i, i.dst[0], Bits::defined(time));
            x.scalar_count(i, i.result_span())
        }),
    }
}

impl Exec<'_> {
    /// The offset of a scalar load: register and constant.
    fn scalar_offset(&self, inst: &Prepared) -> Bits {
        let offset = match inst.src[1] {
            Source::None => Bits::default(),
            _ => self.scalar_source(inst, 1),
        };
        let value = offset.value.wrapping_add_signed(inst.inst.mods.offset.into());
        Bits { value, ..offset }
    }

    fn scalar_load(&mut self, inst: &Prepared, dwords: u8) -> Outcome {
        let (base, offset) = (self.scalar_source(inst, 0), self.scalar_offset(inst));
        if base.undefined | offset.undefined != 0 {
            undefined::address(self, inst, None, &[]);
        }
        let address = base.value.wrapping_add(offset.value);
        alignment::check_scalar(self, inst, address);
        self.load_scalars(inst, dwords, |dword| {
            Some((address & !3).wrapping_add(u64::from(dword) * 4))
        })
    }

    /// Loads through a buffer resource, of which base, stride and NUM_RECORDS count. The range is that many
    /// bytes, or records of the stride; each word behind it is zero.
    ///
    /// Source: RDNA3 and CDNA3 ISA manuals, "scalar memory reads using a buffer constant".
    fn scalar_buffer_load(&mut self, inst: &Prepared, dwords: u8) -> Outcome {
        let Source::Scalar(first) = inst.src[0] else {
            return self.refuse(inst, "a buffer resource outside of SGPRs");
        };
        let offset = self.scalar_offset(inst);
        let is_undefined = (0..3).any(|word| self.wave.scalars.undefined(first + word) != 0);
        if is_undefined || offset.undefined != 0 {
            undefined::address(self, inst, None, &[]);
        }
        let word = |word: u8| u64::from(self.wave.scalars.get(first + word));
        let base = word(0) | (word(1) & 0xffff) << 32;
        let stride = (word(1) >> 16 & 0x3fff).max(1);
        let range = word(2) * stride;
        if range % 4 != 0 && offset.value / 4 + u64::from(dwords) > range / 4 {
            let why = "NUM_RECORDS that ends inside a word: documents do not say what is loaded";
            return self.refuse(inst, why);
        }
        alignment::check_scalar(self, inst, base.wrapping_add(offset.value));
        self.load_scalars(inst, dwords, |dword| {
            let at = (offset.value & !3).wrapping_add(u64::from(dword) * 4);
            (at < range).then(|| (base & !3).wrapping_add(at))
        })
    }

    /// Loads each dword from its address, or zero where there is none.
    fn load_scalars(
        &mut self,
        inst: &Prepared,
        dwords: u8,
        address: impl Fn(u8) -> Option<u64>,
    ) -> Outcome {
        let Dest::Scalar(first) = inst.dst[0] else {
            return self.scalar_count(inst, Span::default());
        };
        for dword in 0..dwords {
            let (bytes, written) = match address(dword) {
                None => ([0; 4], 0xf),
                Some(address) => {
                    let loaded = self.memory.load::<4>(&mut self.cursor, address);
                    loaded.map_err(|error| Box::new(Cause::Memory { lane: None, error }))?
                }
            };
            let bits = Bits {
                value: u32::from_le_bytes(bytes).into(),
                undefined: if self.options.checks { undefined_mask(written).into() } else { 0 },
            };
            self.set_word(inst, first + dword, bits);
        }
        traffic::scalar_load(self, 4 * u32::from(dwords));
        self.scalar_count(inst, inst.result_span())
    }

    fn scalar_count(&mut self, inst: &Prepared, span: Span) -> Outcome {
        self.count_outstanding(inst, Queue::Unordered, &[Counter::Lgkm], span);
        Ok(())
    }
}
