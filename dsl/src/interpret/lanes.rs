//! Exchanges between the lanes of a wave.

use crate::ir::{Op, Stmt};

use super::{Active, Cause, Outcome, Workgroup, items};

impl Workgroup<'_> {
    pub(super) fn exchange(&mut self, stmt: &Stmt, active: &Active) -> Outcome {
        let width = self.kernel.target.wave_width() as usize;
        for wave in (0..self.size).step_by(width) {
            let lanes: Vec<usize> =
                items(active).filter(|item| (wave..wave + width).contains(item)).collect();
            let Some(first) = lanes.first() else { continue };
            let (value, source): (_, Box<dyn Fn(usize) -> usize>) = match stmt.op {
                Op::LaneXor { value, mask } => {
                    if let Some(item) = (wave..wave + width).find(|item| !active[*item]) {
                        return Err(self.fault(stmt, Some(item), Cause::Inactive));
                    }
                    (value, Box::new(move |item| wave + ((item - wave) ^ mask as usize)))
                }
                Op::ReadFirstLane(value) => (value, Box::new(|_| *first)),
                _ => return Err(self.fault(stmt, None, Cause::Unknown)),
            };
            let moved: Vec<_> =
                lanes.iter().map(|item| self.get(value, source(*item)).to_vec()).collect();
            for (item, bits) in lanes.iter().zip(moved) {
                stmt.results.iter().for_each(|result| self.set(*result, *item, &bits));
            }
        }
        Ok(())
    }
}
