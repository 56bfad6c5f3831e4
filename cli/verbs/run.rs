//! `run`: emit, load, launch, compare with float64.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use clap::ValueEnum;
use emulator::{Numerics, Options};
use oracle::inputs::{GateRange, Sample};
use oracle::tensors::Tensors;
use oracle::{Case, measure};
use runtime::LaunchReport;
use serde::Serialize;
use specs::{Job, Problem, Spec, StatusBit, StatusWord};

use crate::backend::Backend;
use crate::emulate::stats::Counts;
use crate::error::{CliError, Outcome};
use crate::harness::conditions::Conditions;
use crate::harness::devices::{AnyDevice, DeviceKind};
use crate::harness::{self, tensor_file};
use crate::{cache, pipeline, report};

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Spec file, or a chunk_tile and then a chunk_scan as one split prefill, or a problem file, whose launch
    /// plan is dispatched
    #[arg(required = true, value_name = "SPEC|PROBLEM")]
    specs: Vec<PathBuf>,
    /// Back end that makes the code
    #[arg(long, value_enum, default_value_t = Backend::default())]
    backend: Backend,
    /// Device that runs it
    #[arg(long, value_enum, default_value_t = DeviceKind::Emulated)]
    device: DeviceKind,
    /// A parameter of the problem, such as batch=4 (decode steps: batch, scale, pool_slots with a pool;
    /// conv steps: batch; prefill: batch and tokens, or lengths=33,0,100 with varlen, and scale; recurrent and conv
    /// chunks: the same with lengths always; attention: batch and context, or contexts=33,0,100, and blocks,
    /// max_blocks, scale, of chunks tokens or lengths too); may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    problem: Vec<String>,
    /// Inputs (and expected results) from a file instead of generated ones; docs/inputs.md says what
    /// names it takes
    #[arg(long, value_name = "FILE.safetensors", conflicts_with_all = ["seed", "gates"])]
    inputs: Option<PathBuf>,
    /// Chooses the generated inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How strongly generated gates decay
    #[arg(long, value_enum, default_value_t = Gates::Mixed)]
    gates: Gates,
    /// Wave instructions after which a launch is stopped as endless
    #[arg(long, default_value_t = harness::INSTRUCTION_LIMIT)]
    instruction_limit: u64,
    /// How matrix and dot-product instructions round: fma-sequential, cdna3-fdpa (gfx950) or
    /// rdna3-candidate (gfx1100)
    #[arg(long, value_name = "NAME", default_value_t = Numerics::default())]
    numerics: Numerics,
    /// Only run: no float64 reference
    #[arg(long)]
    no_compare: bool,
    /// Count instructions by class and wave, bytes by memory, and modelled LDS clocks with conflicts apart
    #[arg(long)]
    stats: bool,
}

impl Args {
    fn options(&self) -> Options {
        let options = harness::options(self.instruction_limit, self.numerics);
        Options { stats: self.stats, ..options }
    }
}

/// Strength of generated gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Gates {
    /// No decay
    Zero,
    /// Down to −0.1 nats
    Weak,
    /// As trained models have them: large rates, most steps small
    Trained,
    /// Down to −20 nats, every magnitude
    Mixed,
    /// Evenly down to −20 nats
    Strong,
}

impl From<Gates> for GateRange {
    fn from(gates: Gates) -> GateRange {
        match gates {
            Gates::Zero => GateRange::Zero,
            Gates::Weak => GateRange::Weak,
            Gates::Trained => GateRange::Trained,
            Gates::Mixed => GateRange::Mixed,
            Gates::Strong => GateRange::Strong,
        }
    }
}

/// The whole story of one run.
#[derive(Debug, Serialize)]
struct RunReport {
    passed: bool,
    kernel: String,
    target: &'static str,
    backend: &'static str,
    device: String,
    problem: Problem,
    /// Modes and checks of the emulator; a HIP device has none.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    conditions: Option<Conditions>,
    compared: bool,
    outputs: BTreeMap<String, OutputReport>,
    /// What the kernels reported, where they take a status word.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<StatusReport>,
    /// Verdicts against `expected.*` of the input file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    expected: BTreeMap<String, measure::Verdict>,
    /// `expected.*` of the input file that no kernel writes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uncompared: Vec<String>,
    findings: Vec<emulator::Finding>,
    /// Findings that the emulated HIP library wrote on stderr.
    findings_on_stderr: u64,
    wave_instructions: u64,
    seconds: f64,
    launches: Vec<LaunchReport>,
}

/// One output.
#[derive(Debug, Serialize)]
struct OutputReport {
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    verdict: Option<measure::Verdict>,
    /// SHA-256 of the output's bytes.
    sha256: String,
}

/// The status word.
#[derive(Debug, Serialize)]
struct StatusReport {
    /// The word, in hexadecimal.
    word: String,
    /// Every condition that it reports.
    reported: Vec<StatusBit>,
    /// The same, to read.
    #[serde(skip)]
    text: String,
}

