//! Every operation on values that are the same in all lanes and on values that are not.
//!
//! LLVM keeps the former in scalar registers where it can, and some of its operations fail there.

use crate::support::{assert_lacks, build, instructions};
use isa::Target;

const DECLARATIONS: &str = "param %0 f: buffer f32 read_only align 16
param %1 h: buffer f16 read_only align 16
param %2 b: buffer bf16 read_only align 16
param %3 y: buffer f32 write_only align 16";

/// Operation and type of the result; operands are `F`, `G` (f32), `H` (f16), `B` (bf16), `I`, `J` (i32),
/// `Q` (i64), `C` (i1), `V` (f32x4), `K` (the i32 constant 48).
const OPERATIONS: &[(&str, &[&str])] = &[
    ("f32", &["fneg F", "fabs F", "exp2 F", "log2 F", "rcp F", "rsq F", "sqrt F", "round_even F"]),
    ("f32", &["fadd F, G", "fsub F, G", "fmul F, G", "fmin F, G", "fmax F, G", "fma F, G, F"]),
    ("f16", &["fneg H", "fabs H", "fadd H, H", "fsub H, H", "fmul H, H", "fma H, H, H"]),
    ("i32", &["add I, J", "sub I, J", "mul I, J", "mul_high_u I, J", "div_u I, K", "rem_u I, K"]),
    ("i32", &["and I, J", "or I, J", "xor I, J", "not I", "shl I, J", "shr_u I, J", "shr_s I, J"]),
    ("i32", &["min_s I, J", "max_s I, J", "min_u I, J", "max_u I, J", "select C, I, J"]),
    ("i64", &["add Q, Q", "sub Q, Q", "mul Q, Q", "and Q, Q", "not Q", "shl Q, Q", "shr_s Q, Q"]),
    ("i1", &["eq I, J", "ne I, J", "lt_s I, J", "le_s I, J", "lt_u I, J", "le_u I, J", "not C"]),
    ("i1", &["feq F, G", "fne F, G", "flt F, G", "fle F, G", "and C, C", "xor C, C"]),
    (
        "f32",
        &["fextend H", "fextend B", "i32_to_f32 I", "u32_to_f32 I", "bitcast I", "extract V, 3"],
    ),
    ("f16", &["ftruncate F"]),
    ("bf16", &["ftruncate F"]),
    ("i32", &["f32_to_i32 F", "truncate Q", "bitcast F", "zero_extend C"]),
    ("i64", &["sign_extend I", "zero_extend I"]),
    ("f32x4", &["pack F, G, G, F", "fmul V, V", "fma V, V, V", "fmax V, V", "exp2 V", "rcp V"]),
    ("f16x4", &["ftruncate V"]),
    ("bf16x4", &["ftruncate V"]),
];

/// Exchanges give varying values, whatever goes in.
const EXCHANGES: &[(&str, &[&str])] =
    &[("f32", &["lane_xor F, 1", "lane_xor F, 6", "lane_xor F, 16", "lane_xor F, 31"])];

/// A body that loads the operands and stores every result; with `offset`, they differ from lane to lane.
fn body(uniformity: &str, offset: &str) -> String {
    let mut lines = vec![
        "%4: i32 varying = special thread_id".to_owned(),
        "%5: i32 uniform = const 2".to_owned(),
        "%6: i32 varying = shl %4, %5".to_owned(),
        "%7: i32 uniform = const 48".to_owned(),
    ];
    for definition in [
        "f32 U = load global %0O align 4",
        "f32 U = load global %0O + 64 align 4",
        "f16 U = load global %1O align 2",
        "bf16 U = load global %2O align 2",
        "i32 U = bitcast %8",
        "i32 U = bitcast %9",
        "i64 U = sign_extend %12",
        "i1 U = flt %8, %9",
        "f32x4 U = load global %0O + 128 align 4",
    ] {
        let definition = definition.replace('U', uniformity).replace('O', offset);
        lines.push(format!("%{}: {definition}", lines.len() + 4));
    }
    let mut next = lines.len() + 4;
    let operations = OPERATIONS.iter().map(|row| (uniformity, row));
    for (uniformity, (ty, rows)) in operations.chain(EXCHANGES.iter().map(|row| ("varying", row))) {
        for row in *rows {
            lines.push(format!("%{next}: {ty} {uniformity} = {}", with_operands(row)));
            next = store(&mut lines, ty, next, uniformity);
        }
    }
    lines.join("\n")
}

fn with_operands(row: &str) -> String {
    let numbers = [
        ("F", 8),
        ("G", 9),
        ("H", 10),
        ("B", 11),
        ("I", 12),
        ("J", 13),
        ("Q", 14),
        ("C", 15),
        ("V", 16),
        ("K", 7),
    ];
    numbers
        .iter()
        .fold(row.to_owned(), |row, (name, number)| row.replace(name, &format!("%{number}")))
}

/// Stores value `next` to a place of its own; gives the number of the next value.
fn store(lines: &mut Vec<String>, ty: &str, next: usize, uniformity: &str) -> usize {
    let (mut stored, mut after) = (next, next + 1);
    if ty == "i1" {
        lines.push(format!("%{after}: i32 {uniformity} = zero_extend %{next}"));
        (stored, after) = (after, after + 1);
    }
    let align_bytes = if ty.contains("16") {
        2
    } else if ty == "i64" {
        8
    } else {
        4
    };
    let offset = if align_bytes == 8 { "" } else { " + %6" };
    lines.push(format!("store global %3{offset} + {} align {align_bytes}, %{stored}", next * 16));
    after
}

#[test]
fn every_operation_compiles_for_uniform_and_for_varying_values() {
    for target in Target::ALL {
        for (uniformity, offset) in [("uniform", ""), ("varying", " + %6")] {
            let built = build(target, DECLARATIONS, &body(uniformity, offset));
            let code = instructions(&built).join("\n");
            assert_lacks(&code, "scratch_");
            assert_lacks(&code, "s_swappc");
            let stores = code.lines().filter(|line| line.starts_with("global_store")).count();
            assert!(stores > 60, "{target} {uniformity}: {stores} stores");
        }
    }
}
