//! Waves of a workgroup that execute unequal numbers of barriers.
//!
//! Hardware does not count waves that have ended, so a barrier opens without them; but the program meant
//! all waves to meet, and a wave that left early met others fewer times. A wave that neither ends nor
//! arrives is a fault (deadlock).
//!
//! What this misses: waves that meet at different `s_barrier` instructions equally often, as legal code
//! does after its branches were duplicated; lanes that EXEC switched off at a barrier.
//!
//! Sources: RDNA3 and CDNA3 ISA manuals, "S_BARRIER"; AMDGPUUsage, "Memory Model".

use crate::finding::{Finding, Findings, Place, Rule};
use crate::launch::Launch;
use crate::wave::{Status, Wave};

/// Bytes of `s_barrier` and `s_endpgm`, behind which the waves stand.
const INSTRUCTION_BYTES: u64 = 4;

/// Checks the waves of a workgroup when a barrier is about to open.
pub(crate) fn check(
    launch: &Launch<'_>,
    workgroup: [u32; 3],
    waves: &[Wave],
    findings: &mut Findings,
) {
    let with = |status: Status| waves.iter().filter(move |wave| wave.status == status);
    let Some(waiting) = with(Status::AtBarrier).next() else { return };
    for ended in with(Status::Ended) {
        report(launch, workgroup, waiting, ended, findings);
    }
}

fn report(
    launch: &Launch<'_>,
    workgroup: [u32; 3],
    waiting: &Wave,
    ended: &Wave,
    findings: &mut Findings,
) {
    let [site, producer] = [waiting, ended].map(|wave| wave.pc.wrapping_sub(INSTRUCTION_BYTES));
    findings.add(Rule::BarrierDivergence, site, Some(producer), || Finding {
        rule: Rule::BarrierDivergence,
        kernel: launch.kernel.name.clone(),
        site: launch.program.site(site),
        producer: Some(launch.program.site(producer)),
        place: Place { workgroup, wave: waiting.id, lane: None },
        what: format!("the barrier opens after wave {} of the workgroup has ended", ended.id),
        remedy: "let every wave of the workgroup execute the same number of barriers".to_owned(),
        times: 1,
    });
}
