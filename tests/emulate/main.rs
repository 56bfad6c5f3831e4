//! `emulate` as a user calls it: LLVM's code objects for both targets, results in files, findings and
//! faults, and everything it refuses.

mod launches;
mod numerics;
mod outputs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use codeobj::CodeObject;
use isa::Target;
use serde_json::Value;

fn wavesmith(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wavesmith"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the binary runs")
}

/// Exit code, stdout and stderr of `emulate`; a panic fails the test.
#[track_caller]
fn emulate(args: &[&str]) -> (Option<i32>, String, String) {
    let output = wavesmith(&[&["emulate"], args].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is text");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    (output.status.code(), stdout, stderr)
}

/// A call that must end with this exit code and say these words.
#[track_caller]
fn ends_with(args: &[&str], code: i32, words: &[&str]) -> String {
    let (got, stdout, stderr) = emulate(args);
    let message = stdout + &stderr;
    assert_eq!(got, Some(code), "{args:?}: {message}");
    for word in words {
        assert!(message.contains(word), "{args:?}: no '{word}' in: {message}");
    }
    message
}

/// The document of a call that must end with this exit code.
#[track_caller]
fn document(args: &[&str], code: i32) -> Value {
    let (got, stdout, stderr) = emulate(&[args, &["--json"]].concat());
    assert_eq!(got, Some(code), "{args:?}: {stdout}{stderr}");
    serde_json::from_str(&stdout).expect("stdout is one JSON document")
}

fn fixture(name: &str, target: Target) -> String {
    format!("emulator/tests/fixtures/{name}.{target}.hsaco")
}

/// A .npy file of version 1 as NumPy writes it.
fn npy(descr: &str, count: usize, data: &[u8]) -> Vec<u8> {
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}");
    header.push_str(&" ".repeat(117 - header.len()));
    header.push('\n');
    [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), data].concat()
}

fn bytes_of(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|float| float.to_le_bytes()).collect()
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Header text and 32-bit elements of a .npy file of version 1.
fn read_npy(path: &Path) -> (String, Vec<u32>) {
    let bytes = std::fs::read(path).expect("the file is there");
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    (
        String::from_utf8(bytes[10..end].to_vec()).expect("the header is text"),
        words_of(&bytes[end..]),
    )
}

/// A launch of a kernel with these values for its arguments.
fn launch<'a>(
    [object, kernel, grid, block]: [&'a str; 4],
    values: &[&'a str],
    more: &[&'a str],
) -> Vec<&'a str> {
    let sizes = [object, "--kernel", kernel, "--grid", grid, "--block", block];
    let values = values.iter().flat_map(|value| ["--arg", value]);
    sizes.into_iter().chain(values).chain(more.iter().copied()).collect()
}

/// A launch of `vector_add` for 730 elements that still needs `out`.
fn vector_add<'a>(object: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let values = ["n=i32:730", "a=iota:f32:730", "b=fill:f32:0.5:730"];
    launch([object, "vector_add", "8", "100"], &values, more)
}

#[test]
fn sums_reach_the_saved_file_and_the_tail_stays_untouched() {
    for target in Target::ALL {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let a: Vec<f32> = (0..730).map(|i| (i * i) as f32 * 0.25 - 1000.0).collect();
        std::fs::write(path("a.npy"), npy("<f4", 730, &bytes_of(&a))).unwrap();
        let (object, from, to) = (
            fixture("vector_add", target),
            format!("a={}", path("a.npy")),
            format!("out={}", path("out.npy")),
        );
        let args = launch(
            [&object, "vector_add", "8", "100"],
            &[&from, "b=fill:f32:-0.75:730", "out=nan:f32:800", "n=u32:730"],
            &["--save", &to],
        );
        let told = document(&args, 0);
        let (header, sums) = read_npy(Path::new(&path("out.npy")));
        assert!(header.contains("'<f4'") && header.contains("(800,)"), "{header}");
        for (i, got) in sums.iter().enumerate() {
            let expected = if i < 730 { a[i] - 0.75 } else { f32::NAN };
            assert_eq!(*got, expected.to_bits(), "{target} element {i}");
        }
        assert_eq!(told["passed"], true);
        assert_eq!(told["launches"][0]["kernel"], "vector_add");
        assert_eq!(told["target"], target.name());
        assert_eq!(told["launches"][0]["grid"], serde_json::json!([8, 1, 1]));
        assert_eq!(told["launches"][0]["block"], serde_json::json!([100, 1, 1]));
        assert_eq!(told["launches"][0]["args"][3]["name"], "n");
        assert_eq!(told["launches"][0]["args"][3]["kind"], "by_value");
        assert_eq!(told["launches"][0]["stats"]["workgroups"], 8);
        assert_eq!(told["findings"].as_array().unwrap().len(), 0);
        assert!(told["wave_instructions"].as_u64().unwrap() > 0);
        assert_eq!(told["buffers"]["out"]["saved"][0], path("out.npy"));
        assert_eq!(told["buffers"]["out"]["sha256"].as_str().unwrap().len(), 64);
        assert_ne!(told["buffers"]["out"]["sha256"], told["buffers"]["a"]["sha256"]);
    }
}

