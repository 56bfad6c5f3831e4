//! Kernels executed statement by statement: the meaning that code of every back end must have, bit by bit.
//!
//! Simple and slow on purpose. The work-items of a workgroup go through a statement together, those that are active
//! where it stands, and each holds its own bits of every value. Nothing here knows of instructions, registers or the
//! emulator: it is written from the sentences at the operations of [`crate::ir`].
//!
//! Where the IR leaves a choice to the hardware, this is what is done:
//!
//! * `exp2`, `log2`, `rcp`, `rsq` and `sqrt` give the correctly rounded result, found in binary64;
//! * matrix operations are computed only where no order of sums matters: whole numbers, the magnitudes of whose
//!   products add up to at most 2²⁴ ([`Cause::OrderMatters`] otherwise);
//! * NaNs have whatever payload the host gives them.
//!
//! What the verifier cannot see is a [`Fault`]: accesses outside a buffer, or not as aligned as promised, LDS that
//! nothing wrote, lanes that are missing where all must be active, values that are called uniform and are not. Races of
//! waves are not seen.

mod arithmetic;
mod convert;
mod fault;
mod float;
mod lanes;
mod matrix;
mod memory;

pub use fault::{Cause, Fault};

use crate::ir::{Block, Kernel, Op, Special, Stmt, Type, Uniformity, Value};
use crate::text::Head;
use memory::Lds;

/// What an argument is at a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The bytes of a buffer, little-endian. Its address is as aligned as the parameter promises.
    Buffer(Vec<u8>),
    /// The bits of a scalar.
    Scalar(u64),
}

/// Statements that a launch may execute, each counted once a workgroup.
pub const MAX_STATEMENTS: u64 = 10_000_000;

/// Runs all workgroups of `grid`, one after the other, x fastest. Buffers are changed in place.
///
/// # Errors
/// [`Fault`] with the statement; buffers then hold what had been stored.
pub fn run(kernel: &Kernel, grid: [u32; 3], arguments: &mut [Argument]) -> Result<(), Fault> {
    if let Some(cause) = fault::wrong_arguments(kernel, arguments) {
        return Err(Fault { statement: "the launch".to_owned(), work_item: None, cause });
    }
    let mut left = MAX_STATEMENTS;
    for z in 0..grid[2] {
        for y in 0..grid[1] {
            for x in 0..grid[0] {
                let mut group = Workgroup::new(kernel, [x, y, z], arguments, &mut left);
                let everyone = vec![true; group.size];
                group.block(&kernel.body, &everyone)?;
            }
        }
    }
    Ok(())
}

/// Which work-items of a workgroup are active.
type Active = [bool];
type Outcome = Result<(), Fault>;

/// A workgroup in execution.
struct Workgroup<'k> {
    kernel: &'k Kernel,
    /// Its index.
    index: [u32; 3],
    /// Work-items.
    size: usize,
    /// The elements of every value, work-item after work-item.
    values: Vec<Vec<u64>>,
    lds: Lds,
    arguments: &'k mut [Argument],
    left: &'k mut u64,
}

