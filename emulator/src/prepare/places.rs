//! Where the operands of vector arithmetic lie.

use super::{Details, Prepared};
use crate::operand::{Dest, Source, Span};
use crate::wave::{
    AHEAD_STAGE, N_SPREAD, REGISTER_BYTES, SCRAP_STAGE, SPREAD_STAGE, ScalarFile, ZERO_STAGE,
    place, scalar,
};

/// Where the first result and the first three sources of an instruction lie as 32-bit values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// Where the registers of the result and of each source lie in the file, in bytes, and the last of these places.
    bytes: [u32; 4],
    last: u32,
    /// The vector register of the result; of scalar results, one that nobody reads.
    pub result: u16,
    /// The vector register that holds each source; scalars and constants are spread over a staging register.
    sources: [u16; 3],
    /// The vector register that holds the high word of each source that has one.
    highs: [u16; 3],
    /// Some source has two words.
    pub is_wide: bool,
    /// ABS of each source in the low bits, NEG from bit 4 on.
    pub signs: u8,
    /// Sources with NEG or ABS, one bit each.
    pub signed: u8,
    /// The first scalar register of the last source, where that is a lane mask.
    pub mask: Option<u8>,
    /// The first scalar register of the result, where it has some.
    pub scalar_result: Option<u8>,
    /// No source but those three has registers, and none of them more than one.
    pub are_all_sources: bool,
    /// The words of scalar sources, as far as they are known; unknown where some are not.
    scalar_words: [u8; 4],
    n_scalar_words: Option<u8>,
    /// How many sources have to be spread.
    pub n_spread: u8,
    /// All of these are single words that lie ready.
    pub is_spread_ready: bool,
    /// Which these are, and where their values come from.
    spread: [Spread; 3],
}

/// A source that has to be spread over a staging register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// Which source it is.
    pub source: u8,
    /// The number of the staging register among those for this.
    pub slot: u8,
    uniform: Uniform,
}

/// Where the value of a scalar source comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Uniform {
    Constant(u32),
    Scalar(u8),
    /// It has to be worked out.
    Other,
}

impl Places {
    pub(super) fn of(details: &Details) -> Places {
        let (result, scalar_result) = match details.dst[0] {
            Dest::Vector(register) => (register, None),
            Dest::Scalar(register) => (SCRAP_STAGE, Some(register)),
            Dest::None => (SCRAP_STAGE, None),
        };
        let is_value = |k: usize| !details.is_mask[k];
        let mut places = Places {
            bytes: [0; 4],
            last: 0,
            result,
            sources: [ZERO_STAGE; 3],
            highs: [ZERO_STAGE; 3],
            is_wide: (0..3).any(|k| is_value(k) && details.bits[k] > 32),
            signs: 0,
            signed: 0,
            mask: None,
            scalar_result,
            are_all_sources: details.src.iter().zip(details.bits).enumerate().all(
                |(k, (source, bits))| !matches!(source, Source::Vector(_)) || k < 3 && bits <= 32,
            ),
            scalar_words: [0; 4],
            n_scalar_words: Some(0),
            n_spread: 0,
            is_spread_ready: false,
            spread: [Spread { source: 0, slot: 0, uniform: Uniform::Other }; 3],
        };
        let mut slots = Slots::default();
        let slots = &mut slots;
        for (k, source) in details.src.iter().take(3).enumerate() {
            places.signs |= u8::from(details.abs[k]) << k | u8::from(details.neg[k]) << (k + 4);
            let uniform = match *source {
                Source::Vector(register) => {
                    (places.sources[k], places.highs[k]) = (register, register.wrapping_add(1));
                    continue;
                }
                Source::None => continue,
                Source::Scalar(register) if details.is_mask[k] => {
                    places.mask = Some(register);
                    continue;
                }
                Source::Scalar(register) => Uniform::Scalar(register),
                Source::Const(value) => {
                    u32::try_from(value).map_or(Uniform::Other, Uniform::Constant)
                }
                Source::Vccz | Source::Execz | Source::Scc => Uniform::Other,
            };
            let key = uniform.key(k);
            let slot = slots.take(key).expect("more registers than words of sources");
            places.sources[k] = SPREAD_STAGE + u16::from(slot);
            if places.is_wide {
                let high = slots.take(key.wrapping_add(1)).expect("as above");
                places.highs[k] = SPREAD_STAGE + u16::from(high);
            }
            places.spread[usize::from(places.n_spread)] = Spread { source: k as u8, slot, uniform };
            places.n_spread += 1;
        }
        places.is_spread_ready = !places.is_wide
            && places.spread().iter().all(|spread| spread.uniform != Uniform::Other);
        details
            .src
            .iter()
            .zip(details.bits)
            .for_each(|(source, bits)| places.note_scalar(*source, bits));
        places.signed = (places.signs | places.signs >> 4) & 7;
        places.find_rows();
        places
    }

    fn note_scalar(&mut self, source: Source, bits: u8) {
        match source {
            Source::None | Source::Vector(_) | Source::Const(_) | Source::Execz => {}
            Source::Scalar(first) => {
                for word in 0..bits.div_ceil(32) {
                    let n_before = self.n_scalar_words.map_or(usize::MAX, usize::from);
                    self.n_scalar_words = self.scalar_words.get_mut(n_before).map(|entry| {
                        *entry = first + word;
                        n_before as u8 + 1
                    });
                }
            }
            Source::Scc | Source::Vccz => self.n_scalar_words = None,
        }
    }

