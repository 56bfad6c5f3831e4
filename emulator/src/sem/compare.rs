//! Vector compares: every test on every type.
//!
//! `v_cmp` writes one bit a lane to a mask, zero where EXEC is zero. `v_cmpx` writes EXEC; on gfx950 it
//! writes its mask destination as well.

use std::cmp::Ordering;

use isa::Op;
use isa::table::{Compare, CompareType, Test};

use crate::exec::{Exec, Outcome};
use crate::float::{class16, class32, class64, f16_to_f64, flush32};
use crate::lanes::simd;
use crate::operand::Dest;
use crate::prepare::{Handler, Prepared};
use crate::sem::Meaning::{self, Exact};
use crate::sem::integer::{sign_extend, signed};
use crate::wave::{ROW_LANES, scalar};

#[rustfmt::skip]
pub(crate) fn meaning(op: Compare) -> Meaning {
    if op.test == Test::Class {
        return match op.ty {
            CompareType::F16 => Exact(|x, i| x.compare_class(i, |exec, row| exec.signed_half_row(i, 0, row).map(class16))),
            CompareType::F32 => Exact(|x, i| x.compare_class(i, |exec, row| exec.signed_row(i, 0, row, &mut [0; ROW_LANES]).map(class32))),
            CompareType::F64 => Exact(|x, i| x.compare_class(i, |exec, row| exec.signed_wide_row(i, 0, row).map(class64))),
            _ => Meaning::Unsupported("integers have no classes"),
        };
    }
    match op.ty {
        CompareType::F16 => Exact(|x, i| x.compare_halves(i, true, |a, b| f16_to_f64(a).partial_cmp(&f16_to_f64(b)))),
        CompareType::F32 if op.writes_exec => Exact(|x, i| x.compare_floats(i)),
        CompareType::F32 => Exact(float_test(op.test)),
        CompareType::F64 => Exact(|x, i| x.compare_wide(i, true, |a, b| f64::from_bits(a).partial_cmp(&f64::from_bits(b)))),
        CompareType::I16 => Exact(|x, i| x.compare_halves(i, false, |a, b| Some(signed(sign_extend(a, 16)).cmp(&signed(sign_extend(b, 16)))))),
        CompareType::U16 => Exact(|x, i| x.compare_halves(i, false, |a, b| Some(a.cmp(&b)))),
        CompareType::I32 => Exact(|x, i| x.compare_ints(i, signed)),
        CompareType::U32 => Exact(|x, i| x.compare_ints(i, |bits| signed(bits ^ 0x8000_0000))),
        CompareType::I64 => Exact(|x, i| x.compare_wide(i, false, |a, b| Some(a.cast_signed().cmp(&b.cast_signed())))),
        CompareType::U64 => Exact(|x, i| x.compare_wide(i, false, |a, b| Some(a.cmp(&b)))),
    }
}

/// A compare of binary32 that leaves EXEC alone.
#[rustfmt::skip]
fn float_test(test: Test) -> Handler {
    match test {
        Test::Lt => |x, i| x.compare_lanes(i, false, |a, b| a < b),
        Test::Nlt => |x, i| x.compare_lanes(i, true, |a, b| a < b),
        Test::Le => |x, i| x.compare_lanes(i, false, |a, b| a <= b),
        Test::Nle => |x, i| x.compare_lanes(i, true, |a, b| a <= b),
        Test::Gt => |x, i| x.compare_lanes(i, false, |a, b| a > b),
        Test::Ngt => |x, i| x.compare_lanes(i, true, |a, b| a > b),
        Test::Ge => |x, i| x.compare_lanes(i, false, |a, b| a >= b),
        Test::Nge => |x, i| x.compare_lanes(i, true, |a, b| a >= b),
        Test::Eq => |x, i| x.compare_lanes(i, false, |a, b| a == b),
        Test::Neq => |x, i| x.compare_lanes(i, true, |a, b| a == b),
        Test::False | Test::Lg | Test::O | Test::U | Test::Nlg | Test::True | Test::Class => |x, i| x.compare_floats(i),
    }
}

