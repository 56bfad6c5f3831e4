//! Ways through the code of a kernel, and what may be outstanding at each place.

use std::collections::{BTreeMap, BTreeSet};

use isa::Op;
use isa::table::{Control, Effect};
use isa::wait_states::History;

use crate::checks::conflict::WAIT_FOR_LDS;
use crate::checks::wait_states;
use crate::checks::waits::{self, Queue, Scoreboard};
use crate::fault::Cause;
use crate::finding::Rule;
use crate::lint::{Gap, GapKind, LintFinding};
use crate::prepare::Prepared;
use crate::program::Program;

/// Work on one kernel, in remembered operations looked at; real kernels need less than a thousandth.
const WORK_LIMIT: usize = 1 << 30;

/// What may have happened before a place, the worst of all ways to it.
#[derive(Clone)]
struct State {
    history: History,
    board: Scoreboard,
}

impl State {
    fn new(program: &Program) -> State {
        let target = program.target();
        State { history: History::new(target), board: Scoreboard::new(target) }
    }

    fn join(&mut self, other: &State) -> bool {
        // Both have to happen.
        self.history.join(&other.history) | self.board.join(&other.board)
    }

    fn size(&self) -> usize {
        1 + self.history.len() + self.board.len()
    }

    /// An instruction executes.
    fn step(&mut self, program: &Program, inst: &Prepared) {
        self.history.issue(inst.pc, &inst.profile);
        self.board.step(inst, program.target());
    }
}

/// Where control goes after an instruction.
struct Next {
    falls_through: bool,
    target: Option<u64>,
    /// What came before is not known there.
    is_fresh: bool,
    gap: Option<(GapKind, &'static str)>,
}

fn next(inst: &Prepared) -> Next {
    let row = inst.inst.row();
    let label = || inst.next_pc().wrapping_add_signed(i64::from(inst.signed_constant()) * 4);
    let mut next = Next {
        falls_through: !row.has(Effect::Terminator),
        target: row.has(Effect::Branch).then(label),
        is_fresh: false,
        gap: None,
    };
    match inst.inst.op {
        Op::Control(Control::SSetpcB64) => {
            next.target = None;
            next.gap = Some((GapKind::IndirectJump, "a jump through a register"));
        }
        Op::Control(Control::SSwappcB64) => {
            (next.target, next.falls_through, next.is_fresh) = (None, true, true);
            next.gap = Some((GapKind::Call, "a call through a register"));
        }
        Op::Control(Control::SCallB64) => (next.falls_through, next.is_fresh) = (true, true),
        _ => {}
    }
    next
}

/// The code that can be reached.
pub(super) struct Flow<'p> {
    program: &'p Program,
    reached: BTreeSet<u64>,
    /// Where ways begin or meet.
    leaders: BTreeSet<u64>,
    gaps: BTreeMap<u64, (GapKind, String)>,
}

impl<'p> Flow<'p> {
    /// Follows every way from the entries.
    pub(super) fn discover(program: &'p Program, entries: &[u64]) -> Flow<'p> {
        let mut flow = Flow {
            program,
            reached: BTreeSet::new(),
            leaders: entries.iter().copied().collect(),
            gaps: BTreeMap::new(),
        };
        let mut open = entries.to_vec();
        while let Some(start) = open.pop() {
            let mut pc = start;
            while !flow.reached.contains(&pc) {
                let inst = match program.fetch(pc) {
                    Ok(inst) => inst,
                    Err(cause) => {
                        flow.gaps.insert(pc, gap_of(&cause));
                        break;
                    }
                };
                flow.reached.insert(pc);
                let next = next(inst);
                if let Some((kind, what)) = next.gap {
                    flow.gaps.insert(pc, (kind, format!("{what}: not analysed where it goes")));
                }
                if let Some(target) = next.target
                    && flow.leaders.insert(target)
                {
                    open.push(target);
                }
                pc = inst.next_pc();
                if !next.falls_through {
                    break;
                }
                if next.target.is_some() || next.is_fresh {
                    flow.leaders.insert(pc);
                }
            }
            // A way that runs into a known one meets it there.
            if flow.reached.contains(&pc) {
                flow.leaders.insert(pc);
            }
        }
        flow
    }

    pub(super) fn instructions(&self) -> usize {
        self.reached.len()
    }

    pub(super) fn gaps(&self) -> Vec<Gap> {
        let list = self.gaps.iter();
        list.map(|(pc, (kind, what))| Gap {
            kind: *kind,
            site: self.program.site(*pc),
            what: what.clone(),
        })
        .collect()
    }

    /// What may be outstanding at each leader; `None` when that takes too much work.
    pub(super) fn settle(self, entries: &[u64]) -> Option<Settled<'p>> {
        let mut settled = Settled { flow: self, states: BTreeMap::new() };
        let mut open: BTreeSet<u64> = entries.iter().copied().collect();
        for entry in entries {
            settled.states.insert(*entry, State::new(settled.flow.program));
        }
        let mut work = 0_usize;
        while let Some(leader) = open.pop_first() {
            let mut flows = Vec::new();
            settled.walk(
                leader,
                |_, state| work += state.size(),
                |to, state| flows.push((to, state)),
            );
            for (to, state) in flows {
                let has_changed = match settled.states.get_mut(&to) {
                    Some(known) => {
                        work += known.size() * state.size();
                        known.join(&state)
                    }
                    None => {
                        settled.states.insert(to, state);
                        true
                    }
                };
                if has_changed {
                    open.insert(to);
                }
            }
            if work > WORK_LIMIT {
                return None;
            }
        }
        Some(settled)
    }
}

