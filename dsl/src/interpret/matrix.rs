//! Matrix operations, on whole numbers only: there every order of sums gives the same bits.

use half::{bf16, f16};
use isa::fragment::{Fragment, Index, Part, Shape};

use crate::ir::{Op, Scalar, Stmt, Value};

use super::{Active, Cause, Fault, Outcome, Workgroup};

/// Whole numbers up to this magnitude are exact in binary32.
const EXACT: f64 = 16_777_216.0;

impl Workgroup<'_> {
    pub(super) fn matrix(&mut self, stmt: &Stmt, active: &Active) -> Outcome {
        let width = self.kernel.target.wave_width() as usize;
        for wave in (0..self.size).step_by(width) {
            let lanes = &active[wave..wave + width];
            if !lanes.contains(&true) {
                continue;
            }
            if let Some(lane) = lanes.iter().position(|active| !active) {
                return Err(self.fault(stmt, Some(wave + lane), Cause::Inactive));
            }
            self.multiply(stmt, wave)?;
        }
        Ok(())
    }

    fn multiply(&mut self, stmt: &Stmt, wave: usize) -> Outcome {
        let (Op::Matrix { op, a, b, c }, [result]) = (&stmt.op, &stmt.results[..]) else {
            return Ok(());
        };
        let fragments = [Part::A, Part::B, Part::D].map(|part| Fragment::of(*op, part));
        let (Some(shape), [Some(fa), Some(fb), Some(fd)]) = (Shape::of(*op), fragments) else {
            return Err(self.fault(stmt, None, Cause::Unknown));
        };
        for row in 0..shape.m {
            for column in 0..shape.n {
                let at = |row, column| Index { block: 0, row, column };
                let addend = self.element(stmt, wave, (*c, &fd), at(row, column))?;
                let mut terms = vec![addend];
                for k in 0..shape.k {
                    let left = self.element(stmt, wave, (*a, &fa), at(row, k))?;
                    terms.push(left * self.element(stmt, wave, (*b, &fb), at(k, column))?);
                }
                let magnitude: f64 = terms.iter().map(|term| term.abs()).sum();
                let is_whole = terms.iter().all(|term| term.fract() == 0.0);
                // The sign of a zero sum depends on the order when the addend is −0.
                let is_minus_zero = addend == 0.0 && addend.is_sign_negative();
                if !(is_whole && magnitude <= EXACT) || is_minus_zero {
                    return Err(self.fault(stmt, None, Cause::OrderMatters { row, column }));
                }
                let sum = terms.iter().sum::<f64>() as f32;
                self.put(wave, (*result, &fd), at(row, column), sum + 0.0);
            }
        }
        Ok(())
    }

    /// An element of an operand, and of its copy where the operation wants two.
    fn element(
        &self,
        stmt: &Stmt,
        wave: usize,
        (value, fragment): (Value, &Fragment),
        index: Index,
    ) -> Result<f64, Fault> {
        let place = fragment.place(index);
        let slot = place.slot as usize;
        let bits = |lane: u32| self.get(value, wave + lane as usize)[slot];
        let held = bits(place.lane);
        if fragment.copy().is_some_and(|distance| bits(place.lane + distance) != held) {
            let cause = Cause::CopiesDiffer { row: index.row, column: index.column };
            return Err(self.fault(stmt, Some(wave + place.lane as usize), cause));
        }
        Ok(match self.ty(value).scalar() {
            Some(Scalar::F16) => f16::from_bits(held as u16).to_f64(),
            Some(Scalar::Bf16) => bf16::from_bits(held as u16).to_f64(),
            _ => f32::from_bits(held as u32).into(),
        })
    }

    fn put(&mut self, wave: usize, (value, fragment): (Value, &Fragment), index: Index, sum: f32) {
        let place = fragment.place(index);
        let item = wave + place.lane as usize;
        let mut bits = self.get(value, item).to_vec();
        bits[place.slot as usize] = sum.to_bits().into();
        self.set(value, item, &bits);
    }
}
