//! The cache: shared by processes, never stale, never in the way.

use std::fs;
use std::path::Path;

use crate::{SPECS, succeeds, wavesmith};

#[test]
fn eight_processes_share_a_cache_and_a_killed_writer_leaves_nothing_bad() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let run = || {
        // LLVM takes long enough for a process to be killed before it has anything to write.
        let mut command = wavesmith(&["run", SPECS[1], "--backend", "llvm", "--json"]);
        command.env("WAVESMITH_CACHE", &cache).stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let runs: Vec<_> = (0..8).map(|_| run()).collect();
    for run in runs {
        succeeds(&run.wait_with_output().unwrap());
    }
    let entries = entries(&cache);
    assert_eq!(entries.len(), 1, "{entries:?}");
    let whole = fs::read(&entries[0]).unwrap();
    // What a writer that is killed can leave: its own file under another name, never the entry.
    fs::write(entries[0].with_file_name(".tmpKILLED"), &whole[..whole.len() / 2]).unwrap();
    let quiet = run().wait_with_output().unwrap();
    succeeds(&quiet);
    assert_eq!(String::from_utf8_lossy(&quiet.stderr), "");
    // What a failing disk can: damage is told, and the entry built anew.
    fs::write(&entries[0], &whole[..whole.len() / 2]).unwrap();
    let damaged = run().wait_with_output().unwrap();
    succeeds(&damaged);
    assert!(String::from_utf8_lossy(&damaged.stderr).contains("damaged and built anew"));
    assert_eq!(fs::read(&entries[0]).unwrap(), whole);
    // A writer that really is killed, at several points of its way.
    for delay in [1, 5, 20, 60, 150] {
        fs::remove_file(&entries[0]).unwrap();
        let mut victim = run();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        victim.kill().unwrap();
        victim.wait().unwrap();
        if let Ok(left) = fs::read(&entries[0]) {
            assert_eq!(left, whole, "killed after {delay} ms");
        }
        succeeds(&run().wait_with_output().unwrap());
        assert_eq!(fs::read(&entries[0]).unwrap(), whole);
    }
}

/// Entries of a cache, without what writers left under other names.
fn entries(cache: &Path) -> Vec<std::path::PathBuf> {
    let folders = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = files.map(|entry| entry.unwrap().path());
    paths.filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with(".tmp")).collect()
}

/// Runs a spec with a cache that is in the way; the result is right all the same, and what is wrong is told.
#[track_caller]
fn works_without(cache: &Path, expected: &str) {
    let output =
        wavesmith(&["run", SPECS[1], "--json"]).env("WAVESMITH_CACHE", cache).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    succeeds(&output);
    assert!(words.contains(expected) && !words.contains("panicked"), "'{expected}': {words}");
}

#[test]
fn a_cache_that_is_none_is_told_and_not_needed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "not mine").unwrap();
    works_without(&file, "not kept in the cache");
    assert_eq!(fs::read_to_string(&file).unwrap(), "not mine");
    works_without(Path::new("/dev/null/cache"), "not kept in the cache");
    works_without(Path::new("/proc/cache"), "not kept in the cache");
    works_without(&folder.path().join("a".repeat(300)), "not kept in the cache");
    // A full disk: nothing is left under any name.
    let full = folder.path().join("full");
    let output = std::process::Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_wavesmith"),
        ])
        .args(["run", SPECS[1], "--json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("WAVESMITH_CACHE", &full)
        .output()
        .unwrap();
    succeeds(&output);
    assert!(String::from_utf8_lossy(&output.stderr).contains("not kept in the cache"));
    let left =
        fs::read_dir(&full).unwrap().flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
    assert_eq!(left.count(), 0);
}

#[test]
fn foreign_things_in_a_cache_are_built_over_or_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    works_without(&cache, "");
    let entry = entries(&cache).remove(0);
    let whole = fs::read(&entry).unwrap();
    fs::write(cache.join("README"), "somebody's").unwrap();
    fs::write(entry.with_file_name("zz"), "somebody's").unwrap();
    for garbage in [&b""[..], b"\n", b"garbage", b"\xff\xfe\x00", b"wavesmith-cache 1 \n\n\n"] {
        fs::write(&entry, garbage).unwrap();
        works_without(&cache, "damaged and built anew");
        assert_eq!(fs::read(&entry).unwrap(), whole);
    }
    let huge = fs::File::create(&entry).unwrap();
    huge.set_len(1 << 40).unwrap();
    works_without(&cache, "damaged and built anew");
    assert_eq!(fs::read(&entry).unwrap(), whole);
    // A directory where the entry should be is nobody's to remove.
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    works_without(&cache, "not kept in the cache");
    fs::remove_dir(&entry).unwrap();
    // A link is an entry by what it leads to, and is never written through to somewhere else.
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, "somebody's").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &entry).unwrap();
    works_without(&cache, "damaged and built anew");
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "somebody's");
    assert_eq!(fs::read(&entry).unwrap(), whole);
    assert_eq!(fs::read_to_string(cache.join("README")).unwrap(), "somebody's");
}

#[test]
fn back_ends_have_entries_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let hashes = ["llvm", "gcn", "gcn", "llvm"].map(|backend| {
        let mut command = wavesmith(&["run", SPECS[0], "--backend", backend, "--json"]);
        let report = succeeds(&command.env("WAVESMITH_CACHE", &cache).output().unwrap());
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["backend"], backend);
        entries(&cache).len()
    });
    assert_eq!(hashes, [1, 2, 2, 2]);
    let objects: Vec<Vec<u8>> =
        entries(&cache).iter().map(|entry| fs::read(entry).unwrap()).collect();
    assert_ne!(objects[0], objects[1]);
    // Another worker is another toolchain, whatever it says of itself.
    let worker = folder.path().join("wavesmith-llvm");
    let mut bytes = fs::read(env!("CARGO_BIN_EXE_wavesmith-llvm")).unwrap();
    bytes.push(0);
    fs::write(&worker, bytes).unwrap();
    fs::set_permissions(&worker, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = wavesmith(&["run", SPECS[0], "--backend", "llvm", "--json"]);
    command.env("WAVESMITH_CACHE", &cache).env("WAVESMITH_LLVM_WORKER", &worker);
    succeeds(&command.output().unwrap());
    assert_eq!(entries(&cache).len(), 3);
}
