//! A C program that does everything wrong (`hostile.c`), and environments without sense: HIP's code and words on stderr each
//! time, never the end of the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The library, which Cargo built beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let library = test.parent().unwrap().join("libwavesmith_hip_emulated.so");
    assert!(library.is_file(), "{} is missing", library.display());
    library
}

/// The compiled client, in a folder of this test's own.
fn client(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).unwrap();
    let (program, library) = (folder.join("hostile"), library());
    let place = library.parent().unwrap();
    let compiled = Command::new("cc")
        .args(["-O1", "-std=gnu11", "-pthread", "-o"])
        .arg(&program)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile.c"))
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", place.display()))
        .output()
        .expect("a C compiler, which Rust needs too");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

fn object(target: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/tests/fixtures");
    fixtures.join(format!("update_slots_{target}.hsaco"))
}

#[track_caller]
fn refused(output: &Output) -> usize {
    let (words, complaints) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?}\n{words}\n{complaints}", output.status);
    assert!(!complaints.contains("panicked"), "{complaints}");
    words.split(' ').next().and_then(|count| count.parse().ok()).expect("a count")
}

#[test]
fn nothing_that_a_client_does_ends_it() {
    let program = client("wrong_calls");
    for target in ["gfx950", "gfx1100"] {
        let mut command = Command::new(&program);
        command.arg(object(target)).env("WAVESMITH_HIP_TARGET", target);
        let output = command.output().unwrap();
        let n_refused = refused(&output);
        assert!(n_refused > 600, "{n_refused}");
        // Every refusal has words, but for those of the threads, which are not counted.
        let complaints = String::from_utf8_lossy(&output.stderr);
        let told = complaints.lines().filter(|line| line.contains(": hipError")).count();
        assert!(told >= n_refused, "{told} told, {n_refused} refused");
        assert!(complaints.contains("('update_slots') was unloaded"), "{complaints}");
    }
}

#[test]
fn a_client_whose_stderr_is_gone_goes_on() {
    let program = client("no_stderr");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    // Without a reader a write fails with EPIPE, or ends the program by SIGPIPE, which shells leave to themselves.
    let script = "trap '' PIPE; exec \"$0\" \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(&program)
        .arg(object("gfx1100"))
        .env("WAVESMITH_HIP_TARGET", "gfx1100")
        .stdout(Stdio::piped())
        .stderr(writer)
        .output()
        .unwrap();
    assert!(refused(&output) > 600);
}

#[test]
fn variables_without_sense_are_told() {
    let program = client("variables");
    let cases = [
        ("WAVESMITH_HIP_TARGET", "gfx942", "gfx950"),
        ("WAVESMITH_HIP_TARGET", "GFX1100 ", "gfx1100"),
        ("WAVESMITH_HIP_MEMORY", "8GiB", "'8GiB', not a number of bytes"),
        ("WAVESMITH_HIP_MEMORY", "-1", "'-1', not a number of bytes"),
        ("WAVESMITH_HIP_MEMORY", "99999999999999999999999", "not a number of bytes"),
        ("WAVESMITH_HIP_VERSION", "seven", "'seven', not a version"),
        ("WAVESMITH_HIP_VERSION", "7.1", "'7.1', not a version"),
        ("WAVESMITH_HIP_VERSION", "-70100000", "'-70100000', not a version"),
        ("WAVESMITH_HIP_VERSION", "0", "'0', not a version"),
    ];
    for (variable, value, expected) in cases {
        let output = Command::new(&program)
            .arg(object("gfx1100"))
            .env("WAVESMITH_HIP_TARGET", "gfx1100")
            .env(variable, value)
            .output()
            .unwrap();
        // The client wants a device and says at which call it got none.
        assert_eq!(output.status.code(), Some(1), "{variable}={value}");
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(complaints.contains("hipErrorNoDevice"), "{complaints}");
        assert!(complaints.contains(expected) && complaints.contains(variable), "{complaints}");
    }
    let none = Command::new(&program)
        .arg(object("gfx1100"))
        .env("WAVESMITH_HIP_TARGET", "gfx1100")
        .env("WAVESMITH_HIP_MEMORY", "0")
        .output()
        .unwrap();
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&none.stderr).contains("hipErrorOutOfMemory"));
}
