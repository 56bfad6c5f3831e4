//! Instructions for a wave that no launch surrounds: what tests of single instructions run.

use isa::{Inst, Target};

use super::{Exec, Outcome};
use crate::checks::races::Races;
use crate::fault::Cause;
use crate::finding::{Finding, Findings};
use crate::lds::Lds;
use crate::machine::Options;
use crate::memory::{Cursor, Memory};
use crate::prepare::prepare;
use crate::program::Program;
use crate::report::Counts;
use crate::scratch::Scratch;
use crate::wave::Wave;

/// What a wave can reach.
pub(crate) struct Around<'a> {
    pub memory: &'a mut Memory,
    pub lds: &'a mut Lds,
    pub scratch: &'a mut Scratch,
    pub options: &'a Options,
}

/// Runs something on a wave; returns what the checks found, too.
pub(crate) fn with_exec<R>(
    wave: &mut Wave,
    around: Around<'_>,
    program: &Program,
    run: impl FnOnce(&mut Exec<'_>) -> R,
) -> (R, Vec<Finding>) {
    let mut findings = Findings::default();
    let result = run(&mut Exec {
        wave,
        memory: around.memory,
        lds: around.lds,
        scratch: around.scratch,
        findings: &mut findings,
        races: &mut Races::default(),
        counts: &mut Counts::default(),
        options: around.options,
        program,
        target: program.target(),
        kernel: "alone",
        workgroup: [0; 3],
        cursor: Cursor::default(),
    });
    (result, findings.into_parts().0)
}

/// Runs one instruction.
///
/// # Errors
/// It has no meaning.
pub(crate) fn execute(
    wave: &mut Wave,
    around: Around<'_>,
    target: Target,
    inst: Inst,
) -> Result<(Outcome, Vec<Finding>), Cause> {
    let prepared = prepare(0, inst, target)?;
    let program = Program::new(target, 0, std::iter::empty());
    Ok(with_exec(wave, around, &program, |exec| (prepared.run)(exec, &prepared)))
}
