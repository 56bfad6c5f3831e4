//! Vector memory accesses: lanes, bytes, registers.
//!
//! A load or store walks the active lanes in ascending order (so that the highest lane wins where lanes
//! store to one address), checks address and alignment, and moves bytes with their written bits. Its
//! effect is immediate and the same on every run; that hardware is slower is the scoreboard's business.

use isa::format::Encoding;

use crate::checks::races::Access;
use crate::checks::waits::{Counter, Queue};
use crate::checks::{alignment, races, undefined};
use crate::exec::{Exec, Outcome};
use crate::fault::Cause;
use crate::operand::{Dest, PRIVATE_APERTURE, SHARED_APERTURE, Source, Span};
use crate::prepare::Prepared;
use crate::traffic;
use crate::wave::{ROW_LANES, Row};

/// Bits of a word that come from unwritten bytes; bit i of `written` is byte i.
pub(crate) fn undefined_mask(written: u32) -> u32 {
    (0..4).filter(|byte| written >> byte & 1 == 0).fold(0, |bits, byte| bits | 0xff << (8 * byte))
}

/// Bytes of a word without undefined bits, as a mask of bytes.
fn written_bytes(undefined: u32) -> u32 {
    (0..4)
        .filter(|byte| undefined >> (8 * byte) & 0xff == 0)
        .fold(0, |bytes, byte| bytes | 1 << byte)
}

/// The memory that an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global(u64),
    Lds(u32),
    Scratch(u32),
    /// Behind the range of a buffer resource: loads give zero, stores do nothing.
    OutOfRange,
}

/// How loaded bytes become register bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extend {
    /// Whole words.
    Words,
    /// Zero-extended to a word.
    Zero,
    /// Sign-extended to a word.
    Sign,
    /// To 16 bits, zero-extended, into the half at this bit; the other half stays.
    HalfZero(u32),
    /// To 16 bits, sign-extended, into the half at this bit; the other half stays.
    HalfSign(u32),
}

/// What a row of lanes loads: words, their undefined bits, and which bits of the registers are written.
struct Loaded {
    values: [Row; 4],
    undefined: [Row; 4],
    mask: u32,
}

impl Loaded {
    fn new() -> Loaded {
        Loaded { values: [[0; ROW_LANES]; 4], undefined: [[0; ROW_LANES]; 4], mask: u32::MAX }
    }

    /// Puts the bytes of a lane at a word.
    fn put<const N: usize>(
        &mut self,
        lane: usize,
        first_word: usize,
        bytes: [u8; N],
        written: u32,
        extend: Extend,
    ) {
        for (word, chunk) in bytes.chunks(4).enumerate() {
            let mut padded = [0; 4];
            padded[..chunk.len()].copy_from_slice(chunk);
            let absent = !((1 << chunk.len()) - 1);
            let undefined = undefined_mask(written >> (4 * word) | absent);
            let (value, undefined) = self.extend(u32::from_le_bytes(padded), undefined, N, extend);
            self.values[first_word + word][lane] = value;
            self.undefined[first_word + word][lane] = undefined;
        }
    }

    fn extend(&mut self, value: u32, undefined: u32, n_bytes: usize, extend: Extend) -> (u32, u32) {
        let width = 8 * n_bytes as u32;
        let signed = |bits: u32| super::integer::sign_extend(bits, width.min(32));
        match extend {
            Extend::Words | Extend::Zero => (value, undefined),
            Extend::Sign => (signed(value), signed(undefined)),
            Extend::HalfZero(shift) | Extend::HalfSign(shift) => {
                self.mask = 0xffff << shift;
                let is_signed = extend == Extend::HalfSign(shift);
                let half =
                    |bits: u32| (if is_signed { signed(bits) } else { bits } & 0xffff) << shift;
                (half(value), half(undefined))
            }
        }
    }
}

