//! Execution of scalar arithmetic.
//!
//! Sources are taken as wide as the row says; results come with the rule of their undefined bits. The
//! scalar condition code is undefined when it depends on undefined bits.

use crate::checks::origins::SCC;
use crate::exec::{Exec, Outcome};
use crate::operand::Dest;
use crate::prepare::Prepared;
use crate::taint::{Bits, Rule};
use crate::wave::scalar;

/// What becomes of the scalar condition code.
pub(crate) enum Scc {
    /// It stays.
    Keep,
    /// Set when the result is not zero.
    NonZero,
    /// Set to this.
    Set(bool),
}

/// A result and what becomes of SCC.
pub(crate) type Scalar = (u64, Scc);

/// A result that leaves SCC alone.
pub(crate) fn keep(value: impl Into<u64>) -> Scalar {
    (value.into(), Scc::Keep)
}

/// A result that sets SCC when it is not zero.
pub(crate) fn nonzero(value: impl Into<u64>) -> Scalar {
    (value.into(), Scc::NonZero)
}

/// A result and the bit for SCC.
pub(crate) fn with((value, scc): (u32, bool)) -> Scalar {
    (value.into(), Scc::Set(scc))
}

impl Exec<'_> {
    /// Value and undefined bits of a scalar source, as wide as its type.
    pub(crate) fn scalar_source(&self, inst: &Prepared, k: usize) -> Bits {
        let bits = Bits {
            value: self.uniform(inst.src[k]),
            undefined: self.uniform_undefined(inst.src[k]),
        };
        let mask = match inst.bits[k] {
            width @ 0..64 => (1 << width) - 1,
            _ => u64::MAX,
        };
        Bits { value: bits.value & mask, undefined: bits.undefined & mask }
    }

    /// Any scalar operation of 32-bit sources.
    pub(crate) fn scalar32(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32) -> Scalar,
        rule: Rule,
    ) -> Outcome {
        self.scalar64(inst, |a, b| f(low(a), low(b)), rule)
    }

    /// Any scalar operation; the width of the result is that of the row.
    pub(crate) fn scalar64(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u64, u64) -> Scalar,
        rule: Rule,
    ) -> Outcome {
        let (a, b) = (self.scalar_source(inst, 0), self.scalar_source(inst, 1));
        let (value, scc) = f(a.value, b.value);
        let undefined =
            if a.undefined | b.undefined == 0 { 0 } else { rule([a, b, Bits::default()]) };
        self.finish_scalar(inst, Bits { value, undefined }, scc, a.undefined | b.undefined != 0);
        Ok(())
    }

    /// An operation that also reads SCC.
    pub(crate) fn scalar_scc(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, bool) -> Scalar,
        rule: Rule,
    ) -> Outcome {
        let (a, b) = (self.scalar_source(inst, 0), self.scalar_source(inst, 1));
        let (value, scc) = f(low(a.value), low(b.value), self.wave.scc);
        let carry = Bits { value: 0, undefined: self.wave.is_scc_undefined.into() };
        let is_undefined = a.undefined | b.undefined | carry.undefined != 0;
        let undefined = if is_undefined { rule([a, b, carry]) } else { 0 };
        self.finish_scalar(inst, Bits { value, undefined }, scc, is_undefined);
        Ok(())
    }

    /// A choice by SCC between two sources.
    pub(crate) fn scalar_select(&mut self, inst: &Prepared) -> Outcome {
        let (a, b) = (self.scalar_source(inst, 0), self.scalar_source(inst, 1));
        let chosen = if self.wave.scc { a } else { b };
        let unsure = if self.wave.is_scc_undefined {
            a.value ^ b.value | a.undefined | b.undefined
        } else {
            0
        };
        let bits = Bits { value: chosen.value, undefined: chosen.undefined | unsure };
        self.finish_scalar(inst, bits, Scc::Keep, false);
        Ok(())
    }

    /// A comparison of two sources to SCC.
    pub(crate) fn scalar_compare(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u64, u64) -> bool,
    ) -> Outcome {
        let (a, b) = (self.scalar_source(inst, 0), self.scalar_source(inst, 1));
        self.wave.scc = f(a.value, b.value);
        self.wave.is_scc_undefined = a.undefined | b.undefined != 0;
        if self.wave.is_scc_undefined {
            self.note_undefined_at(inst, SCC);
        }
        Ok(())
    }

    /// A comparison of 32-bit sources to SCC.
    pub(crate) fn scalar_compare32(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32) -> bool,
    ) -> Outcome {
        self.scalar_compare(inst, |a, b| f(low(a), low(b)))
    }

    /// `sdst = EXEC; EXEC = f(source, EXEC)`, SCC set when EXEC is not zero. With `to_both`, `sdst` gets
    /// the new EXEC instead.
    pub(crate) fn scalar_exec(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u64, u64) -> u64,
        to_both: bool,
    ) -> Outcome {
        let source = self.scalar_source(inst, 0);
        let is_wide = self.scalar_width(inst) == 64;
        let mask = if is_wide { u64::MAX } else { 0xffff_ffff };
        let old = self.wave.scalars.pair(scalar::EXEC) & mask;
        let new = f(source.value, old) & mask;
        // A bit of EXEC depends on the source's bit of equal place, or not on the source at all.
        let (low, high) = (source.value & !source.undefined, source.value | source.undefined);
        let undefined = (f(low, old) ^ f(high, old)) & mask;
        self.set_scalar(inst, inst.dst[0], Bits::defined(if to_both { new } else { old }), is_wide);
        self.set_scalar(inst, Dest::Scalar(scalar::EXEC), Bits { value: new, undefined }, is_wide);
        self.wave.scc = new != 0;
        self.wave.is_scc_undefined = false;
        Ok(())
    }

    fn set_scalar(&mut self, inst: &Prepared, dest: Dest, bits: Bits, is_wide: bool) {
        if is_wide {
            self.set_scalar64(inst, dest, bits);
        } else {
            self.set_scalar32(inst, dest, bits);
        }
    }

    /// Width of the first destination in bits.
    pub(crate) fn scalar_width(&self, inst: &Prepared) -> u64 {
        let destination = inst.inst.row().operands.first().filter(|spec| spec.is_dst);
        destination.map_or(32, |spec| spec.ty.bits(self.target).into())
    }

    /// All lanes of the wave.
    pub(crate) fn lane_bits(&self) -> u64 {
        if self.wave.width == 32 { 0xffff_ffff } else { u64::MAX }
    }

    fn finish_scalar(&mut self, inst: &Prepared, bits: Bits, scc: Scc, is_undefined: bool) {
        let is_wide = self.scalar_width(inst) == 64;
        let mask = if is_wide { u64::MAX } else { 0xffff_ffff };
        let bits = Bits { value: bits.value & mask, undefined: bits.undefined & mask };
        self.set_scalar(inst, inst.dst[0], bits, is_wide);
        match scc {
            Scc::Keep => {}
            Scc::NonZero => {
                self.wave.scc = bits.value != 0;
                // One bit that is surely set decides it.
                self.wave.is_scc_undefined =
                    bits.undefined != 0 && bits.value & !bits.undefined == 0;
            }
            Scc::Set(value) => {
                self.wave.scc = value;
                self.wave.is_scc_undefined = is_undefined;
            }
        }
        if self.wave.is_scc_undefined && !matches!(scc, Scc::Keep) {
            self.note_undefined_at(inst, SCC);
        }
    }
}

fn low(bits: u64) -> u32 {
    (bits & 0xffff_ffff) as u32
}
