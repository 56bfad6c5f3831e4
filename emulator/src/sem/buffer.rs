//! Memory through a buffer resource, and cache control.
//!
//! The address of a lane is base + SOFFSET + index · stride + offset, where index and offset come from VADDR
//! (IDXEN, OFFEN) and the instruction's constant adds to the offset. What lies outside of the resource's
//! range reads as zero and is not written; loads and stores of several words are checked word by word,
//! atomics as a whole. That is architecture, not a mistake of the kernel, so there is no finding.
//!
//! | target | out of range |
//! |---|---|
//! | gfx950, no index or no stride | offset + width > NUM_RECORDS − SOFFSET |
//! | gfx950, index and stride | index ≥ NUM_RECORDS |
//! | gfx1100, OOB_SELECT 0 | index ≥ NUM_RECORDS, or offset + width > stride |
//! | gfx1100, OOB_SELECT 1 | index ≥ NUM_RECORDS |
//! | gfx1100, OOB_SELECT 2 | NUM_RECORDS = 0 |
//! | gfx1100, OOB_SELECT 3 | offset + width > NUM_RECORDS |
//!
//! Sources: RDNA3 ISA manual, "buffer range checking", and Mesa's table of OOB_SELECT for GFX11; CDNA3 ISA
//! manual, "range checking", and the units that Mesa gives NUM_RECORDS on GFX9; AMDGPUUsage, "relaxed buffer
//! OOB mode" (word by word, unsigned without wrapping). They disagree where the scalar offset alone leaves
//! the range (gfx950), where an offset passes the stride of an indexed record (gfx950) and where an index
//! moves OOB_SELECT 3 out of range (gfx1100): an access whose outcome depends on that is refused.
//!
//! Caches are not modelled: every access reaches memory at once, so invalidating and writing back change
//! nothing but the counters and what the race checks know.

use isa::Target;
use isa::table::Buffer;

use crate::checks::sync::Caches;
use crate::checks::undefined;
use crate::exec::{Exec, Outcome};
use crate::fault::Cause;
use crate::operand::{Source, Span};
use crate::prepare::{Prepared, unsupported};
use crate::sem::Meaning::{self, Exact};
use crate::sem::access::{Extend, Space};

#[rustfmt::skip]
pub(crate) fn meaning(op: Buffer) -> Meaning {
    match op {
        // Loads.
        Buffer::BufferLoadU8 => Exact(|x, i| x.buffer_load::<1>(i, Extend::Zero)),
        Buffer::BufferLoadI8 => Exact(|x, i| x.buffer_load::<1>(i, Extend::Sign)),
        Buffer::BufferLoadU16 => Exact(|x, i| x.buffer_load::<2>(i, Extend::Zero)),
        Buffer::BufferLoadI16 => Exact(|x, i| x.buffer_load::<2>(i, Extend::Sign)),
        Buffer::BufferLoadD16U8 => Exact(|x, i| x.buffer_load::<1>(i, Extend::HalfZero(0))),
        Buffer::BufferLoadD16HiU8 => Exact(|x, i| x.buffer_load::<1>(i, Extend::HalfZero(16))),
        Buffer::BufferLoadD16I8 => Exact(|x, i| x.buffer_load::<1>(i, Extend::HalfSign(0))),
        Buffer::BufferLoadD16HiI8 => Exact(|x, i| x.buffer_load::<1>(i, Extend::HalfSign(16))),
        Buffer::BufferLoadD16B16 => Exact(|x, i| x.buffer_load::<2>(i, Extend::HalfZero(0))),
        Buffer::BufferLoadD16HiB16 => Exact(|x, i| x.buffer_load::<2>(i, Extend::HalfZero(16))),
        Buffer::BufferLoadB32 => Exact(|x, i| x.buffer_load_words::<1>(i)),
        Buffer::BufferLoadB64 => Exact(|x, i| x.buffer_load_words::<2>(i)),
        Buffer::BufferLoadB96 => Exact(|x, i| x.buffer_load_words::<3>(i)),
        Buffer::BufferLoadB128 => Exact(|x, i| x.buffer_load_words::<4>(i)),

        // Stores.
        Buffer::BufferStoreB8 => Exact(|x, i| x.buffer_store::<1>(i, 0)),
        Buffer::BufferStoreD16HiB8 => Exact(|x, i| x.buffer_store::<1>(i, 16)),
        Buffer::BufferStoreB16 => Exact(|x, i| x.buffer_store::<2>(i, 0)),
        Buffer::BufferStoreD16HiB16 => Exact(|x, i| x.buffer_store::<2>(i, 16)),
        Buffer::BufferStoreB32 => Exact(|x, i| x.buffer_store_words(i, 1)),
        Buffer::BufferStoreB64 => Exact(|x, i| x.buffer_store_words(i, 2)),
        Buffer::BufferStoreB96 => Exact(|x, i| x.buffer_store_words(i, 3)),
        Buffer::BufferStoreB128 => Exact(|x, i| x.buffer_store_words(i, 4)),

        // Caches.
        Buffer::BufferWbl2 => Exact(|x, i| {
            // Without SC1 nothing leaves this XCD.
            if i.inst.mods.cache.sc1 {
                x.races.write_back(x.wave);
            }
            x.issue(i, Span::default());
            Ok(())
        }),
        // With SC0 alone it serves workgroups that several CUs run.
        Buffer::BufferInv => Exact(|x, i| x.invalidate(i, Caches::All, i.inst.mods.cache.sc1)),
        Buffer::BufferGl0Inv => Exact(|x, i| x.invalidate(i, Caches::Near, true)),
        Buffer::BufferGl1Inv => Exact(|x, i| x.invalidate(i, Caches::Far, true)),
    }
}