impl<'k> Workgroup<'k> {
    fn new(
        kernel: &'k Kernel,
        index: [u32; 3],
        arguments: &'k mut [Argument],
        left: &'k mut u64,
    ) -> Workgroup<'k> {
        let size = kernel.workgroup_size as usize;
        let elements = |ty: Type| vec![0; size * usize::from(ty.lanes())];
        let mut values: Vec<_> = kernel.values.iter().map(|info| elements(info.ty)).collect();
        for (number, (param, argument)) in kernel.params.iter().zip(&*arguments).enumerate() {
            values[param.value.0 as usize].fill(match argument {
                Argument::Buffer(_) => memory::pointer(number, 0),
                Argument::Scalar(bits) => *bits,
            });
        }
        let lds = Lds::new(kernel);
        Workgroup { kernel, index, size, values, lds, arguments, left }
    }

    fn block(&mut self, block: &'k Block, active: &Active) -> Outcome {
        for stmt in &block.stmts {
            *self.left = self
                .left
                .checked_sub(1)
                .ok_or_else(|| self.fault(stmt, None, Cause::TooLong { limit: MAX_STATEMENTS }))?;
            self.statement(stmt, active)?;
            self.check_uniform(stmt, &stmt.results, active)?;
        }
        Ok(())
    }

    fn statement(&mut self, stmt: &'k Stmt, active: &Active) -> Outcome {
        match &stmt.op {
            Op::For { .. } => self.counted_loop(stmt, active),
            Op::If { .. } => self.conditional(stmt, active),
            Op::Store(..) | Op::AtomicOr(..) => self.store(stmt, active),
            Op::Load(address) => self.load(stmt, *address, active),
            Op::Barrier => self.demand_all(stmt, active),
            Op::LaneXor { .. } | Op::ReadFirstLane(_) => self.exchange(stmt, active),
            Op::Matrix { .. } => self.matrix(stmt, active),
            _ => self.each_lane(stmt, active),
        }
    }

    /// Operations whose result in a work-item depends on that work-item alone.
    fn each_lane(&mut self, stmt: &Stmt, active: &Active) -> Outcome {
        let [result] = stmt.results[..] else { return Ok(()) };
        let ty = self.ty(result);
        for item in items(active) {
            let of = |value: Value| self.get(value, item);
            let bits = match &stmt.op {
                Op::Const { bits, .. } => vec![*bits; ty.lanes().into()],
                Op::Special(special) => vec![self.special(*special, item).into()],
                Op::Select(cond, a, b) => of(if of(*cond)[0] == 1 { *a } else { *b }).to_vec(),
                Op::Pack(elements) => elements.iter().map(|element| of(*element)[0]).collect(),
                Op::Extract(vector, element) => vec![of(*vector)[usize::from(*element)]],
                Op::Bitcast(a) => convert::bitcast(of(*a), self.ty(*a), ty),
                Op::PtrAdd(pointer, offset) => {
                    vec![memory::moved(of(*pointer)[0], of(*offset)[0])]
                }
                Op::Cmp(op, a, b) => {
                    vec![arithmetic::compare(*op, self.ty(*a), of(*a)[0], of(*b)[0]).into()]
                }
                op => match self.elementwise(op, ty, item) {
                    Some(bits) => bits,
                    None => return Err(self.fault(stmt, None, Cause::Unknown)),
                },
            };
            self.set(result, item, &bits);
        }
        Ok(())
    }

    /// Arithmetic on each element; `None` for what has no meaning here.
    fn elementwise(&self, op: &Op, ty: Type, item: usize) -> Option<Vec<u64>> {
        let scalar = ty.scalar()?;
        let of = |value: Value| self.get(value, item).iter().copied();
        match op {
            Op::Unary(op, a) => Some(of(*a).map(|a| arithmetic::unary(*op, scalar, a)).collect()),
            Op::Binary(op, a, b) => {
                of(*a).zip(of(*b)).map(|(a, b)| arithmetic::binary(*op, scalar, a, b)).collect()
            }
            Op::Fma(a, b, c) => {
                let terms = of(*a).zip(of(*b)).zip(of(*c));
                Some(terms.map(|((a, b), c)| float::fma(scalar, a, b, c)).collect())
            }
            Op::Convert(conversion, a) => {
                let from = self.ty(*a).scalar()?;
                Some(of(*a).map(|a| convert::convert(*conversion, from, scalar, a)).collect())
            }
            _ => None,
        }
    }

    fn special(&self, special: Special, item: usize) -> u32 {
        let (item, width) = (item as u32, self.kernel.target.wave_width());
        match special {
            Special::WorkgroupIdX => self.index[0],
            Special::WorkgroupIdY => self.index[1],
            Special::WorkgroupIdZ => self.index[2],
            Special::ThreadId => item,
            Special::LaneId => item % width,
            Special::WaveId => item / width,
        }
    }

    fn counted_loop(&mut self, stmt: &'k Stmt, active: &Active) -> Outcome {
        let Op::For { index, lower, upper, step, carried, inits, body } = &stmt.op else {
            return Ok(());
        };
        let bound = |group: &Self, value, item| i64::from(group.get(value, item)[0] as u32 as i32);
        let mut at: Vec<i64> = (0..self.size).map(|item| bound(self, *lower, item)).collect();
        self.hand_over(carried, inits, active);
        let mut turning = active.to_vec();
        loop {
            for (item, turns) in turning.iter_mut().enumerate() {
                *turns &= at[item] < bound(self, *upper, item);
            }
            if !turning.contains(&true) {
                break;
            }
            for item in items(&turning) {
                self.set(*index, item, &[u64::from(at[item] as i32 as u32)]);
                at[item] += i64::from(*step);
            }
            self.check_uniform(stmt, &[*index], &turning)?;
            self.check_uniform(stmt, carried, &turning)?;
            self.block(body, &turning)?;
            self.hand_over(carried, &body.yields, &turning);
        }
        self.hand_over(&stmt.results, carried, active);
        Ok(())
    }

    fn conditional(&mut self, stmt: &'k Stmt, active: &Active) -> Outcome {
        let Op::If { cond, then, otherwise } = &stmt.op else { return Ok(()) };
        for (arm, wanted) in [(then, 1), (otherwise, 0)] {
            let chosen = |item: usize| active[item] && self.get(*cond, item)[0] == wanted;
            let inside: Vec<bool> = (0..self.size).map(chosen).collect();
            if inside.contains(&true) {
                self.block(arm, &inside)?;
                self.hand_over(&stmt.results, &arm.yields, &inside);
            }
        }
        Ok(())
    }

    /// All of `to` become all of `from`, at once.
    fn hand_over(&mut self, to: &[Value], from: &[Value], active: &Active) {
        for item in items(active) {
            let bits: Vec<_> = from.iter().map(|value| self.get(*value, item).to_vec()).collect();
            for (value, bits) in to.iter().zip(bits) {
                self.set(*value, item, &bits);
            }
        }
    }

    fn check_uniform(&self, stmt: &Stmt, values: &[Value], active: &Active) -> Outcome {
        let width = self.kernel.target.wave_width() as usize;
        let uniform = |value: &&Value| self.kernel.info(**value).uniformity == Uniformity::Uniform;
        for value in values.iter().filter(uniform) {
            for wave in (0..self.size).step_by(width) {
                let mut held = items(active).filter(|item| (wave..wave + width).contains(item));
                let Some(first) = held.next() else { continue };
                let wanted = self.get(*value, first);
                if let Some(item) = held.find(|item| self.get(*value, *item) != wanted) {
                    return Err(self.fault(stmt, Some(item), Cause::NotUniform { value: value.0 }));
                }
            }
        }
        Ok(())
    }

    /// Refuses unless every work-item is active.
    fn demand_all(&self, stmt: &Stmt, active: &Active) -> Outcome {
        match active.iter().position(|active| !active) {
            Some(item) => Err(self.fault(stmt, Some(item), Cause::Inactive)),
            None => Ok(()),
        }
    }

    fn ty(&self, value: Value) -> Type {
        self.kernel.info(value).ty
    }

    /// The elements of a work-item's value.
    fn get(&self, value: Value, item: usize) -> &[u64] {
        let lanes = usize::from(self.ty(value).lanes());
        &self.values[value.0 as usize][item * lanes..][..lanes]
    }

    fn set(&mut self, value: Value, item: usize, bits: &[u64]) {
        let at = item * bits.len();
        self.values[value.0 as usize][at..at + bits.len()].copy_from_slice(bits);
    }

    fn fault(&self, stmt: &Stmt, item: Option<usize>, cause: Cause) -> Fault {
        let statement = format!("{} ({})", Head(self.kernel, stmt), stmt.loc);
        let work_item = item.map(|item| (self.index, item as u32));
        Fault { statement, work_item, cause }
    }
}

/// The active work-items.
fn items(active: &Active) -> impl Iterator<Item = usize> + '_ {
    active.iter().enumerate().filter_map(|(item, active)| active.then_some(item))
}
