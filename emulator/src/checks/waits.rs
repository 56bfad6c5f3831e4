//! Use of a register before the wait for its load.
//!
//! Loads return when they return; only a wait on their counter tells that they did. The scoreboard holds
//! what may still be outstanding: an operation leaves it when the waits so far *prove* it complete.
//!
//! * A wait for "at most n" proves an operation complete when more than n operations would have to be
//!   outstanding with it: itself and, in an ordered queue, all younger ones of that queue.
//! * Vector memory operations of one counter complete in order; LDS operations of a wave complete in
//!   order; scalar loads, messages and FLAT operations do not, so only a wait for zero covers them.
//!   FLAT operations count in two counters and need both.
//! * A counter at its maximum stalls the next instruction, so no more operations than that are pending.
//!
//! Reading (RAW) or overwriting (WAW) a register with a pending load is a finding, except by a later load
//! of the same ordered queue. Overwriting the address or data registers of a pending store is none: on
//! both targets a store has read its registers by then, apart from the wait states that wide stores of
//! gfx950 need (LLVM emits waits for neither).
//!
//! Sources: AMDGPUUsage (memory model tables), LLVM 22 `SIInsertWaitcnts`.

use isa::reg::SpecialReg;
use isa::table::Control;
use isa::waits::WaitCounts;
use isa::{Op, Operand, Target};

use crate::exec::Exec;
use crate::finding::Rule;
use crate::operand::Span;
use crate::prepare::Prepared;

/// Scalar and vector registers in one numbering, scalars first.
const N_SLOTS: usize = 128 + 520;

/// A counter that waits name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    Vector,
    VectorStore,
    Lgkm,
}

/// Whether operations of a queue complete in the order of their issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Global, scratch and buffer memory, ordered.
    Vector,
    /// LDS, ordered.
    Lds,
    /// Scalar memory, messages, FLAT: any order.
    Unordered,
}

/// What completes in the order of issue: operations of one queue and counter. Unordered ones are kept
/// together too, as complete up to the oldest that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Lds,
    Vector,
    VectorStore,
    Unordered,
}

/// Number of orders.
pub(crate) const ORDERS: usize = 4;

impl Order {
    pub(crate) fn new(queue: Option<Queue>, counters: &[Counter]) -> Order {
        match queue {
            Some(Queue::Lds) => Order::Lds,
            Some(Queue::Vector) if counters.contains(&Counter::VectorStore) => Order::VectorStore,
            Some(Queue::Vector) => Order::Vector,
            _ => Order::Unordered,
        }
    }
}

/// An operation that may be outstanding.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Registers that its result goes to.
    span: Span,
    /// The instruction.
    pc: u64,
    queue: Queue,
    order: Order,
    /// Its number among the operations of the wave.
    serial: u32,
    /// Operations of its order that started after it.
    n_younger: u32,
    /// Counters, one bit each, that have not yet proved it complete.
    unproven: u8,
}

/// What a wave has outstanding.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    pending: Vec<Pending>,
    /// One bit a register slot that some pending load writes.
    slots: [u64; N_SLOTS.div_ceil(64)],
    /// Largest values of the counters.
    depths: [u32; 3],
    issued: u32,
}

fn bit(counter: Counter) -> u8 {
    1 << counter as u8
}