impl Exec<'_> {
    /// Loads `N` bytes a lane to the first destination.
    pub(crate) fn vector_load<const N: usize>(
        &mut self,
        inst: &Prepared,
        extend: Extend,
        address: impl Fn(&Self, usize) -> Space,
    ) -> Outcome {
        self.vector_loads::<N, 1>(inst, extend, |exec, lane| [address(exec, lane)])
    }

    /// Loads `N` bytes from each of `M` places a lane to consecutive registers.
    pub(crate) fn vector_loads<const N: usize, const M: usize>(
        &mut self,
        inst: &Prepared,
        extend: Extend,
        addresses: impl Fn(&Self, usize) -> [Space; M],
    ) -> Outcome {
        self.check_address(inst);
        for row in self.rows() {
            self.load_lanes::<N, M>(inst, row, extend, &addresses)?;
        }
        self.issue_result(inst);
        Ok(())
    }

    /// Loads a row of lanes, one by one.
    pub(crate) fn load_lanes<const N: usize, const M: usize>(
        &mut self,
        inst: &Prepared,
        row: usize,
        extend: Extend,
        addresses: impl Fn(&Self, usize) -> [Space; M],
    ) -> Outcome {
        let mut loaded = Loaded::new();
        for lane in self.lanes(row) {
            for (part, space) in addresses(self, lane).into_iter().enumerate() {
                let (bytes, written) = self.load_bytes::<N>(inst, lane, space)?;
                loaded.put(lane % ROW_LANES, part * N.div_ceil(4), bytes, written, extend);
            }
        }
        self.put_loaded(inst, row, &loaded, M * N.div_ceil(4));
        Ok(())
    }

    fn put_loaded(&mut self, inst: &Prepared, row: usize, loaded: &Loaded, n_words: usize) {
        let Dest::Vector(register) = inst.dst[0] else { return };
        let lanes = self.wave.active_row(row);
        for word in 0..n_words {
            let register = register + word as u16;
            self.wave.vectors.write_row(register, row, lanes, loaded.mask, &loaded.values[word]);
            if loaded.undefined[word].iter().any(|bits| *bits != 0) {
                self.wave.vectors.taint_row(
                    register,
                    row,
                    lanes,
                    loaded.mask,
                    &loaded.undefined[word],
                );
                self.note_loaded(inst);
            }
        }
    }

    /// Stores `N` bytes a lane from source `k`, from this bit of its first register on.
    pub(crate) fn vector_store<const N: usize>(
        &mut self,
        inst: &Prepared,
        k: usize,
        shift: u32,
        address: impl Fn(&Self, usize) -> Space,
    ) -> Outcome {
        self.store_part::<N>(inst, k, shift, address)?;
        self.issue(inst, Span::default());
        Ok(())
    }

    /// As [`Exec::vector_store`], without counting the instruction.
    pub(crate) fn store_part<const N: usize>(
        &mut self,
        inst: &Prepared,
        k: usize,
        shift: u32,
        address: impl Fn(&Self, usize) -> Space,
    ) -> Outcome {
        self.store_registers::<N>(inst, k, 0, shift, address)
    }

    /// Stores register `word` of source `k`, without counting the instruction.
    pub(crate) fn store_word(
        &mut self,
        inst: &Prepared,
        k: usize,
        word: u16,
        address: impl Fn(&Self, usize) -> Space,
    ) -> Outcome {
        self.store_registers::<4>(inst, k, word, 0, address)
    }

    fn store_registers<const N: usize>(
        &mut self,
        inst: &Prepared,
        k: usize,
        from: u16,
        shift: u32,
        address: impl Fn(&Self, usize) -> Space,
    ) -> Outcome {
        self.check_address(inst);
        for row in self.rows() {
            self.store_lanes::<N>(inst, k, (from, shift), row, &address)?;
        }
        Ok(())
    }

    /// Stores a row of lanes, one by one, from a register and bit of source `k` on.
    pub(crate) fn store_lanes<const N: usize>(
        &mut self,
        inst: &Prepared,
        k: usize,
        (from, shift): (u16, u32),
        row: usize,
        address: impl Fn(&Self, usize) -> Space,
    ) -> Outcome {
        for lane in self.lanes(row) {
            let (bytes, written) = self.stored_bytes::<N>(inst, k, from, shift, lane);
            let space = address(self, lane);
            let all = (1_u32 << N) - 1;
            let is_seen = !matches!(space, Space::Scratch(_) | Space::OutOfRange);
            if written & all != all && is_seen {
                undefined::store(self, inst, lane as u32, &undefined::slots_of(inst, k));
            }
            self.store_bytes(inst, lane, space, bytes, written)?;
        }
        Ok(())
    }

    /// The bytes of a lane's data registers, from register `from` on, and which of them are defined.
    fn stored_bytes<const N: usize>(
        &self,
        inst: &Prepared,
        k: usize,
        from: u16,
        shift: u32,
        lane: usize,
    ) -> ([u8; N], u32) {
        let mut bytes = [0; N];
        let mut written = 0;
        for (word, chunk) in bytes.chunks_mut(4).enumerate() {
            let bits = match inst.src[k] {
                Source::Vector(register) => {
                    self.wave.vectors.lane_bits(register + from + word as u16, lane)
                }
                uniform => self.lane_source(uniform, lane as u32),
            };
            let (value, undefined) =
                ((bits.value >> shift) as u32, (bits.undefined >> shift) as u32);
            chunk.copy_from_slice(&value.to_le_bytes()[..chunk.len()]);
            written |= written_bytes(undefined) << (4 * word);
        }
        (bytes, written)
    }

    /// Active lanes of a row, by their number in the wave.
    pub(crate) fn lanes(&self, row: usize) -> impl Iterator<Item = usize> + use<> {
        let active = self.wave.active;
        (row * ROW_LANES..(row + 1) * ROW_LANES).filter(move |lane| active >> lane & 1 == 1)
    }

    /// Loads bytes of a lane from wherever its address lies.
    #[inline]
    pub(crate) fn load_bytes<const N: usize>(
        &mut self,
        inst: &Prepared,
        lane: usize,
        space: Space,
    ) -> Result<([u8; N], u32), Box<Cause>> {
        self.check_alignment(inst, lane, N, space);
        let loaded = match space {
            Space::Global(address) => {
                let loaded = self.memory.load::<N>(&mut self.cursor, address);
                loaded.map_err(|error| Box::new(Cause::Memory { lane: Some(lane as u32), error }))
            }
            Space::Lds(address) => {
                self.lds.load::<N>(address).ok_or_else(|| self.outside_lds(lane, address, N))
            }
            Space::Scratch(address) => self
                .scratch
                .load::<N>(lane, address)
                .ok_or_else(|| self.outside_scratch(lane, address, N)),
            Space::OutOfRange => Ok(([0; N], u32::MAX)),
        }?;
        races::check(self, inst, lane, space, N, Access::Read);
        traffic::note(self, inst, lane, space, N, false);
        let (bytes, written) = loaded;
        Ok((bytes, if self.options.checks { written } else { u32::MAX }))
    }

    /// Stores bytes of a lane to wherever its address lies.
    #[inline]
    pub(crate) fn store_bytes<const N: usize>(
        &mut self,
        inst: &Prepared,
        lane: usize,
        space: Space,
        bytes: [u8; N],
        written: u32,
    ) -> Outcome {
        self.check_alignment(inst, lane, N, space);
        let access = self.write_access(space, &bytes, written);
        let stored = match space {
            Space::Global(address) => {
                let stored = self.memory.store::<N>(&mut self.cursor, address, bytes, written);
                stored.map_err(|error| Box::new(Cause::Memory { lane: Some(lane as u32), error }))
            }
            Space::Lds(address) => self
                .lds
                .store::<N>(address, bytes, written)
                .ok_or_else(|| self.outside_lds(lane, address, N)),
            Space::Scratch(address) => {
                let stored = self.scratch.store::<N>(lane, address, bytes, written);
                stored.ok_or_else(|| self.outside_scratch(lane, address, N))
            }
            Space::OutOfRange => Ok(()),
        };
        stored?;
        races::check(self, inst, lane, space, N, access);
        traffic::note(self, inst, lane, space, N, true);
        Ok(())
    }

    /// Whether a store to LDS changes anything, which only race checks ask.
    #[inline]
    fn write_access<const N: usize>(&self, space: Space, bytes: &[u8; N], written: u32) -> Access {
        let before = match space {
            Space::Lds(address) if self.races.is_on() => self.lds.load::<N>(address),
            _ => None,
        };
        let all = (1_u32 << N) - 1;
        let is_same = before.is_some_and(|(before, was_written)| {
            before == *bytes && was_written & all == all && written & all == all
        });
        if is_same { Access::Rewrite } else { Access::Write }
    }

    #[inline]
    fn check_alignment(&mut self, inst: &Prepared, lane: usize, n_bytes: usize, space: Space) {
        let (address, demanded) = match space {
            Space::Global(address) => (address, alignment::global(n_bytes)),
            Space::Lds(address) => (address.into(), alignment::lds(n_bytes)),
            Space::Scratch(address) => (address.into(), alignment::global(n_bytes)),
            Space::OutOfRange => return,
        };
        alignment::check_vector(self, inst, lane as u32, address, demanded);
    }

    #[cold]
    fn outside_lds(&self, lane: usize, address: u32, n_bytes: usize) -> Box<Cause> {
        let limit_bytes = self.lds.size_bytes();
        Box::new(Cause::LdsOutOfBounds {
            lane: lane as u32,
            address,
            bytes: n_bytes as u32,
            limit_bytes,
        })
    }

    #[cold]
    fn outside_scratch(&self, lane: usize, address: u32, n_bytes: usize) -> Box<Cause> {
        let limit_bytes = self.scratch.bytes_per_lane();
        Box::new(Cause::ScratchOutOfBounds {
            lane: lane as u32,
            address,
            bytes: n_bytes as u32,
            limit_bytes,
        })
    }

    /// Reports undefined bits of the address operands in active lanes.
    #[inline]
    pub(crate) fn check_address(&mut self, inst: &Prepared) {
        if !self.wave.tracks_undefined {
            return;
        }
        for k in inst.addresses() {
            let is_suspect = match inst.src[k] {
                Source::Vector(register) => (0..u16::from(inst.bits[k].div_ceil(32))).any(|word| {
                    (0..self.wave.n_rows())
                        .any(|row| self.wave.vectors.is_tainted(register + word, row))
                }),
                Source::Scalar(_) => self.source_bits(inst, k, 0).undefined != 0,
                _ => false,
            };
            if is_suspect {
                self.report_address(inst, k);
            }
        }
    }

    #[cold]
    fn report_address(&mut self, inst: &Prepared, k: usize) {
        let active = self.wave.active;
        let mut lanes = (0..self.wave.width as usize).filter(|lane| active >> lane & 1 == 1);
        if let Some(lane) = lanes.find(|lane| self.source_bits(inst, k, *lane).undefined != 0) {
            let registers = undefined::slots_of(inst, k);
            undefined::address(self, inst, Some(lane as u32), &registers);
        }
    }

    /// Counts a vector memory instruction as outstanding.
    pub(crate) fn issue(&mut self, inst: &Prepared, span: Span) {
        traffic::issued(self, inst);
        let queue = inst.queue.unwrap_or(Queue::Unordered);
        let (counters, n_counters) = inst.counters;
        self.count_outstanding(inst, queue, &counters[..n_counters], span);
    }

    /// As [`Exec::issue`], of one whose result is outstanding where it has active lanes.
    pub(crate) fn issue_result(&mut self, inst: &Prepared) {
        let is_pending = self.options.checks && self.wave.active != 0;
        self.issue(inst, if is_pending { inst.result_span() } else { Span::default() });
    }

    /// Counts an instruction as outstanding, where anything watches; one without a counter never is.
    pub(crate) fn count_outstanding(
        &mut self,
        inst: &Prepared,
        queue: Queue,
        counters: &[Counter],
        span: Span,
    ) {
        if self.options.checks && !counters.is_empty() {
            self.wave.scoreboard.issue(inst.pc, queue, counters, span);
        }
    }

    /// The space of a flat, global or scratch address.
    pub(crate) fn flat_address(&self, inst: &Prepared, lane: usize, scalar: usize) -> Space {
        let offset = i64::from(inst.inst.mods.offset);
        let vector = self.address_value(inst, 0, lane);
        let base = self.address_value(inst, scalar, lane);
        let address = vector.wrapping_add(base).wrapping_add_signed(offset);
        match inst.inst.encoding {
            Encoding::Scratch => Space::Scratch((address & 0xffff_ffff) as u32),
            Encoding::Flat => aperture(address),
            _ => Space::Global(address),
        }
    }

    /// An address operand of one lane, zero when the instruction does not have it.
    #[inline]
    fn address_value(&self, inst: &Prepared, k: usize, lane: usize) -> u64 {
        match inst.src[k] {
            Source::None => 0,
            Source::Vector(register) => {
                let low = u64::from(self.wave.vectors.lane(register, lane));
                if inst.bits[k] <= 32 {
                    low
                } else {
                    low | u64::from(self.wave.vectors.lane(register + 1, lane)) << 32
                }
            }
            uniform => {
                self.uniform(uniform) & if inst.bits[k] <= 32 { 0xffff_ffff } else { u64::MAX }
            }
        }
    }
}

/// Where a flat address lies: two ranges are LDS and scratch, everything else is global.
fn aperture(address: u64) -> Space {
    let low = (address & 0xffff_ffff) as u32;
    match (address >> 32) as u32 {
        SHARED_APERTURE => Space::Lds(low),
        PRIVATE_APERTURE => Space::Scratch(low),
        _ => Space::Global(address),
    }
}
