//! `emulate`: any code object on the emulator.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use clap::ValueEnum;
use codeobj::{CodeObject, Kernel};
use emulator::{Fault, Options};

use crate::emulate::bind::{self, Assignment, Supplied};
use crate::emulate::fidelity;
use crate::emulate::launch::{Bench, Sizes};
use crate::emulate::report::{BufferTold, Call, Told};
use crate::emulate::tensor::{self, Format, Tensor};
use crate::emulate::trace::Trace;
use crate::emulate::value::{self, GRAMMAR, Value};
use crate::error::{CliError, Outcome};
use crate::{code_object_file, report};

/// Arguments of `emulate`.
#[derive(Debug, clap::Args)]
#[command(after_help = GRAMMAR)]
pub struct Args {
    /// Code object; it says which target is emulated
    #[arg(value_name = "FILE.hsaco")]
    file: PathBuf,
    /// Kernel to run
    #[arg(long, value_name = "NAME")]
    kernel: String,
    /// Workgroups (not work-items) in each dimension, 1 to 3 numbers
    #[arg(long, value_name = "X,Y,Z", value_parser = dimensions)]
    grid: [u32; 3],
    /// Work-items of a workgroup in each dimension, 1 to 3 numbers
    #[arg(long, value_name = "X,Y,Z", value_parser = dimensions)]
    block: [u32; 3],
    /// An argument by its name, or by its position (from 0) where the kernel's metadata has no name
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    args: Vec<String>,
    /// Write the buffer of an argument after a run without fault: .npy, .safetensors, or its bytes as .bin
    #[arg(long, value_name = "NAME=FILE")]
    save: Vec<String>,
    /// LDS of a workgroup beyond what the kernel itself declares
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    dynamic_lds: u32,
    /// Wave instructions after which the run is stopped with a fault
    #[arg(long, value_name = "N", default_value_t = Options::default().instruction_limit)]
    instruction_limit: u64,
    /// Do not watch for races between waves and between workgroups; every other check stays on
    #[arg(long)]
    no_race_checks: bool,
    /// What race checks take for ordered among the LDS accesses of one wave
    #[arg(long, value_enum, default_value_t = LdsOrder::Architectural, conflicts_with = "no_race_checks")]
    lds_order: LdsOrder,
    /// Which accesses count as misaligned
    #[arg(long, value_enum, default_value_t = Alignment::Hsa)]
    alignment: Alignment,
    /// One line an executed instruction, on stderr or into a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    trace: Option<Option<PathBuf>>,
    /// Lines of the trace; further instructions are counted only
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    trace_limit: u64,
    /// Print the executed instructions by class
    #[arg(long)]
    stats: bool,
    /// Print the kernel's instructions by how far their results can be trusted
    #[arg(long)]
    fidelity: bool,
}

/// Order of one wave's LDS accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LdsOrder {
    /// The order of issue, as the architecture documents
    Architectural,
    /// None without a wait
    Conservative,
}

/// Rules of alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Alignment {
    /// HSA's unaligned access mode: only scalar loads have to be aligned
    Hsa,
    /// The aligned access mode: vector memory and LDS too
    Natural,
}

impl Args {
    fn options(&self) -> Options {
        Options {
            instruction_limit: self.instruction_limit,
            race_checks: !self.no_race_checks,
            lds_order: match self.lds_order {
                LdsOrder::Architectural => emulator::LdsOrder::Architectural,
                LdsOrder::Conservative => emulator::LdsOrder::Conservative,
            },
            alignment: match self.alignment {
                Alignment::Hsa => emulator::Alignment::Hsa,
                Alignment::Natural => emulator::Alignment::Natural,
            },
            ..Options::default()
        }
    }
}

/// One to three numbers; missing ones are 1.
fn dimensions(text: &str) -> Result<[u32; 3], String> {
    let mut sizes = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > sizes.len() {
        return Err(format!("{} numbers, the limit is 3", parts.len()));
    }
    for (size, part) in sizes.iter_mut().zip(parts) {
        *size = match part.trim().parse() {
            Ok(0) => return Err("a dimension of 0 runs nothing: it is at least 1".to_owned()),
            Ok(number) => number,
            Err(_) => return Err(format!("'{part}' is no number from 1 to {}", u32::MAX)),
        };
    }
    Ok(sizes)
}

/// A file for a buffer.
struct Save {
    /// The argument that made the buffer.
    owner: String,
    path: PathBuf,
    format: Format,
}

