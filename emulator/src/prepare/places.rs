//! Where the operands of vector arithmetic lie.

use super::Details;
use crate::operand::{Dest, Source};
use crate::wave::{N_SPREAD, SCRAP_STAGE, SPREAD_STAGE, ScalarFile, ZERO_STAGE};

/// Where the first result and the first three sources of an instruction lie as 32-bit values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// The vector register of the result; of scalar results, one that nobody reads.
    pub result: u16,
    /// The vector register that holds each source; scalars and constants are spread over a staging register.
    pub sources: [u16; 3],
    /// The vector register that holds the high word of each source that has one.
    pub highs: [u16; 3],
    /// Some source has two words.
    pub is_wide: bool,
    /// ABS of each source in the low bits, NEG from bit 4 on.
    pub signs: u8,
    /// The first scalar register of the last source, where that is a lane mask.
    pub mask: Option<u8>,
    /// The first scalar register of the result, where it has some.
    pub scalar_result: Option<u8>,
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
            result,
            sources: [ZERO_STAGE; 3],
            highs: [ZERO_STAGE; 3],
            is_wide: (0..3).any(|k| is_value(k) && details.bits[k] > 32),
            signs: 0,
            mask: None,
            scalar_result,
            n_spread: 0,
            is_spread_ready: false,
            spread: [Spread { source: 0, slot: 0, uniform: Uniform::Other }; 3],
        };
        let mut slots = Slots::default();
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
                Source::Const(value) => u32::try_from(value).map_or(Uniform::Other, Uniform::Constant),
                Source::Vccz | Source::Execz | Source::Scc => Uniform::Other,
            };
            let key = uniform.key(k);
            places.sources[k] = slots.take(key);
            if places.is_wide {
                places.highs[k] = slots.take(key.wrapping_add(1));
            }
            let slot = (places.sources[k] - SPREAD_STAGE) as u8;
            places.spread[usize::from(places.n_spread)] = Spread { source: k as u8, slot, uniform };
            places.n_spread += 1;
        }
        places.is_spread_ready = !places.is_wide
            && places.spread().iter().all(|spread| spread.uniform != Uniform::Other);
        places
    }

    /// Sources that have to be spread.
    #[inline(always)]
    pub(crate) fn spread(&self) -> &[Spread] {
        &self.spread[..usize::from(self.n_spread % 4)]
    }

    /// Sources with NEG or ABS, one bit each.
    #[inline(always)]
    pub(crate) fn signed(&self) -> u8 {
        (self.signs | self.signs >> 4) & 7
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
    fn take(&mut self, key: u32) -> u16 {
        let free = |slot: &u16| self.0 >> slot & 1 == 0;
        let mut slots = (0..N_SPREAD).map(|by| (key as u16).wrapping_add(by) % N_SPREAD);
        let slot = slots.find(free).expect("more registers than words of sources");
        self.0 |= 1 << slot;
        SPREAD_STAGE + slot
    }
}
