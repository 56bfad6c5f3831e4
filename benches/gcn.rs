//! From a spec's text to its code object by both back ends, for every spec of the library: medians beside the limits of
//! the GCN back end, and beside what Triton takes to compile the eight kernels of a KDA forward pass. The GCN back end
//! runs in this process, on one core; LLVM runs in its worker, whose start belongs to its time. Wall time of this
//! machine, printed for people.
//!
//! Arguments: the number of runs a median is of, and a part of the names of the files that are wanted. Fails when a
//! median is above its limit.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use emit::gcn;
use specs::registry::{LIBRARY, LibrarySpec};
use specs::{KernelKind, Spec};
use wavesmith::{pipeline, report};

/// Runs that a median is of, unless said otherwise.
const RUNS: usize = 9;
/// Triton 3.9 on a host of this class, compilation alone, in milliseconds: eight kernels, cold caches.
const TRITON_KDA_MS: f64 = 3470.0;

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let runs = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(RUNS).max(1);
    let wanted = arguments.iter().find(|argument| argument.parse::<usize>().is_err());
    let is_wanted = |entry: &&LibrarySpec| wanted.is_none_or(|part| entry.file.contains(part));
    let rows: Vec<Row> =
        LIBRARY.iter().filter(is_wanted).map(|entry| measured(entry, runs)).collect();
    let heading = ["spec", "gcn ms", "limit ms", "llvm ms", "llvm / gcn"].map(str::to_owned);
    let table: Vec<_> = [heading.to_vec()].into_iter().chain(rows.iter().map(Row::cells)).collect();
    println!("spec → code object, median of {runs}, wall time on this machine");
    print!("{}", report::columns(&table));
    println!(
        "for scale: Triton compiles the 8 kernels of a KDA forward pass in {TRITON_KDA_MS} ms"
    );
    let late: Vec<_> = rows.iter().filter(|row| row.is_late()).map(|row| row.file).collect();
    println!("{} of {} above their limit {late:?}", late.len(), rows.len());
    if late.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Row {
    file: &'static str,
    limit_ms: Option<f64>,
    /// `None` where the back end refuses the kernel.
    gcn_ms: Option<f64>,
    llvm_ms: f64,
}

impl Row {
    fn is_late(&self) -> bool {
        self.gcn_ms.zip(self.limit_ms).is_some_and(|(took, limit)| took > limit)
    }

    fn cells(&self) -> Vec<String> {
        let or = |number: Option<f64>, word: &str| {
            number.map_or(word.to_owned(), |number| format!("{number:.1}"))
        };
        let ratio = self.gcn_ms.map(|gcn_ms| self.llvm_ms / gcn_ms);
        vec![
            self.file.to_owned(),
            or(self.gcn_ms, "refused"),
            or(self.limit_ms, "-"),
            or(Some(self.llvm_ms), "-"),
            or(ratio, "-"),
        ]
    }
}

/// Milliseconds that the GCN back end may take; none is set for recurrent and attention kernels.
fn limit_ms(kernel: KernelKind) -> Option<f64> {
    match kernel {
        KernelKind::DecodeStep | KernelKind::ConvStep | KernelKind::ConvChunk => Some(5.0),
        KernelKind::ChunkTile | KernelKind::ChunkScan | KernelKind::ChunkFused => Some(25.0),
        KernelKind::Recurrent | KernelKind::AttentionDecode | KernelKind::AttentionChunk => None,
    }
}

fn measured(entry: &LibrarySpec, runs: usize) -> Row {
    let kernel = legal(entry).kernel();
    let is_refused = by_gcn(entry).is_err();
    let gcn_ms =
        (!is_refused).then(|| median_ms(runs, || by_gcn(entry).map_or(0, |code| code.len())));
    let llvm_ms = median_ms(runs.min(RUNS), || {
        let artefacts = pipeline::compile(&legal(entry)).expect("library specs compile");
        artefacts.code_object.len()
    });
    Row { file: entry.file, limit_ms: limit_ms(kernel), gcn_ms, llvm_ms }
}

/// The spec of a text, checked against every rule.
fn legal(entry: &LibrarySpec) -> Spec {
    let spec = entry.spec().expect("library specs can be read");
    assert_eq!(spec.check(), [], "{}", entry.file);
    spec
}

fn by_gcn(entry: &LibrarySpec) -> Result<Vec<u8>, gcn::GcnError> {
    let kernel = pipeline::kernel(&legal(entry)).expect("library kernels are built");
    gcn::code_object(&kernel, &gcn::Options::default())
}

fn median_ms(runs: usize, work: impl Fn() -> usize) -> f64 {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let started = Instant::now();
            std::hint::black_box(work());
            started.elapsed()
        })
        .collect();
    times.sort();
    times[runs / 2].as_secs_f64() * 1e3
}
