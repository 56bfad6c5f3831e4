//! Where results go: what cannot be written is refused before the run, and what fails after it loses no report.

use std::path::Path;

use isa::Target;

use super::{TEMPLATE, document, ends_with, fixture, load_and_use, planted, vector_add};

/// A run that adds to `words` and would be clean.
fn adding<'a>(object: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    [&vector_add(object, &["--arg", "out=nan:f32:730"])[..], words].concat()
}

#[track_caller]
fn refused_before_the_run(words: &[&str], told: &[&str]) {
    let object = fixture("vector_add", Target::Gfx950);
    let message = ends_with(&adding(&object, words), 2, told);
    assert!(!message.contains("wave instructions"), "{words:?} ran: {message}");
}

#[test]
fn files_that_cannot_be_written_are_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(path("folder.npy")).unwrap();
    std::fs::write(path("file"), "kept").unwrap();
    for name in ["folder.npy", "missing/x.npy", "file/x.npy"] {
        let (save, trace) = (format!("out={}", path(name)), format!("--trace={}", path(name)));
        let remedy = "name a file in a folder";
        refused_before_the_run(&["--save", &save], &["--save out=", &path(name), remedy]);
        refused_before_the_run(&[&trace], &["--trace=", &path(name), remedy]);
    }
    // Even who may write everywhere may make no file there.
    #[cfg(target_os = "linux")]
    {
        refused_before_the_run(&["--save", "out=/proc/x.npy"], &["cannot write /proc/x.npy"]);
        refused_before_the_run(&["--trace=/proc/x.txt"], &["cannot write /proc/x.txt"]);
    }
    refused_before_the_run(&["--trace="], &["--trace"]);
    assert_eq!(std::fs::read_to_string(path("file")).unwrap(), "kept");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no probe stays behind");
}

#[cfg(unix)]
#[test]
fn one_file_under_two_spellings_is_refused() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(at("sub")).unwrap();
    std::fs::write(at("there.npy"), "old").unwrap();
    symlink(at("there.npy"), at("link.npy")).unwrap();
    symlink("dangling-to.npy", at("dangling.npy")).unwrap();
    symlink("sub", at("also-sub")).unwrap();
    let pairs = [
        ("y.npy", "y.npy"),
        ("y.npy", "./y.npy"),
        ("y.npy", "sub/../y.npy"),
        ("there.npy", "./there.npy"),
        ("there.npy", "link.npy"),
        ("dangling-to.npy", "dangling.npy"),
        ("sub/z.npy", "also-sub/z.npy"),
    ];
    for (one, other) in pairs {
        for (one, other) in [(one, other), (other, one)] {
            let [a, b] =
                [("a", one), ("b", other)].map(|(key, name)| format!("{key}={}", at(name)));
            refused_before_the_run(&["--save", &a, "--save", &b], &["--save b=", "two results"]);
            let trace = format!("--trace={}", at(other));
            refused_before_the_run(&["--save", &a, &trace], &["--trace=", "two results"]);
        }
    }
    assert_eq!(std::fs::read_to_string(at("there.npy")).unwrap(), "old");
    // Against the folder of the call, which holds Cargo.toml.
    let absolute = format!("b={}/unwritten.npy", env!("CARGO_MANIFEST_DIR"));
    let both = ["--save", "a=unwritten.npy", "--save", &absolute];
    refused_before_the_run(&both, &["two results"]);
    assert!(!Path::new(env!("CARGO_MANIFEST_DIR")).join("unwritten.npy").exists());
    // Of one name in two folders, and a link whose target is made, are fine.
    let object = fixture("vector_add", Target::Gfx950);
    let [a, b] = ["y.npy", "sub/y.npy"].map(|name| format!("out={}", at(name)));
    let dangling = format!("b={}", at("dangling.npy"));
    let words = ["--save", &a, "--save", &b, "--save", &dangling];
    ends_with(&adding(&object, &words), 0, &["clean"]);
    assert!(Path::new(&at("dangling-to.npy")).is_file());
    assert!(Path::new(&at("dangling.npy")).is_symlink());
}

