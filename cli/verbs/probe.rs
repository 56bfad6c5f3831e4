//! `probe`: ablations of prefill kernels, each with the proof that the rest is still there.

use std::path::PathBuf;

use serde_json::json;
use specs::{Choice, Probe, ProbeKind, Probed};

use crate::backend::Backend;
use crate::error::{CliError, Outcome};
use crate::probe::{self, Claim, Figures, PROOFS, Proof};
use crate::{code_object_file, files, pipeline, report};

/// Shown under the options.
const EXAMPLES: &str = "\
Examples:
  wavesmith probe --list
  wavesmith probe specs/library/kda_chunk_fused_bf16_gfx950.toml --with drop_scan -o probes
  wavesmith probe specs/library/kda_chunk_tile_bf16_gfx950.toml --with lds_ballast=8192
  wavesmith probe specs/library/kda_chunk_tile_bf16_gfx950.toml --with one_group_per_cu --problem tokens=64

A probe of which any claim does not hold is refused with exit code 1, and no file is written.";

/// Arguments of `probe`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Spec file of a prefill kernel, or a chunk_tile and then a chunk_scan: each that the probe fits is probed
    #[arg(required_unless_present = "list", value_name = "SPEC")]
    specs: Vec<PathBuf>,
    /// What to do to the kernel: drop_scan, drop_tile, tile_loop, lds_ballast=BYTES or one_group_per_cu
    #[arg(long, value_name = "PROBE", required_unless_present = "list")]
    with: Option<String>,
    /// List the probes, what they do and which kernels they fit
    #[arg(long, conflicts_with_all = ["specs", "with", "output", "object"])]
    list: bool,
    /// Back end that makes the code
    #[arg(long, value_enum, default_value_t = Backend::default())]
    backend: Backend,
    /// A parameter of the problem of the emulated runs, such as tokens=64, as `run` takes it; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    problem: Vec<String>,
    /// Judge this code object, which has a kernel of the probe's name, instead of making one
    #[arg(long, value_name = "FILE.hsaco")]
    object: Option<PathBuf>,
    /// Directory for the probe, the untouched kernel and the proof, made if it does not exist
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Makes probes, proves them and writes what is proved.
///
/// # Errors
/// Specs that cannot be read, break rules or that the probe does not fit, kernels that cannot be compiled or run, files that
/// cannot be read or written.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let Some(with) = &args.with else { return list(json) };
    let probe = Probe::parse(with)?;
    let job = pipeline::legal_job(&args.specs)?;
    let probed = probe.of(&job)?;
    let problem = job.problem(&args.problem)?;
    let given = given(args, &probed)?;
    let prove = |probed| probe::prove(probed, &problem, args.backend, given.clone());
    let proofs = probed.iter().map(prove).collect::<Result<Vec<_>, _>>()?;
    let refusals: Vec<_> = proofs.iter().filter_map(|proof| proof.verdict().err()).collect();
    if let (Some(folder), true) = (&args.output, refusals.is_empty()) {
        files::write_all(folder, &probe::files(&proofs)?, PROOFS)?;
    }
    if json {
        report::json(&json!({ "accepted": refusals.is_empty(), "proofs": proofs }))?;
    } else {
        report::text(&proofs.iter().map(text).collect::<String>())?;
    }
    refusals.iter().for_each(|refusal| report::note(&format!("error: {refusal}")));
    Ok(Outcome::right_if(refusals.is_empty()))
}

/// The code object to judge, where one is given.
fn given(args: &Args, probed: &[Probed]) -> Result<Option<Vec<u8>>, CliError> {
    let Some(path) = &args.object else { return Ok(None) };
    let [_] = probed else {
        let several = "--object is one probe's code object, and this pair has two: give one spec";
        return Err(CliError::Usage(several.to_owned()));
    };
    Ok(Some(code_object_file::read(path)?.0))
}

fn list(json: bool) -> Result<Outcome, CliError> {
    let kernels = |kind: ProbeKind| kind.kernels().iter().map(ToString::to_string);
    if json {
        let probes: Vec<_> = ProbeKind::ALL
            .iter()
            .map(|kind| {
                let (usage, kernels) = (kind.usage(), kernels(*kind).collect::<Vec<_>>());
                json!({ "probe": kind, "usage": usage, "kernels": kernels, "meaning": kind.meaning() })
            })
            .collect();
        report::json(&json!({ "probes": probes }))?;
        return Ok(Outcome::Right);
    }
    let mut rows = vec![["probe", "kernels", "what is left"].map(str::to_owned).to_vec()];
    rows.extend(ProbeKind::ALL.iter().map(|kind| {
        let kernels = kernels(*kind).collect::<Vec<_>>().join(", ");
        vec![kind.usage(), kernels, kind.meaning().to_owned()]
    }));
    report::text(&report::table(&rows))?;
    Ok(Outcome::Right)
}

/// A figure by name.
type Figure = (&'static str, fn(&Figures) -> u32);

/// What a workgroup takes, shown beside every proof.
const ROOM: [Figure; 3] = [
    ("LDS bytes", |of| of.lds_bytes),
    ("registers a lane", |of| of.registers),
    ("workgroups a CU, modelled", |of| of.workgroups_per_cu),
];

fn text(proof: &Proof) -> String {
    let head = ["proof", "untouched", "wanted", "found", "evidence", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(proof.claims.iter().map(row));
    let mut room = vec![["room", "untouched", "probe"].map(str::to_owned).to_vec()];
    room.extend(ROOM.iter().map(|(name, of)| {
        let numbers = [proof.room.untouched, proof.room.probe];
        let numbers = numbers.map(|figures| report::grouped(of(&figures).into()));
        [(*name).to_owned()].into_iter().chain(numbers).collect()
    }));
    format!(
        "probe {} of {}, {}, {} back end\nkernel {}\n{}{}{}\nopen: {}\n",
        proof.probe,
        proof.untouched_kernel,
        proof.target,
        proof.backend,
        proof.kernel,
        report::columns(&room),
        report::columns(&rows),
        if proof.accepted { "accepted: every claim holds" } else { "REFUSED" },
        proof.open
    )
}

fn row(claim: &Claim) -> Vec<String> {
    vec![
        claim.what.to_owned(),
        report::grouped(claim.untouched),
        claim.wanted.to_string(),
        report::grouped(claim.found),
        claim.evidence.to_string(),
        if claim.holds() { "holds" } else { "FAILS" }.to_owned(),
    ]
}
