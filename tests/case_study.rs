//! The figures of CASE_STUDY.md, section 7: compiled and executed anew, compared with what the page says.
//!
//! `WAVESMITH_WRITE_CASE_STUDY=1 cargo test --release --test case_study` writes the tables anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codeobj::CodeObject;
use emulator::{Class, Options};
use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use runtime::EmulatedDevice;
use specs::{Job, Probe, Spec};
use wavesmith::backend::Backend;
use wavesmith::probe::{self, Proof};
use wavesmith::report::grouped;
use wavesmith::{emitted, harness, pipeline};

const BEGIN: &str = "<!-- split against fused: made by tests/case_study.rs -->\n";
const END: &str = "<!-- end of split against fused -->\n";
const PROBES_BEGIN: &str = "<!-- probes of the fused kernel: made by tests/case_study.rs -->\n";
const PROBES_END: &str = "<!-- end of probes of the fused kernel -->\n";

/// Value heads of the library specs that are compared.
const HEADS: u64 = 8;
/// Bytes of a head's initial and final state, K = V = 128 in f32.
const STATES: u64 = 2 * 128 * 128 * 4;

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("CASE_STUDY.md")
}

fn spec(name: &str) -> Spec {
    let path = format!("specs/library/{name}_gfx950.toml");
    pipeline::legal_spec(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("legal")
}

/// One kernel's figures.
struct Figures {
    lds_bytes: u64,
    by_lds: u32,
    registers: u32,
    resident: u32,
    workgroups: u64,
    /// By class, of all heads.
    stats: emulator::Stats,
    /// Whether it reads and writes states.
    has_state: bool,
}

/// Runs the kernels of a job on 64 tokens, without checks, which change no count.
fn figures(names: &[&str]) -> Vec<Figures> {
    let specs: Vec<Spec> = names.iter().map(|name| spec(name)).collect();
    let job = Job::of(&specs).expect("a job");
    let problem = job.problem(&["tokens=64"]).expect("a problem");
    let case = Case::generate(job, &problem, &Sample { gates: GateRange::Mixed, seed: 1 });
    let inputs = case.expect("a case").tensors().expect("tensors");
    let objects: Vec<Vec<u8>> = specs
        .iter()
        .map(|spec| pipeline::compile(spec).expect("library specs compile").code_object)
        .collect();
    let options = Options { stats: true, checks: false, ..Options::default() };
    let mut device = EmulatedDevice::new(job.target(), options);
    let slices: Vec<&[u8]> = objects.iter().map(Vec::as_slice).collect();
    let run = harness::execute(&mut device, &slices, job, &problem, &inputs).expect("it runs");
    let launches = run.launches.into_iter().zip(specs.iter().zip(&objects));
    let of_kernel = |(launch, (spec, object)): (runtime::LaunchReport, (&Spec, &Vec<u8>))| {
        let object = CodeObject::parse(object).expect("our own object");
        let kernel = object.kernel(&spec.name()).expect("its kernel");
        let facts = spec.facts();
        let stats = launch.emulated.expect("emulated").stats;
        Figures {
            lds_bytes: u64::from(kernel.descriptor.group_segment_bytes),
            by_lds: facts.groups_per_cu_by_lds.expect("a kernel with LDS"),
            registers: kernel.descriptor.vgprs,
            resident: emitted::resident(spec.target(), kernel).expect("fits").workgroups_per_unit,
            workgroups: stats.workgroups,
            stats,
            has_state: facts.row_traffic_bytes > STATES,
        }
    };
    launches.map(of_kernel).collect()
}

impl Figures {
    fn of(&self, class: Class) -> u64 {
        self.stats.instructions.get(&class).copied().unwrap_or(0) / HEADS
    }

    fn all(&self) -> u64 {
        self.stats.instructions.values().sum::<u64>() / HEADS
    }

    fn traffic(&self) -> &emulator::Traffic {
        &self.stats.detail.as_ref().expect("asked for").traffic
    }

    fn bytes(&self) -> u64 {
        let traffic = self.traffic();
        let all = (traffic.global_loads.bytes + traffic.global_stores.bytes) / HEADS;
        if self.has_state { all - STATES } else { all }
    }

    fn lds_clocks(&self) -> u64 {
        let traffic = self.traffic();
        let of = |lds: &emulator::LdsTraffic| lds.clocks + lds.conflict_clocks;
        (of(&traffic.lds_reads) + of(&traffic.lds_writes)) / HEADS
    }
}

/// A row of sums for several kernels, where a sum means something.
fn table(title: &str, kernels: &[(&str, &Figures)], split: [&Figures; 2]) -> String {
    let mut out = format!("{title}\n\n| of 64 tokens and one head |");
    kernels.iter().for_each(|(name, _)| out.push_str(&format!(" {name} |")));
    out.push_str(" tile + scan |\n|---|");
    out.push_str(&"---|".repeat(kernels.len() + 1));
    out.push('\n');
    type Row = (&'static str, fn(&Figures) -> u64, bool);
    let rows: [Row; 11] = [
        ("LDS, bytes a workgroup", |of| of.lds_bytes, false),
        ("workgroups a CU by LDS", |of| of.by_lds.into(), false),
        ("registers a lane", |of| of.registers.into(), false),
        ("workgroups a CU, registers included", |of| of.resident.into(), false),
        ("workgroups of 8 heads", |of| of.workgroups, false),
        ("wave instructions", Figures::all, true),
        ("VALU", |of| of.of(Class::Valu), true),
        ("transcendental", |of| of.of(Class::Transcendental), true),
        ("matrix", |of| of.of(Class::Matrix), true),
        ("LDS clocks, modelled, conflicts included", Figures::lds_clocks, true),
        ("bytes of global memory", Figures::bytes, true),
    ];
    for (name, value, sums) in rows {
        out.push_str(&format!("| {name} |"));
        kernels.iter().for_each(|(_, of)| out.push_str(&format!(" {} |", grouped(value(of)))));
        let sum = value(split[0]) + value(split[1]);
        out.push_str(&if sums { format!(" {} |\n", grouped(sum)) } else { " – |\n".to_owned() });
    }
    out
}

fn tables() -> String {
    let mut out = String::new();
    for (title, split, fused) in [
        (
            "Plain bf16, chunks of 32 tokens, one workgroup a value head:",
            ["kda_chunk_tile_bf16", "kda_chunk_scan_bf16"],
            "kda_chunk_fused_bf16",
        ),
        (
            "Pairs of bf16: split with chunks of 32 and four workgroups a value head, fused with chunks of 16 and two, the most that fits:",
            ["kda_chunk_tile", "kda_chunk_scan"],
            "kda_chunk_fused",
        ),
    ] {
        let (two, one) = (figures(&split), figures(&[fused]));
        let kernels = [("tile", &two[0]), ("scan", &two[1]), ("fused", &one[0])];
        out.push_str(&table(title, &kernels, [&two[0], &two[1]]));
        out.push('\n');
    }
    out
}

/// What a probe of the fused kernel shows, beside the whole of it.
fn probe_table() -> String {
    let fused = spec("kda_chunk_fused_bf16");
    let job = Job::from(&fused);
    let problem = job.problem(&["tokens=64"]).expect("a problem");
    let proofs = [Probe::DropScan, Probe::DropTile, Probe::TileLoop].map(|probe| {
        let probed = probe.of(&job).expect("it fits")[0];
        let proof = probe::prove(&probed, &problem, Backend::Llvm, None).expect("it runs");
        proof.verdict().unwrap_or_else(|refusal| panic!("{refusal}"));
        proof
    });
    let mut out = String::from(
        "| of 64 tokens and one head | fused | without the scan's arithmetic | without the tiles' | loop of tiles |\n\
         |---|---|---|---|---|\n",
    );
    let mut row = |name: &str, untouched: u64, of: &dyn Fn(&Proof) -> u64| {
        out.push_str(&format!("| {name} | {} |", grouped(untouched)));
        proofs.iter().for_each(|proof| out.push_str(&format!(" {} |", grouped(of(proof)))));
        out.push('\n');
    };
    let [whole, ..] = &proofs;
    type Room = (&'static str, fn(&probe::Figures) -> u32);
    let room: [Room; 3] = [
        ("LDS, bytes a workgroup", |of| of.lds_bytes),
        ("registers a lane", |of| of.registers),
        ("workgroups a CU, registers included", |of| of.workgroups_per_cu),
    ];
    for (name, of) in room {
        row(name, of(&whole.room.untouched).into(), &|proof| of(&proof.room.probe).into());
    }
    let all = |counts: &BTreeMap<Class, u64>| counts.values().sum::<u64>() / HEADS;
    row("wave instructions", all(&whole.executed.untouched), &|proof| all(&proof.executed.probe));
    for (name, class) in [
        ("VALU", Class::Valu),
        ("transcendental", Class::Transcendental),
        ("matrix", Class::Matrix),
        ("LDS", Class::Lds),
        ("barriers, of all waves", Class::Barrier),
    ] {
        let of = |counts: &BTreeMap<Class, u64>| counts.get(&class).copied().unwrap_or(0) / HEADS;
        row(name, of(&whole.executed.untouched), &|proof| of(&proof.executed.probe));
    }
    out
}

/// Writes a table between its marks, or compares what stands there.
fn keep(begin: &str, end: &str, made: &str) {
    let text = std::fs::read_to_string(page()).expect("the page");
    let (before, rest) = text.split_once(begin).expect("where the tables begin");
    let (stored, after) = rest.split_once(end).expect("where they end");
    if std::env::var_os("WAVESMITH_WRITE_CASE_STUDY").is_some() {
        let text = format!("{before}{begin}{made}{end}{after}");
        return std::fs::write(page(), text).expect("the page is writable");
    }
    assert!(
        stored == made,
        "stale: WAVESMITH_WRITE_CASE_STUDY=1 cargo test --test case_study\n{made}"
    );
}

/// One test, for both tables stand in one file.
#[test]
fn the_figures_are_those_of_the_page() {
    keep(BEGIN, END, &tables());
    keep(PROBES_BEGIN, PROBES_END, &probe_table());
}
