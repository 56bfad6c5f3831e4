//! Bundles that somebody tampered with, and directories that are none: words and an exit code, never a panic, a hang or a pass.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use wavesmith::harness::sha256;

use crate::{PAIR, SPECS, contents, make, succeeds, verify, wavesmith};

/// A bundle to spoil.
struct Victim {
    folder: tempfile::TempDir,
    manifest: Value,
}

impl Victim {
    fn new(specs: &[&str]) -> Victim {
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("bundle");
        let to = bundle.to_str().unwrap();
        let made = wavesmith(&["bundle", "-o", to, "--no-emulate", "--backend", "llvm"])
            .args(specs)
            .output();
        succeeds(&made.unwrap());
        let manifest =
            serde_json::from_slice(&fs::read(bundle.join("manifest.json")).unwrap()).unwrap();
        Victim { folder, manifest }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("bundle")
    }

    fn object(&self) -> PathBuf {
        let file = self.manifest["kernels"][0]["code_object"]["file"].as_str().unwrap();
        self.path().join(file)
    }

    /// Writes another manifest, with its own right hash.
    fn rewrite(&self, manifest: &Value) {
        let text = serde_json::to_string_pretty(manifest).unwrap() + "\n";
        self.rewrite_text(&text);
    }

    fn rewrite_text(&self, text: &str) {
        fs::write(self.path().join("manifest.json"), text).unwrap();
        let line = format!("{}  manifest.json\n", sha256(text.as_bytes()));
        fs::write(self.path().join("manifest.sha256"), line).unwrap();
    }

    /// The bundle must be refused with this exit code and these words.
    #[track_caller]
    fn is_refused(&self, code: i32, expected: &str) {
        let output = verify(&self.path());
        let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        let words = format!("{out}{err}");
        assert_eq!(output.status.code(), Some(code), "{words}");
        assert!(words.contains(expected) && !words.contains("panicked"), "'{expected}': {words}");
    }
}

#[test]
fn files_that_are_no_files_are_refused() {
    let victim = Victim::new(&SPECS[..1]);
    let object = victim.object();
    let whole = fs::read(&object).unwrap();
    let elsewhere = victim.folder.path().join("elsewhere");
    fs::write(&elsewhere, &whole).unwrap();
    let replace = |spoil: &dyn Fn(&Path), expected: &str| {
        fs::remove_file(&object).unwrap();
        spoil(&object);
        victim.is_refused(1, expected);
        let _ = fs::remove_file(&object).or_else(|_| fs::remove_dir(&object));
        fs::write(&object, &whole).unwrap();
    };
    replace(&|at| symlink(&elsewhere, at).unwrap(), "a link");
    replace(&|at| symlink("/dev/zero", at).unwrap(), "a link");
    replace(&|at| symlink("nowhere", at).unwrap(), "a link");
    replace(&|at| fs::create_dir(at).unwrap(), "no regular file");
    replace(&|at| fifo(at), "no regular file");
    replace(
        &|at| File::create(at).unwrap().set_len(1 << 40).unwrap(),
        "more than 1073741824 bytes",
    );
    replace(&|at| fs::write(at, "").unwrap(), "SHA-256");
    replace(&|at| fs::write(at, &whole[..whole.len() - 1]).unwrap(), "SHA-256");
    replace(&|_| (), "No such file");
    succeeds(&verify(&victim.path()));
    for name in ["stranger", ".hidden", "manifest.json.bak"] {
        let stranger = victim.path().join(name);
        fs::write(&stranger, "").unwrap();
        victim.is_refused(1, &format!("{name}: is not in the manifest"));
        fs::remove_file(stranger).unwrap();
    }
    fs::create_dir(victim.path().join("folder")).unwrap();
    victim.is_refused(1, "folder: is not in the manifest");
}

fn fifo(at: &Path) {
    assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
}

#[test]
fn manifests_that_are_none_are_refused() {
    let victim = Victim::new(&SPECS[..1]);
    let path = victim.path().join("manifest.json");
    let whole = fs::read_to_string(&path).unwrap();
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let texts = [
        "",
        "{",
        "null",
        "[]",
        "{}",
        "\u{feff}{}",
        r#"{"schema": "2"}"#,
        r#"{"schema": 2}"#,
        deep.as_str(),
    ];
    for text in texts {
        victim.rewrite_text(text);
        victim.is_refused(2, "manifest.json");
    }
    fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    victim.is_refused(2, "not UTF-8");
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    victim.is_refused(2, "more than 16777216 bytes");
    fs::remove_file(&path).unwrap();
    fifo(&path);
    victim.is_refused(2, "named pipe");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    victim.is_refused(2, "manifest.json");
    fs::remove_dir(&path).unwrap();
    let elsewhere = victim.folder.path().join("elsewhere.json");
    fs::write(&elsewhere, &whole).unwrap();
    symlink(elsewhere, &path).unwrap();
    victim.is_refused(1, "manifest.json: is a link");
    for place in ["/dev/null", "/nowhere", "/dev"] {
        let output = verify(Path::new(place));
        assert_eq!(output.status.code(), Some(2), "{place}");
    }
}

