//! Programs in C and Rust that load a bundle through the emulated HIP library and get the oracle's numbers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use specs::{Job, Problem, Spec};
use wavesmith::bundle::plan::WorkspaceEntry;

use crate::hip_library::{emulated_library, headers};
use crate::{PAIR, SPECS, make, manifest, succeeds};

/// A case of the bundled kernel, its inputs and poisoned outputs in files.
struct Exchange {
    case: Case,
    folder: tempfile::TempDir,
    /// What lies between the kernels of a plan.
    workspace: Option<Workspace>,
}

const BATCH: u32 = 3;

impl Exchange {
    fn new(job: Job, problem: &Problem) -> Exchange {
        let sample = Sample { gates: GateRange::Mixed, seed: 11 };
        let case = Case::generate(job, problem, &sample).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let inputs = case.tensors().unwrap();
        for tensor in job.plan(problem).unwrap().tensors {
            let poison = vec![0xff; usize::try_from(tensor.size_bytes()).unwrap()];
            let bytes = inputs.get(&tensor.name).unwrap_or(&poison);
            fs::write(folder.path().join(format!("{}.in", tensor.name)), bytes).unwrap();
        }
        Exchange { case, folder, workspace: None }
    }

    fn place(&self) -> String {
        self.folder.path().to_str().unwrap().to_owned()
    }

    /// What a program left in a file, which is gone then: the next program must write it anew.
    fn take(&self, name: &str) -> Vec<u8> {
        let path = self.folder.path().join(format!("{name}.out"));
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        fs::remove_file(path).unwrap();
        bytes
    }

    /// Judges what a program wrote, by float64.
    fn judge(&self, who: &str, outputs: &[&str]) {
        let mut written: BTreeMap<String, Vec<u8>> =
            outputs.iter().map(|name| ((*name).to_owned(), self.take(name))).collect();
        if let Some(workspace) = &self.workspace {
            written.extend(workspace.tensors_of(&self.take("workspace")));
        }
        let verdicts = self.case.judge(&written).unwrap();
        assert!(verdicts.len() >= outputs.len());
        for (name, verdict) in verdicts {
            assert!(verdict.passed, "{who}: {name}: {verdict:?}");
        }
    }
}

/// A workspace as a manifest describes it, for a number of chunks.
struct Workspace {
    entry: WorkspaceEntry,
    n_chunks: u32,
}

impl Workspace {
    /// The tensors in a workspace's bytes, each where the manifest's sizes and alignment put it.
    fn tensors_of(&self, bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
        assert_eq!(bytes.len() as u64, self.entry.bytes(self.n_chunks));
        let mut at = 0;
        let mut tensors = BTreeMap::new();
        for tensor in &self.entry.tensors {
            let size = usize::try_from(tensor.bytes_per_unit * u64::from(self.n_chunks)).unwrap();
            tensors.insert(tensor.name.clone(), bytes[at..at + size].to_vec());
            at = (at + size).next_multiple_of(self.entry.align_bytes as usize);
        }
        tensors
    }
}

/// A bundle and the HIP library under the name that programs are linked with.
struct Shipped {
    folder: tempfile::TempDir,
}

impl Shipped {
    fn new(specs: &[&str]) -> Shipped {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(emulated_library(), folder.path().join("libamdhip64.so")).unwrap();
        make(specs, &folder.path().join("bundle"));
        Shipped { folder }
    }

    fn bundle(&self) -> PathBuf {
        self.folder.path().join("bundle")
    }

    fn run(&self, program: &Path, target: &str, args: &[&str]) {
        let run =
            Command::new(program).args(args).env("WAVESMITH_HIP_TARGET", target).output().unwrap();
        succeeds(&run);
        assert_eq!(
            String::from_utf8_lossy(&run.stderr).lines().filter(|l| l.contains("finding")).count(),
            0
        );
    }
}

