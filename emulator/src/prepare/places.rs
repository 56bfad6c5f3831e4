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
    /// Sources, one bit each, that have to be spread.
    pub spread: u8,
    /// Some source has two words.
    pub is_wide: bool,
    /// ABS of each source in the low bits, NEG from bit 4 on.
    pub signs: u8,
    /// Where the values of those to be spread come from.
    uniforms: [Uniform; 3],
    /// Values of the constants among them.
    constants: [u32; 3],
}

/// Where the value of a scalar source comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Uniform {
    Constant,
    Scalar(u8),
    /// It has to be worked out.
    Other,
}

impl Places {
    pub(super) fn of(details: &Details) -> Places {
        let result = match details.dst[0] {
            Dest::Vector(register) => register,
            Dest::None | Dest::Scalar(_) => SCRAP_STAGE,
        };
        let mut places = Places {
            result,
            sources: [ZERO_STAGE; 3],
            highs: [ZERO_STAGE; 3],
            spread: 0,
            is_wide: details.bits[..3].iter().any(|bits| *bits > 32),
            signs: 0,
            uniforms: [Uniform::Other; 3],
            constants: [0; 3],
        };
        let mut slots = Slots::default();
        for (k, source) in details.src.iter().take(3).enumerate() {
            places.signs |= u8::from(details.abs[k]) << k | u8::from(details.neg[k]) << (k + 4);
            match *source {
                Source::Scalar(register) => places.uniforms[k] = Uniform::Scalar(register),
                Source::Const(value) if value <= u32::MAX.into() => {
                    (places.uniforms[k], places.constants[k]) = (Uniform::Constant, value as u32);
                }
                _ => {}
            }
            match *source {
                Source::Vector(register) => {
                    (places.sources[k], places.highs[k]) = (register, register.wrapping_add(1));
                }
                Source::None => {}
                _ => {
                    let key = places.key(k);
                    places.sources[k] = slots.take(key);
                    if places.is_wide {
                        places.highs[k] = slots.take(key.wrapping_add(1));
                    }
                    places.spread |= 1 << k;
                }
            }
        }
        places
    }

    /// What tells scalar sources apart, mostly: those with one value often follow each other.
    fn key(&self, k: usize) -> u32 {
        match self.uniforms[k] {
            Uniform::Constant => self.constants[k].wrapping_mul(0x9e37_79b9) >> 16,
            Uniform::Scalar(register) => register.into(),
            Uniform::Other => k as u32,
        }
    }

    /// The value of a source that has to be spread, if it lies ready.
    #[inline]
    pub(crate) fn uniform(&self, k: usize, scalars: &ScalarFile) -> Option<u64> {
        match self.uniforms[k] {
            Uniform::Constant => Some(self.constants[k].into()),
            Uniform::Scalar(register) => Some(scalars.pair(register)),
            Uniform::Other => None,
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