#[test]
fn names_that_leave_the_directory_are_refused() {
    let victim = Victim::new(&SPECS[..1]);
    for name in ["../elsewhere", "/etc/passwd", "a/b", "", ".", "..", "\u{0}", "./x"] {
        let mut manifest = victim.manifest.clone();
        manifest["files"][name] = json!("0".repeat(64));
        victim.rewrite(&manifest);
        victim.is_refused(1, "is no plain file name");
        let mut manifest = victim.manifest.clone();
        manifest["kernels"][0]["code_object"]["file"] = json!(name);
        victim.rewrite(&manifest);
        victim.is_refused(1, "needs it, no hash is listed");
    }
}

/// Everything in a document, by path.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members
                .iter()
                .for_each(|(name, member)| leaves(member, &format!("{path}/{name}"), found));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| leaves(item, &format!("{path}/{index}"), found));
        }
        _ => found.push(path.to_owned()),
    }
}

/// Another value of the same kind.
fn changed(value: &Value) -> Value {
    match value {
        Value::Null => json!("something"),
        Value::Bool(value) => json!(!value),
        Value::Number(number) => number.as_u64().map_or(json!(0.5), |number| json!(number ^ 1)),
        Value::String(text) if text.len() == 64 => json!("0".repeat(64)),
        Value::String(text) => json!(format!("{text}x")),
        _ => panic!("{value}"),
    }
}

/// What a manifest says that nothing else in the bundle knows: how kernels came to be, and what is known about them.
const SAID_ONLY_HERE: [&str; 8] = [
    "/generator",
    "/toolchain/",
    "/ir_sha256",
    "/spec/",
    "/evidence/",
    "/emulated",
    "/role",
    "/family",
];

#[test]
fn a_manifest_that_says_otherwise_than_its_files_is_refused() {
    let victim = Victim::new(&PAIR);
    succeeds(&verify(&victim.path()));
    let mut paths = Vec::new();
    leaves(&victim.manifest, "", &mut paths);
    let mut n_seen = 0;
    for path in &paths {
        let mut manifest = victim.manifest.clone();
        let leaf = manifest.pointer_mut(path).unwrap_or_else(|| panic!("{path}"));
        *leaf = changed(leaf);
        victim.rewrite(&manifest);
        let output = verify(&victim.path());
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(!words.contains("panicked"), "{path}: {words}");
        let code = output.status.code();
        let said_only_here = SAID_ONLY_HERE.iter().any(|part| path.contains(part));
        assert!(matches!(code, Some(1 | 2)) || said_only_here, "{path}: {code:?}");
        n_seen += usize::from(code != Some(0));
    }
    assert!(
        n_seen > 300 && n_seen * 2 > paths.len(),
        "{n_seen} of {} changes are seen",
        paths.len()
    );
}

#[test]
fn numbers_beyond_everything_are_refused() {
    let victim = Victim::new(&PAIR);
    let mut paths = Vec::new();
    leaves(&victim.manifest, "", &mut paths);
    let numbers =
        paths.iter().filter(|path| victim.manifest.pointer(path).is_some_and(Value::is_u64));
    for path in numbers {
        for number in [json!(u32::MAX), json!(u64::MAX), json!(-1), json!(1e300)] {
            let mut manifest = victim.manifest.clone();
            *manifest.pointer_mut(path).unwrap() = number.clone();
            victim.rewrite(&manifest);
            let output = verify(&victim.path());
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(1 | 2)), "{path} is {number}: {words}");
            assert!(!words.contains("panicked"), "{path} is {number}: {words}");
        }
    }
}

#[test]
fn a_bundle_that_cannot_be_written_leaves_no_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "not mine").unwrap();
    for to in [file.to_str().unwrap(), "/dev/null/bundle", "/proc/bundle"] {
        let output = wavesmith(&["bundle", SPECS[0], "-o", to, "--no-emulate"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{to}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "not mine");
    // Room for the small files and not for the code object, as on a full disk.
    let to = folder.path().join("full");
    let output = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_wavesmith"),
        ])
        // The default back end writes no files of its own.
        .args(["bundle", SPECS[0], "--no-emulate", "-o", to.to_str().unwrap()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(!to.join("manifest.json").exists(), "a directory with a manifest is whole");
    assert!(
        contents(&to).keys().all(|name| !name.starts_with(".tmp")),
        "{:?}",
        contents(&to).keys()
    );
    // The same directory, with room.
    make(&SPECS[..1], &to);
    succeeds(&verify(&to));
}
