//! What is told of a run: one document, or text.

use std::collections::BTreeMap;

use emulator::fidelity::Bound;
use emulator::{Cause, ExecutionFault, Finding, Place, Report, Site, WaveState};
use serde::Serialize;

use crate::emulate::bind::Supplied;
use crate::emulate::fidelity::{self, Trust};
use crate::emulate::launch::{Plan, Planned};
use crate::emulate::stats::{Counts, Totals};
use crate::emulate::tensor::Tensor;
use crate::harness::conditions::Conditions;
use crate::{harness, report};

/// The whole story of one run.
#[derive(Debug, Serialize)]
pub struct Told {
    /// Neither fault nor finding, in any launch.
    pub passed: bool,
    /// The target, from the objects.
    pub target: &'static str,
    /// Modes and checks.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// What ended the run before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultTold>,
    /// What is wrong, over all launches.
    pub findings: Vec<Finding>,
    /// Findings beyond those listed.
    pub findings_dropped: u64,
    /// Instructions executed, each once a wave, over all launches.
    pub wave_instructions: u64,
    /// Counts over all launches.
    pub totals: Totals,
    /// What each launch did, in order; after a fault the last one is the one that faulted.
    pub launches: Vec<LaunchTold>,
    /// Launches that a fault kept from running.
    pub launches_not_run: usize,
    /// Buffers after the run, by name; empty after a fault.
    pub buffers: BTreeMap<String, BufferTold>,
    /// Why files of results, the trace's or a buffer's, were not written.
    pub unwritten: Vec<String>,
    /// Wall time.
    pub seconds: f64,
}

/// The story of one launch.
#[derive(Debug, Serialize)]
pub struct LaunchTold {
    /// The code object's file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// Workgroups in x, y, z.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    pub block: [u32; 3],
    /// LDS beyond what the kernel's descriptor asks for, in bytes.
    pub dynamic_lds_bytes: u32,
    /// Explicit arguments in order.
    pub args: Vec<Argument>,
    /// What is wrong with the kernel.
    pub findings: Vec<Finding>,
    /// Findings beyond those listed.
    pub findings_dropped: u64,
    /// Instructions executed, each once a wave.
    pub wave_instructions: u64,
    /// Counts by class.
    pub stats: Counts,
    /// The kernel's instructions by how far they can be trusted.
    pub fidelity: Trust,
}

/// An explicit argument.
#[derive(Debug, Serialize)]
pub struct Argument {
    name: String,
    kind: &'static str,
    offset: u32,
    bytes: u32,
    value: String,
    /// The buffer that it points to.
    #[serde(skip_serializing_if = "Option::is_none")]
    buffer: Option<String>,
}

impl Argument {
    /// What is told of an argument, its value and its buffer.
    fn new(bound: &Supplied, buffer: Option<String>) -> Argument {
        let Supplied { key, arg, text, .. } = bound;
        Argument {
            name: key.clone(),
            kind: arg.value_kind.word(),
            offset: arg.offset,
            bytes: arg.size,
            value: text.clone(),
            buffer,
        }
    }
}

/// What ended a run.
#[derive(Debug, Serialize)]
pub struct FaultTold {
    /// The launch, from 1.
    launch: usize,
    message: String,
    cause: Cause,
    site: Option<Site>,
    place: Place,
    /// Where the waves that have not ended are, after a fault of the whole launch.
    waves: Vec<WaveState>,
    remedy: &'static str,
}

impl FaultTold {
    /// What is told of a fault; `launch` counts from 0.
    pub fn new(launch: usize, fault: &ExecutionFault) -> FaultTold {
        FaultTold {
            launch: launch + 1,
            message: fault.to_string(),
            cause: fault.cause.clone(),
            site: fault.site.clone(),
            place: fault.place,
            waves: fault.waves.clone(),
            remedy: remedy(&fault.cause),
        }
    }
}

/// What the user of this verb can do about a fault.
fn remedy(cause: &Cause) -> &'static str {
    match cause {
        Cause::Memory { .. } => {
            "compare the buffer's size and the arguments with what this grid accesses; --trace shows \
             the way there"
        }
        Cause::LdsOutOfBounds { .. } => {
            "give the workgroup more with --dynamic-lds, or correct the kernel's LDS addresses"
        }
        Cause::ScratchOutOfBounds { .. } => {
            "correct the kernel's scratch addresses or its descriptor"
        }
        Cause::InstructionLimit { .. } => {
            "raise --instruction-limit if the kernel is meant to run that long; if workgroups wait for later ones, \
             raise --resident-workgroups"
        }
        Cause::UnknownInstruction { .. } => {
            "see disasm: either the branch there is wrong, or the instruction tables lack it"
        }
        Cause::Unsupported { .. } => {
            "see --fidelity for what else of this kernel cannot be executed"
        }
        _ => "--trace shows the instructions that led there",
    }
}

/// A buffer after the run.
#[derive(Debug, Serialize)]
pub struct BufferTold {
    element: &'static str,
    shape: Vec<usize>,
    bytes: usize,
    sha256: String,
    /// Files it was saved in.
    saved: Vec<String>,
}

impl BufferTold {
    /// What is told of a buffer.
    pub fn new(tensor: &Tensor, saved: Vec<String>) -> BufferTold {
        BufferTold {
            element: tensor.element.name(),
            shape: tensor.shape.clone(),
            bytes: tensor.bytes.len(),
            sha256: harness::sha256(&tensor.bytes),
            saved,
        }
    }
}

