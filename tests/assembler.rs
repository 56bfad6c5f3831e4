//! LLVM's assembler and disassembler as services of the worker: whole files, lists of lines, batches, and
//! what they say about text that is wrong.

#![cfg(feature = "llvm")]

use std::process::{Command, Stdio};

use codeobj::CodeObject;
use emit::llvm::protocol::{self, Assembly, Reply, Request};
use emit::llvm::{
    Cause, Failure, Options, assemble, assemble_lines, compile_text, disassemble, disassemble_each,
};
use isa::Target;

const WORKER: &str = env!("CARGO_BIN_EXE_wavesmith-llvm");

fn options() -> Options {
    Options { worker: Some(WORKER.into()), ..Options::default() }
}

/// A kernel that stores nothing and ends, as a whole assembly file.
fn file(target: Target, instructions: &str) -> String {
    let accum_offset = match target {
        Target::Gfx950 => ".amdhsa_accum_offset 4",
        Target::Gfx1100 => "",
    };
    format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{target}\"
.amdhsa_code_object_version 5
.text
.globl ends
.p2align 8
.type ends,@function
ends:
{instructions}
s_endpgm
.Lend:
.size ends, .Lend-ends
.rodata
.p2align 6
.amdhsa_kernel ends
.amdhsa_next_free_vgpr 4
.amdhsa_next_free_sgpr 8
{accum_offset}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{target}
amdhsa.kernels:
  - .name: ends
    .symbol: ends.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 4
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: {wave}
    .sgpr_count: 8
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .args: []
...
.end_amdgpu_metadata
",
        wave = target.wave_width(),
    )
}

fn complaints(cause: Cause) -> Vec<(u32, u32, String)> {
    let Cause::Failed(Failure::Assembly { diagnostics }) = cause else { panic!("{cause}") };
    diagnostics.into_iter().map(|found| (found.line, found.column, found.message)).collect()
}

#[test]
fn a_whole_file_becomes_a_code_object() {
    for target in Target::ALL {
        let bytes = assemble(target, &file(target, "v_mov_b32 v0, 1.0"), &options())
            .unwrap_or_else(|cause| panic!("{target}: {cause}"));
        let code_object = CodeObject::parse(&bytes).expect("our reader accepts it");
        let kernel = code_object.kernel("ends").expect("it has the kernel");
        let code = code_object.code(kernel).expect("the kernel has code");
        // v_mov_b32_e32 v0, 1.0 (the same on both targets), then s_endpgm.
        assert_eq!(code[..4], [0xf2, 0x02, 0x00, 0x7e]);
        assert_eq!(code.len(), 8, "{target}");
    }
}

#[test]
fn the_compilers_own_assembly_gives_the_compilers_code() {
    for target in Target::ALL {
        let text = format!(
            "wavesmith-ir 1
kernel copies
target {target}
workgroup_size {}
param %0 x: buffer f32 read_only align 16
param %1 y: buffer f32 write_only align 16
body {{
  %2: i32 varying = special thread_id
  %3: i32 uniform = const 2
  %4: i32 varying = shl %2, %3
  %5: f32 varying = load global %0 + %4 align 4
  store global %1 + %4 align 4, %5
}}
",
            target.wave_width()
        );
        let compiled = compile_text("copies", &text, &options()).expect("the kernel is right");
        let assembled = assemble(target, &compiled.assembly, &options()).expect("LLVM wrote it");
        let code = |bytes: &[u8]| {
            let code_object = CodeObject::parse(bytes).expect("our reader accepts it");
            let kernel = code_object.kernel("copies").expect("it has the kernel");
            code_object.code(kernel).expect("the kernel has code").to_vec()
        };
        assert_eq!(code(&assembled), code(&compiled.code_object), "{target}");
    }
}

#[test]
fn every_error_of_a_file_has_its_line_and_column() {
    let text = file(Target::Gfx1100, "v_mov_b32 v0, v1\n  v_frobnicate v0\nv_mov_b32 v0");
    let found =
        complaints(assemble(Target::Gfx1100, &text, &options()).expect_err("two lines are wrong"));
    let places: Vec<_> = found.iter().map(|(line, column, _)| (*line, *column)).collect();
    assert_eq!(places, [(9, 3), (10, 1)], "{found:?}");
    assert!(found[0].2.contains("invalid instruction"), "{found:?}");
    assert!(found[1].2.contains("too few operands"), "{found:?}");
}

#[test]
fn a_file_of_another_target_is_refused() {
    let text = file(Target::Gfx1100, "");
    let found =
        complaints(assemble(Target::Gfx950, &text, &options()).expect_err("another target"));
    assert!(
        found.iter().any(|(line, _, words)| *line == 1 && words.contains("gfx1100")),
        "{found:?}"
    );
}

#[test]
fn an_undefined_label_is_no_code_object() {
    let text = file(Target::Gfx950, "s_branch nowhere");
    let cause = assemble(Target::Gfx950, &text, &options()).expect_err("there is no such label");
    assert!(matches!(cause, Cause::Failed(_)), "{cause}");
    assert!(cause.to_string().contains("nowhere"), "{cause}");
}

