//! The LLVM worker as a process: what it delivers, and what it does with everything else.

#![cfg(feature = "llvm")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use dsl::ir::Kernel;
use emit::llvm::protocol::{self, Reply, Request};
use emit::llvm::{Artefacts, Cause, EmitError, Failure, Options, compile, compile_text, describe};
use goblin::elf::Elf;
use isa::Target;

const WORKER: &str = env!("CARGO_BIN_EXE_wavesmith-llvm");

fn options() -> Options {
    Options { worker: Some(WORKER.into()), ..Options::default() }
}

/// One of the misbehaving programs in `tests/workers`.
fn stand_in(name: &str) -> Options {
    let worker = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workers").join(name);
    Options { worker: Some(worker), time_limit: Duration::from_secs(20) }
}

/// Doubles a buffer; `statements` come before the store of `%6`, the doubled value.
fn text(target: Target, statements: &str) -> String {
    let workgroup_size = target.wave_width() * 2;
    format!(
        "wavesmith-ir 1
kernel doubles
target {target}
workgroup_size {workgroup_size}
param %0 x: buffer f32 read_only align 16
param %1 y: buffer f32 write_only align 16
body {{
  %2: i32 varying = special thread_id
  %3: i32 uniform = const 2
  %4: i32 varying = shl %2, %3
  %5: f32 varying = load global %0 + %4 align 4
  %6: f32 varying = fadd %5, %5
  {statements}
  store global %1 + %4 align 4, %6
}}
"
    )
}

fn kernel(target: Target) -> Kernel {
    dsl::text::parse(&text(target, "")).expect("the text is right")
}

fn built(target: Target) -> Artefacts {
    compile(&kernel(target), &options()).expect("the kernel is right")
}

fn cause(result: Result<Artefacts, EmitError>) -> Cause {
    result.expect_err("this must fail").cause
}

/// The worker with raw bytes on its input.
fn raw(command: &mut Command, input: &[u8]) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the worker starts");
    // It may refuse before it has read everything.
    child.stdin.take().expect("the input is piped").write_all(input).ok();
    child.wait_with_output().expect("the worker ends")
}

fn reply(output: &Output) -> Reply {
    let frame = protocol::read_frame(&output.stdout[..]);
    frame.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr))).0
}

fn request(content: Request, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    protocol::write_frame(&mut bytes, content, &[body]).expect("a vector takes everything");
    bytes
}

#[test]
fn a_kernel_becomes_a_code_object() {
    for (target, mach) in [(Target::Gfx950, 0x4f), (Target::Gfx1100, 0x41)] {
        let artefacts = built(target);
        assert!(artefacts.llvm.version.starts_with("22.1."), "{}", artefacts.llvm.version);
        assert!(artefacts.llvm_ir.contains("define protected amdgpu_kernel void @doubles("));
        assert!(artefacts.assembly.contains("v_add_f32"));
        let elf = Elf::parse(&artefacts.code_object).expect("an independent reader accepts it");
        assert_eq!((elf.header.e_machine, elf.header.e_flags & 0xff), (224, mach));
        // OSABI and ABI version: HSA, code object version 5.
        assert_eq!(elf.header.e_ident[7..9], [64, 3]);
        let names: Vec<_> =
            elf.dynsyms.iter().filter_map(|symbol| elf.dynstrtab.get_at(symbol.st_name)).collect();
        assert!(names.contains(&"doubles") && names.contains(&"doubles.kd"), "{names:?}");
        let undefined: Vec<_> = elf
            .dynsyms
            .iter()
            .filter(|symbol| symbol.st_name != 0 && symbol.st_shndx == 0)
            .collect();
        assert!(undefined.is_empty(), "{undefined:?}");
    }
}

#[test]
fn the_linker_leaves_no_name_of_its_own() {
    let code_object = built(Target::Gfx1100).code_object;
    let elf = Elf::parse(&code_object).expect("an independent reader accepts it");
    let comment = elf
        .section_headers
        .iter()
        .find(|header| elf.shdr_strtab.get_at(header.sh_name) == Some(".comment"));
    let range = comment.and_then(|header| header.file_range()).expect("there is a comment section");
    assert_eq!(&code_object[range], b"Linker: wavesmith\0");
}

