//! Other people's clients on the emulated HIP library: C programs with public headers, Triton's AMD driver, AMD's Python
//! bindings; and AMD's own library where there is no device. What is not installed is skipped, and says so in a line
//! `skipped: third_party_hip …`, which `.ci/run` counts.

mod hip_library;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hip_abi::{Attribute, Code, Layout, PROPERTIES_R0000, PROPERTIES_R0600};
use hip_library::{emulated_library, headers, python};
use isa::Target;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn skip(what: &str, why: &str) {
    // Past the test harness, which keeps what a passing test prints; on a line of its own.
    let line = format!("\nskipped: third_party_hip {what}: {why}\n");
    std::io::stdout().write_all(line.as_bytes()).expect("standard output takes it");
}

/// The library under the name that clients look for, in a directory of its own.
fn client_directory() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(emulated_library(), folder.path().join("libamdhip64.so")).unwrap();
    folder
}

fn object(target: Target) -> PathBuf {
    root().join(format!("runtime/tests/fixtures/update_slots_{target}.hsaco"))
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}\n{words}\n{complaints}", output.status);
    words
}

/// Compiles a C program with a header of HIP.
fn compile(source: &str, include: &Path, more: &[&str], to: &Path) {
    let output = Command::new("cc")
        .args(["-O1", "-std=gnu11", "-o"])
        .arg(to)
        .arg(root().join("tests/third_party").join(source))
        .arg("-I")
        .arg(include)
        .args(more)
        .output()
        .expect("a C compiler, which Rust needs too");
    succeeds(&output);
}

#[test]
fn numbers_are_those_of_the_public_headers() {
    let headers = headers();
    if headers.is_empty() {
        return skip(
            "headers",
            "neither Debian's libamdhip64-dev nor Triton's package is installed",
        );
    }
    for include in headers {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("abi");
        compile("abi.c", &include, &[], &program);
        let words = succeeds(&Command::new(&program).output().unwrap());
        let numbers: BTreeMap<&str, usize> = words
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, number)| (name, number.parse().unwrap()))
            .collect();
        check_numbers(&numbers);
        check_codes(&include);
    }
}

/// Every code that a header has is one of ours, also those that `abi.c` does not name.
fn check_codes(include: &Path) {
    let preprocessed = Command::new("cc")
        .args(["-E", "-P", "-D__HIP_PLATFORM_AMD__=1", "-x", "c", "-I"])
        .arg(include)
        .arg(include.join("hip/hip_runtime_api.h"))
        .output()
        .unwrap();
    let text = succeeds(&preprocessed);
    let constants = text.split(',').filter_map(|part| {
        let (name, number) = part.split_once('=')?;
        let name = name.split_whitespace().last()?;
        let number = number.split_whitespace().next()?.parse::<u32>().ok()?;
        name.starts_with("hipError").then_some((name, number))
    });
    let mut numbers = std::collections::BTreeSet::new();
    for (name, number) in constants {
        assert!(Code::from_number(number).is_some(), "{name} = {number} in {}", include.display());
        numbers.insert(number);
    }
    assert!(numbers.len() > 50, "{} codes in {}", numbers.len(), include.display());
}

fn check_numbers(numbers: &BTreeMap<&str, usize>) {
    let codes =
        numbers.iter().filter(|(name, _)| **name == "hipSuccess" || name.starts_with("hipError"));
    let mut n_codes = 0;
    for (name, number) in codes {
        let code = Code::from_number(u32::try_from(*number).unwrap());
        assert_eq!(code.map(Code::name), Some(*name), "{number}");
        n_codes += 1;
    }
    assert!(n_codes > 30, "{n_codes} codes");
    for attribute in Attribute::ALL {
        let number = numbers.get(format!("{attribute:?}").as_str());
        assert_eq!(number.copied(), usize::try_from(attribute.number()).ok(), "{attribute:?}");
    }
    let layout =
        if numbers["size"] == PROPERTIES_R0000.size { PROPERTIES_R0000 } else { PROPERTIES_R0600 };
    let expected = Layout {
        size: numbers["size"],
        name: numbers["name"],
        total_global_mem: numbers["totalGlobalMem"],
        shared_mem_per_block: numbers["sharedMemPerBlock"],
        regs_per_block: numbers["regsPerBlock"],
        warp_size: numbers["warpSize"],
        mem_pitch: numbers["memPitch"],
        max_threads_per_block: numbers["maxThreadsPerBlock"],
        max_threads_dim: numbers["maxThreadsDim"],
        max_grid_size: numbers["maxGridSize"],
        major: numbers["major"],
        minor: numbers["minor"],
        multi_processor_count: numbers["multiProcessorCount"],
        max_threads_per_multi_processor: numbers["maxThreadsPerMultiProcessor"],
        max_shared_memory_per_multi_processor: numbers["maxSharedMemoryPerMultiProcessor"],
        gcn_arch_name: numbers["gcnArchName"],
    };
    assert_eq!(layout, expected);
}

