//! The program that puts the library where clients find it.

use std::process::Command;

#[test]
fn the_library_gets_its_clients_name_in_a_directory() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed/here");
    let program = env!("CARGO_BIN_EXE_hip-emulated");
    for _ in 0..2 {
        let output = Command::new(program).arg(&folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed.trim(), folder.join("libamdhip64.so").to_str().unwrap());
        let library = std::fs::read(folder.join("libamdhip64.so")).unwrap();
        let symbol = b"wavesmith_hip_emulated_identity";
        assert!(library.windows(symbol.len()).any(|window| window == symbol));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }
    let nowhere = Command::new(program).arg("/dev/null/here").output().unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("/dev/null/here"));
}