#[test]
fn bytes_do_not_depend_on_folder_or_environment() {
    for target in Target::ALL {
        let input = request(Request::Compile, text(target, "").as_bytes());
        let folders =
            [tempfile::tempdir(), tempfile::tempdir()].map(|folder| folder.expect("a folder"));
        let outputs = [(&folders[0], "one", "C"), (&folders[1], "another", "POSIX")].map(
            |(folder, name, locale)| {
                let temporary = folder.path().join(name);
                std::fs::create_dir(&temporary).expect("a folder inside");
                let mut command = Command::new(WORKER);
                command.current_dir(folder.path()).env("TMPDIR", &temporary).env("LC_ALL", locale);
                raw(&mut command, &input).stdout
            },
        );
        assert!(outputs[0].len() > 1000);
        assert_eq!(outputs[0], outputs[1]);
        let ours = built(target);
        let other = String::from_utf8_lossy(&outputs[0]).into_owned();
        assert!(other.contains(&ours.llvm_ir) && other.contains(&ours.assembly));
    }
}

#[test]
fn the_worker_describes_its_tools() {
    let report = describe(&options()).expect("the worker is right");
    assert_eq!(report.worker, PathBuf::from(WORKER));
    let toolchain = report.toolchain;
    assert!(toolchain.llvm.version.starts_with("22.1."));
    assert!(toolchain.llvm.data_layout.contains("p8:128:128:128:48"));
    assert!(Path::new(&toolchain.libllvm).is_file(), "{}", toolchain.libllvm);
    assert!(Path::new(&toolchain.lld).is_file(), "{}", toolchain.lld);
    let version = toolchain.lld_version.expect("the linker tells its version");
    assert!(version.starts_with("LLD 22."), "{version}");
    assert_eq!(toolchain.llvm, built(Target::Gfx950).llvm);
}

#[test]
fn frames_that_are_none_are_refused_with_a_reply() {
    let right = request(Request::Compile, text(Target::Gfx950, "").as_bytes());
    let header_end = right.iter().position(|byte| *byte == b'\n').expect("a header line");
    let long_line = vec![b'x'; 2 << 20];
    let cases: &[(&[u8], &str)] = &[
        (b"", "no complete header"),
        (b"hello\n", "not understood"),
        (b"{}\n", "not understood"),
        (b"\xff\xfe\x00\n", "not understood"),
        (&long_line, "no complete header"),
        (&right[..header_end], "no complete header"),
        (&right[..header_end + 20], "ended after 19 of"),
        (
            b"{\"protocol\":1,\"body_bytes\":18446744073709551615,\"content\":\"compile\"}\n",
            "over the limit",
        ),
        (
            b"{\"protocol\":1,\"body_bytes\":99999999999999999999999,\"content\":\"compile\"}\n",
            "not understood",
        ),
        (b"{\"protocol\":1,\"body_bytes\":-1,\"content\":\"compile\"}\n", "not understood"),
        (b"{\"protocol\":1,\"body_bytes\":0,\"content\":\"destroy\"}\n", "not understood"),
        (b"{\"protocol\":7,\"body_bytes\":0,\"content\":\"compile\"}\n", "protocol version 7"),
        (b"{\"protocol\":1,\"body_bytes\":0,\"content\":\"describe\"}\nmore", "bytes follow"),
    ];
    for (input, expected) in cases {
        let output = raw(&mut Command::new(WORKER), input);
        let Reply::Failed(Failure::BadRequest { message }) = reply(&output) else {
            panic!("{output:?}")
        };
        assert!(message.contains(expected), "{message}");
        assert!(output.status.success(), "the reply is the answer: {}", output.status);
    }
}