fn read(path: &str) -> Spec {
    specs::read_spec(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn scale(problem: &Problem) -> String {
    match problem {
        Problem::DecodeStep(problem) => format!("{:?}", problem.scale),
        Problem::Prefill(problem) => format!("{:?}", problem.scale),
        problem => panic!("{problem:?}"),
    }
}

#[test]
fn programs_in_c_and_rust_get_the_oracles_numbers() {
    let shipped = Shipped::new(&SPECS);
    let bundle = shipped.bundle();
    for (path, target) in SPECS.iter().zip(["gfx950", "gfx1100"]) {
        let spec = read(path);
        let problem = spec.problem(&[format!("batch={BATCH}")]).unwrap();
        let kernels = manifest(&bundle).kernels;
        let kernel = kernels.iter().find(|kernel| kernel.target == target).unwrap();
        let exchange = Exchange::new(Job::from(&spec), &problem);
        let (place, batch, scale) = (exchange.place(), BATCH.to_string(), scale(&problem));
        let (identifier, file) = (&kernel.identifier, &kernel.code_object.file);
        let uses = [("bundle::gdn as", format!("bundle::{identifier} as"))];
        let rust = rust_client(shipped.folder.path(), "bundle_client.rs", &uses);
        shipped.run(&rust, target, &[&place, &batch, &scale]);
        exchange.judge(target, &["o", "next_state"]);
        let defined = [format!("-DKERNEL={identifier}"), format!("-DFILE_NAME=\"{file}\"")];
        for include in headers() {
            let c = c_client(shipped.folder.path(), "bundle_client.c", &include, &defined);
            shipped.run(&c, target, &[bundle.to_str().unwrap(), &place, &batch, &scale]);
            exchange.judge(target, &["o", "next_state"]);
        }
    }
}

/// Sequences of several chunks, of none, of one token more than a chunk; and no tokens at all.
const LENGTHS: [&str; 2] = ["lengths=70,0,33", "lengths=0,0"];

#[test]
fn one_call_of_a_plan_gets_the_oracles_numbers() {
    let shipped = Shipped::new(&PAIR);
    let bundle = shipped.bundle();
    let manifest = manifest(&bundle);
    let ([plan], job) = (&manifest.plans[..], Job::of(&PAIR.map(read)).unwrap()) else {
        panic!("{:?}", manifest.plans)
    };
    assert!(plan.emulated.as_ref().unwrap().outputs.contains_key("o"));
    let [tile, scan] = [0, 1].map(|index| manifest.kernel(&plan.kernels[index]).unwrap());
    let uses = [(
        "bundle::{plan, scan, tile}",
        format!(
            "bundle::{{{} as plan, {} as scan, {} as tile}}",
            plan.identifier, scan.identifier, tile.identifier
        ),
    )];
    let rust = rust_client(shipped.folder.path(), "bundle_plan_client.rs", &uses);
    let defined = [
        format!("-DPLAN={}", plan.identifier),
        format!("-DTILE={}", tile.identifier),
        format!("-DSCAN={}", scan.identifier),
        format!("-DTILE_NAME=\"{}\"", tile.code_object.file),
        format!("-DSCAN_NAME=\"{}\"", scan.code_object.file),
    ];
    for lengths in LENGTHS {
        let problem = job.problem(&[lengths]).unwrap();
        let n_chunks = u32::try_from(job.tables(&problem).unwrap().chunks.len()).unwrap();
        let mut exchange = Exchange::new(job, &problem);
        exchange.workspace = Some(Workspace { entry: plan.workspace.clone(), n_chunks });
        let (place, scale) = (exchange.place(), scale(&problem));
        let counts = [n_chunks.to_string(), problem.batch().to_string()];
        let args = [place.as_str(), &counts[0], &counts[1], &scale];
        shipped.run(&rust, "gfx950", &args);
        exchange.judge(&format!("Rust, {lengths}"), &["o", "ht"]);
        for include in headers() {
            let c = c_client(shipped.folder.path(), "bundle_plan_client.c", &include, &defined);
            shipped.run(&c, "gfx950", &[&[bundle.to_str().unwrap()], &args[..]].concat());
            exchange.judge(&format!("C, {lengths}"), &["o", "ht"]);
        }
    }
}

/// A source of the clients.
fn client_source(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/third_party").join(name)
}

/// Compiles a client in C, with these identifiers.
fn c_client(folder: &Path, source: &str, include: &Path, defined: &[String]) -> PathBuf {
    let program = folder.join("c_client");
    let compiled = Command::new("cc")
        .args(["-Wall", "-Werror=incompatible-pointer-types", "-std=gnu11", "-o"])
        .arg(&program)
        .arg(client_source(source))
        .args(defined)
        .arg("-I")
        .arg(folder.join("bundle"))
        .arg("-I")
        .arg(include)
        .args(["-L", folder.to_str().unwrap(), "-l:libamdhip64.so"])
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .output()
        .unwrap();
    succeeds(&compiled);
    program
}

/// Compiles a client in Rust, its module names replaced by identifiers of the bundle.
fn rust_client(folder: &Path, source: &str, uses: &[(&str, String)]) -> PathBuf {
    let program = folder.join("rust_client");
    let mut text = fs::read_to_string(client_source(source)).unwrap();
    for (name, identifier) in uses {
        assert!(text.contains(name), "{source} has no {name}");
        text = text.replace(name, identifier);
    }
    let renamed = folder.join("client.rs");
    fs::write(&renamed, text).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiled = Command::new(rustc)
        .args(["--edition=2024", "-o"])
        .arg(&program)
        .arg(renamed)
        .env("BUNDLE_MODULE", folder.join("bundle/wavesmith_bundle.rs"))
        .env("BUNDLE_EXCHANGE", client_source("bundle_exchange.rs"))
        .arg(format!("-Clink-arg=-Wl,-rpath,{}", folder.display()))
        .arg(format!("-Clink-arg={}", folder.join("libamdhip64.so").display()))
        .output()
        .unwrap();
    succeeds(&compiled);
    program
}