/// A buffer resource with what the instruction that uses it adds.
pub(crate) struct Resource {
    base: u64,
    stride: u64,
    n_records: u64,
    rule: Rule,
    /// The scalar offset.
    scalar: u64,
    /// The constant offset.
    constant: u64,
    index: Option<u16>,
    offset: Option<u16>,
}

/// When an access is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Gfx950,
    IndexAndOffset,
    Index,
    NeverUnlessEmpty,
    Offset,
}

/// What the words of a resource ask for that is not executed.
fn unsupported_field(target: Target, words: [u32; 4]) -> Option<&'static str> {
    let field = |low: u32, high: u32| words[3] >> low & ((1 << (high - low + 1)) - 1);
    let (swizzle, format, reserved) = match target {
        // Bit 62 of a resource swizzles banks of the cache only. Bit 27 of word 3 says non-volatile.
        Target::Gfx950 => (words[1] >> 31, field(15, 18), words[3] & 0x3700_0000),
        Target::Gfx1100 => (words[1] >> 30, field(12, 17), words[3] & 0x001c_0000),
    };
    match () {
        () if field(30, 31) != 0 => Some("TYPE of the buffer resource is not 0, a buffer"),
        () if swizzle != 0 => Some("SWIZZLE_ENABLE of the buffer resource"),
        () if field(23, 23) != 0 => Some("ADD_TID_ENABLE of the buffer resource"),
        () if format == 0 => Some("the format of the buffer resource is 0, invalid"),
        () if reserved != 0 => {
            Some("word 3 of the buffer resource sets bits reserved on this target")
        }
        () => None,
    }
}

impl Resource {
    fn new(target: Target, words: [u32; 4]) -> Resource {
        let rule = match (target, words[3] >> 28 & 3) {
            (Target::Gfx950, _) => Rule::Gfx950,
            (Target::Gfx1100, 0) => Rule::IndexAndOffset,
            (Target::Gfx1100, 1) => Rule::Index,
            (Target::Gfx1100, 2) => Rule::NeverUnlessEmpty,
            (Target::Gfx1100, _) => Rule::Offset,
        };
        Resource {
            base: u64::from(words[0]) | u64::from(words[1] & 0xffff) << 32,
            stride: u64::from(words[1] >> 16 & 0x3fff),
            n_records: words[2].into(),
            rule,
            scalar: 0,
            constant: 0,
            index: None,
            offset: None,
        }
    }

    /// Whether an access is out of range; an error where sources disagree.
    fn is_out(&self, index: u64, offset: u64, width: u64) -> Result<bool, &'static str> {
        let end = offset + width;
        let is_indexed = self.index.is_some() && self.stride != 0;
        let (out, otherwise, why) = match self.rule {
            Rule::IndexAndOffset => {
                return Ok(index >= self.n_records || end > self.stride);
            }
            Rule::Index => return Ok(index >= self.n_records),
            Rule::NeverUnlessEmpty => return Ok(self.n_records == 0),
            Rule::Offset if is_indexed => (
                end > self.n_records,
                end + index * self.stride > self.n_records,
                "an index that leaves the range under OOB_SELECT 3: sources disagree whether it counts",
            ),
            Rule::Offset => return Ok(end > self.n_records),
            Rule::Gfx950 if is_indexed => (
                index >= self.n_records,
                index >= self.n_records || end > self.stride,
                "an offset that passes the stride of an indexed record: sources disagree whether it is out of range",
            ),
            Rule::Gfx950 => (
                end > self.n_records,
                end + self.scalar > self.n_records,
                "a scalar offset that leaves the range: sources disagree whether it counts",
            ),
        };
        if out == otherwise { Ok(out) } else { Err(why) }
    }

    /// Whether [`Resource::is_out`] may fail.
    fn may_disagree(&self) -> bool {
        match self.rule {
            Rule::Gfx950 => self.scalar != 0 || self.index.is_some(),
            Rule::Offset => self.index.is_some(),
            _ => false,
        }
    }
}