impl From<StatusWord> for StatusReport {
    fn from(status: StatusWord) -> StatusReport {
        let word = format!("0x{:08x}", status.bits());
        let text = match status.is_clean() {
            true => "clean".to_owned(),
            false => {
                format!("{status} ({word}): docs/status_word.md; nothing of this run may be used")
            }
        };
        StatusReport { word, reported: status.reported().collect(), text }
    }
}

/// A problem, ready to run.
struct Prepared {
    problem: Problem,
    case: Case,
    expected: BTreeMap<String, Vec<f64>>,
    uncompared: Vec<String>,
}

/// Runs one problem and reports on it.
///
/// # Errors
/// Whatever keeps the run from being judged.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let started = Instant::now();
    let Work { job, problem } = work(args)?;
    args.numerics.check(job.target()).map_err(|wrong| CliError::Usage(wrong.to_string()))?;
    let prepared = prepare(args, &job, problem)?;
    let build = |spec: &Spec| cache::code_object(spec, args.backend);
    let objects: Vec<Vec<u8>> = job.specs().iter().map(build).collect::<Result<_, CliError>>()?;
    let mut device = AnyDevice::open(args.device, job.target(), args.options())?;
    let outcome = harness::execute(
        device.device(),
        &objects.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        job,
        &prepared.problem,
        &prepared.case.tensors()?,
    )?;
    let report = judge(args, &job, prepared, &mut device, outcome, started)?;
    if json {
        report::json(&report)?;
    } else {
        report::text(&text(&report, args.stats))?;
    }
    Ok(Outcome::right_if(report.passed))
}

/// What is to be run, and the problem where a problem file says it.
struct Work {
    job: Job,
    problem: Option<Problem>,
}

/// The job of the files. A problem file is dispatched; sizes of input tensors go before its own.
fn work(args: &Args) -> Result<Work, CliError> {
    let problem_file = match &args.specs[..] {
        [only] if pipeline::is_problem_file(only) => only,
        specs => return Ok(Work { job: pipeline::legal_job(specs)?, problem: None }),
    };
    let mut dispatched = pipeline::dispatch(problem_file, &args.problem)?;
    if let Some(path) = &args.inputs {
        let file = tensor_file::read(path, &dispatched.choice.job)?;
        let sizes = merge(&file.assignments, &args.problem)?;
        dispatched = pipeline::dispatch(problem_file, &sizes)?;
    }
    Ok(Work { job: dispatched.choice.job, problem: Some(dispatched.problem) })
}

/// Inputs from a file or a seed; what a file fixes may be said again, but not otherwise.
fn prepare(args: &Args, job: &Job, problem: Option<Problem>) -> Result<Prepared, CliError> {
    let Some(path) = &args.inputs else {
        let problem = match problem {
            Some(problem) => problem,
            None => job.problem(&args.problem)?,
        };
        harness::refuse_too_large(job, &problem)?;
        let sample = Sample { gates: args.gates.into(), seed: args.seed };
        let case = Case::generate(*job, &problem, &sample)?;
        return Ok(Prepared { problem, case, expected: BTreeMap::new(), uncompared: Vec::new() });
    };
    let file = tensor_file::read(path, job)?;
    let assignments = merge(&file.assignments, &args.problem)?;
    let problem = job.problem(&assignments)?;
    harness::refuse_too_large(job, &problem)?;
    let case = Case::from_tensors(*job, &problem, &file.tensors)?;
    Ok(Prepared { problem, case, expected: file.expected, uncompared: file.uncompared })
}

/// The file's parameters and the user's; a parameter that both give must be the same.
fn merge(file: &[String], user: &[String]) -> Result<Vec<String>, CliError> {
    let key = |assignment: &str| assignment.split('=').next().unwrap_or_default().to_owned();
    let mut merged = user.to_vec();
    for fixed in file {
        match user.iter().find(|assignment| key(assignment) == key(fixed)) {
            Some(said) if said == fixed => {}
            Some(said) => {
                return Err(CliError::Usage(format!(
                    "--problem {said}: the input file says {fixed}"
                )));
            }
            None => merged.push(fixed.clone()),
        }
    }
    Ok(merged)
}

