//! One run of everything that goes wrong under a memory checker.

use std::io::Write;
use std::process::Command;

use crate::support::{TARGET_VARIABLE, command};

#[test]
fn valgrind_finds_no_leak_and_no_wrong_access() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        // Past the test harness, which keeps what a passing test prints; on a line of its own.
        let line = b"\nskipped: hip leaks: valgrind is not installed\n";
        std::io::stdout().write_all(line).unwrap();
        return;
    }
    let options =
        "--leak-check=full --errors-for-leak-kinds=definite,indirect --error-exitcode=9 -q";
    let checked = command("valgrind", "wrong::loads_and_launches", &[(TARGET_VARIABLE, "gfx1100")])
        .env("VALGRIND_OPTS", options)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&checked.stdout);
    let complaints = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{words}\n{complaints}");
    assert!(words.contains("1 passed"), "{words}");
}
