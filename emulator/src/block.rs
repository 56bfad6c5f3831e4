//! Straight-line runs of instructions. Inside one nothing changes EXEC or takes control elsewhere, so what
//! surrounds an instruction is looked at once a block.

use isa::wait_states::History;
use isa::{Op, Target};

use crate::checks::wait_states;
use crate::prepare::{Ahead, Prepared, Spread};
use crate::report::{Class, Counts};

/// Most instructions of a block. A wave may resume anywhere, and each place where one does gets a block of its
/// own: this bounds how often an instruction is kept.
pub(crate) const MAX_STEPS: usize = 64;

/// Instructions that execute one after the other.
#[derive(Debug)]
pub(crate) struct Block {
    steps: Box<[Prepared]>,
    /// Those that do something.
    busy: Box<[Prepared]>,
    /// What is spread over staging registers before the first of them.
    ahead: Box<[Spread]>,
    counts: Vec<(Class, u64)>,
    approximate: Vec<Op>,
    n_vectors: [u16; 2],
    /// What the wait states of later instructions have to look at, where nothing inside goes wrong.
    left: Option<History>,
}

impl Block {
    /// From at least one instruction.
    pub(crate) fn new(mut steps: Vec<Prepared>, target: Target) -> Block {
        let mut ahead = Ahead::default();
        steps.iter_mut().for_each(|step| ahead.take(step));
        let count = |class: Class| steps.iter().filter(|step| step.class == class).count() as u64;
        let counts = Class::ALL.map(|class| (class, count(class)));
        let mut approximate: Vec<Op> = steps.iter().flat_map(|step| step.approximate()).collect();
        approximate.sort_unstable();
        approximate.dedup();
        let most = |kind: usize| steps.iter().map(|step| step.n_vectors[kind]).max().unwrap_or(0);
        Block {
            counts: counts.into_iter().filter(|(_, count)| *count != 0).collect(),
            approximate,
            ahead: ahead.into_spread(),
            n_vectors: [most(0), most(1)],
            left: wait_states::left_by(&steps, target),
            busy: steps.iter().filter(|step| !step.is_idle).cloned().collect(),
            steps: steps.into(),
        }
    }

    /// Its instructions, at most so many.
    #[inline]
    pub(crate) fn steps(&self, most: u64) -> &[Prepared] {
        let n_steps = self.steps.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        &self.steps[..n_steps]
    }

    /// What has to be spread before its instructions run.
    #[inline]
    pub(crate) fn ahead(&self) -> &[Spread] {
        &self.ahead
    }

    /// Its first instructions, without those that do nothing where all are meant.
    #[inline]
    pub(crate) fn busy(&self, n_steps: usize) -> &[Prepared] {
        if n_steps == self.steps.len() { &self.busy } else { &self.steps[..n_steps] }
    }

    /// What so many of its instructions leave to the wait states of later ones, where that is known beforehand.
    #[inline]
    pub(crate) fn left_by(&self, n_steps: usize) -> Option<&History> {
        self.left.as_ref().filter(|_| n_steps == self.steps.len())
    }

    /// Counts its instructions up to one.
    pub(crate) fn count_until(&self, last: &Prepared, counts: &mut Counts) {
        let n_before = self.steps.iter().take_while(|step| step.pc != last.pc).count();
        self.steps.iter().take(n_before + 1).for_each(|step| counts.add_step(step));
    }

    /// Whether a wave with so many architectural and accumulation registers has all that it names.
    #[inline]
    pub(crate) fn fits(&self, n_vectors: [u16; 2]) -> bool {
        self.n_vectors[0] <= n_vectors[0] && self.n_vectors[1] <= n_vectors[1]
    }

    /// Counts its first instructions.
    #[inline]
    pub(crate) fn count(&self, n_steps: usize, counts: &mut Counts) {
        if n_steps < self.steps.len() {
            self.steps[..n_steps].iter().for_each(|step| counts.add_step(step));
            return;
        }
        for (class, count) in &self.counts {
            counts.add(*class, *count);
        }
        for op in &self.approximate {
            counts.add_approximate(*op);
        }
    }
}