fn gap_of(cause: &Cause) -> (GapKind, String) {
    let kind = match cause {
        Cause::OutsideCode { .. } => GapKind::LeavesCode,
        _ => GapKind::NoInstruction,
    };
    (kind, format!("{cause}: not analysed from here"))
}

/// The state at each leader, the worst of all ways.
pub(super) struct Settled<'p> {
    flow: Flow<'p>,
    states: BTreeMap<u64, State>,
}

impl Settled<'_> {
    /// Steps from a leader to the end of its straight run: `visit` sees each instruction and the state
    /// before it, `flow_to` every place where control goes, and the state there.
    fn walk(
        &self,
        leader: u64,
        mut visit: impl FnMut(&Prepared, &State),
        mut flow_to: impl FnMut(u64, State),
    ) {
        let Some(mut state) = self.states.get(&leader).cloned() else { return };
        let mut pc = leader;
        while let Ok(inst) = self.flow.program.fetch(pc) {
            visit(inst, &state);
            state.step(self.flow.program, inst);
            let next = next(inst);
            if next.is_fresh {
                state = State::new(self.flow.program);
            }
            if let Some(target) = next.target {
                flow_to(target, state.clone());
            }
            pc = inst.next_pc();
            if !next.falls_through {
                return;
            }
            if self.flow.leaders.contains(&pc) {
                flow_to(pc, state);
                return;
            }
        }
    }

    fn writes_lds(&self, pc: u64) -> bool {
        self.flow.program.fetch(pc).is_ok_and(|inst| match inst.inst.op {
            Op::Lds(op) => op.row().operands.iter().all(|spec| !spec.is_dst),
            Op::LdsAtomic(_) => true,
            _ => false,
        })
    }

    /// What breaks a rule on some way.
    pub(super) fn findings(&self) -> Vec<LintFinding> {
        let mut list: BTreeMap<(u64, Rule, u64), (String, String)> = BTreeMap::new();
        for leader in self.states.keys() {
            self.walk(
                *leader,
                |inst, state| {
                    for missing in wait_states::missing(&state.history, inst) {
                        let key = (inst.pc, Rule::MissingWaitStates, missing.site);
                        list.insert(key, wait_states::describe(&missing));
                    }
                    for conflict in waits::conflicts(&state.board, inst) {
                        let key = (inst.pc, Rule::UseBeforeWait, conflict.producer);
                        list.insert(key, conflict.describe());
                    }
                    if inst.inst.row().has(Effect::Barrier) {
                        let outstanding = state.board.outstanding(Queue::Lds);
                        for producer in outstanding.filter(|pc| self.writes_lds(*pc)) {
                            let key = (inst.pc, Rule::UnfinishedAtBarrier, producer);
                            list.insert(key, unfinished());
                        }
                    }
                },
                |_, _| {},
            );
        }
        let site = |pc| self.flow.program.site(pc);
        list.into_iter()
            .map(|((pc, rule, producer), (what, remedy))| LintFinding {
                rule,
                site: site(pc),
                producer: site(producer),
                what,
                remedy,
            })
            .collect()
    }
}

fn unfinished() -> (String, String) {
    (
        "the barrier may open while an LDS write of this wave is outstanding".to_owned(),
        WAIT_FOR_LDS.to_owned(),
    )
}