#[test]
fn tensors_of_safetensors_are_read_shared_and_saved() {
    use safetensors::{Dtype, tensor::TensorView};
    for target in Target::ALL {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("in.safetensors");
        let values: Vec<f32> = (0..730).map(|i| 3.5 - i as f32).collect();
        let bytes = bytes_of(&values);
        let view = TensorView::new(Dtype::F32, vec![73, 10], &bytes).unwrap();
        safetensors::serialize_to_file([("x", view)], None, &input).unwrap();
        let (object, input) = (fixture("vector_add", target), input.display());
        let saved = folder.path().join("out.safetensors");
        let (from, to) = (format!("a={input}#x"), format!("out={}", saved.display()));
        let args = launch(
            [&object, "vector_add", "8,1", "100,1,1"],
            &[&from, "b=same:a", "out=same:a", "n=bytes:da020000"],
            &["--save", &to],
        );
        ends_with(&args, 0, &["clean: 0 findings", "grid 8 × 1 × 1 workgroups"]);
        let bytes = std::fs::read(&saved).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let tensor = file.tensor("a").unwrap();
        assert_eq!((tensor.dtype(), tensor.shape()), (Dtype::F32, [73, 10].as_slice()));
        for (got, value) in words_of(tensor.data()).into_iter().zip(&values) {
            assert_eq!(got, (value + value).to_bits());
        }
        let unknown = from.replace("#x", "#y");
        let args = vector_add(&object, &["--arg", "out=same:a", "--arg", &unknown]);
        ends_with(&args, 2, &["no tensor 'y'", "it has x"]);
    }
}

#[test]
fn hidden_arguments_of_three_dimensions_are_the_emulators() {
    for target in Target::ALL {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bin");
        let (object, save) = (fixture("grid", target), format!("out={}", path.display()));
        let args = launch(
            [&object, "grid", "3,2,2", "5,4,3"],
            &["out=fill:u32:0xdeadbeef:720"],
            &["--save", &save],
        );
        ends_with(&args, 0, &["3 × 2 × 2 workgroups of 5 × 4 × 3 work-items"]);
        let expected: Vec<u32> =
            (0..12).flat_map(|group| (0..60).map(move |item| group << 16 | item)).collect();
        assert_eq!(words_of(&std::fs::read(&path).unwrap()), expected, "{target}");
    }
}

#[test]
fn stats_and_fidelity_name_classes_and_bounds() {
    for target in Target::ALL {
        let object = fixture("math", target);
        let args =
            launch([&object, "math", "1", "64"], &["in=fill:f32:1.25:192", "out=nan:f32:768"], &[]);
        let asked = [&args[..], &["--stats", "--fidelity"]].concat();
        ends_with(&asked, 0, &["transcendental", "a wave: mean", "exact", "one_ulp, executed"]);
        let told = document(&args, 0);
        assert!(told["launches"][0]["stats"]["detail"].is_null());
        let waves = told["launches"][0]["stats"]["waves"].as_f64().unwrap();
        assert_eq!(waves, 64.0 / f64::from(target.wave_width()));
        let valu = told["launches"][0]["stats"]["instructions"]["valu"].as_f64().unwrap();
        assert_eq!(
            told["launches"][0]["stats"]["mean_per_wave"]["valu"].as_f64().unwrap(),
            valu / waves
        );
        let exp = &told["launches"][0]["fidelity"]["approximate"]["v_exp_f32"];
        assert_eq!((&exp["bound"], &exp["executed"]), (&"one_ulp".into(), &true.into()));
        let exact = told["launches"][0]["fidelity"]["exact"].as_array().unwrap();
        let load = match target {
            Target::Gfx950 => "global_load_dwordx3",
            Target::Gfx1100 => "global_load_b96",
        };
        for name in ["s_endpgm", load] {
            assert!(exact.contains(&name.into()), "no {name} in {exact:?}");
        }
        assert_eq!(told["launches"][0]["fidelity"]["unsupported"].as_array().unwrap().len(), 0);
        assert_eq!(told["launches"][0]["fidelity"]["undecodable_dwords"], 0);
    }
}