impl LaunchTold {
    /// The story of one launch of a plan, counted from 0; `report` is what the emulator says.
    pub fn new(plan: &Plan<'_>, launch: usize, report: Report) -> LaunchTold {
        let Planned { file, object, kernel, sizes, .. } = &plan.launches[launch];
        let buffers = plan.sharing.of[launch].iter();
        let name = |buffer: &Option<usize>| buffer.map(|at| plan.sharing.buffers[at].name.clone());
        let args = plan.args[launch].iter().zip(buffers);
        LaunchTold {
            file: file.display().to_string(),
            kernel: kernel.name.clone(),
            grid: sizes.grid,
            block: sizes.block,
            dynamic_lds_bytes: sizes.dynamic_lds_bytes,
            args: args.map(|(bound, buffer)| Argument::new(bound, name(buffer))).collect(),
            fidelity: fidelity::trust(object, kernel, &report.approximations, report.numerics),
            findings: report.findings,
            findings_dropped: report.findings_dropped,
            wave_instructions: report.wave_instructions,
            stats: Counts::new(report.stats),
        }
    }

    fn head(&self, target: &str) -> String {
        let [[gx, gy, gz], [bx, by, bz]] = [self.grid, self.block];
        let mut out = format!(
            "{} for {target} on the emulator\ngrid {gx} × {gy} × {gz} workgroups of {bx} × {by} × {bz} work-items\n",
            self.kernel
        );
        let rows = self.args.iter().map(|arg| {
            vec![
                format!("  {}", arg.name),
                arg.kind.to_owned(),
                format!("{} bytes", arg.bytes),
                arg.value.clone(),
            ]
        });
        out.push_str(&report::table(&rows.collect::<Vec<_>>()));
        out
    }
}

impl Told {
    /// As text, with what was asked for.
    pub fn text(&self, with_stats: bool, with_fidelity: bool) -> String {
        let mut out = self.each_launch(|launch| launch.head(self.target));
        out.push_str(&format!("{}\n", self.conditions));
        out.push_str(&self.buffer_table());
        for error in &self.unwritten {
            out.push_str(&format!("not written: {error}\n"));
        }
        for finding in &self.findings {
            out.push_str(&format!("finding: {finding}\n"));
        }
        if self.findings_dropped != 0 {
            out.push_str(&format!("{} more findings, not listed\n", self.findings_dropped));
        }
        if let Some(FaultTold { message, remedy, .. }) = &self.fault {
            out.push_str(&format!("fault: {message}\n  remedy: {remedy}\n"));
        }
        if self.launches_not_run != 0 {
            out.push_str(&format!("{} more launches did not run\n", self.launches_not_run));
        }
        if with_stats {
            out.push_str(&self.each_launch(|launch| launch.stats.text()));
            if self.launches.len() > 1 {
                out.push_str(&self.totals.text());
            }
        }
        if with_fidelity {
            out.push_str(&self.each_launch(|launch| fidelity_text(&launch.fidelity)));
        }
        out.push_str(&self.verdict());
        out
    }

    /// A text of every launch, under its number where there are several.
    fn each_launch(&self, text: impl Fn(&LaunchTold) -> String) -> String {
        let is_alone = self.launches.len() + self.launches_not_run == 1;
        let told = (1..).zip(&self.launches).map(|(number, launch)| match is_alone {
            true => text(launch),
            false => format!("launch {number}: {}", text(launch)),
        });
        told.collect()
    }

    fn buffer_table(&self) -> String {
        let rows = self.buffers.iter().map(|(name, buffer)| {
            let saved = buffer.saved.iter().map(|file| format!("→ {file}"));
            vec![
                format!("buffer {name}"),
                format!("{} {:?}", buffer.element, buffer.shape),
                format!("SHA-256 {}", buffer.sha256),
                saved.collect::<Vec<_>>().join(" "),
            ]
        });
        report::table(&rows.collect::<Vec<_>>())
    }

    fn verdict(&self) -> String {
        let word = match (&self.fault, self.passed) {
            (Some(_), _) => "FAULT",
            (None, true) if !self.conditions.checks => "UNCHECKED",
            (None, true) if self.conditions.race_checks => "clean",
            (None, true) => "clean, races not watched for",
            (None, false) => "FINDINGS",
        };
        format!(
            "{word}: {} findings, {} wave instructions, {:.2} s\n",
            self.findings.len(),
            self.wave_instructions,
            self.seconds
        )
    }
}

/// A bound as the document spells it.
fn word(bound: &Bound) -> String {
    let spelled = serde_json::to_value(bound).unwrap_or_default();
    spelled.as_str().unwrap_or_default().to_owned()
}

fn fidelity_text(trust: &Trust) -> String {
    let names = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<_>>().join(", ");
    let approximate = trust.approximate.iter().map(|(name, approximate)| {
        let executed = if approximate.executed { "executed" } else { "not executed" };
        format!("{name} ({}, {executed})", word(&approximate.bound))
    });
    let row = |word: &str, count: usize, names: String| {
        vec![format!("  {word}"), count.to_string(), names]
    };
    let mut rows = vec![
        row("exact", trust.exact.len(), names(&mut trust.exact.iter().cloned())),
        row("approximate", trust.approximate.len(), names(&mut approximate.into_iter())),
        row("unsupported", trust.unsupported.len(), names(&mut trust.unsupported.iter().cloned())),
    ];
    if trust.undecodable_dwords != 0 {
        rows.push(vec!["  undecodable".to_owned(), trust.undecodable_dwords.to_string()]);
    }
    format!("fidelity of the kernel's instructions\n{}", report::table(&rows))
}