#[test]
fn every_line_of_a_list_answers_for_itself() {
    let text =
        "s_nop 0\n\nv_frobnicate v0\nback:\n  s_branch back ; a comment\nv_mov_b32 v0\ns_endpgm";
    let lines = assemble_lines(Target::Gfx950, text, &options()).expect("the worker is right");
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[0], Ok(vec![0x00, 0x00, 0x80, 0xbf]));
    assert_eq!((&lines[1], &lines[3]), (&Ok(vec![]), &Ok(vec![])));
    assert_eq!(lines[4], Ok(vec![0xff, 0xff, 0x82, 0xbf]));
    assert_eq!(lines[6], Ok(vec![0x00, 0x00, 0x81, 0xbf]));
    let unknown = lines[2].as_ref().expect_err("there is no such instruction");
    assert_eq!((unknown.line, unknown.column), (3, 1));
    assert!(unknown.message.contains("invalid instruction"), "{unknown}");
    let short = lines[5].as_ref().expect_err("an operand is missing");
    assert_eq!((short.line, short.column), (6, 1));
}

#[test]
fn a_jump_to_nowhere_is_the_fault_of_its_line() {
    let text = "s_nop 0\ns_branch nowhere\ns_nop 1";
    let lines = assemble_lines(Target::Gfx1100, text, &options()).expect("the worker is right");
    assert!(lines[0].is_ok() && lines[2].is_ok(), "{lines:?}");
    let complaint = lines[1].as_ref().expect_err("there is no such label").to_string();
    assert!(complaint.starts_with("2:") && complaint.contains("nowhere"), "{complaint}");
}

#[test]
fn lists_that_are_no_lists_are_refused_as_a_whole() {
    let cases = [".data\ns_nop 0", ".if 1\ns_nop 0"];
    for text in cases {
        match assemble_lines(Target::Gfx1100, text, &options()) {
            Err(Cause::Failed(Failure::Assembly { diagnostics })) => {
                assert!(!diagnostics.is_empty());
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_stream_is_disassembled_to_its_end() {
    let code = [
        &[0x00, 0x00, 0x80, 0xbf][..],
        &[0xff, 0x02, 0x00, 0x7e, 0x40, 0xe2, 0x01, 0x00],
        &[0xff; 4],
        &[0x00, 0x00, 0x81, 0xbf, 0x01, 0x02],
    ];
    let lines = disassemble(Target::Gfx950, &code.concat(), &options()).expect("a right worker");
    let lines: Vec<_> = lines.iter().map(|line| (line.size_bytes, line.text.as_deref())).collect();
    assert_eq!(
        lines,
        [
            (4, Some("s_nop 0")),
            (8, Some("v_mov_b32_e32 v0, 0x1e240")),
            (4, None),
            (4, Some("s_endpgm")),
            (2, None),
        ]
    );
}

#[test]
fn thousands_of_instructions_travel_in_one_request() {
    const COUNT: usize = 20_000;
    let text: String = (0..COUNT)
        .map(|i| format!("v_add_f32 v{}, {}, v1\n", i % 256, i as u32 * 7 + 100))
        .collect();
    for target in Target::ALL {
        let lines = assemble_lines(target, &text, &options()).expect("the worker is right");
        let pieces: Vec<[u8; 8]> = lines
            .into_iter()
            .map(|line| line.expect("LLVM takes it").try_into().expect("with a literal: 8 bytes"))
            .collect();
        assert_eq!(pieces.len(), COUNT);
        let texts = disassemble_each(target, &pieces, &options()).expect("the worker is right");
        assert_eq!(texts.len(), COUNT);
        let last = texts.last().and_then(|line| line.text.as_deref());
        assert_eq!(last, Some("v_add_f32_e32 v31, 0x2233d, v1"));
    }
}

/// The worker's reply to a request, past the client.
fn replied(request: Request, body: &[u8]) -> Reply {
    let mut child = Command::new(WORKER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the worker starts");
    let stdin = child.stdin.take().expect("the input is piped");
    protocol::write_frame(stdin, request, &[body]).expect("the worker reads");
    let output = child.wait_with_output().expect("the worker ends");
    protocol::read_frame(&output.stdout[..]).expect("it replies").0
}

#[test]
fn requests_that_make_no_sense_are_answered() {
    let target = || "gfx1100".to_owned();
    let cases = [
        (Request::Disassemble { target: "gfx90a".to_owned(), slot_bytes: None }, "gfx90a"),
        (Request::Disassemble { target: target(), slot_bytes: Some(0) }, "0 bytes"),
        (Request::Assemble { target: target(), output: Assembly::Lines }, "utf-8"),
    ];
    for (request, expected) in cases {
        match replied(request, b"\xff\xfe") {
            Reply::Failed(Failure::Rejected { message }) => {
                assert!(message.contains(expected), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
}