fn judge(
    args: &Args,
    job: &Job,
    prepared: Prepared,
    device: &mut AnyDevice,
    execution: harness::Execution,
    started: Instant,
) -> Result<RunReport, CliError> {
    let Prepared { problem, case, expected, uncompared } = prepared;
    let mut outputs: BTreeMap<String, OutputReport> =
        execution.outputs.iter().map(|(name, bytes)| (name.clone(), fingerprint(bytes))).collect();
    let mut file_verdicts = BTreeMap::new();
    if !args.no_compare {
        for (name, verdict) in case.judge(&execution.outputs)? {
            outputs.entry(name.to_owned()).and_modify(|output| output.verdict = Some(verdict));
        }
        file_verdicts = judge_expected(&case, &execution.outputs, &expected)?;
    }
    let reports = || execution.launches.iter().filter_map(|launch| launch.emulated.as_ref());
    let findings: Vec<_> = reports().flat_map(|report| report.findings.clone()).collect();
    let verdicts = outputs.values().filter_map(|output| output.verdict.as_ref());
    let right = verdicts.chain(file_verdicts.values()).all(|verdict| verdict.passed);
    let findings_on_stderr = device.findings_on_stderr();
    let clean = execution.trouble().is_none();
    let on_emulator = args.device == DeviceKind::Emulated;
    Ok(RunReport {
        passed: right && clean && findings.is_empty() && findings_on_stderr == 0,
        kernel: job.name(),
        target: job.target().name(),
        backend: args.backend.name(),
        device: device.device().name().to_owned(),
        problem,
        conditions: on_emulator.then(|| Conditions::of(&args.options())),
        compared: !args.no_compare,
        outputs,
        status: execution.status.map(StatusReport::from),
        expected: file_verdicts,
        uncompared,
        findings,
        findings_on_stderr,
        wave_instructions: reports().map(|report| report.wave_instructions).sum(),
        seconds: started.elapsed().as_secs_f64(),
        launches: execution.launches,
    })
}

fn judge_expected(
    case: &Case,
    outputs: &Tensors,
    expected: &BTreeMap<String, Vec<f64>>,
) -> Result<BTreeMap<String, measure::Verdict>, CliError> {
    let verdicts = expected
        .iter()
        .map(|(name, reference)| Ok((name.clone(), case.judge_against(name, outputs, reference)?)));
    verdicts.collect()
}

fn fingerprint(bytes: &[u8]) -> OutputReport {
    OutputReport { verdict: None, sha256: harness::sha256(bytes) }
}

fn text(report: &RunReport, stats: bool) -> String {
    let conditions = report.conditions.as_ref().map_or_else(
        || "nothing is watched on a HIP device: it tells results and errors only".to_owned(),
        ToString::to_string,
    );
    let mut out = format!(
        "{} for {} by {} on {}\n{}\n",
        report.kernel, report.target, report.backend, report.device, conditions
    );
    out.push_str(&outputs_text(report));
    if let Some(status) = &report.status {
        out.push_str(&format!("status word: {}\n", status.text));
    }
    for name in &report.uncompared {
        out.push_str(&format!("{name} of the file: no kernel writes it, not compared\n"));
    }
    for finding in &report.findings {
        out.push_str(&format!("finding: {finding}\n"));
    }
    if report.findings_on_stderr > 0 {
        out.push_str(&format!("findings on stderr: {}\n", report.findings_on_stderr));
    }
    if stats {
        out.push_str(&stats_text(report));
    }
    let verdict = match (report.passed, report.compared) {
        (true, true) => "passed",
        (true, false) => "ran, nothing compared",
        (false, _) => "FAILED",
    };
    out.push_str(&format!(
        "{verdict}: {} finding{}, {} wave instructions, {:.2} s\n",
        report.findings.len(),
        if report.findings.len() == 1 { "" } else { "s" },
        report.wave_instructions,
        report.seconds
    ));
    out
}

fn outputs_text(report: &RunReport) -> String {
    let head = ["output", "rmse_ratio", "floor", "limit", "max_abs", "verdict"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (name, output) in &report.outputs {
        rows.push(match &output.verdict {
            Some(verdict) => verdict_row(name.clone(), verdict),
            None => {
                let blank = || String::new();
                let why = not_compared(name, report);
                vec![name.clone(), blank(), blank(), blank(), blank(), why]
            }
        });
    }
    for (name, verdict) in &report.expected {
        rows.push(verdict_row(format!("{name} (file)"), verdict));
    }
    report::table(&rows)
}

/// Why an output has no verdict of its own.
fn not_compared(name: &str, report: &RunReport) -> String {
    let whole = name.strip_suffix("_low").filter(|_| report.compared);
    match whole.filter(|whole| report.outputs.contains_key(*whole)) {
        Some(whole) => format!("the low half of {whole}, judged with it"),
        None => "not compared".to_owned(),
    }
}

fn verdict_row(name: String, verdict: &measure::Verdict) -> Vec<String> {
    let word = match &verdict.failure {
        _ if verdict.passed && verdict.non_finite > 0 => {
            format!("pass ({} non-finite elements matched)", verdict.non_finite)
        }
        _ if verdict.passed => "pass".to_owned(),
        Some(why) => format!("FAIL: {why}"),
        None => "FAIL".to_owned(),
    };
    let number = |value: f64| format!("{value:.3e}");
    vec![
        name,
        number(verdict.rmse_ratio),
        number(verdict.floor),
        number(verdict.limit),
        number(verdict.max_abs),
        word,
    ]
}

fn stats_text(report: &RunReport) -> String {
    let mut out = String::new();
    for launch in &report.launches {
        let Some(emulated) = &launch.emulated else { continue };
        let counts = Counts::new(emulated.stats.clone());
        out.push_str(&format!("{}: {}", launch.kernel, counts.text()));
    }
    out
}
