//! How long results take, in issue slots: the time in which a SIMD issues one plain vector instruction of a wave, four
//! cycles on gfx950 and one on gfx1100.
//!
//! A model for choosing an order of instructions; nothing that must hold. What software has to wait for is in
//! [`wait_states`](crate::wait_states) and in the counters.
//!
//! Sources: LLVM 22, `SISchedule.td` (vector, transcendental, scalar and global memory instructions); public SQTT
//! traces of a GEMM on gfx950 and gfx1100 (LDS: 28 to 44 and 31 to 36 cycles from issue to use); passes of
//! [`MatrixTiming`]; AMD's Origami tables (WMMA: 32 cycles).

use crate::table::{Effect, Op};
use crate::target::Target;
use crate::wait_states::{MatrixTiming, MatrixUse, after_matrix};

/// Slots from the issue of an operation until an instruction that reads its result can issue.
pub fn result_slots(op: Op, target: Target) -> u32 {
    let is_gfx950 = target == Target::Gfx950;
    match op {
        Op::Matrix(matrix) if is_gfx950 => MatrixTiming::of(matrix)
            .map_or(1, |timing| 1 + after_matrix(timing, MatrixUse::ReadResult)),
        Op::Matrix(_) => 32,
        Op::Flat(_) | Op::FlatAtomic(_) | Op::Buffer(_) | Op::BufferAtomic(_) => {
            if is_gfx950 {
                80
            } else {
                320
            }
        }
        Op::Lds(_) | Op::LdsAtomic(_) => {
            if is_gfx950 {
                9
            } else {
                34
            }
        }
        Op::Smem(_) => {
            if is_gfx950 {
                5
            } else {
                20
            }
        }
        Op::Salu(_) => {
            if is_gfx950 {
                1
            } else {
                2
            }
        }
        _ if op.row().has(Effect::Trans) => {
            if is_gfx950 {
                4
            } else {
                10
            }
        }
        _ => {
            if is_gfx950 {
                1
            } else {
                5
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Flat, Float, Lds, Matrix};

    #[test]
    fn memory_takes_longer_than_lds_and_lds_longer_than_arithmetic() {
        for target in Target::ALL {
            let slots = |op| result_slots(op, target);
            let [add, exp] = [Float::VAddF32, Float::VExpF32].map(|op| slots(Op::Float(op)));
            let (lds, load) = (slots(Op::Lds(Lds::DsLoadB128)), slots(Op::Flat(Flat::LoadB128)));
            assert!(add < exp && exp < lds && lds < load, "{target}");
        }
    }

    #[test]
    fn matrix_results_take_their_passes_and_what_software_must_leave() {
        let slots = |op| result_slots(Op::Matrix(op), Target::Gfx950);
        assert_eq!(slots(Matrix::VMfmaF3216x16x32Bf16), 9);
        assert_eq!(slots(Matrix::VMfmaF3232x32x16Bf16), 13);
    }
}
