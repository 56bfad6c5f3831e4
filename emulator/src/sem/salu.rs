//! Scalar arithmetic: SOP1, SOP2, SOPC, SOPK.

use isa::table::Salu;

use crate::scalars::{keep, nonzero, with};
use crate::sem::Meaning::{self, Exact};
use crate::sem::integer::*;
use crate::sem::relative;
use crate::taint;

/// The 16-bit constant of SOPK, sign-extended.
fn simm(value: u32) -> u32 {
    sign_extend(value & 0xffff, 16)
}

/// `a << shift` plus `b`, and whether it overflowed 32 bits.
fn shift_add(a: u32, b: u32, shift: u32) -> (u32, bool) {
    let sum = (u64::from(a) << shift) + u64::from(b);
    ((sum & 0xffff_ffff) as u32, sum >> 32 != 0)
}

/// Bits from a field packed as offset in bits 5:0 and width in bits 22:16.
fn extract64(value: u64, field: u64) -> u64 {
    let (offset, width) = (field & 63, field >> 16 & 127);
    let shifted = value >> offset;
    if width < 64 { shifted & ((1 << width) - 1) } else { shifted }
}

fn extract_signed64(value: u64, field: u64) -> u64 {
    let width = (field >> 16 & 127).min(64);
    if width == 0 {
        return 0;
    }
    let unused = 64 - width;
    ((extract64(value, field) << unused).cast_signed() >> unused).cast_unsigned()
}

fn extract32(value: u32, field: u32) -> u32 {
    extract64(value.into(), u64::from(field & 31 | field & 0x7f_0000)) as u32
}

fn extract_signed32(value: u32, field: u32) -> u32 {
    match (field >> 16 & 127).min(32) {
        0 => 0,
        width => sign_extend(extract32(value, field), width),
    }
}

fn bit_mask(width: u32, offset: u32) -> u32 {
    ((1 << (width & 31)) - 1) << (offset & 31)
}

fn bit_mask64(width: u64, offset: u64) -> u64 {
    ((1 << (width & 63)) - 1) << (offset & 63)
}

fn count64(found: u32, of_zero: bool) -> u64 {
    if of_zero { 0xffff_ffff } else { found.into() }
}

fn leading_signs64(value: u64) -> u64 {
    let flipped = if value.cast_signed() < 0 { !value } else { value };
    count64(flipped.leading_zeros(), flipped == 0)
}

fn replicate(value: u32) -> u64 {
    (0..32).map(|bit| u64::from(value >> bit & 1) * (3 << (2 * bit))).sum()
}

/// Every bit of a quad that has one set.
fn whole_quads(mask: u64) -> u64 {
    (0..16)
        .filter(|quad| mask >> (4 * quad) & 0xf != 0)
        .fold(0, |all, quad| all | 0xf << (4 * quad))
}

/// One bit a quad that has one set.
fn quad_mask(mask: u64) -> u64 {
    (0..16).filter(|quad| mask >> (4 * quad) & 0xf != 0).fold(0, |all, quad| all | 1 << quad)
}

