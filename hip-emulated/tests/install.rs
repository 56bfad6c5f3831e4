//! The program that puts the library where clients find it.

use std::path::Path;
use std::process::{Command, Output};

fn install(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hip-emulated"))
        .args(arguments)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_library_gets_its_clients_names_in_a_directory() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed/here");
    // Again over what is there.
    for _ in 0..2 {
        let output = install(&[folder.to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed.trim(), folder.join("libamdhip64.so").to_str().unwrap());
        let library = std::fs::read(folder.join("libamdhip64.so")).unwrap();
        let symbol = b"wavesmith_hip_emulated_identity";
        assert!(library.windows(symbol.len()).any(|window| window == symbol));
        for release in ["5", "6", "7"] {
            let name = folder.join(format!("libamdhip64.so.{release}"));
            assert!(std::fs::read(&name).unwrap() == library, "{}", name.display());
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 4);
    }
    let nowhere = install(&["/dev/null/here"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(stderr(&nowhere).contains("/dev/null/here"));
}

#[test]
fn what_is_no_directory_makes_none() {
    for (arguments, code) in [(&["--help"][..], 0), (&["--hlp"], 2), (&["one", "two"], 2)] {
        let output = install(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(arguments[0]);
        assert!(!folder.exists(), "{}", folder.display());
    }
}
