//! One refusal for every demand of the verifier.

use wavesmith_dsl::text::parse;
use wavesmith_dsl::verify::{Rule, VerifyError, verify};

const KERNEL: &str = "wavesmith-ir 1
kernel sample
target gfx1100
workgroup_size 64
param %0 x: buffer f32 read_only align 16
param %1 y: buffer bf16 write_only align 16
param %2 factor: f32
lds sums: 64 bytes align 16
body {
  %3: i32 varying = special thread_id
  %4: i32 uniform = special workgroup_id_x
  %5: i32 uniform = const 4
  %6: f32 uniform = const 0x3f800000
  %7: i64 uniform = zero_extend %4
  %8: ptr uniform = ptr_add %0, %7
  %9: i32 varying = shl %3, %5
  %10: f32x4 varying = load global %8 + %9 align 16
  %11: f32 varying = extract %10, 3
  %12: f32 varying = lane_xor %11, 31
  %13: f32 uniform = read_first_lane %12
  %14: i32 uniform = div_u %4, %5
  %15: f32 varying = exp2 %11
  %16: i1 varying = lt_s %3, %5
  store lds sums + %5 + 48 align 4, %15
  barrier
  %17: f32 varying = for %18: i32 uniform from %5 to %4 step 1 {
    carry %19: f32 varying = %11
    %20: f32 varying = fma %19, %2, %6
    yield %20
  }
  %21: f32 varying = if %16 {
    %22: f32 varying = fadd %17, %13
    yield %22
  } else {
    yield %6
  }
  %23: bf16 varying = ftruncate %21
  %24: i16 varying = bitcast %23
  store global %1 + 2 align 2, %24
  %25: i1 uniform = eq %4, %5
  if %25 {
    barrier
  }
}
";

/// The errors of the kernel with one piece replaced.
#[track_caller]
fn errors(piece: &str, by: &str) -> Vec<VerifyError> {
    assert_eq!(KERNEL.matches(piece).count(), 1, "{piece:?} must stand in the kernel once");
    let kernel = parse(&KERNEL.replacen(piece, by, 1)).unwrap_or_else(|error| panic!("{error}"));
    verify(&kernel).expect_err("the kernel is wrong")
}

/// The replaced piece is refused by that rule, at that place, for that reason.
#[track_caller]
fn refused(piece: &str, by: &str, rule: Rule, path: &str, reason: &str) {
    let errors = errors(piece, by);
    let fits = |error: &&VerifyError| error.rule == rule && error.place.path == path;
    let error = errors.iter().find(fits).unwrap_or_else(|| panic!("{errors:#?}"));
    assert_eq!(format!("{}, expected {}", error.got, error.expected), reason);
}

#[test]
fn the_sample_is_valid() {
    assert_eq!(verify(&parse(KERNEL).unwrap()), Ok(()));
}

#[test]
fn errors_say_where_and_what() {
    let error = &errors("extract %10, 3", "extract %10, 4")[0];
    assert_eq!(
        error.to_string(),
        "kernel sample, body.8 `%11: f32 varying = extract %10, 4`: rule Constant: got element 4, expected 0 to 3"
    );
}

#[test]
fn header() {
    refused(
        "y: buffer",
        "x: buffer",
        Rule::Name,
        "",
        "two parameters named x, expected distinct names",
    );
    refused(
        "factor: f32",
        "factor: f16",
        Rule::Param,
        "param factor",
        "f16 by value, expected i32, i64 or f32",
    );
    refused(
        "x: buffer f32",
        "x: buffer i1",
        Rule::Param,
        "param x",
        "a buffer of i1, expected elements that memory can hold",
    );
    refused(
        "workgroup_size 64",
        "workgroup_size 48",
        Rule::WorkgroupSize,
        "",
        "48 work-items, expected a multiple of 32, the wave width of gfx1100, up to 1024",
    );
    refused(
        "workgroup_size 64",
        "workgroup_size 1056",
        Rule::WorkgroupSize,
        "",
        "1056 work-items, expected a multiple of 32, the wave width of gfx1100, up to 1024",
    );
    refused(
        "64 bytes align 16",
        "64 bytes align 24",
        Rule::Alignment,
        "",
        "24 bytes for LDS buffer sums, expected a power of two",
    );
    refused(
        "64 bytes",
        "65537 bytes",
        Rule::Lds,
        "",
        "65537 bytes of LDS (sums 65537), expected at most 65536 bytes a workgroup on gfx1100",
    );
}

