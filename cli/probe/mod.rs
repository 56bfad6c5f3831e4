//! Probes with their proof: that a kernel with a part taken away, or with room taken up, still does all the rest.
//!
//! The danger is a compiler that removes more than the probe did, so that a timing measures nothing. What must be left is
//! known from kernels that are compiled beside it: the untouched one, and the one that is left of it (the tile kernel of a
//! fused kernel without its scan, say). A proof holds counts of their code objects and of runs on the emulator against
//! the probe's.

mod claims;
mod observed;

use std::collections::BTreeMap;

use emulator::Class;
use serde::Serialize;
use specs::probe::tile_of;
use specs::{ChunkSpec, KdaChunkScanSpec, Probe, Probed, Problem, Spec};

use crate::backend::Backend;
use crate::error::CliError;
use crate::harness::sha256;

pub use claims::{Claim, Evidence, Wanted};
pub use observed::{Figures, Observed};

/// File name of the proofs, in a folder of probes.
pub const PROOFS: &str = "proofs.json";

/// Of the untouched kernel, and of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Both<T> {
    /// Of the one.
    pub untouched: T,
    /// Of the other.
    pub probe: T,
}

/// What a probe was held against, and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Proof {
    /// What was done to the kernel.
    pub probe: Probe,
    /// The probe's symbol.
    pub kernel: String,
    /// The untouched kernel's.
    pub untouched_kernel: String,
    /// The target's name.
    pub target: &'static str,
    /// The back end's name; what made a given object is not known.
    pub backend: &'static str,
    /// The problem of the emulated runs.
    pub problem: Problem,
    /// Whether every claim holds.
    pub accepted: bool,
    /// Room that they take.
    pub room: Both<Figures>,
    /// Executed wave instructions by class.
    pub executed: Both<BTreeMap<Class, u64>>,
    /// Everything that had to hold.
    pub claims: Vec<Claim>,
    /// Why the probe did not run, of one that could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What no count can tell.
    pub open: String,
    /// SHA-256 of the probe's code object.
    pub sha256: String,
    /// The launch that was emulated, for whoever launches it elsewhere.
    pub launch: Vec<specs::Launch>,
    /// The code objects.
    #[serde(skip)]
    pub code_objects: Both<Vec<u8>>,
}

/// A probe of which a claim does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{kernel}: probe {probe} is refused, for it does not do what is left of the kernel; a timing of it would measure \
     something else:\n{}{}", failed.iter().map(|claim| format!("  {claim}")).collect::<Vec<_>>().join("\n"),
    failure.as_ref().map(|failure| format!("\n  it did not run: {failure}")).unwrap_or_default()
)]
pub struct RefusedProbe {
    /// The probe's symbol.
    pub kernel: String,
    /// What was to be done.
    pub probe: Probe,
    /// What does not hold.
    pub failed: Vec<Claim>,
    /// Why it did not run, of one that could not.
    pub failure: Option<String>,
}

impl Proof {
    /// # Errors
    /// [`RefusedProbe`] with every claim that does not hold.
    pub fn verdict(&self) -> Result<(), RefusedProbe> {
        let failed: Vec<_> = self.claims.iter().filter(|claim| !claim.holds()).cloned().collect();
        match failed.is_empty() {
            true => Ok(()),
            false => Err(RefusedProbe {
                kernel: self.kernel.clone(),
                probe: self.probe,
                failed,
                failure: self.failure.clone(),
            }),
        }
    }
}

/// Builds a probe, or takes the code object that is to be one, and holds it against the kernels that say what must be
/// left.
///
/// # Errors
/// Kernels that cannot be built, compiled or run, or an object without the probe's kernel. A probe that fails its claims is
/// no error here, see [`Proof::verdict`].
pub fn prove(
    probed: &Probed,
    problem: &Problem,
    backend: Backend,
    given: Option<Vec<u8>>,
) -> Result<Proof, CliError> {
    if problem.tokens() == Some(0) {
        let why =
            "a probe without tokens executes nothing that could be counted: give tokens=1 or more";
        return Err(CliError::Usage(why.to_owned()));
    }
    let untouched = probed.untouched();
    let touched = match given {
        Some(code_object) => code_object,
        None => backend.compile(&kernels::build_probed(probed)?)?,
    };
    let plan = probed.plan(problem)?;
    let touched = Observed::of_probe(probed, &plan, problem, touched)?;
    let before = Observed::of(&untouched, problem, backend)?;
    let left = match left_alone(probed) {
        Some(spec) if spec != untouched => Some(Observed::of(&spec, problem, backend)?),
        Some(_) => Some(before.clone()),
        None => None,
    };
    let claims = claims::of(probed, problem, &before, left.as_ref(), &touched);
    Ok(Proof {
        probe: probed.probe(),
        kernel: probed.name(),
        untouched_kernel: untouched.name(),
        target: untouched.target().name(),
        backend: backend.name(),
        problem: problem.clone(),
        accepted: claims.iter().all(Claim::holds),
        room: Both { untouched: before.figures, probe: touched.figures },
        executed: Both { untouched: before.by_class(), probe: touched.by_class() },
        claims,
        failure: touched.run().failure.clone(),
        open: open(probed.probe()).to_owned(),
        sha256: sha256(&touched.code_object),
        launch: plan.launches,
        code_objects: Both { untouched: before.code_object, probe: touched.code_object },
    })
}

/// The kernel that does alone what is left of a probed one, when something is.
fn left_alone(probed: &Probed) -> Option<Spec> {
    let left = match (probed.probe(), probed.left()) {
        (Probe::DropScan, ChunkSpec::Fused(fused)) => ChunkSpec::Tile(tile_of(&fused)),
        (Probe::DropTile, ChunkSpec::Fused(fused)) => {
            ChunkSpec::Scan(KdaChunkScanSpec { common: fused.common, scan: fused.scan })
        }
        (Probe::DropScan | Probe::DropTile, _) => return None,
        (_, left) => left,
    };
    Some(Spec::Chunk(left))
}

fn open(probe: Probe) -> &'static str {
    match probe {
        Probe::DropScan | Probe::DropTile => {
            "what the phase costs: only a timing of both kernels on a GPU shows it, and values differ, as may clocks that \
             depend on them"
        }
        Probe::TileLoop => {
            "what a workgroup's loop over chunks costs beside a workgroup a chunk: only a timing on a GPU shows it"
        }
        Probe::LdsBallast { .. } | Probe::OneGroupPerCu => {
            "what the lost workgroups cost: only a timing of both kernels on a GPU shows it; how many were resident is \
             modelled"
        }
    }
}

/// The files of a folder of probes, by name.
///
/// # Errors
/// A document that cannot be written as JSON.
pub fn files(proofs: &[Proof]) -> Result<BTreeMap<String, Vec<u8>>, CliError> {
    let mut files = BTreeMap::new();
    for proof in proofs {
        let Both { untouched, probe } = &proof.code_objects;
        files.insert(format!("{}.hsaco", proof.kernel), probe.clone());
        files.insert(format!("{}.hsaco", proof.untouched_kernel), untouched.clone());
    }
    let mut text = serde_json::to_string_pretty(proofs).map_err(CliError::Json)?;
    text.push('\n');
    files.insert(PROOFS.to_owned(), text.into_bytes());
    Ok(files)
}
