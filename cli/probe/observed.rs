//! What is known of a kernel: from its code object, and from a run on the emulator.

use std::collections::BTreeMap;

use codeobj::{CodeObject, Kernel};
use emulator::{Class, Numerics, Options, Stats};
use isa::Target;
use isa::occupancy::{Demand, occupancy};
use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use oracle::tensors::Tensors;
use runtime::{Device, EmulatedDevice, run_plan};
use serde::Serialize;
use specs::{Job, LaunchPlan, Probed, Problem, Spec};

use crate::backend::Backend;
use crate::emitted;
use crate::error::CliError;
use crate::golden::{self, Properties};
use crate::harness;

/// What a workgroup takes of a CU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// Bytes of LDS, as the descriptor has them.
    pub lds_bytes: u32,
    /// Registers a lane, AGPRs included, in whole granules.
    pub registers: u32,
    /// Workgroups that are resident on a CU, modelled from those and the wave slots; 0 when none fits.
    pub workgroups_per_cu: u32,
}

/// One kernel.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Room that a workgroup takes.
    pub figures: Figures,
    /// What the model of occupancy asks.
    pub(super) demand: Demand,
    /// The kernel's code object.
    pub code_object: Vec<u8>,
    in_code: Properties,
    run: Run,
}

/// What a run on the emulator gave.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// Every tensor that it wrote.
    pub outputs: Tensors,
    /// Why there was none, of a code object that cannot be launched or that failed.
    pub failure: Option<String>,
    stats: Stats,
    findings: u64,
}

impl Observed {
    /// Compiles a spec's kernel and runs it alone.
    pub(super) fn of(
        spec: &Spec,
        problem: &Problem,
        backend: Backend,
    ) -> Result<Observed, CliError> {
        let code_object = backend.code_object(spec)?;
        let plan = spec.plan(problem)?;
        let run = Run::of(spec.target(), &plan, inputs(spec, problem)?, &code_object)?;
        Observed::compiled(spec.target(), &spec.name(), code_object, run)
    }

    /// Runs the code object that is to be a probe. One that cannot be run is no error: that is what a proof is to find.
    pub(super) fn of_probe(
        probed: &Probed,
        plan: &LaunchPlan,
        problem: &Problem,
        code_object: Vec<u8>,
    ) -> Result<Observed, CliError> {
        let left = Spec::Chunk(probed.left());
        let mut inputs = inputs(&left, problem)?;
        // A tile kernel reads no table of sequences, a loop of tiles does.
        let tables = Job::from(&left).tables(problem).map(|tables| tables.bytes());
        for (name, bytes) in tables.into_iter().flatten() {
            inputs.entry(name.to_owned()).or_insert(bytes);
        }
        let run = Run::of(left.target(), plan, inputs, &code_object);
        let failed = |failure| Run { failure: Some(failure), ..Run::default() };
        let run = run.unwrap_or_else(|error| failed(error.to_string()));
        Observed::compiled(left.target(), &probed.name(), code_object, run)
    }

    fn compiled(
        target: Target,
        name: &str,
        code_object: Vec<u8>,
        run: Run,
    ) -> Result<Observed, CliError> {
        let object = CodeObject::parse(&code_object)
            .map_err(|source| CliError::CodeObject { file: name.to_owned(), source })?;
        let kernel = object.kernel(name)?;
        let in_code = golden::properties(&object, name).map_err(CliError::Usage)?;
        let demand = emitted::demand(target, kernel);
        let figures = figures(target, kernel, demand);
        Ok(Observed { figures, demand, in_code, run, code_object })
    }

    /// Workgroups on a CU with another amount of LDS, modelled.
    pub(super) fn workgroups_with(&self, target: Target, lds_bytes: u64) -> u64 {
        let lds_bytes = u32::try_from(lds_bytes).unwrap_or(u32::MAX);
        workgroups(target, Demand { lds_bytes, ..self.demand }).into()
    }

    /// Instructions of a class of [`Properties`] in the code.
    pub(super) fn in_code(&self, class: &str) -> u64 {
        self.in_code.get(class).copied().unwrap_or(0)
    }

    /// Executed wave instructions.
    pub(super) fn by_class(&self) -> BTreeMap<Class, u64> {
        self.run.stats.instructions.clone()
    }

    /// Executed wave instructions of a class.
    pub(super) fn executed(&self, class: Class) -> u64 {
        self.run.stats.instructions.get(&class).copied().unwrap_or(0)
    }

    /// Whether it ran.
    pub(super) fn ran(&self) -> u64 {
        u64::from(self.run.failure.is_none())
    }

    /// The run.
    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    /// Workgroups that ran.
    pub(super) fn workgroups(&self) -> u64 {
        self.run.stats.workgroups
    }

    /// What the checks found.
    pub(super) fn findings(&self) -> u64 {
        self.run.findings
    }

    /// Bytes that lanes moved: loaded from and stored to global memory, read from and written to LDS.
    pub(super) fn moved(&self) -> Moved {
        let traffic =
            self.run.stats.detail.as_ref().map(|detail| detail.traffic).unwrap_or_default();
        Moved {
            loaded: traffic.global_loads.bytes,
            stored: traffic.global_stores.bytes,
            lds_read: traffic.lds_reads.bytes,
            lds_written: traffic.lds_writes.bytes,
        }
    }
}

impl Run {
    fn of(
        target: Target,
        plan: &LaunchPlan,
        mut inputs: Tensors,
        code_object: &[u8],
    ) -> Result<Run, CliError> {
        let options = harness::options(harness::INSTRUCTION_LIMIT, Numerics::default());
        let mut device = EmulatedDevice::new(target, Options { stats: true, ..options });
        let module = device.load(code_object)?;
        inputs.retain(|name, _| plan.tensor(name).is_some());
        let outcome = run_plan(&mut device, &[module], plan, &inputs)?;
        let mut run = Run { outputs: outcome.outputs, ..Run::default() };
        for report in outcome.launches.into_iter().filter_map(|launch| launch.emulated) {
            run.findings += report.findings.len() as u64 + report.findings_dropped;
            run.stats = report.stats;
        }
        Ok(run)
    }
}

/// Bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    pub loaded: u64,
    pub stored: u64,
    pub lds_read: u64,
    pub lds_written: u64,
}

fn inputs(spec: &Spec, problem: &Problem) -> Result<Tensors, CliError> {
    let sample = Sample { gates: GateRange::Mixed, seed: 1 };
    Ok(Case::generate(spec, problem, &sample)?.tensors()?)
}

fn figures(target: Target, kernel: &Kernel, demand: Demand) -> Figures {
    Figures {
        lds_bytes: kernel.descriptor.group_segment_bytes,
        registers: kernel.descriptor.vgprs,
        workgroups_per_cu: workgroups(target, demand),
    }
}

fn workgroups(target: Target, demand: Demand) -> u32 {
    occupancy(target, demand).map_or(0, |occupancy| occupancy.workgroups_per_unit)
}