#[test]
fn scope() {
    refused(
        "ftruncate %21",
        "ftruncate %20",
        Rule::Scope,
        "body.18",
        "a use of %20, expected a value defined above, in this block or in one around it",
    );
    refused(
        "fma %19, %2, %6",
        "fma %17, %2, %6",
        Rule::Scope,
        "body.16.for.0",
        "a use of %17, expected a value defined above, in this block or in one around it",
    );
    refused(
        "from %5 to %4",
        "from %18 to %4",
        Rule::Scope,
        "body.16",
        "a use of %18, expected a value defined above, in this block or in one around it",
    );
}

#[test]
fn types() {
    refused(
        "fma %19, %2, %6",
        "fma %19, %2, %5",
        Rule::Type,
        "body.16.for.0",
        "operand 3 i32, expected f32",
    );
    refused(
        "%15: f32 varying = exp2 %11",
        "%15: f32 varying = not %11",
        Rule::Type,
        "body.12",
        "f32, expected i1 or i32 or i64",
    );
    refused(
        "f32x4 varying = load global %8 + %9",
        "f32x5 varying = load global %8 + %9",
        Rule::Type,
        "body.7",
        "f32x5, expected a vector of 2, 3, 4, 8 or 16 elements",
    );
    refused(
        "i64 uniform = zero_extend %4",
        "i64 uniform = sign_extend %2",
        Rule::Type,
        "body.4",
        "f32 to i64, expected i32 to i64",
    );
    refused(
        "i16 varying = bitcast",
        "i32 varying = bitcast",
        Rule::Type,
        "body.19",
        "bf16 as i32, expected two types of one size, neither ptr nor i1",
    );
    refused("lt_s %3", "flt %3", Rule::Type, "body.13", "i32, expected scalar f32");
    refused(
        "i1 varying = lt_s",
        "i32 varying = lt_s",
        Rule::Type,
        "body.13",
        "result i32, expected i1",
    );
    refused("ptr_add %0, %7", "ptr_add %0, %4", Rule::Type, "body.5", "offset i32, expected i64");
}

#[test]
fn constants() {
    refused(
        "const 0x3f800000",
        "const 0x13f800000",
        Rule::Constant,
        "body.3",
        "0x13f800000, expected bits of f32",
    );
    refused(
        "div_u %4, %5",
        "div_u %5, %4",
        Rule::Constant,
        "body.11",
        "a divisor that is no constant, expected a constant other than zero",
    );
    refused(
        "const 4",
        "const 0",
        Rule::Constant,
        "body.11",
        "divisor 0, expected a constant other than zero",
    );
    refused(
        "exp2 %11",
        "exp2 %6",
        Rule::Constant,
        "body.12",
        "exp2 of a constant, expected a value of the launch; compute constants in the builder",
    );
    refused(
        "lane_xor %11, 31",
        "lane_xor %11, 32",
        Rule::Constant,
        "body.9",
        "mask 32, expected 1 to 31",
    );
}

#[test]
fn uniformity() {
    refused(
        "i32 varying = special",
        "i32 uniform = special",
        Rule::Uniformity,
        "body.0",
        "%3 Uniform, expected Varying",
    );
    refused(
        "i32 varying = shl",
        "i32 uniform = shl",
        Rule::Uniformity,
        "body.6",
        "%9 Uniform, which depends on %3, expected Varying",
    );
    refused(
        "f32x4 varying = load",
        "f32x4 uniform = load",
        Rule::Uniformity,
        "body.7",
        "%10 Uniform, which depends on %9, expected Varying",
    );
    refused(
        "f32 uniform = read",
        "f32 varying = read",
        Rule::Uniformity,
        "body.10",
        "%13 Varying, expected Uniform",
    );
    refused(
        "carry %19: f32 varying",
        "carry %19: f32 uniform",
        Rule::Uniformity,
        "body.16",
        "%19 Uniform, which depends on %11, expected Varying",
    );
    refused(
        "%21: f32 varying",
        "%21: f32 uniform",
        Rule::Uniformity,
        "body.17",
        "%21 Uniform, which depends on %16, expected Varying",
    );
    refused(
        "f32 varying = lane_xor",
        "f32 uniform = lane_xor",
        Rule::Uniformity,
        "body.9",
        "%12 Uniform, expected Varying",
    );
}