/// The test of the instruction; a compare is only ever run for its own operation.
fn test(inst: &Prepared) -> Test {
    match inst.inst.op {
        Op::Compare(compare) => compare.test,
        _ => Test::False,
    }
}

/// Whether a test holds for an ordering; `None` is unordered.
fn holds(test: Test, order: Option<Ordering>) -> bool {
    let [lt, eq, gt, un] =
        [Some(Ordering::Less), Some(Ordering::Equal), Some(Ordering::Greater), None]
            .map(|o| o == order);
    match test {
        Test::False | Test::Class => false,
        Test::Lt => lt,
        Test::Eq => eq,
        Test::Le => lt || eq,
        Test::Gt => gt,
        Test::Lg => lt || gt,
        Test::Ge => gt || eq,
        Test::O => !un,
        Test::U => un,
        Test::Nge => !(gt || eq),
        Test::Nlg => !(lt || gt),
        Test::Ngt => !gt,
        Test::Nle => !(lt || eq),
        Test::Neq => !eq,
        Test::Nlt => !lt,
        Test::True => true,
    }
}

/// One bit a lane.
#[inline]
fn gather(f: impl Fn(usize) -> bool) -> u32 {
    (0..ROW_LANES).fold(0, |bits, lane| bits | u32::from(f(lane)) << lane)
}

