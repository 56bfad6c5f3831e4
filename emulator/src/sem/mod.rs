//! What instructions do: one file a family of the instruction tables, under the same names.
//!
//! Each family matches its operations without a wildcard, so that a row without a meaning does not
//! compile. An arm is one line: the fidelity of the result, and a closure that hands a function of one
//! lane (or of scalars) to a method that runs it (`lanes`, `scalars`, `lds`, `flat`). Shared arithmetic
//! lives in `float` and `integer`; the rules of undefined bits in `taint`.

pub(crate) mod access;
mod atomic;
mod buffer;
mod compare;
pub(crate) mod control;
mod convert;
pub(crate) mod directed;
mod flat;
mod float;
pub(crate) mod forms;
mod half;
mod int;
mod integer;
mod lane;
mod lds;
mod matrix;
mod packed;
pub(crate) mod relative;
mod rows;
mod salu;
mod smem;

use isa::Op;

pub(crate) use matrix::Factors;

use crate::fidelity::Bound;
use crate::prepare::Handler;

/// What an operation does, and how far its result can be trusted.
#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    /// The bits are defined by the ISA manuals and IEEE 754.
    Exact(Handler),
    /// The bits are within a bound of hardware's.
    Approximate(Bound, Handler),
    /// Refused, for this reason.
    Unsupported(&'static str),
}

/// The meaning of an operation.
pub(crate) fn meaning(op: Op) -> Meaning {
    match op {
        Op::Control(op) => control::meaning(op),
        Op::Salu(op) => salu::meaning(op),
        Op::Smem(op) => smem::meaning(op),
        Op::Float(op) => float::meaning(op),
        Op::Int(op) => int::meaning(op),
        Op::Half(op) => half::meaning(op),
        Op::Convert(op) => convert::meaning(op),
        Op::Compare(op) => compare::meaning(op),
        Op::Lane(op) => lane::meaning(op),
        Op::Packed(op) => packed::meaning(op),
        Op::Matrix(op) => matrix::meaning(op),
        Op::Lds(op) => lds::meaning(op),
        Op::LdsAtomic(op) => atomic::on_lds(op),
        Op::Flat(op) => flat::meaning(op),
        Op::FlatAtomic(op) => atomic::by_address(op),
        Op::Buffer(op) => buffer::meaning(op),
        Op::BufferAtomic(op) => atomic::through_buffer(op),
    }
}

/// Whether it is a matrix operation on floats of at most 16 bits: the mode of numerics chooses its sums.
pub(crate) fn has_narrow_factors(op: Op) -> bool {
    matches!(op, Op::Matrix(op) if matrix::has_narrow_factors(op))
}

#[cfg(test)]
mod vectors;