    /// The scalar registers that sources name, where these are few.
    #[inline(always)]
    pub(crate) fn scalar_words(&self) -> Option<&[u8]> {
        self.scalar_words.get(..usize::from(self.n_scalar_words?))
    }

    fn find_rows(&mut self) {
        let [a, b, c] = self.sources;
        let bytes = |register: u16| (place(register) * REGISTER_BYTES) as u32;
        self.bytes = [self.result, a, b, c].map(bytes);
        self.last = self.bytes.into_iter().max().unwrap_or_default();
    }

    /// Where the registers of the result and of each source lie in the file, in bytes: multiples of [`REGISTER_BYTES`].
    #[inline(always)]
    pub(crate) fn bytes(&self) -> [u32; 4] {
        self.bytes
    }

    /// The last of [`Places::bytes`].
    #[inline(always)]
    pub(crate) fn last(&self) -> u32 {
        self.last
    }

    /// The vector register that holds a source, or its high word.
    #[inline(always)]
    pub(crate) fn source(&self, k: usize, is_high: bool) -> u16 {
        if is_high { self.highs[k] } else { self.sources[k] }
    }

    /// Sources that have to be spread.
    #[inline(always)]
    pub(crate) fn spread(&self) -> &[Spread] {
        &self.spread[..usize::from(self.n_spread % 4)]
    }
}

impl Spread {
    /// The low word, if it lies ready.
    #[inline(always)]
    pub(crate) fn word(&self, scalars: &ScalarFile) -> u32 {
        match self.uniform {
            Uniform::Constant(value) => value,
            Uniform::Scalar(register) => scalars.get(register),
            Uniform::Other => 0,
        }
    }

    /// The value, if it lies ready.
    pub(crate) fn value(&self, scalars: &ScalarFile) -> Option<u64> {
        match self.uniform {
            Uniform::Constant(value) => Some(value.into()),
            Uniform::Scalar(register) => Some(scalars.pair(register)),
            Uniform::Other => None,
        }
    }
}

impl Uniform {
    /// What tells scalar sources apart, mostly: those with one value often follow each other.
    fn key(self, k: usize) -> u32 {
        match self {
            Uniform::Constant(value) => value.wrapping_mul(0x9e37_79b9) >> 16,
            Uniform::Scalar(register) => register.into(),
            Uniform::Other => k as u32,
        }
    }
}

/// The staging registers that an instruction spreads scalar sources over, one bit each.
#[derive(Default)]
struct Slots(u32);

impl Slots {
    /// The one for a key, or the next that is free.
    fn take(&mut self, key: u32) -> Option<u8> {
        let first = key % u32::from(N_SPREAD);
        let mut slots = (0..u32::from(N_SPREAD)).map(|by| (first + by) % u32::from(N_SPREAD));
        let slot = slots.find(|slot| self.0 >> slot & 1 == 0)?;
        self.0 |= 1 << slot;
        Some(slot as u8)
    }
}

/// What a block of instructions spreads before its first one.
#[derive(Default)]
pub(crate) struct Ahead {
    slots: Slots,
    /// Registers that an instruction before the current one writes, one bit each.
    written: u128,
    spread: Vec<Spread>,
}

impl Ahead {
    /// Takes over what an instruction spreads, but for registers that one before it writes. A block has all its
    /// instructions pass here, in their order.
    pub(crate) fn take(&mut self, inst: &mut Prepared) {
        if inst.places.is_spread_ready {
            self.take_ready(&mut inst.places);
            inst.note_speed();
        }
        let spans = inst.spans().filter(|span| span.is_destination);
        let scalars = spans.flat_map(Span::slots).filter(|slot| *slot < scalar::COUNT);
        self.written = scalars.fold(self.written, |written, slot| written | 1 << slot);
        if inst.finds_registers {
            self.written = u128::MAX;
        }
    }

    fn take_ready(&mut self, places: &mut Places) {
        let spread = places.spread;
        let n_before = usize::from(std::mem::take(&mut places.n_spread));
        for one in &spread[..n_before] {
            match self.slot(one.uniform) {
                Some(slot) => {
                    places.sources[usize::from(one.source)] = AHEAD_STAGE + u16::from(slot);
                }
                None => {
                    places.spread[usize::from(places.n_spread)] = *one;
                    places.n_spread += 1;
                }
            }
        }
        places.find_rows();
    }

    /// The number of the register, among those for this, that is to hold a value.
    fn slot(&mut self, uniform: Uniform) -> Option<u8> {
        let is_ahead = match uniform {
            Uniform::Constant(_) => true,
            // What moves registers writes M0 without naming it.
            Uniform::Scalar(register) => {
                register != scalar::M0 && self.written >> (register & 127) & 1 == 0
            }
            Uniform::Other => false,
        };
        if !is_ahead {
            return None;
        }
        if let Some(same) = self.spread.iter().find(|spread| spread.uniform == uniform) {
            return Some(same.slot - N_SPREAD as u8);
        }
        let slot = self.slots.take(uniform.key(0))?;
        self.spread.push(Spread { source: 0, slot: N_SPREAD as u8 + slot, uniform });
        Some(slot)
    }

    /// All that is to be spread.
    pub(crate) fn into_spread(self) -> Box<[Spread]> {
        self.spread.into()
    }
}