#[test]
fn traces_have_a_line_an_instruction_up_to_their_limit() {
    let folder = tempfile::tempdir().unwrap();
    for target in Target::ALL {
        let path = folder.path().join(format!("{target}.txt"));
        let (object, flag) = (fixture("vector_add", target), format!("--trace={}", path.display()));
        let args = vector_add(&object, &["--arg", "out=nan:f32:730", &flag]);
        let executed = document(&args, 0)["wave_instructions"].as_u64().unwrap();
        let trace = std::fs::read_to_string(&path).unwrap();
        assert_eq!(trace.lines().count() as u64, executed);
        for word in ["workgroup (0, 0, 0), wave 0", "workgroup (7, 0, 0)", "exec 0x", "s_endpgm"] {
            assert!(trace.contains(word), "{target}: no '{word}' in: {trace}");
        }
        let short = [&args[..], &["--trace-limit", "3"]].concat();
        document(&short, 0);
        let trace = std::fs::read_to_string(&path).unwrap();
        assert_eq!(trace.lines().count(), 4, "{trace}");
        assert!(trace.contains(&format!("{} more instructions", executed - 3)), "{trace}");
    }
    let object = fixture("vector_add", Target::Gfx1100);
    let args = vector_add(&object, &["--arg", "out=nan:f32:730", "--trace", "--trace-limit", "2"]);
    document(&args, 0);
    let (_, stdout, stderr) = emulate(&args);
    assert!(stderr.contains("wave 0 exec") && !stdout.contains("exec 0x"), "{stdout}{stderr}");
}

/// The template kernel with other code over its no-ops.
fn planted(folder: &Path, target: Target, words: &[u32]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut bytes =
        std::fs::read(root.join(fixture("template", target))).expect("the fixture is there");
    let object = CodeObject::parse(&bytes).expect("the fixture is valid");
    let entry = object.kernels[0].entry_address;
    let segment = object
        .segments
        .iter()
        .find(|segment| segment.contains(entry, 4))
        .expect("its code is loaded");
    let start = (segment.file_offset + entry - segment.address) as usize;
    for (at, word) in (start..).step_by(4).zip(words) {
        bytes[at..][..4].copy_from_slice(&word.to_le_bytes());
    }
    let path: PathBuf = folder.join(format!("planted.{target}.hsaco"));
    std::fs::write(&path, bytes).expect("the folder is writable");
    path.to_str().expect("the path is text").to_owned()
}

const TEMPLATE: [&str; 10] = [
    "--kernel",
    "template",
    "--grid",
    "1",
    "--block",
    "64",
    "--arg",
    "0=iota:u32:256",
    "--arg",
    "1=zeros:u32:256",
];

/// Loads a word, waits if so wanted, and adds one to it. Encodings by LLVM 22's assembler.
fn load_and_use(target: Target, waits: bool) -> Vec<u32> {
    let (load, wait, add): (&[u32], u32, u32) = match target {
        Target::Gfx950 => (
            &[0xc00a_0100, 0, 0xbf8c_c07f, 0x2400_0082, 0xdc50_8000, 0x0104_0000],
            0xbf8c_0f70,
            0x6804_0281,
        ),
        Target::Gfx1100 => (
            &[0xf408_0100, 0xf800_0000, 0xbf89_fc07, 0x3000_0082, 0xdc52_0000, 0x0104_0000],
            0xbf89_03f7,
            0x4a04_0281,
        ),
    };
    let order = if waits { [wait, add] } else { [add, wait] };
    [load, &order].concat()
}

#[test]
fn a_planted_fault_is_a_finding_and_its_repaired_twin_is_clean() {
    let folder = tempfile::tempdir().unwrap();
    for target in Target::ALL {
        let object = planted(folder.path(), target, &load_and_use(target, false));
        let args = [&[object.as_str()], &TEMPLATE[..]].concat();
        let message = ends_with(
            &args,
            1,
            &["finding: use before wait", "global_load", "v_add", "remedy:", "FINDINGS: 1"],
        );
        assert!(message.contains("with 0x") && message.contains("at 0x"), "{message}");
        let told = document(&args, 1);
        assert_eq!(told["passed"], false);
        assert_eq!(told["findings"][0]["rule"], "use_before_wait");
        assert!(told["fault"].is_null());
        let object = planted(folder.path(), target, &load_and_use(target, true));
        ends_with(&[&[object.as_str()], &TEMPLATE[..]].concat(), 0, &["clean"]);
    }
}