#[test]
fn texts_that_are_no_kernel_are_rejected() {
    let good = text(Target::Gfx1100, "");
    let cases = [
        (String::new(), "kernel text"),
        ("\u{0}".repeat(1000), "kernel text"),
        (good.replace("gfx1100", "gfx1101"), "gfx1101"),
        (good.replace("fadd", "fsum"), "fsum"),
        (good.replace("%5, %5", "%5, %9"), "%9"),
        (good.replace("workgroup_size 64", "workgroup_size 63"), "63"),
        (good.replace("kernel doubles", &format!("kernel {}", "d".repeat(5000))), "kernel"),
        (good.replace("body {", "lds big: 65540 bytes align 4\nbody {"), "65540"),
    ];
    for (text, expected) in cases {
        match cause(compile_text("doubles", &text, &options())) {
            Cause::Failed(Failure::Rejected { message }) => {
                assert!(message.contains(expected), "{message}")
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn mutated_texts_are_compiled_or_refused() {
    let good = text(Target::Gfx1100, "");
    let (mut state, mut refused) = (0x9e37_79b9_u32, 0);
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    for _ in 0..60 {
        let mut bytes = good.clone().into_bytes();
        let at = random(bytes.len());
        match random(3) {
            0 => bytes.truncate(at),
            1 => bytes[at] = b"%{}:0123456789 \n"[random(16)],
            _ => bytes.drain(at..(at + 8).min(good.len())).for_each(drop),
        }
        let text = String::from_utf8(bytes).expect("the mutations are ASCII");
        match compile_text("mutant", &text, &options()) {
            Ok(_) => {}
            Err(EmitError { cause: Cause::Failed(Failure::Rejected { .. }), .. }) => refused += 1,
            Err(error) => panic!("{error}\n{text}"),
        }
    }
    assert!(refused > 30, "only {refused} of 60 mutants were refused");
}

#[test]
fn a_made_up_intrinsic_is_named_with_its_kernel() {
    for target in Target::ALL {
        let text = text(target, "%7: f32 varying = intrinsic llvm.amdgcn.frobnicate %5");
        let error =
            compile_text("my_spec", &text, &options()).expect_err("there is no such intrinsic");
        let symbol = "llvm.amdgcn.frobnicate".to_owned();
        assert_eq!(error.cause, Cause::Failed(Failure::UnknownIntrinsic { symbol }));
        let words = error.to_string();
        assert!(words.contains("my_spec") && words.contains("llvm.amdgcn.frobnicate"), "{words}");
        assert!(!error.cause.is_unavailable());
    }
}

/// Calls a gfx1100 intrinsic on the bits of `%5`, and uses the result so that it must be selected.
fn with_intrinsic(target: Target, call: &str) -> String {
    let statements = format!(
        "%7: i32 varying = bitcast %5
  %8: i32 varying = intrinsic {call}
  %9: f32 varying = bitcast %8
  store global %1 + %4 + 1024 align 4, %9"
    );
    text(target, &statements)
}

#[test]
fn an_intrinsic_of_another_target_is_llvms_fatal_error() {
    let call = "llvm.amdgcn.mov.dpp8.i32 %7, %3";
    assert!(compile_text("doubles", &with_intrinsic(Target::Gfx1100, call), &options()).is_ok());
    match cause(compile_text("doubles", &with_intrinsic(Target::Gfx950, call), &options())) {
        Cause::Failed(Failure::Fatal { message }) => {
            assert!(message.contains("llvm.amdgcn.mov.dpp8"), "{message}")
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_crash_inside_llvm_is_contained() {
    // LLVM 22 takes the missing instruction as far as its size, and reads beyond a table.
    let call = "llvm.amdgcn.permlane64.i32 %7";
    assert!(compile_text("doubles", &with_intrinsic(Target::Gfx1100, call), &options()).is_ok());
    let error = compile_text("doubles", &with_intrinsic(Target::Gfx950, call), &options())
        .expect_err("no such instruction");
    assert!(
        matches!(error.cause, Cause::Crashed { .. } | Cause::Failed(Failure::Fatal { .. })),
        "{error}"
    );
}

#[test]
fn a_missing_or_useless_linker_is_reported() {
    let input = request(Request::Compile, text(Target::Gfx950, "").as_bytes());
    for (lld, expected) in [
        ("/nowhere/lld", "/nowhere/lld"),
        ("/bin/false", "exit status: 1"),
        ("/bin/true", "kernel.hsaco"),
    ] {
        let output = raw(Command::new(WORKER).env("WAVESMITH_LLD", lld), &input);
        let Reply::Failed(Failure::LinkFailed { message }) = reply(&output) else {
            panic!("{output:?}")
        };
        assert!(message.contains(expected), "{message}");
    }
    let output = raw(
        Command::new(WORKER).env("WAVESMITH_LLD", "/nowhere/lld"),
        &request(Request::Describe, b""),
    );
    let Reply::Described(toolchain) = reply(&output) else { panic!("{output:?}") };
    assert!(toolchain.lld_version.is_err_and(|words| words.contains("/nowhere/lld")));
}

/// A worker that is killed while it links leaves a folder, which a later one removes once it is stale.
#[test]
fn a_killed_worker_leaves_nothing_for_long() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let lld = folder.path().join("lld");
    std::fs::write(&lld, "#!/bin/sh\nkill -9 $PPID\n").unwrap();
    std::fs::set_permissions(&lld, std::fs::Permissions::from_mode(0o755)).unwrap();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let input = request(Request::Compile, text(Target::Gfx950, "").as_bytes());
    let run = |lld: Option<&Path>| {
        let mut worker = Command::new(WORKER);
        worker.env("TMPDIR", &temporary);
        if let Some(lld) = lld {
            worker.env("WAVESMITH_LLD", lld);
        }
        raw(&mut worker, &input).status
    };
    let left = || -> Vec<PathBuf> {
        std::fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    assert!(!run(Some(&lld)).success());
    let [killed] = left().try_into().expect("its folder");
    // It might still be at work.
    assert!(run(None).success());
    assert_eq!(left(), std::slice::from_ref(&killed));
    let two_hours_ago = std::time::SystemTime::now() - Duration::from_secs(7200);
    std::fs::File::open(&killed).unwrap().set_modified(two_hours_ago).unwrap();
    assert!(run(None).success());
    assert_eq!(left(), Vec::<PathBuf>::new());
}

#[test]
fn a_worker_that_dies_is_reported_with_its_signal() {
    assert_eq!(
        cause(compile(&kernel(Target::Gfx950), &stand_in("crashes"))),
        Cause::Crashed { signal: 11, stderr: String::new() }
    );
    let killed =
        compile(&kernel(Target::Gfx950), &stand_in("is_killed")).expect_err("it is killed");
    assert_eq!(killed.cause, Cause::Crashed { signal: 9, stderr: "out of memory\n".to_owned() });
    assert_eq!(
        killed.to_string(),
        "kernel 'doubles': the LLVM worker was killed by signal 9: out of memory"
    );
}

#[test]
fn a_worker_that_hangs_is_stopped_in_time() {
    let started = Instant::now();
    let limit = Duration::from_millis(300);
    let options = Options { time_limit: limit, ..stand_in("hangs") };
    assert_eq!(cause(compile(&kernel(Target::Gfx950), &options)), Cause::TimedOut { limit });
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn the_real_worker_can_be_stopped_too() {
    let options = Options { time_limit: Duration::from_millis(1), ..options() };
    assert!(matches!(cause(compile(&kernel(Target::Gfx950), &options)), Cause::TimedOut { .. }));
}

#[test]
fn workers_that_break_the_protocol_are_broken() {
    for (name, expected) in [
        ("babbles", "no complete header"),
        ("stops_short", "ended after 5 of 1000 bytes"),
        ("miscounts", "do not add up"),
        ("speaks_version_2", "protocol version 2"),
    ] {
        let cause = cause(compile(&kernel(Target::Gfx950), &stand_in(name)));
        let Cause::WorkerBroken { problem, .. } = &cause else { panic!("{name}: {cause}") };
        assert!(problem.contains(expected), "{name}: {problem}");
        assert!(cause.is_unavailable());
    }
    let not_a_program = Options {
        worker: Some(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into()),
        ..options()
    };
    let cause = cause(compile(&kernel(Target::Gfx950), &not_a_program));
    assert!(
        matches!(&cause, Cause::WorkerBroken { problem, .. } if problem.contains("does not start")),
        "{cause}"
    );
}

#[test]
fn full_pipes_block_nobody() {
    // Both pipes are filled beyond what the system buffers before the worker looks at its input.
    let long = text(Target::Gfx950, &"; a comment that only takes room\n".repeat(100_000));
    match cause(compile_text("doubles", &long, &stand_in("complains_at_length"))) {
        Cause::Failed(Failure::Fatal { message }) => assert_eq!(message, "enough"),
        other => panic!("{other}"),
    }
    assert!(compile_text("doubles", &long, &options()).is_ok());
}

#[test]
fn a_missing_worker_says_how_to_build_it() {
    let options = Options { worker: Some("/nowhere/wavesmith-llvm".into()), ..Options::default() };
    let error = compile(&kernel(Target::Gfx950), &options).expect_err("there is no worker");
    assert!(matches!(error.cause, Cause::WorkerMissing { .. }));
    assert!(error.to_string().contains("cargo build --release"));
    assert!(matches!(describe(&options), Err(Cause::WorkerMissing { .. })));
}

#[test]
fn the_worker_is_found_beside_the_tests() {
    assert_eq!(
        compile(&kernel(Target::Gfx950), &Options::default())
            .map(|artefacts| artefacts.llvm_ir)
            .ok(),
        Some(built(Target::Gfx950).llvm_ir)
    );
}
