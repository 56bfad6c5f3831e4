//! Loads, stores and atomics through buffer resources, without a branch at the edges: what lies outside the
//! range reads as zero and is not written.

use isa::Target;

use crate::bench::{ALL_LEVELS, Arg, BOTH, Bench, Program, assert_equal, random_words};
use crate::ir::{Ir, kernel, v};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "raw_buffers",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: raw,
        check: check_raw,
    },
    Program {
        name: "buffer_atomics",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: atomics,
        check: check_atomics,
    },
    Program {
        name: "structures",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: structures,
        check: check_structures,
    },
];

const BLOCK: u32 = 128;
const N: usize = 300;
const GROUPS: u32 = 3;

/// Word 3 of a resource: 32-bit data, and on gfx1100 range checks by offset (3) or by structure (1).
fn word_3(target: Target, oob_select: u32) -> u32 {
    match target {
        Target::Gfx950 => 0x27000,
        Target::Gfx1100 => 0x0002_7000 | oob_select << 28,
    }
}

/// A resource over `records` (bytes, or structures of `stride` bytes).
fn resource(ir: &mut Ir, base: &str, stride: u32, records: &str) -> String {
    let flags = word_3(ir.target, if stride == 0 { 3 } else { 1 }).cast_signed();
    let wide = v!(ir, "zext i32 {records} to i64");
    v!(
        ir,
        "call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) {base}, i16 {stride}, \
         i64 {wide}, i32 {flags})"
    )
}

fn element(ir: &mut Ir) -> String {
    let (item, group) = (ir.item(), ir.group());
    let start = v!(ir, "mul i32 {group}, {BLOCK}");
    v!(ir, "add i32 {start}, {item}")
}

/// Types of the raw accesses and bytes of each; every one copies its own part of the buffers.
const WIDTHS: [(&str, u32); 6] =
    [("i8", 1), ("i16", 2), ("i32", 4), ("<2 x i32>", 8), ("<3 x i32>", 12), ("<4 x i32>", 16)];

fn raw(target: Target) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n";
    kernel(target, "raw_buffers", params, BLOCK, |ir| {
        let at = element(ir);
        let mut start = 0;
        for (ty, bytes) in WIDTHS {
            let [from, to] = ["%in", "%out"].map(|base| ir.at(1, "i8", base, &start.to_string()));
            let records = v!(ir, "mul i32 %n, {bytes}");
            let (from, to) = (resource(ir, &from, 0, &records), resource(ir, &to, 0, &records));
            let offset = v!(ir, "mul i32 {at}, {bytes}");
            let name = ty.replace("<", "v").replace(" x ", "").replace(">", "");
            let x = v!(
                ir,
                "call {ty} @llvm.amdgcn.raw.ptr.buffer.load.{name}(ptr addrspace(8) {from}, i32 {offset}, \
                 i32 0, i32 0)"
            );
            ir.statement(&format!(
                "call void @llvm.amdgcn.raw.ptr.buffer.store.{name}({ty} {x}, ptr addrspace(8) {to}, \
                 i32 {offset}, i32 0, i32 0)"
            ));
            // What was read beyond the range is zero: shown behind everything.
            if ty == "i32" {
                let total: u32 = WIDTHS.iter().map(|(_, bytes)| bytes * GROUPS * BLOCK).sum();
                let shown = ir.at(1, "i8", "%out", &total.to_string());
                ir.store(1, "i32", &x, &shown, &at);
            }
            start += bytes * GROUPS * BLOCK;
        }
    })
}

fn check_raw(bench: &mut Bench) {
    let room = (GROUPS * BLOCK) as usize;
    let size: usize = WIDTHS.iter().map(|(_, bytes)| *bytes as usize * room).sum();
    let bytes: Vec<u8> = random_words(81, size).iter().map(|word| *word as u8).collect();
    let (input, out) = (bench.input(&bytes), bench.output::<u8>(size + 4 * room));
    bench.launch(GROUPS, BLOCK, &[input, out, Arg::U32(N as u32)]);
    let got: Vec<u8> = bench.read(out);
    let mut start = 0;
    for (ty, width) in WIDTHS {
        let (inside, end) = (start + N * width as usize, start + room * width as usize);
        assert_equal(ty, &got[start..inside], &bytes[start..inside]);
        let untouched = (inside..end).all(|at| got[at] == [0xff, 0x7f][at % 2]);
        assert!(untouched, "{ty}: written outside the range");
        if ty == "i32" {
            let mut shown = bytes[start..inside].to_vec();
            shown.resize(4 * room, 0);
            assert_equal("words as read", &got[size..], &shown);
        }
        start = end;
    }
}

/// Every work-item adds to one of a few cells; those that aim outside change nothing and find zero.
fn atomics(target: Target) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n";
    kernel(target, "buffer_atomics", params, BLOCK, |ir| {
        let at = element(ir);
        let cells = v!(ir, "mul i32 %n, 4");
        let cells = resource(ir, "%out", 0, &cells);
        let x = ir.load(1, "i32", "%in", &at);
        let cell = v!(ir, "urem i32 {x}, 50");
        let offset = v!(ir, "mul i32 {cell}, 4");
        ir.statement(&format!(
            "call i32 @llvm.amdgcn.raw.ptr.buffer.atomic.add.i32(i32 {x}, ptr addrspace(8) {cells}, \
             i32 {offset}, i32 0, i32 0)"
        ));
    })
}

fn check_atomics(bench: &mut Bench) {
    let values = random_words(82, (GROUPS * BLOCK) as usize);
    let (input, out) = (bench.input(&values), bench.input(&[7_u32; 50]));
    bench.launch(GROUPS, BLOCK, &[input, out, Arg::U32(40)]);
    let mut expected = [7_u32; 50];
    for value in &values {
        let cell = (value % 50) as usize;
        if cell < 40 {
            expected[cell] = expected[cell].wrapping_add(*value);
        }
    }
    assert_equal("cells", &bench.read::<u32>(out), &expected);
}

/// Structures of 12 bytes, by index: the second and third word are read, their sum is written to the first.
fn structures(target: Target) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n";
    kernel(target, "structures", params, BLOCK, |ir| {
        let at = element(ir);
        let [from, to] = ["%in", "%out"].map(|base| resource(ir, base, 12, "%n"));
        let words = [4, 8].map(|offset| {
            v!(
                ir,
                "call i32 @llvm.amdgcn.struct.ptr.buffer.load.i32(ptr addrspace(8) {from}, i32 {at}, \
                 i32 {offset}, i32 0, i32 0)"
            )
        });
        let sum = v!(ir, "add i32 {}, {}", words[0], words[1]);
        ir.statement(&format!(
            "call void @llvm.amdgcn.struct.ptr.buffer.store.i32(i32 {sum}, ptr addrspace(8) {to}, i32 {at}, \
             i32 0, i32 0, i32 0)"
        ));
    })
}

fn check_structures(bench: &mut Bench) {
    let room = (GROUPS * BLOCK) as usize;
    let words = random_words(83, 3 * room);
    let (input, out) = (bench.input(&words), bench.output::<u32>(3 * room));
    bench.launch(GROUPS, BLOCK, &[input, out, Arg::U32(N as u32)]);
    let mut expected = vec![0x7fff_7fff_u32; 3 * room];
    for i in 0..N {
        expected[3 * i] = words[3 * i + 1].wrapping_add(words[3 * i + 2]);
    }
    assert_equal("structures", &bench.read::<u32>(out), &expected);
}