#[test]
fn races_are_watched_for_unless_that_is_switched_off() {
    let folder = tempfile::tempdir().unwrap();
    for target in Target::ALL {
        // Every workgroup stores to the same words.
        let words: &[u32] = match target {
            Target::Gfx950 => &[0xc00a_0100, 0, 0xbf8c_c07f, 0x2400_0082, 0xdc70_8000, 0x0006_0000],
            Target::Gfx1100 => {
                &[0xf408_0100, 0xf800_0000, 0xbf89_fc07, 0x3000_0082, 0xdc6a_0000, 0x0006_0000]
            }
        };
        let object = planted(folder.path(), target, words);
        let one = [&[object.as_str()], &TEMPLATE[..]].concat();
        ends_with(&one, 0, &["clean: 0 findings"]);
        let two: Vec<&str> = one.iter().map(|arg| if *arg == "1" { "2" } else { *arg }).collect();
        ends_with(&two, 1, &["finding: global race", "global_store"]);
        let unwatched = [&two[..], &["--no-race-checks"]].concat();
        ends_with(&unwatched, 0, &["clean, races not watched for"]);
        let told = document(&unwatched, 0);
        assert_eq!((&told["race_checks"], &told["alignment"]), (&false.into(), &"hsa".into()));
        let strict =
            [&one[..], &["--lds-order", "conservative", "--alignment", "natural"]].concat();
        assert_eq!(document(&strict, 0)["lds_order"], "conservative");
        let said = "race checks on; LDS order conservative; alignment natural";
        ends_with(&strict, 0, &[said]);
        let unchecked = [&two[..], &["--no-checks"]].concat();
        ends_with(&unchecked, 0, &["UNCHECKED", "checks off"]);
        assert_eq!(document(&unchecked, 0)["checks"], false);
        let senseless = [&unwatched[..], &["--lds-order", "conservative"]].concat();
        ends_with(&senseless, 2, &["--lds-order", "--no-race-checks"]);
    }
}

#[test]
fn unknown_instructions_stop_with_their_bytes_and_address() {
    let folder = tempfile::tempdir().unwrap();
    for target in Target::ALL {
        let object = planted(folder.path(), target, &[0xbf80_0000, 0xffff_fffe]);
        let bytes = std::fs::read(&object).unwrap();
        let address = CodeObject::parse(&bytes).unwrap().kernels[0].entry_address + 4;
        let args = [&[object.as_str()], &TEMPLATE[..]].concat();
        let address = format!("{address:#x}");
        ends_with(
            &args,
            1,
            &["fault: no instruction", "fe ff ff ff", &address, "; nearest: ", "remedy:", "FAULT"],
        );
        let told = document(&args, 1);
        assert_eq!(told["passed"], false);
        assert!(told["fault"]["message"].as_str().unwrap().contains("fe ff ff ff"));
        assert_eq!(told["launches"][0]["fidelity"]["undecodable_dwords"], 1);
        assert_eq!(told["buffers"].as_object().unwrap().len(), 0);
    }
}