#[test]
fn a_c_program_launches_captures_and_is_refused() {
    let headers = headers();
    if headers.is_empty() {
        return skip(
            "C program",
            "neither Debian's libamdhip64-dev nor Triton's package is installed",
        );
    }
    let library = client_directory();
    let place = library.path().to_str().unwrap();
    for include in headers {
        let program = library.path().join("client");
        let link = ["-L", place, "-l:libamdhip64.so", &format!("-Wl,-rpath,{place}")];
        compile("client.c", &include, &link, &program);
        for target in Target::ALL {
            let run = Command::new(&program)
                .arg(object(target))
                .arg(target.name())
                .env("WAVESMITH_HIP_TARGET", target.name())
                .output()
                .unwrap();
            assert_eq!(succeeds(&run), "right\n", "{target} with {}", include.display());
        }
    }
}

/// Runs a script of `tests/third_party/` with the emulated library on both targets; skips without its packages.
fn script(what: &str, imports: &str, name: &str, with_object: bool) {
    let python = python();
    let tried = Command::new(&python).args(["-c", &format!("import {imports}")]).output();
    match tried {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            return skip(what, words.trim().lines().last().unwrap_or("no words"));
        }
        Err(error) => return skip(what, &format!("{}: {error}", python.display())),
    }
    let library = client_directory();
    for target in Target::ALL {
        let mut command = Command::new(&python);
        command.arg(root().join("tests/third_party").join(name));
        if with_object {
            command.arg(object(target));
        }
        let run = command
            .arg(target.name())
            .env("WAVESMITH_HIP_TARGET", target.name())
            .env("LD_LIBRARY_PATH", library.path())
            .env("TRITON_LIBHIP_PATH", library.path().join("libamdhip64.so"))
            .env("TRITON_CACHE_DIR", library.path().join("cache"))
            .env("TRITON_DEFAULT_FP_FUSION", "1")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .unwrap();
        assert_eq!(succeeds(&run), "ok\n", "{target}");
    }
}

#[test]
fn tritons_own_driver_compiles_and_launches() {
    script("Triton's driver", "numpy, triton", "triton_driver.py", false);
}

#[test]
fn hip_python_loads_and_launches() {
    script("hip-python", "numpy, hip.hip", "hip_python.py", true);
}

#[test]
fn somebody_elses_validator_finds_the_manifest_right() {
    const SCRIPT: &str = "\
import json, sys, jsonschema
manifest, schema = (json.load(open(f'{sys.argv[1]}/{name}')) for name in ('manifest.json', 'manifest.schema.json'))
jsonschema.Draft202012Validator.check_schema(schema)
jsonschema.validate(manifest, schema, cls=jsonschema.Draft202012Validator)
manifest['kernels'][0]['launch']['grid'][0]['per_unit'] = -1
try:
    jsonschema.validate(manifest, schema, cls=jsonschema.Draft202012Validator)
except jsonschema.ValidationError as error:
    print(list(error.absolute_path)[:3])
";
    let tried = Command::new(python()).args(["-c", "import jsonschema"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        return skip("jsonschema", "the package is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bundle");
    let pair =
        ["tile", "scan"].map(|part| format!("tests/data/specs/kda_varlen_{part}_gfx950.toml"));
    // By the back end of every build: the one without LLVM runs this too.
    let made = Command::new(env!("CARGO_BIN_EXE_wavesmith"))
        .args(["bundle", "--backend", "gcn"])
        .args(pair)
        .arg("-o")
        .arg(&bundle)
        .current_dir(root())
        .output()
        .unwrap();
    succeeds(&made);
    let validated = Command::new(python()).args(["-c", SCRIPT]).arg(&bundle).output().unwrap();
    assert_eq!(succeeds(&validated), "['kernels', 0, 'launch']\n");
}

/// AMD's library of Debian, where it is installed.
fn real_library() -> Option<PathBuf> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
    let candidates = folders.iter().map(|folder| Path::new(folder).join("libamdhip64.so.5"));
    candidates.into_iter().find(|file| file.exists())
}

#[test]
fn amds_library_without_a_device_says_so() {
    let Some(library) = real_library() else {
        return skip(
            "AMD's library",
            "libamdhip64.so.5 of Debian's libamdhip64-5 is not installed",
        );
    };
    if Path::new("/dev/kfd").exists() {
        return skip("AMD's library", "there is a device (/dev/kfd)");
    }
    // The exit code tells of other things that may be missing too, so the document is read instead.
    let doctor = Command::new(env!("CARGO_BIN_EXE_wavesmith"))
        .args(["doctor", "--json"])
        .env("WAVESMITH_HIP", &library)
        .output()
        .unwrap();
    let health: serde_json::Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let hip = &health["hip"];
    assert!(hip["version"].as_str().unwrap().starts_with("5."), "{hip}");
    assert!(hip.get("emulated").is_none(), "{hip}");
    assert_eq!(hip["devices"].as_array().map(Vec::len), Some(0), "{hip}");
    let missing = health["optional"].as_array().unwrap();
    let device =
        missing.iter().find(|missing| missing["what"] == "HIP device").expect("it is missing");
    let why = device["why"].as_str().unwrap();
    assert!(why.contains("no AMD GPU") && why.contains("/dev/kfd"), "{why}");
}
