//! What is told of a run: one document, or text.

use std::collections::BTreeMap;

use emulator::fidelity::Bound;
use emulator::{Cause, Class, ExecutionFault, Finding, Place, Report, Site, Stats};
use serde::Serialize;

use crate::emulate::bind::Supplied;
use crate::emulate::fidelity::Trust;
use crate::emulate::launch::Sizes;
use crate::emulate::tensor::Tensor;
use crate::{harness, report};

/// The whole story of one run.
#[derive(Debug, Serialize)]
pub struct Told {
    /// Neither fault nor finding.
    pub passed: bool,
    /// The code object's file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// The target, from the object.
    pub target: &'static str,
    /// Workgroups in x, y, z.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    pub block: [u32; 3],
    /// LDS beyond what the kernel's descriptor asks for, in bytes.
    pub dynamic_lds_bytes: u32,
    /// Whether races were watched for.
    pub race_checks: bool,
    /// Explicit arguments in order.
    pub args: Vec<Argument>,
    /// How the emulator computes what the ISA leaves open.
    pub numerics: &'static str,
    /// What ended the run before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultTold>,
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
    /// Buffers after the run, by the arguments that made them; empty after a fault.
    pub buffers: BTreeMap<String, BufferTold>,
    /// Wall time.
    pub seconds: f64,
}

/// An explicit argument.
#[derive(Debug, Serialize)]
pub struct Argument {
    name: String,
    kind: &'static str,
    offset: u32,
    bytes: u32,
    value: String,
}

impl Argument {
    /// What is told of an argument and its value.
    pub fn new(bound: &Supplied) -> Argument {
        let Supplied { key, arg, text, .. } = bound;
        Argument {
            name: key.clone(),
            kind: arg.value_kind.word(),
            offset: arg.offset,
            bytes: arg.size,
            value: text.clone(),
        }
    }
}

/// What ended a run.
#[derive(Debug, Serialize)]
pub struct FaultTold {
    message: String,
    cause: Cause,
    site: Option<Site>,
    place: Place,
    remedy: &'static str,
}

impl FaultTold {
    fn new(fault: &ExecutionFault) -> FaultTold {
        FaultTold {
            message: fault.to_string(),
            cause: fault.cause.clone(),
            site: fault.site.clone(),
            place: fault.place,
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
            "raise --instruction-limit if the kernel is meant to run that long"
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

/// Counts of a run.
#[derive(Debug, Serialize)]
pub struct Counts {
    #[serde(flatten)]
    total: Stats,
    /// Wave instructions of the average wave, by class.
    mean_per_wave: BTreeMap<Class, f64>,
}

impl Counts {
    fn new(total: Stats) -> Counts {
        let waves = total.waves.max(1) as f64;
        let mean = total.instructions.iter().map(|(class, count)| (*class, *count as f64 / waves));
        Counts { mean_per_wave: mean.collect(), total }
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

/// What was run, apart from what came of it.
pub struct Call<'c> {
    /// The code object's file.
    pub file: String,
    /// The kernel.
    pub kernel: &'c str,
    /// The target, from the object.
    pub target: &'static str,
    /// Sizes of the launch.
    pub sizes: Sizes,
    /// Whether races were watched for.
    pub race_checks: bool,
    /// Explicit arguments in order.
    pub args: &'c [Supplied],
}

impl Told {
    /// The story of a run that has yet to get its fidelity, buffers and time.
    pub fn new(call: &Call<'_>, report: Report, fault: Option<&ExecutionFault>) -> Told {
        Told {
            passed: fault.is_none() && report.findings.is_empty(),
            file: call.file.clone(),
            kernel: call.kernel.to_owned(),
            target: call.target,
            grid: call.sizes.grid,
            block: call.sizes.block,
            dynamic_lds_bytes: call.sizes.dynamic_lds_bytes,
            race_checks: call.race_checks,
            args: call.args.iter().map(Argument::new).collect(),
            numerics: harness::NUMERICS,
            fault: fault.map(FaultTold::new),
            findings: report.findings,
            findings_dropped: report.findings_dropped,
            wave_instructions: report.wave_instructions,
            stats: Counts::new(report.stats),
            fidelity: Trust::default(),
            buffers: BTreeMap::new(),
            seconds: 0.0,
        }
    }

    /// As text, with what was asked for.
    pub fn text(&self, with_stats: bool, with_fidelity: bool) -> String {
        let mut out = self.head();
        out.push_str(&self.buffer_table());
        for finding in &self.findings {
            out.push_str(&format!("finding: {finding}\n"));
        }
        if self.findings_dropped != 0 {
            out.push_str(&format!("{} more findings, not listed\n", self.findings_dropped));
        }
        if let Some(FaultTold { message, remedy, .. }) = &self.fault {
            out.push_str(&format!("fault: {message}\n  remedy: {remedy}\n"));
        }
        if with_stats {
            out.push_str(&self.stats.text());
        }
        if with_fidelity {
            out.push_str(&fidelity_text(&self.fidelity));
        }
        out.push_str(&self.verdict());
        out
    }

    fn head(&self) -> String {
        let [[gx, gy, gz], [bx, by, bz]] = [self.grid, self.block];
        let mut out = format!(
            "{} for {} on the emulator\ngrid {gx} × {gy} × {gz} workgroups of {bx} × {by} × {bz} work-items\n",
            self.kernel, self.target
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
            (None, true) if self.race_checks => "clean",
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

impl Counts {
    fn text(&self) -> String {
        let head = ["  class", "instructions", "a wave (mean)"].map(str::to_owned).to_vec();
        let rows = self.total.instructions.iter().map(|(class, count)| {
            let mean = self.mean_per_wave.get(class).copied().unwrap_or_default();
            vec![format!("  {}", class.name()), count.to_string(), format!("{mean:.1}")]
        });
        let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
        let Stats { workgroups, waves, .. } = &self.total;
        format!("stats: {workgroups} workgroups, {waves} waves\n{}", report::table(&rows))
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
