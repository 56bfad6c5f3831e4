//! The two back ends side by side: registers of every library spec, and what the small problem of its job executes.
//!
//! `docs/gcn_quality.md` keeps the numbers, with a reason where a limit is broken. They follow from code objects and
//! the emulator's counts; clocks of LDS are modelled, and nothing of it is a time.

use std::collections::BTreeMap;
use std::fmt::Write;

use codeobj::CodeObject;
use emulator::{Class, Numerics};
use specs::Job;
use wavesmith::harness;

use super::library::{case, code_objects};
use super::{library_jobs, whole_library};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/gcn_quality.md");
/// Set to rewrite the table: reasons stay, numbers are measured anew; those of LLVM stay too if it is `gcn`.
const REWRITE: &str = "WAVESMITH_GCN_QUALITY";
const NAMES: [&str; 6] = ["VGPRs", "SGPRs", "spills", "instructions", "waits", "LDS clocks"];
/// Those that are executed, with the limit of 1.05 times LLVM's.
const EXECUTED: std::ops::Range<usize> = 3..6;
/// VGPRs that a spec may take beyond LLVM's.
const MORE_VGPRS: u64 = 8;
const UNKNOWN: &str = "cause not found yet";
/// What all specs together must not execute more of than LLVM's code, as a geometric mean.
const NO_MORE_THAN_LLVM: [&str; 2] = ["instructions", "waits"];

/// Numbers of a spec, in the order of [`NAMES`].
type Figures = [u64; 6];

/// A line of the table.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    ours: Figures,
    llvm: Figures,
    /// Why a limit is broken; empty if none is.
    reason: String,
}

impl Row {
    /// What is over its limit.
    fn broken(&self) -> Vec<&'static str> {
        let over = |index: usize| match index {
            0 => self.ours[0] > self.llvm[0] + MORE_VGPRS,
            2 => self.ours[2] > 0,
            _ if EXECUTED.contains(&index) => 100 * self.ours[index] > 105 * self.llvm[index],
            _ => false,
        };
        (0..NAMES.len()).filter(|index| over(*index)).map(|index| NAMES[index]).collect()
    }
}

type Table = BTreeMap<String, Row>;

fn figures(object: &[u8], report: &emulator::Report) -> Figures {
    let object = CodeObject::parse(object).unwrap();
    let metadata = &object.kernels[0].metadata;
    let traffic = &report.stats.detail.as_ref().unwrap().traffic;
    let lds = [traffic.lds_reads, traffic.lds_writes, traffic.lds_atomics, traffic.lds_lane_moves];
    [
        metadata.vgpr_count.into(),
        metadata.sgpr_count.into(),
        (metadata.sgpr_spill_count + metadata.vgpr_spill_count).into(),
        report.wave_instructions,
        report.stats.instructions.get(&Class::Wait).copied().unwrap_or(0),
        lds.iter().map(|lds| lds.clocks + lds.conflict_clocks).sum(),
    ]
}

/// Figures of the kernels of a job, in their order.
fn measure(job: &Job, objects: &[Vec<u8>]) -> Vec<Figures> {
    let (problem, case) = case(job);
    let mut options = harness::options(harness::INSTRUCTION_LIMIT, Numerics::default());
    (options.stats, options.checks) = (true, false);
    let mut device = runtime::EmulatedDevice::new(job.target(), options);
    let bytes: Vec<&[u8]> = objects.iter().map(Vec::as_slice).collect();
    let tensors = case.tensors().unwrap();
    let done = harness::execute(&mut device, &bytes, *job, &problem, &tensors).unwrap();
    let launches = done.launches.iter().filter_map(|launch| launch.emulated.as_ref());
    objects.iter().zip(launches).map(|(object, report)| figures(object, report)).collect()
}

/// Figures of every library spec, in the first job that it is part of.
fn measured(build: impl Fn(&Job) -> Vec<Vec<u8>>) -> BTreeMap<String, Figures> {
    let library = whole_library();
    let mut all = BTreeMap::new();
    for (_, job) in library_jobs() {
        for (spec, figures) in job.specs().iter().zip(measure(&job, &build(&job))) {
            let (name, _) = library.iter().find(|(_, other)| other == spec).unwrap();
            all.entry(name.clone()).or_insert(figures);
        }
    }
    all
}

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split(" | ").map(str::trim).collect()
}

/// The lines of the table: spec, pairs of numbers, reason.
fn read(text: &str) -> Table {
    let mut table = Table::new();
    for line in text.lines().filter(|line| line.contains("_gfx")) {
        let cells = cells(line);
        let mut row = Row::default();
        for (index, cell) in cells[1..=NAMES.len()].iter().enumerate() {
            let (ours, llvm) = cell.split_once(" / ").unwrap();
            (row.ours[index], row.llvm[index]) = (ours.parse().unwrap(), llvm.parse().unwrap());
        }
        row.reason = cells.get(NAMES.len() + 1).unwrap_or(&"").to_string();
        table.insert(cells[0].to_owned(), row);
    }
    table
}