#[test]
fn flow() {
    refused("step 1", "step 0", Rule::Loop, "body.16", "step 0, expected a step above 0");
    refused(
        "from %5 to",
        "from %3 to",
        Rule::Loop,
        "body.16",
        "lower bound i32 Varying, expected i32 Uniform",
    );
    refused(
        "    yield %20\n",
        "",
        Rule::Arity,
        "body.16",
        "0 yielded values, expected 1, one a result",
    );
    refused(
        "    yield %6\n",
        "",
        Rule::Arity,
        "body.17",
        "0 values yielded by else, expected 1, one a result",
    );
    refused(
        "    yield %6\n",
        "    yield %5\n",
        Rule::Type,
        "body.17",
        "values yielded by else: i32 at position 0, expected f32",
    );
    refused("if %25 {", "if %5 {", Rule::Type, "body.22", "condition i32, expected i1");
}

#[test]
fn convergence() {
    refused(
        "    %22: f32 varying = fadd %17, %13",
        "    %22: f32 varying = lane_xor %17, 1",
        Rule::Convergence,
        "body.17.then.0",
        "a lane exchange under a varying condition, expected all lanes active",
    );
    let wave = "a barrier under a condition or in a loop that may differ between waves, expected a place that all waves of the workgroup reach together";
    refused("special workgroup_id_x", "special wave_id", Rule::Convergence, "body.22.then.0", wave);
    refused("if %25 {", "if %16 {", Rule::Convergence, "body.22.then.0", wave);
}

#[test]
fn memory() {
    refused(
        "store global %1",
        "store global %0",
        Rule::Access,
        "body.20",
        "a store to x (ReadOnly), expected an access that the parameter allows",
    );
    refused(
        "ptr_add %0",
        "ptr_add %1",
        Rule::Access,
        "body.7",
        "a load from y (WriteOnly), expected an access that the parameter allows",
    );
    refused(
        "ptr uniform = ptr_add %0, %7",
        "ptr uniform = load global %0 align 8",
        Rule::Type,
        "body.5",
        "ptr in memory, expected integers of 16 bits or more, or floats",
    );
    refused(
        "+ %9 align 16",
        "+ %9 align 32",
        Rule::Alignment,
        "body.7",
        "32 bytes, expected at most 16, the alignment of x",
    );
    refused(
        "+ %9 align 16",
        "+ %9 align 2",
        Rule::Alignment,
        "body.7",
        "2 bytes for f32x4, expected a power of two, at least 4",
    );
    refused(
        "+ 2 align 2",
        "+ 2 align 4",
        Rule::Alignment,
        "body.20",
        "4 bytes at byte 2 of y, expected an alignment that divides the offset",
    );
    refused(
        "+ 48 align 4",
        "+ 60 align 4",
        Rule::Bounds,
        "body.14",
        "bytes 64 to 68 of sums, expected within 64 bytes",
    );
    refused("sums + %5 + 48", "sums + %2 + 48", Rule::Type, "body.14", "offset f32, expected i32");
}

#[test]
fn pointers_of_two_buffers_do_not_mix() {
    refused(
        "  %25: i1 uniform = eq %4, %5\n",
        "  %25: i1 uniform = eq %4, %5\n  %26: ptr uniform = select %25, %0, %1\n",
        Rule::Provenance,
        "body.22",
        "%26 from two buffers, expected pointers into one buffer",
    );
}

#[test]
fn all_errors_are_found_at_once() {
    let text = KERNEL
        .replace("step 1", "step 0")
        .replace("lane_xor %11, 31", "lane_xor %11, 0")
        .replace("align 4", "align 5");
    let errors = verify(&parse(&text).unwrap()).unwrap_err();
    let rules: Vec<Rule> = errors.iter().map(|error| error.rule).collect();
    assert_eq!(rules, [Rule::Constant, Rule::Alignment, Rule::Alignment, Rule::Loop]);
}