impl Exec<'_> {
    /// The resource of an instruction whose VADDR is source `k`; `width` is what it checks at once.
    pub(crate) fn buffer(
        &mut self,
        inst: &Prepared,
        k: usize,
        width: usize,
    ) -> Result<Resource, Box<Cause>> {
        let scalar = self.scalar_source(inst, k + 2);
        let Source::Scalar(first) = inst.src[k + 1] else {
            let why = "a buffer resource outside of SGPRs";
            return Err(Box::new(unsupported(&inst.inst, self.target, why)));
        };
        let undefined = (0..4).any(|word| self.wave.scalars.undefined(first + word) != 0);
        if undefined || scalar.undefined != 0 {
            undefined::address(
                self,
                inst,
                None,
                &[undefined::slots_of(inst, k + 1), undefined::slots_of(inst, k + 2)].concat(),
            );
        }
        let words: [u32; 4] = std::array::from_fn(|word| self.wave.scalars.get(first + word as u8));
        if let Some(field) = unsupported_field(self.target, words) {
            return Err(Box::new(unsupported(&inst.inst, self.target, field)));
        }
        let mut resource = Resource::new(self.target, words);
        let mods = &inst.inst.mods;
        (resource.scalar, resource.constant) = (scalar.value, mods.offset.cast_unsigned().into());
        if let Source::Vector(first) = inst.src[k] {
            resource.index = mods.idxen.then_some(first);
            resource.offset = mods.offen.then_some(first + u16::from(mods.idxen));
        }
        self.check_range_rules(inst, &resource, width)?;
        Ok(resource)
    }

    /// Refuses an access whose outcome depends on what sources disagree about.
    fn check_range_rules(&self, inst: &Prepared, buffer: &Resource, width: usize) -> Outcome {
        if !buffer.may_disagree() {
            return Ok(());
        }
        let active = self.wave.active;
        for lane in (0..self.wave.width as usize).filter(|lane| active >> lane & 1 == 1) {
            let (index, offset) = self.buffer_place(buffer, lane);
            if let Err(why) = buffer.is_out(index, offset, width as u64) {
                return self.refuse(inst, why);
            }
        }
        Ok(())
    }

    /// Index and offset of a lane.
    #[inline]
    fn buffer_place(&self, buffer: &Resource, lane: usize) -> (u64, u64) {
        let read = |register: Option<u16>| {
            register.map_or(0, |register| u64::from(self.wave.vectors.lane(register, lane)))
        };
        (read(buffer.index), read(buffer.offset) + buffer.constant)
    }

    /// Where `N` bytes of a lane lie, this many bytes behind its address.
    #[inline]
    pub(crate) fn buffer_address<const N: usize>(
        &self,
        buffer: &Resource,
        lane: usize,
        behind: u64,
    ) -> Space {
        let (index, offset) = self.buffer_place(buffer, lane);
        let offset = offset + behind;
        // What sources disagree about was refused.
        if buffer.is_out(index, offset, N as u64) != Ok(false) {
            return Space::OutOfRange;
        }
        Space::Global(buffer.base + buffer.scalar + index * buffer.stride + offset)
    }

    /// Invalidates caches, where the instruction means ones that checks know of.
    fn invalidate(&mut self, inst: &Prepared, caches: Caches, is_known: bool) -> Outcome {
        if is_known {
            self.races.invalidate(self.wave, caches);
        }
        self.issue(inst, Span::default());
        Ok(())
    }

    fn buffer_load<const N: usize>(&mut self, inst: &Prepared, extend: Extend) -> Outcome {
        if inst.inst.mods.lds {
            return self.refuse(inst, "loads of bytes and halves to LDS");
        }
        let buffer = self.buffer(inst, 0, N)?;
        self.vector_load::<N>(inst, extend, |exec, lane| exec.buffer_address::<N>(&buffer, lane, 0))
    }

    fn buffer_load_words<const M: usize>(&mut self, inst: &Prepared) -> Outcome {
        let buffer = self.buffer(inst, 0, 4 * M)?;
        let address = |exec: &Self, lane, word: usize| {
            exec.buffer_address::<4>(&buffer, lane, 4 * word as u64)
        };
        if inst.inst.mods.lds {
            return self.load_to_lds::<M>(inst, address);
        }
        self.vector_loads::<4, M>(inst, Extend::Words, |exec, lane| {
            std::array::from_fn(|word| address(exec, lane, word))
        })
    }

    fn buffer_store<const N: usize>(&mut self, inst: &Prepared, shift: u32) -> Outcome {
        let buffer = self.buffer(inst, 1, N)?;
        self.vector_store::<N>(inst, 0, shift, |exec, lane| {
            exec.buffer_address::<N>(&buffer, lane, 0)
        })
    }

    fn buffer_store_words(&mut self, inst: &Prepared, n_words: usize) -> Outcome {
        let buffer = self.buffer(inst, 1, 4 * n_words)?;
        for word in 0..n_words {
            self.store_word(inst, 0, word as u16, |exec, lane| {
                exec.buffer_address::<4>(&buffer, lane, 4 * word as u64)
            })?;
        }
        self.issue(inst, Span::default());
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests;