/// Geometric means of the ratios of what is executed; specs without any of it count as 1.
fn means(table: &Table) -> Vec<f64> {
    let mean = |index: usize| {
        let ratio = |row: &Row| match (row.ours[index], row.llvm[index]) {
            (0, 0) => 1.0,
            (ours, llvm) => ours as f64 / llvm.max(1) as f64,
        };
        let logs: f64 = table.values().map(|row| ratio(row).ln()).sum();
        (logs / table.len() as f64).exp()
    };
    EXECUTED.map(mean).collect()
}

fn lines(table: &Table) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "| spec | {} | over a limit because |\n|---|{}",
        NAMES.join(" | "),
        "---|".repeat(7)
    );
    for (name, row) in table {
        let pairs = row.ours.iter().zip(row.llvm).map(|(ours, llvm)| format!("{ours} / {llvm}"));
        let pairs: Vec<String> = pairs.collect();
        let _ = writeln!(out, "| {name} | {} | {} |", pairs.join(" | "), row.reason);
    }
    let means = means(table).into_iter().zip(&NAMES[EXECUTED]);
    let means: Vec<String> = means.map(|(mean, name)| format!("{name} {mean:.3}")).collect();
    let _ = writeln!(out, "\nGeometric means, GCN / LLVM: {}.", means.join(", "));
    out
}

#[cfg(feature = "llvm")]
fn llvm_figures() -> BTreeMap<String, Figures> {
    measured(by_llvm)
}

#[cfg(not(feature = "llvm"))]
fn llvm_figures() -> BTreeMap<String, Figures> {
    panic!("built without LLVM: {REWRITE}=gcn keeps its figures")
}

#[cfg(feature = "llvm")]
fn by_llvm(job: &Job) -> Vec<Vec<u8>> {
    let compile = |spec: &specs::Spec| wavesmith::pipeline::compile(spec).unwrap().code_object;
    job.specs().iter().map(compile).collect()
}

/// Measures both back ends, or one, and rewrites the lines of the table; what stands above them stays.
fn rewrite(text: &str, only_ours: bool) {
    assert!(std::env::var_os("CI").is_none(), "{REWRITE} is for people, not for CI");
    let known = read(text);
    let llvm = match only_ours {
        true => known.iter().map(|(name, row)| (name.clone(), row.llvm)).collect(),
        false => llvm_figures(),
    };
    let table = measured(code_objects).into_iter().map(|(name, ours)| {
        let mut row = Row { ours, llvm: llvm[&name], reason: String::new() };
        if !row.broken().is_empty() {
            let reason = known.get(&name).map(|row| row.reason.clone());
            row.reason = reason.filter(|reason| !reason.is_empty()).unwrap_or(UNKNOWN.to_owned());
        }
        (name, row)
    });
    let head = text.split("| spec |").next().unwrap();
    let text = format!("{head}{}", lines(&table.collect()));
    let temporary = format!("{TABLE}.new");
    std::fs::write(&temporary, text).unwrap();
    std::fs::rename(&temporary, TABLE).unwrap();
}

#[test]
fn the_table_of_both_back_ends_holds() {
    let text = std::fs::read_to_string(TABLE).unwrap();
    if let Some(wish) = std::env::var_os(REWRITE) {
        return rewrite(&text, wish == "gcn");
    }
    let table = read(&text);
    let ours = measured(code_objects);
    assert_eq!(table.keys().collect::<Vec<_>>(), ours.keys().collect::<Vec<_>>());
    for (name, row) in &table {
        assert_eq!(row.ours, ours[name], "{name}: {NAMES:?}; {REWRITE}=1 rewrites the table");
        let broken = row.broken();
        assert_eq!(broken.is_empty(), row.reason.is_empty(), "{name}: over the limit: {broken:?}");
    }
    for (mean, name) in means(&table).into_iter().zip(&NAMES[EXECUTED]) {
        let is_limited = NO_MORE_THAN_LLVM.contains(name);
        assert!(!is_limited || mean <= 1.0, "{name}: {mean} times LLVM's, geometric mean");
    }
    assert!(text.ends_with(&lines(&table)), "the lines of the table are not as they are written");
}

#[test]
fn a_limit_that_is_broken_is_named() {
    let llvm = [100, 50, 0, 1000, 100, 0];
    let row = |ours| Row { ours, llvm, reason: String::new() };
    assert_eq!(row([108, 90, 0, 1050, 105, 0]).broken(), Vec::<&str>::new());
    assert_eq!(
        row([109, 50, 1, 1051, 106, 1]).broken(),
        ["VGPRs", "spills", "instructions", "waits", "LDS clocks"]
    );
}