impl Scoreboard {
    pub(crate) fn new(target: Target) -> Scoreboard {
        let limits = target.limits();
        let depths = [limits.vmcnt_max, limits.vscnt_max, limits.lgkmcnt_max];
        let slots = [0; N_SLOTS.div_ceil(64)];
        Scoreboard { pending: Vec::with_capacity(64), slots, depths, issued: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.pending.clear();
        self.slots.fill(0);
        self.issued = 0;
    }

    /// Operations that have started: the number of the next one.
    #[inline]
    pub(crate) fn issued(&self) -> u32 {
        self.issued
    }

    /// Operations that may be outstanding.
    pub(crate) fn n_outstanding(&self) -> usize {
        self.pending.len()
    }

    /// By order: all operations with lower numbers are proved complete.
    pub(crate) fn complete(&self) -> [u32; ORDERS] {
        let mut complete = [self.issued; ORDERS];
        for pending in self.pending.iter().rev() {
            complete[pending.order as usize] = pending.serial;
        }
        complete
    }

    /// An operation starts; `span` is empty when it writes no register.
    pub(crate) fn issue(&mut self, pc: u64, queue: Queue, counters: &[Counter], span: Span) {
        let unproven = counters.iter().fold(0, |bits, counter| bits | bit(*counter));
        let order = Order::new(Some(queue), counters);
        for older in self.pending.iter_mut().filter(|older| older.order == order) {
            older.n_younger += 1;
        }
        let serial = self.issued;
        self.pending.push(Pending { span, pc, queue, order, serial, n_younger: 0, unproven });
        self.issued = self.issued.saturating_add(1);
        for slot in span.slots() {
            self.slots[slot / 64] |= 1 << (slot % 64);
        }
        for counter in counters {
            let depth = self.depths[*counter as usize];
            self.wait(*counter, depth);
            self.forget_oldest(*counter, depth);
        }
    }

    /// Of unordered operations, more than a counter can count cannot be outstanding, but nothing says which
    /// have completed: the oldest are taken to have.
    fn forget_oldest(&mut self, counter: Counter, depth: u32) {
        let counted =
            self.pending.iter().filter(|pending| pending.unproven & bit(counter) != 0).count();
        let excess = counted.saturating_sub(depth as usize);
        if excess == 0 {
            return;
        }
        let counted =
            self.pending.iter_mut().filter(|pending| pending.unproven & bit(counter) != 0);
        counted.take(excess).for_each(|pending| pending.unproven &= !bit(counter));
        self.remove_proven();
    }

    /// A wait until at most `limit` operations of a counter are outstanding.
    pub(crate) fn wait(&mut self, counter: Counter, limit: u32) {
        if self.pending.len() <= limit as usize {
            return;
        }
        for pending in &mut self.pending {
            let n_younger = if pending.queue == Queue::Unordered { 0 } else { pending.n_younger };
            if n_younger >= limit {
                pending.unproven &= !bit(counter);
            }
        }
        self.remove_proven();
    }

    fn remove_proven(&mut self) {
        self.pending.retain(|pending| pending.unproven != 0);
        self.note_slots();
    }

    fn note_slots(&mut self) {
        self.slots.fill(0);
        for slot in self.pending.iter().flat_map(|pending| pending.span.slots()) {
            self.slots[slot / 64] |= 1 << (slot % 64);
        }
    }

    /// The waits of an instruction; `register` is the value that a wait of its own counter adds to its
    /// constant, `None` if that is not known.
    pub(crate) fn wait_as(&mut self, inst: &Prepared, target: Target, register: Option<u32>) {
        let Op::Control(op) = inst.inst.op else { return };
        let single = match op {
            Control::SWaitcnt => {
                let counts = WaitCounts::from_imm(target, inst.constant());
                self.wait(Counter::Vector, counts.vm);
                self.wait(Counter::Lgkm, counts.lgkm);
                return;
            }
            Control::SWaitIdle => {
                for counter in [Counter::Vector, Counter::VectorStore, Counter::Lgkm] {
                    self.wait(counter, 0);
                }
                return;
            }
            Control::SWaitcntVscnt => Counter::VectorStore,
            Control::SWaitcntVmcnt => Counter::Vector,
            Control::SWaitcntLgkmcnt => Counter::Lgkm,
            _ => return,
        };
        if let Some(register) = register {
            self.wait(single, u32::from(inst.constant()).saturating_add(register));
        }
    }

    /// An instruction executes on some way through the text of a kernel: it waits, it starts an operation.
    pub(crate) fn step(&mut self, inst: &Prepared, target: Target) {
        let is_null = inst.inst.operands[0] == Operand::Special(SpecialReg::Null);
        self.wait_as(inst, target, is_null.then_some(0));
        if let Some(queue) = inst.queue {
            let (counters, n_counters) = inst.counters;
            self.issue(inst.pc, queue, &counters[..n_counters], inst.result_span());
        }
    }

    /// Adds what another way to the same place leaves outstanding; says whether that changed anything.
    pub(crate) fn join(&mut self, other: &Scoreboard) -> bool {
        let mut has_changed = false;
        for pending in &other.pending {
            let same = self.pending.iter_mut().find(|known| {
                (known.pc, known.span, known.queue) == (pending.pc, pending.span, pending.queue)
            });
            let Some(known) = same else {
                self.pending.push(*pending);
                has_changed = true;
                continue;
            };
            let n_younger = known.n_younger.min(pending.n_younger);
            let unproven = known.unproven | pending.unproven;
            has_changed |= (n_younger, unproven) != (known.n_younger, known.unproven);
            (known.n_younger, known.unproven) = (n_younger, unproven);
        }
        if has_changed {
            self.note_slots();
        }
        has_changed
    }

    /// Operations outstanding.
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// The instructions whose operations in a queue are outstanding.
    pub(crate) fn outstanding(&self, queue: Queue) -> impl Iterator<Item = u64> {
        self.pending.iter().filter(move |pending| pending.queue == queue).map(|pending| pending.pc)
    }

    #[inline]
    fn is_pending(&self, span: Span) -> bool {
        span.slots().any(|slot| self.slots[slot / 64] >> (slot % 64) & 1 == 1)
    }
}

/// Reports the registers of an instruction that have loads pending.
#[inline]
pub(crate) fn check(exec: &mut Exec<'_>, inst: &Prepared) {
    if exec.wave.scoreboard.pending.is_empty() {
        return;
    }
    if inst.spans().any(|span| exec.wave.scoreboard.is_pending(span)) {
        report(exec, inst);
    }
}

#[cold]
fn report(exec: &mut Exec<'_>, inst: &Prepared) {
    let mut list: Vec<Conflict> = conflicts(&exec.wave.scoreboard, inst).collect();
    // One use of one load is one conflict, though the register is both read and written.
    list.sort_by_key(|conflict| conflict.producer);
    list.dedup_by_key(|conflict| conflict.producer);
    for conflict in list {
        let producer = Some(conflict.producer);
        exec.report(inst, Rule::UseBeforeWait, producer, None, || conflict.describe());
    }
}

/// A register that an instruction uses while a load into it may be outstanding.
pub(crate) struct Conflict {
    /// The load.
    pub producer: u64,
    load: Span,
    used: Span,
    /// Counters, one bit each, that have not proved the load complete.
    unproven: u8,
}

impl Conflict {
    /// What is wrong, and the remedy.
    pub(crate) fn describe(&self) -> (String, String) {
        let verb = if self.used.is_destination { "written" } else { "read" };
        let register = self.used.common(self.load);
        let what = format!("{register} is {verb} while the load into it may be outstanding");
        let counters = [
            (Counter::Vector, "vmcnt"),
            (Counter::VectorStore, "vscnt"),
            (Counter::Lgkm, "lgkmcnt"),
        ];
        let counters =
            counters.into_iter().filter(|(counter, _)| self.unproven & bit(*counter) != 0);
        let names: Vec<&str> = counters.map(|(_, name)| name).collect();
        let remedy = format!(
            "before this instruction, wait with s_waitcnt until {} proves the load complete",
            names.join(" and ")
        );
        (what, remedy)
    }
}

/// The registers of an instruction that have loads outstanding, those that it reads first.
pub(crate) fn conflicts(board: &Scoreboard, inst: &Prepared) -> impl Iterator<Item = Conflict> {
    let read = inst.spans().filter(|span| !span.is_destination);
    let written = inst.spans().filter(|span| span.is_destination);
    read.chain(written).flat_map(move |used| {
        let overlapping = board.pending.iter().filter(move |pending| pending.span.overlaps(used));
        let early = overlapping.filter(move |pending| {
            let is_next_in_queue = used.is_destination
                && inst.queue == Some(pending.queue)
                && pending.queue != Queue::Unordered;
            !is_next_in_queue
        });
        early.map(move |pending| Conflict {
            producer: pending.pc,
            load: pending.span,
            used,
            unproven: pending.unproven,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &[Counter] = &[Counter::Vector];

    fn span(slot: u16) -> Span {
        Span { first: slot, count: 1, is_destination: true }
    }

    fn pending(board: &Scoreboard) -> Vec<u64> {
        board.pending.iter().map(|pending| pending.pc).collect()
    }

    #[test]
    fn ordered_queues_complete_oldest_first() {
        let mut board = Scoreboard::new(Target::Gfx950);
        for pc in 0..4 {
            board.issue(pc, Queue::Vector, ONE, span(128 + pc as u16));
        }
        board.wait(Counter::Vector, 2);
        assert_eq!(pending(&board), [2, 3]);
        assert!(!board.is_pending(span(129)) && board.is_pending(span(130)));
        board.wait(Counter::Lgkm, 0);
        assert_eq!(pending(&board), [2, 3]);
        board.wait(Counter::Vector, 0);
        assert!(board.pending.is_empty());
    }

    #[test]
    fn only_zero_proves_unordered_operations() {
        let mut board = Scoreboard::new(Target::Gfx1100);
        board.issue(0, Queue::Unordered, &[Counter::Lgkm], span(4));
        board.issue(1, Queue::Lds, &[Counter::Lgkm], span(128));
        board.issue(2, Queue::Lds, &[Counter::Lgkm], span(129));
        board.wait(Counter::Lgkm, 1);
        assert_eq!(pending(&board), [0, 2], "the scalar load may be the one outstanding");
        board.wait(Counter::Lgkm, 0);
        assert!(board.pending.is_empty());
    }

    #[test]
    fn flat_needs_both_counters_and_orders_nothing() {
        let mut board = Scoreboard::new(Target::Gfx950);
        board.issue(0, Queue::Vector, ONE, span(128));
        board.issue(1, Queue::Unordered, &[Counter::Vector, Counter::Lgkm], span(129));
        board.wait(Counter::Vector, 1);
        assert_eq!(pending(&board), [0, 1], "the flat load may have completed first");
        board.wait(Counter::Vector, 0);
        assert_eq!(pending(&board), [1]);
        board.wait(Counter::Lgkm, 0);
        assert!(board.pending.is_empty());
    }

    #[test]
    fn no_more_is_pending_than_a_counter_can_count() {
        let mut board = Scoreboard::new(Target::Gfx950);
        for pc in 0..40 {
            board.issue(pc, Queue::Lds, &[Counter::Lgkm], span(128));
        }
        assert_eq!(board.pending.len(), 15);
        assert_eq!(board.pending[0].pc, 25);
        for pc in 40..80 {
            board.issue(pc, Queue::Unordered, &[Counter::Lgkm], span(4));
        }
        assert_eq!((board.pending.len(), board.pending[0].pc), (15, 65));
    }
}