/// `/dev/full` opens and takes nothing, as a disk that fills up during the run.
#[cfg(target_os = "linux")]
#[test]
fn a_failed_write_after_the_run_keeps_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::os::unix::fs::symlink("/dev/full", at("full.npy")).unwrap();
    let failing = |key: &str| [format!("{key}={}", at("full.npy")), "--trace=/dev/full".to_owned()];
    for target in Target::ALL {
        let clean = fixture("vector_add", target);
        let [save, trace] = failing("out");
        let kept = format!("a={}", at("kept.npy"));
        let outputs: [&[&str]; 2] = [&["--save", &save, "--save", &kept], &[&trace]];
        let file = at("full.npy");
        for (outputs, file) in outputs.into_iter().zip([file.as_str(), "/dev/full"]) {
            let args = adding(&clean, outputs);
            let words = ["not written: cannot write ", file, "clean: 0 findings", "error: 1 files"];
            ends_with(&args, 2, &words);
            let told = document(&args, 2);
            assert_eq!(told["passed"], true);
            assert!(told["unwritten"][0].as_str().unwrap().contains(file), "{told}");
            assert_eq!(told["buffers"]["out"]["saved"].as_array().unwrap().len(), 0);
        }
        assert!(Path::new(&at("kept.npy")).is_file(), "one failure keeps no other file away");

        let [save, trace] = failing("1");
        let object = planted(folder.path(), target, &load_and_use(target, false));
        for outputs in [&["--save", &save][..], &[&trace]] {
            let args = [&[object.as_str()], &TEMPLATE[..], outputs].concat();
            let words = ["finding: use before wait", "not written: cannot write", "FINDINGS: 1"];
            ends_with(&args, 1, &words);
            assert_eq!(document(&args, 1)["findings"].as_array().unwrap().len(), 1);
        }
        let [_, trace] = failing("out");
        let faulty = vector_add(&clean, &["--arg", "out=null", &trace]);
        ends_with(&faulty, 1, &["fault: ", "the address is null", "not written: ", "FAULT"]);
    }
}

#[test]
fn limits_are_told_without_names_of_the_library() {
    for target in Target::ALL {
        let object = fixture("vector_add", target);
        let cases: [(&[&str], i32, &str); 2] = [
            (&["--memory-limit", "9000"], 2, "raise the memory limit"),
            (&["--instruction-limit", "9"], 1, "raise the instruction limit"),
        ];
        for (words, code, remedy) in cases {
            let message = ends_with(&adding(&object, words), code, &[remedy]);
            assert!(!message.contains("Options::"), "{message}");
        }
        let sizes = ["--kernel", "vector_add", "--grid", "1", "--block", "2000"];
        let values = ["n=i32:1", "a=iota:f32:1", "b=iota:f32:1", "out=nan:f32:1"];
        let values = values.iter().flat_map(|value| ["--arg", value]);
        let args: Vec<_> = [object.as_str()].into_iter().chain(sizes).chain(values).collect();
        let message = ends_with(&args, 2, &["workgroup size is 2000, limit ", "at least one"]);
        assert!(!message.contains("launch 1"), "{message}");
    }
}

/// Encodings by LLVM 22's assembler.
#[test]
fn a_deadlock_without_a_barrier_says_that_waves_are_halted() {
    let folder = tempfile::tempdir().unwrap();
    for target in Target::ALL {
        let halt = match target {
            Target::Gfx950 => 0xbf8d_0001,
            Target::Gfx1100 => 0xbf82_0001,
        };
        let object = planted(folder.path(), target, &[halt]);
        let waves = 64 / target.wave_width();
        let words = format!("deadlock: all {waves} waves are halted");
        let args = [&[object.as_str()], &TEMPLATE[..]].concat();
        let message = ends_with(&args, 1, &[&words, "FAULT"]);
        assert!(!message.contains("at a barrier"), "{message}");
    }
}

/// Wave 0 of two halts, wave 1 ends: first lane of v0, compare with 0, skip over the halt. Encodings by LLVM 22's
/// assembler.
#[test]
fn a_deadlock_after_other_waves_ended_counts_the_halted_ones() {
    let folder = tempfile::tempdir().unwrap();
    let words = [0x7e10_0500, 0xbf07_8008, 0xbfa2_0001, 0xbf82_0001, 0xbfb0_0000];
    let object = planted(folder.path(), Target::Gfx1100, &words);
    let args = [&[object.as_str()], &TEMPLATE[..]].concat();
    ends_with(&args, 1, &["deadlock: the remaining 1 of 2 waves are halted", "FAULT"]);
}

/// A pipe has no path of its own: it is neither looked for in a folder nor replaced.
#[cfg(target_os = "linux")]
#[test]
fn a_trace_goes_through_a_pipe() {
    let object = fixture("vector_add", Target::Gfx1100);
    let told = ends_with(&adding(&object, &["--trace=/dev/stdout"]), 0, &["clean"]);
    assert!(
        told.lines().any(|line| line.contains("exec 0x") && line.contains("s_endpgm")),
        "{told}"
    );
}

#[test]
fn a_result_over_what_the_run_reads_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("object.bin");
    std::fs::copy(fixture("vector_add", Target::Gfx950), &object).unwrap();
    let object = object.to_str().unwrap();
    let save = format!("out={object}");
    let message =
        ends_with(&adding(object, &["--save", &save]), 2, &["--save out=", "reads this file"]);
    assert!(!message.contains("wave instructions"), "{message}");
}