#[test]
fn faults_name_the_buffer_and_save_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for target in Target::ALL {
        let path = folder.path().join("out.npy");
        let (object, save) = (fixture("vector_add", target), format!("out={}", path.display()));
        let args = vector_add(&object, &["--arg", "out=nan:f32:729", "--save", &save]);
        ends_with(&args, 1, &["fault:", "'out'", "lane", "at 0x", "store", "remedy:"]);
        assert!(!path.exists());
        let args = vector_add(&object, &["--arg", "out=null"]);
        ends_with(&args, 1, &["fault:", "outside every buffer"]);
        let args = vector_add(&object, &["--arg", "out=nan:f32:730", "--instruction-limit", "9"]);
        let limited = ["limit of 9 wave instructions", "raise --instruction-limit", "is before 0x"];
        ends_with(&args, 1, &limited);
        assert_eq!(document(&args, 1)["fault"]["waves"][0]["activity"], "running");
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused_with_their_limits() {
    for target in Target::ALL {
        let object = fixture("vector_add", target);
        let with = |flag: &str, value: &str, code: i32, words: &[&str]| {
            let mut args = vector_add(&object, &["--arg", "out=nan:f32:730"]);
            match args.iter().position(|arg| *arg == flag) {
                Some(at) => args[at + 1] = value,
                None => args.extend([flag, value]),
            }
            ends_with(&args, code, words);
        };
        with("--block", "128", 2, &["workgroup size is 128, limit 100 work-items"]);
        with("--block", "10,10,2", 2, &["workgroup size is 200, limit 100 work-items"]);
        with("--block", "0", 2, &["at least 1"]);
        with("--grid", "8,0", 2, &["at least 1"]);
        with("--grid", "1,1,1,1", 2, &["4 numbers, the limit is 3"]);
        with("--grid", "x", 2, &["'x' is no number"]);
        with("--grid", "4294967295", 2, &["grid is", "limit 4294967295"]);
        with("--resident-workgroups", "0", 2, &["--resident-workgroups", "0 is not in 1"]);
        with("--dynamic-lds", "1000000", 2, &["LDS of a workgroup is 1000000, limit"]);
        with("--kernel", "vector_ad", 2, &["no kernel 'vector_ad'", "vector_add"]);
    }
}

#[test]
fn arguments_that_do_not_fit_list_what_is_expected() {
    let object = fixture("vector_add", Target::Gfx950);
    let call = |args: &[&str], words: &[&str]| {
        let head = [&object, "--kernel", "vector_add", "--grid", "8", "--block", "100"];
        let args: Vec<&str> =
            head.into_iter().chain(args.iter().flat_map(|arg| ["--arg", arg])).collect();
        ends_with(&args, 2, words);
    };
    let expected = ["a: global_buffer, 8 bytes at offset 0", "n: by_value, 4 bytes at offset 24"];
    call(&[], &["argument 'a' is missing", "argument 'n' is missing", expected[0], expected[1]]);
    let good = ["a=zeros:f32:730", "b=zeros:f32:730", "out=nan:f32:730", "n=i32:730"];
    let changed = |at: usize, arg: &'static str| {
        let mut args = good;
        args[at] = arg;
        args
    };
    call(&[&good[..], &["m=i32:1"]].concat(), &["no argument 'm'", expected[1]]);
    call(&[&good[..], &["n=i32:1"]].concat(), &["'n' is given 2 times"]);
    call(&changed(0, "0=zeros:f32:730"), &["no argument '0'", "argument 'a' is missing"]);
    call(
        &changed(0, "a=i32:1"),
        &["'a': 'i32:1' is a value of 4 bytes, the kernel takes a buffer"],
    );
    call(&changed(3, "n=i64:730"), &["'n': 'i64:730' has 8 bytes, the kernel takes 4"]);
    call(&changed(3, "n=zeros:i32:1"), &["'n'", "takes 4 bytes by value"]);
    call(&changed(2, "out=same:n"), &["'n' names no argument with a buffer", "a, b"]);
    call(&changed(2, "out=same:out"), &["'out' names no argument with a buffer"]);
    call(&changed(2, "out"), &["--arg out: is not NAME=VALUE"]);
    call(&changed(2, "out=zero:f32:9"), &["--arg out=zero:f32:9", "did you mean `zeros`"]);
    call(&changed(2, "out=zeros:f23:9"), &["'f23' is no element type", "did you mean `f32`"]);
    call(&changed(2, "out=fill:i8:200:9"), &["200 is outside i8"]);
    call(&changed(2, "out=no/such.npy"), &["no/such.npy"]);
    call(&changed(2, "out=README.md"), &["'README.md' is no value"]);
    call(&changed(2, "out=zeros:f32:99999999999"), &["'out'", "limit of 8589934592 B"]);
    let save = |text: &str, words: &[&str]| {
        ends_with(&vector_add(&object, &["--arg", "out=nan:f32:730", "--save", text]), 2, words);
    };
    save("out", &["is not NAME=FILE"]);
    save("n=x.npy", &["'n' names no argument with a buffer", "there are a, b, out"]);
    save("out=x.txt", &[".npy, .safetensors or .bin"]);
    save("out=README.md/x.npy", &["README.md/x.npy"]);
}

#[test]
fn what_is_no_code_object_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let call = |path: &str, words: &[&str]| {
        ends_with(&vector_add(path, &["--arg", "out=nan:f32:730"]), 2, words);
    };
    call("README.md", &["README.md", "ELF magic"]);
    call("no/such.hsaco", &["no/such.hsaco"]);
    let whole = std::fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture("vector_add", Target::Gfx950)),
    )
    .unwrap();
    let path = folder.path().join("cut.hsaco");
    for length in [0, 63, 64, 500, whole.len() / 2] {
        std::fs::write(&path, &whole[..length]).unwrap();
        call(path.to_str().unwrap(), &["cut.hsaco"]);
    }
}

#[test]
fn the_help_has_the_grammar() {
    let words = [
        "Workgroups (not work-items)",
        "zeros:TYPE:COUNT",
        "FILE.safetensors#TENSOR",
        "same:ARGUMENT",
        "null",
        "bf16",
    ];
    ends_with(&["--help"], 0, &words);
}