#[rustfmt::skip]
pub(crate) fn meaning(op: Salu) -> Meaning {
    match op {
        // Moves and selects.
        Salu::SMovB32 => Exact(|x, i| x.scalar32(i, |a, _| keep(a), taint::each)),
        Salu::SMovB64 => Exact(|x, i| x.scalar64(i, |a, _| keep(a), taint::each)),
        Salu::SCmovB32 | Salu::SCmovB64 => Exact(|x, i| x.scalar_select(i)),
        Salu::SCmovkI32 => Exact(|x, i| x.scalar_scc(i, |a, old, scc| keep(if scc { simm(a) } else { old }), taint::any)),
        Salu::SMovkI32 => Exact(|x, i| x.scalar32(i, |a, _| keep(simm(a)), taint::each)),
        Salu::SMovrelsB32 | Salu::SMovrelsB64 => Exact(|x, i| x.move_relative(i, |m0| (m0, 0))),
        Salu::SMovreldB32 | Salu::SMovreldB64 => Exact(|x, i| x.move_relative(i, |m0| (0, m0))),
        Salu::SMovrelsd2B32 => Exact(|x, i| x.move_relative(i, relative::pair)),
        Salu::SCselectB32 | Salu::SCselectB64 => Exact(|x, i| x.scalar_select(i)),

        // Add, subtract, multiply.
        Salu::SAddU32 => Exact(|x, i| x.scalar32(i, |a, b| with(add_carry(a, b, false)), taint::upwards)),
        Salu::SSubU32 => Exact(|x, i| x.scalar32(i, |a, b| with(sub_borrow(a, b, false)), taint::upwards)),
        Salu::SAddI32 => Exact(|x, i| x.scalar32(i, |a, b| with(add_overflow(a, b)), taint::upwards)),
        Salu::SSubI32 => Exact(|x, i| x.scalar32(i, |a, b| with(sub_overflow(a, b)), taint::upwards)),
        Salu::SAddcU32 => Exact(|x, i| x.scalar_scc(i, |a, b, c| with(add_carry(a, b, c)), taint::upwards)),
        Salu::SSubbU32 => Exact(|x, i| x.scalar_scc(i, |a, b, c| with(sub_borrow(a, b, c)), taint::upwards)),
        Salu::SAddkI32 => Exact(|x, i| x.scalar32(i, |k, d| with(add_overflow(d, simm(k))), taint::upwards)),
        Salu::SMulkI32 => Exact(|x, i| x.scalar32(i, |k, d| keep(d.wrapping_mul(simm(k))), taint::upwards)),
        Salu::SMulI32 => Exact(|x, i| x.scalar32(i, |a, b| keep(a.wrapping_mul(b)), taint::upwards)),
        Salu::SMulHiU32 => Exact(|x, i| x.scalar32(i, |a, b| keep(mul_high(a, b)), taint::any)),
        Salu::SMulHiI32 => Exact(|x, i| x.scalar32(i, |a, b| keep(mul_high_signed(a, b)), taint::any)),
        Salu::SAbsdiffI32 => Exact(|x, i| x.scalar32(i, |a, b| nonzero(signed(a).wrapping_sub(signed(b)).unsigned_abs()), taint::any)),
        Salu::SAbsI32 => Exact(|x, i| x.scalar32(i, |a, _| nonzero(signed(a).unsigned_abs()), taint::any)),
        Salu::SLshl1AddU32 => Exact(|x, i| x.scalar32(i, |a, b| with(shift_add(a, b, 1)), taint::any)),
        Salu::SLshl2AddU32 => Exact(|x, i| x.scalar32(i, |a, b| with(shift_add(a, b, 2)), taint::any)),
        Salu::SLshl3AddU32 => Exact(|x, i| x.scalar32(i, |a, b| with(shift_add(a, b, 3)), taint::any)),
        Salu::SLshl4AddU32 => Exact(|x, i| x.scalar32(i, |a, b| with(shift_add(a, b, 4)), taint::any)),
        Salu::SMinI32 => Exact(|x, i| x.scalar32(i, |a, b| with((min_signed(a, b), signed(a) < signed(b))), taint::any)),
        Salu::SMinU32 => Exact(|x, i| x.scalar32(i, |a, b| with((a.min(b), a < b)), taint::any)),
        Salu::SMaxI32 => Exact(|x, i| x.scalar32(i, |a, b| with((max_signed(a, b), signed(a) > signed(b))), taint::any)),
        Salu::SMaxU32 => Exact(|x, i| x.scalar32(i, |a, b| with((a.max(b), a > b)), taint::any)),

        // Bits.
        Salu::SAndB32 | Salu::SAndB64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero(a & b), taint::and)),
        Salu::SOrB32 | Salu::SOrB64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero(a | b), taint::or)),
        Salu::SXorB32 | Salu::SXorB64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero(a ^ b), taint::each)),
        Salu::SNandB32 => Exact(|x, i| x.scalar32(i, |a, b| nonzero(!(a & b)), taint::and)),
        Salu::SNandB64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero(!(a & b)), taint::and)),
        Salu::SNorB32 => Exact(|x, i| x.scalar32(i, |a, b| nonzero(!(a | b)), taint::or)),
        Salu::SNorB64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero(!(a | b)), taint::or)),
        Salu::SXnorB32 => Exact(|x, i| x.scalar32(i, |a, b| nonzero(!(a ^ b)), taint::each)),
        Salu::SXnorB64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero(!(a ^ b)), taint::each)),
        Salu::SAndNot1B32 | Salu::SAndNot1B64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero(a & !b), taint::and_not)),
        Salu::SOrNot1B32 => Exact(|x, i| x.scalar32(i, |a, b| nonzero(a | !b), taint::or_not)),
        Salu::SOrNot1B64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero(a | !b), taint::or_not)),
        Salu::SNotB32 => Exact(|x, i| x.scalar32(i, |a, _| nonzero(!a), taint::each)),
        Salu::SNotB64 => Exact(|x, i| x.scalar64(i, |a, _| nonzero(!a), taint::each)),
        Salu::SLshlB32 => Exact(|x, i| x.scalar32(i, |a, b| nonzero(a << (b & 31)), taint::shift_left32)),
        Salu::SLshlB64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero(a << (b & 63)), taint::shift_left64)),
        Salu::SLshrB32 => Exact(|x, i| x.scalar32(i, |a, b| nonzero(a >> (b & 31)), taint::shift_right32)),
        Salu::SLshrB64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero(a >> (b & 63)), taint::shift_right64)),
        Salu::SAshrI32 => Exact(|x, i| x.scalar32(i, |a, b| nonzero((signed(a) >> (b & 31)).cast_unsigned()), taint::shift_right_signed32)),
        Salu::SAshrI64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero((a.cast_signed() >> (b & 63)).cast_unsigned()), taint::shift_right_signed64)),
        Salu::SBfeU32 => Exact(|x, i| x.scalar32(i, |a, b| nonzero(extract32(a, b)), taint::any)),
        Salu::SBfeI32 => Exact(|x, i| x.scalar32(i, |a, b| nonzero(extract_signed32(a, b)), taint::any)),
        Salu::SBfeU64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero(extract64(a, b)), taint::any)),
        Salu::SBfeI64 => Exact(|x, i| x.scalar64(i, |a, b| nonzero(extract_signed64(a, b)), taint::any)),
        Salu::SBfmB32 => Exact(|x, i| x.scalar32(i, |a, b| keep(bit_mask(a, b)), taint::any)),
        Salu::SBfmB64 => Exact(|x, i| x.scalar64(i, |a, b| keep(bit_mask64(a, b)), taint::any)),
        Salu::SBrevB32 => Exact(|x, i| x.scalar32(i, |a, _| keep(a.reverse_bits()), taint::reverse32)),
        Salu::SBrevB64 => Exact(|x, i| x.scalar64(i, |a, _| keep(a.reverse_bits()), taint::any)),
        Salu::SBitset0B32 | Salu::SBitset0B64 => Exact(|x, i| {
            let bits = x.scalar_width(i) - 1;
            x.scalar64(i, |a, d| keep(d & !(1 << (a & bits))), taint::any)
        }),
        Salu::SBitset1B32 | Salu::SBitset1B64 => Exact(|x, i| {
            let bits = x.scalar_width(i) - 1;
            x.scalar64(i, |a, d| keep(d | 1 << (a & bits)), taint::any)
        }),
        Salu::SBitreplicateB64B32 => Exact(|x, i| x.scalar32(i, |a, _| keep(replicate(a)), taint::any)),
        Salu::SWqmB32 => Exact(|x, i| x.scalar32(i, |a, _| nonzero(whole_quads(a.into()) as u32), taint::any)),
        Salu::SWqmB64 => Exact(|x, i| x.scalar64(i, |a, _| nonzero(whole_quads(a)), taint::any)),
        Salu::SQuadmaskB32 => Exact(|x, i| x.scalar32(i, |a, _| nonzero(quad_mask(a.into()) as u32), taint::any)),
        Salu::SQuadmaskB64 => Exact(|x, i| x.scalar64(i, |a, _| nonzero(quad_mask(a)), taint::any)),
        Salu::SBcnt0I32B32 => Exact(|x, i| x.scalar32(i, |a, _| nonzero(a.count_zeros()), taint::any)),
        Salu::SBcnt0I32B64 => Exact(|x, i| x.scalar64(i, |a, _| nonzero(a.count_zeros()), taint::any)),
        Salu::SBcnt1I32B32 | Salu::SBcnt1I32B64 => Exact(|x, i| x.scalar64(i, |a, _| nonzero(a.count_ones()), taint::any)),
        Salu::SCtzI32B32 | Salu::SCtzI32B64 => Exact(|x, i| x.scalar64(i, |a, _| keep(count64(a.trailing_zeros(), a == 0)), taint::any)),
        Salu::SClzI32U32 => Exact(|x, i| x.scalar32(i, |a, _| keep(leading_zeros(a)), taint::any)),
        Salu::SClzI32U64 => Exact(|x, i| x.scalar64(i, |a, _| keep(count64(a.leading_zeros(), a == 0)), taint::any)),
        Salu::SClsI32 => Exact(|x, i| x.scalar32(i, |a, _| keep(leading_signs(a)), taint::any)),
        Salu::SClsI32I64 => Exact(|x, i| x.scalar64(i, |a, _| keep(leading_signs64(a)), taint::any)),
        Salu::SSextI32I8 => Exact(|x, i| x.scalar32(i, |a, _| keep(sign_extend(a, 8)), taint::any)),
        Salu::SSextI32I16 => Exact(|x, i| x.scalar32(i, |a, _| keep(sign_extend(a, 16)), taint::any)),
        Salu::SPackLlB32B16 => Exact(|x, i| x.scalar32(i, |a, b| keep(a & 0xffff | b << 16), taint::any)),
        Salu::SPackLhB32B16 => Exact(|x, i| x.scalar32(i, |a, b| keep(a & 0xffff | b & 0xffff_0000), taint::any)),
        Salu::SPackHhB32B16 => Exact(|x, i| x.scalar32(i, |a, b| keep(a >> 16 | b & 0xffff_0000), taint::any)),
        Salu::SPackHlB32B16 => Exact(|x, i| x.scalar32(i, |a, b| keep(a >> 16 | b << 16), taint::any)),

        // EXEC. The source is the first operand of the named operation: "and not 1" is source & !EXEC.
        Salu::SAndSaveexecB32 | Salu::SAndSaveexecB64 => Exact(|x, i| x.scalar_exec(i, |a, e| a & e, false)),
        Salu::SOrSaveexecB32 | Salu::SOrSaveexecB64 => Exact(|x, i| x.scalar_exec(i, |a, e| a | e, false)),
        Salu::SXorSaveexecB32 | Salu::SXorSaveexecB64 => Exact(|x, i| x.scalar_exec(i, |a, e| a ^ e, false)),
        Salu::SNandSaveexecB32 | Salu::SNandSaveexecB64 => Exact(|x, i| x.scalar_exec(i, |a, e| !(a & e), false)),
        Salu::SNorSaveexecB32 | Salu::SNorSaveexecB64 => Exact(|x, i| x.scalar_exec(i, |a, e| !(a | e), false)),
        Salu::SXnorSaveexecB32 | Salu::SXnorSaveexecB64 => Exact(|x, i| x.scalar_exec(i, |a, e| !(a ^ e), false)),
        Salu::SAndNot1SaveexecB32 | Salu::SAndNot1SaveexecB64 => Exact(|x, i| x.scalar_exec(i, |a, e| a & !e, false)),
        Salu::SOrNot1SaveexecB32 | Salu::SOrNot1SaveexecB64 => Exact(|x, i| x.scalar_exec(i, |a, e| a | !e, false)),
        Salu::SAndNot0SaveexecB32 | Salu::SAndNot0SaveexecB64 => Exact(|x, i| x.scalar_exec(i, |a, e| !a & e, false)),
        Salu::SOrNot0SaveexecB32 | Salu::SOrNot0SaveexecB64 => Exact(|x, i| x.scalar_exec(i, |a, e| !a | e, false)),
        Salu::SAndNot0WrexecB32 | Salu::SAndNot0WrexecB64 => Exact(|x, i| x.scalar_exec(i, |a, e| !a & e, true)),
        Salu::SAndNot1WrexecB32 | Salu::SAndNot1WrexecB64 => Exact(|x, i| x.scalar_exec(i, |a, e| a & !e, true)),

        // Compares to SCC.
        Salu::SCmpEqI32 | Salu::SCmpEqU32 | Salu::SCmpEqU64 => Exact(|x, i| x.scalar_compare(i, |a, b| a == b)),
        Salu::SCmpLgI32 | Salu::SCmpLgU32 | Salu::SCmpLgU64 => Exact(|x, i| x.scalar_compare(i, |a, b| a != b)),
        Salu::SCmpGtI32 => Exact(|x, i| x.scalar_compare32(i, |a, b| signed(a) > signed(b))),
        Salu::SCmpGeI32 => Exact(|x, i| x.scalar_compare32(i, |a, b| signed(a) >= signed(b))),
        Salu::SCmpLtI32 => Exact(|x, i| x.scalar_compare32(i, |a, b| signed(a) < signed(b))),
        Salu::SCmpLeI32 => Exact(|x, i| x.scalar_compare32(i, |a, b| signed(a) <= signed(b))),
        Salu::SCmpGtU32 | Salu::SCmpkGtU32 => Exact(|x, i| x.scalar_compare(i, |a, b| a > b)),
        Salu::SCmpGeU32 | Salu::SCmpkGeU32 => Exact(|x, i| x.scalar_compare(i, |a, b| a >= b)),
        Salu::SCmpLtU32 | Salu::SCmpkLtU32 => Exact(|x, i| x.scalar_compare(i, |a, b| a < b)),
        Salu::SCmpLeU32 | Salu::SCmpkLeU32 => Exact(|x, i| x.scalar_compare(i, |a, b| a <= b)),
        Salu::SBitcmp0B32 => Exact(|x, i| x.scalar_compare(i, |a, b| a >> (b & 31) & 1 == 0)),
        Salu::SBitcmp0B64 => Exact(|x, i| x.scalar_compare(i, |a, b| a >> (b & 63) & 1 == 0)),
        Salu::SBitcmp1B32 => Exact(|x, i| x.scalar_compare(i, |a, b| a >> (b & 31) & 1 == 1)),
        Salu::SBitcmp1B64 => Exact(|x, i| x.scalar_compare(i, |a, b| a >> (b & 63) & 1 == 1)),
        Salu::SCmpkEqI32 => Exact(|x, i| x.scalar_compare32(i, |a, k| a == simm(k))),
        Salu::SCmpkLgI32 => Exact(|x, i| x.scalar_compare32(i, |a, k| a != simm(k))),
        Salu::SCmpkGtI32 => Exact(|x, i| x.scalar_compare32(i, |a, k| signed(a) > signed(simm(k)))),
        Salu::SCmpkGeI32 => Exact(|x, i| x.scalar_compare32(i, |a, k| signed(a) >= signed(simm(k)))),
        Salu::SCmpkLtI32 => Exact(|x, i| x.scalar_compare32(i, |a, k| signed(a) < signed(simm(k)))),
        Salu::SCmpkLeI32 => Exact(|x, i| x.scalar_compare32(i, |a, k| signed(a) <= signed(simm(k)))),
        Salu::SCmpkEqU32 => Exact(|x, i| x.scalar_compare(i, |a, b| a == b)),
        Salu::SCmpkLgU32 => Exact(|x, i| x.scalar_compare(i, |a, b| a != b)),
    }
}