impl Exec<'_> {
    /// Writes a compare's result where the instruction says.
    fn finish_compare(&mut self, inst: &Prepared, value: u64) -> Outcome {
        let bits = self.compared(inst, value);
        self.set_lane_mask(inst, inst.dst[0], bits);
        if matches!(inst.inst.op, Op::Compare(Compare { writes_exec: true, .. })) {
            self.set_lane_mask(inst, Dest::Scalar(scalar::EXEC), bits);
        }
        Ok(())
    }

    /// Writes a compare's result, given by row.
    fn compare_rows(&mut self, inst: &Prepared, rows: impl Fn(&Self, usize) -> u32) -> Outcome {
        let value = self.rows().map(|row| u64::from(rows(self, row)) << (row * ROW_LANES)).sum();
        self.finish_compare(inst, value)
    }

    /// Whether a test of binary32 holds, or does not hold.
    #[inline(always)]
    fn compare_lanes(
        &mut self,
        inst: &Prepared,
        is_not: bool,
        holds: impl Fn(f32, f32) -> bool,
    ) -> Outcome {
        let Some(_) = self.on_all_lanes(inst) else { return self.compare_floats(inst) };
        let holds = |a, b, _| holds(f32::from_bits(a), f32::from_bits(b));
        let (width, file) = (self.wave.vectors.width(), &mut self.wave.vectors);
        let lanes = simd::test(width, file, inst, holds);
        if let Some(register) = inst.places.scalar_result {
            self.wave.set_mask(register, if is_not { !lanes } else { lanes }, 0);
        }
        Ok(())
    }

    #[inline(never)]
    fn compare_floats(&mut self, inst: &Prepared) -> Outcome {
        let value = if self.wave.mode.flush_sources32 {
            self.test_floats(inst, |bits| f32::from_bits(flush32(bits)))
        } else {
            self.test_floats(inst, f32::from_bits)
        };
        self.finish_compare(inst, value)
    }

    fn test_floats(&mut self, inst: &Prepared, value: impl Fn(u32) -> f32) -> u64 {
        macro_rules! lanes {
            (|$a:ident, $b:ident| $holds:expr) => {
                self.test_lanes(inst, |$a, $b, _| {
                    let ($a, $b) = (value($a), value($b));
                    $holds
                })
            };
        }
        match test(inst) {
            Test::False | Test::Class => 0,
            Test::True => u64::MAX,
            Test::Lt => lanes!(|a, b| a < b),
            Test::Nlt => !lanes!(|a, b| a < b),
            Test::Le => lanes!(|a, b| a <= b),
            Test::Nle => !lanes!(|a, b| a <= b),
            Test::Gt => lanes!(|a, b| a > b),
            Test::Ngt => !lanes!(|a, b| a > b),
            Test::Ge => lanes!(|a, b| a >= b),
            Test::Nge => !lanes!(|a, b| a >= b),
            Test::Eq => lanes!(|a, b| a == b),
            Test::Neq => !lanes!(|a, b| a == b),
            Test::Lg => lanes!(|a, b| a.partial_cmp(&b).is_some_and(Ordering::is_ne)),
            Test::Nlg => !lanes!(|a, b| a.partial_cmp(&b).is_some_and(Ordering::is_ne)),
            Test::U => lanes!(|a, b| a.is_nan() || b.is_nan()),
            Test::O => !lanes!(|a, b| a.is_nan() || b.is_nan()),
        }
    }

    /// 32-bit integers; `order` maps them to the order of signed numbers.
    fn compare_ints(&mut self, inst: &Prepared, order: impl Fn(u32) -> i32) -> Outcome {
        let value = match test(inst) {
            Test::Lt | Test::Nge => self.test_lanes(inst, |a, b, _| order(a) < order(b)),
            Test::Ge | Test::Nlt => !self.test_lanes(inst, |a, b, _| order(a) < order(b)),
            Test::Gt | Test::Nle => self.test_lanes(inst, |a, b, _| order(a) > order(b)),
            Test::Le | Test::Ngt => !self.test_lanes(inst, |a, b, _| order(a) > order(b)),
            Test::Eq | Test::Nlg => self.test_lanes(inst, |a, b, _| a == b),
            Test::Lg | Test::Neq => !self.test_lanes(inst, |a, b, _| a == b),
            Test::O | Test::True => u64::MAX,
            Test::U | Test::False | Test::Class => 0,
        };
        self.finish_compare(inst, value)
    }

    fn compare_halves(
        &mut self,
        inst: &Prepared,
        is_float: bool,
        order: impl Fn(u32, u32) -> Option<Ordering>,
    ) -> Outcome {
        let test = test(inst);
        self.compare_rows(inst, |exec, row| {
            let source = |k: usize| {
                if is_float {
                    exec.half_float_row(inst, k, row)
                } else {
                    exec.half_row(inst, k, row)
                }
            };
            let (a, b) = (source(0), source(1));
            gather(|lane| holds(test, order(a[lane], b[lane])))
        })
    }

    fn compare_wide(
        &mut self,
        inst: &Prepared,
        is_float: bool,
        order: impl Fn(u64, u64) -> Option<Ordering>,
    ) -> Outcome {
        let test = test(inst);
        self.compare_rows(inst, |exec, row| {
            let source = |k: usize| {
                if is_float { exec.double_row(inst, k, row) } else { exec.wide_row(inst, k, row) }
            };
            let (a, b) = (source(0), source(1));
            gather(|lane| holds(test, order(a[lane], b[lane])))
        })
    }

    /// Classes of source 0 against the mask in source 1. Subnormals are told apart whatever MODE says.
    fn compare_class(
        &mut self,
        inst: &Prepared,
        classes: impl Fn(&Self, usize) -> [u32; ROW_LANES],
    ) -> Outcome {
        self.compare_rows(inst, |exec, row| {
            let (classes, mut x) = (classes(exec, row), [0; ROW_LANES]);
            // The mask of a 16-bit compare may lie in either half.
            let masks = match inst.bits[1] {
                16 => exec.half_row(inst, 1, row),
                _ => *exec.source_row(inst, 1, row, &mut x),
            };
            gather(|lane| classes[lane] & masks[lane] != 0)
        })
    }
}