/// Runs the kernel and reports on it.
///
/// # Errors
/// A file that cannot be read, or a launch that does not fit the kernel.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let started = Instant::now();
    let (_, object) = code_object_file::read(&args.file)?;
    let kernel = object.kernel(&args.kernel)?;
    let assignments =
        args.args.iter().map(|text| assignment(text)).collect::<Result<Vec<_>, _>>()?;
    let bound = bind::bind(kernel, &assignments)?;
    let saves = args.save.iter().map(|text| save(text, &bound)).collect::<Result<Vec<_>, _>>()?;
    let mut told = execute(args, &object, kernel, &bound, &saves)?;
    told.seconds = started.elapsed().as_secs_f64();
    if json {
        report::json(&told)?;
    } else {
        report::text(&told.text(args.stats, args.fidelity))?;
    }
    Ok(Outcome::right_if(told.passed))
}

fn execute(
    args: &Args,
    object: &CodeObject,
    kernel: &Kernel,
    bound: &[Supplied],
    saves: &[Save],
) -> Result<Told, CliError> {
    let mut bench = Bench::new(object, bound, args.options())?;
    let sizes = Sizes { grid: args.grid, block: args.block, dynamic_lds_bytes: args.dynamic_lds };
    let mut trace = args.trace.clone().map(|path| Trace::new(path, args.trace_limit));
    let result = bench.run(&kernel.name, sizes, trace.as_mut());
    trace.map_or(Ok(()), Trace::finish)?;
    let file = args.file.display().to_string();
    let target = object.target.name();
    let race_checks = !args.no_race_checks;
    let call = Call { file, kernel: &kernel.name, target, sizes, race_checks, args: bound };
    match result {
        Ok(report) => {
            let approximations = report.approximations.clone();
            let mut told = Told::new(&call, report, None);
            told.fidelity = fidelity::trust(object, kernel, &approximations);
            told.buffers = keep(&bench.buffers().map_err(emulator::LaunchError::from)?, saves)?;
            Ok(told)
        }
        Err(Fault::Execution(fault)) => {
            let mut told = Told::new(&call, fault.report.clone(), Some(&fault));
            told.fidelity = fidelity::trust(object, kernel, &fault.report.approximations);
            Ok(told)
        }
        Err(Fault::Launch(refused)) => Err(refused.into()),
    }
}

/// Saves what is to be saved, and tells of every buffer.
fn keep(
    buffers: &BTreeMap<String, Tensor>,
    saves: &[Save],
) -> Result<BTreeMap<String, BufferTold>, CliError> {
    let mut told = BTreeMap::new();
    for (name, tensor) in buffers {
        let mut saved = Vec::new();
        for Save { path, format, .. } in saves.iter().filter(|save| save.owner == *name) {
            tensor::save(path, *format, name, tensor)?;
            saved.push(path.display().to_string());
        }
        told.insert(name.clone(), BufferTold::new(tensor, saved));
    }
    Ok(told)
}

fn assignment(text: &str) -> Result<Assignment, CliError> {
    let (key, text) = text
        .split_once('=')
        .ok_or_else(|| CliError::Usage(format!("--arg {text}: is not NAME=VALUE")))?;
    let value = value::parse(text)
        .map_err(|problem| CliError::Usage(format!("--arg {key}={text}: {problem}")))?;
    Ok(Assignment { key: key.to_owned(), text: text.to_owned(), value })
}

fn save(text: &str, bound: &[Supplied]) -> Result<Save, CliError> {
    let wrong = |problem: &str| CliError::Usage(format!("--save {text}: {problem}"));
    let (key, path) = text.split_once('=').ok_or_else(|| wrong("is not NAME=FILE"))?;
    let owner = bound.iter().find(|bound| bound.key == key).and_then(|bound| match &bound.value {
        Value::Buffer(_) => Some(key.to_owned()),
        Value::Same(owner) => Some(owner.clone()),
        Value::Scalar(_) | Value::Null => None,
    });
    let owner = owner.ok_or_else(|| {
        let buffers = bound.iter().filter(|bound| matches!(bound.value, Value::Buffer(_)));
        let names: Vec<_> = buffers.map(|bound| bound.key.as_str()).collect();
        wrong(&format!("'{key}' is no buffer; buffers are {}", names.join(", ")))
    })?;
    let path = PathBuf::from(path);
    let format =
        Format::of(&path).ok_or_else(|| wrong("name a .npy, .safetensors or .bin file"))?;
    Ok(Save { owner, path, format })
}
