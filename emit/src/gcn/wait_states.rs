//! Wait states: what the tables of `isa::wait_states` ask for between dependent instructions, and no more.

use isa::table::{Control, Lane};
use isa::wait_states::{History, Profile, Remedy};
use isa::{Op, Operand, Target};

use super::error::Cause;
use super::finish::{Code, Placed, machine};
use super::layout::successors;

/// Inserts `s_nop`, `v_nop` and `s_waitcnt_depctr`.
///
/// # Errors
/// [`Cause::Internal`] if one of them cannot be made.
pub fn insert(target: Target, code: &mut Code) -> Result<(), Cause> {
    let profiles: Vec<Vec<Profile>> = code
        .iter()
        .map(|block| block.iter().map(|placed| Profile::of(&placed.inst, target)).collect())
        .collect();
    let entries = entry_histories(target, code, &profiles);
    for ((block, profiles), mut history) in code.iter_mut().zip(profiles).zip(entries) {
        let mut out = Vec::with_capacity(block.len() + block.len() / 8);
        for (placed, profile) in block.drain(..).zip(profiles) {
            while let Some(op) = remedy(&history, &profile)? {
                let inst = filler(target, op)?;
                history.issue(0, &Profile::of(&inst, target));
                out.push(Placed { inst, target: None, stmt: placed.stmt });
            }
            history.issue(0, &profile);
            out.push(placed);
        }
        *block = out;
    }
    Ok(())
}

/// An instruction that only lets time pass, and its immediate.
type Filler = (Op, Option<u16>);

fn remedy(history: &History, profile: &Profile) -> Result<Option<Filler>, Cause> {
    let mut states = 0;
    let mut other = None;
    for missing in history.missing(profile) {
        match missing.needed {
            Remedy::States(needed) => states = states.max(needed - missing.passed.states),
            // Between a compare that writes EXEC and a permutation of lanes; the selection makes no such compare.
            Remedy::ValuButNopBetween => {
                let problem = format!("{:?} after {:?}", missing.later, missing.earlier);
                return Err(Cause::Internal { problem });
            }
            Remedy::ValuBetween => other = Some((Op::Lane(Lane::VNop), None)),
            Remedy::WaitDepctr(imm) => {
                other = Some((Op::Control(Control::SWaitcntDepctr), Some(imm)));
            }
        }
    }
    // `s_nop` n stands for n + 1 states, 16 at most.
    let nop = |states: u32| (Op::Control(Control::SNop), Some(states.min(16) as u16 - 1));
    Ok(other.or_else(|| (states > 0).then(|| nop(states))))
}

fn filler(target: Target, (op, imm): Filler) -> Result<isa::Inst, Cause> {
    let mut operands = [Operand::None; isa::inst::MAX_OPERANDS];
    operands[0] = imm.map_or(Operand::None, Operand::Imm);
    machine(target, op, operands, Default::default())
}

/// What can still matter at the start of every block, fillers of earlier blocks left out.
fn entry_histories(target: Target, code: &Code, profiles: &[Vec<Profile>]) -> Vec<History> {
    let mut entries: Vec<Option<History>> = code.iter().map(|_| None).collect();
    let mut work = vec![0];
    if let Some(first) = entries.first_mut() {
        *first = Some(History::new(target));
    }
    while let Some(block) = work.pop() {
        let Some(mut history) = entries[block].clone() else { continue };
        for (index, profile) in profiles[block].iter().enumerate() {
            history.issue((block as u64) << 32 | index as u64, profile);
        }
        for next in successors(code, block) {
            let changed = match &mut entries[next] {
                Some(known) => known.join(&history),
                None => {
                    entries[next] = Some(history.clone());
                    true
                }
            };
            if changed {
                work.push(next);
            }
        }
    }
    entries.into_iter().map(|history| history.unwrap_or(History::new(target))).collect()
}
