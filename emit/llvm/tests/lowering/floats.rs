//! Float semantics: nothing is contracted, narrowed early or flushed that the kernel does not say.

use crate::support::{LOAD, STREAM, assert_has, assert_lacks, build, count, instructions};
use isa::Target;

/// Four loaded floats `%6`…`%9` after [`LOAD`] with a 16-byte offset.
fn four(rest: &str) -> String {
    format!(
        "%2: i32 varying = special thread_id
         %3: i32 uniform = const 4
         %4: i32 varying = shl %2, %3
         %5: f32x4 varying = load global %0 + %4 align 16
         %6: f32 varying = extract %5, 0
         %7: f32 varying = extract %5, 1
         %8: f32 varying = extract %5, 2
         %9: f32 varying = extract %5, 3
         {rest}"
    )
}

const NARROW: &str =
    "param %0 x: buffer f32 read_only align 16\nparam %1 y: buffer KIND write_only align 16";

#[test]
fn a_product_and_a_sum_stay_two_operations() {
    for target in Target::ALL {
        let body = four(
            "%10: f32 varying = fmul %6, %7\n%11: f32 varying = fadd %10, %8\nstore global %1 + %4 align 4, %11",
        );
        let built = build(target, STREAM, &body);
        let code = instructions(&built).join("\n");
        for fused in ["fma", "fmac", "mad", "mac"] {
            assert_lacks(&code, fused);
        }
        assert_has(&code, "v_mul_f32");
        assert_has(&code, "v_add_f32");
        assert_has(&built.llvm_ir, "= fmul float");
    }
}

#[test]
fn vectors_are_not_contracted_either() {
    for target in Target::ALL {
        let body = four(
            "%10: f32x4 varying = fmul %5, %5\n%11: f32x4 varying = fadd %10, %5\nstore global %1 + %4 align 16, %11",
        );
        let code = instructions(&build(target, STREAM, &body)).join("\n");
        assert_lacks(&code, "fma");
    }
}

#[test]
fn a_fused_operation_is_one() {
    for target in Target::ALL {
        let body = four("%10: f32 varying = fma %6, %7, %8\nstore global %1 + %4 align 4, %10");
        let built = build(target, STREAM, &body);
        assert_eq!(count(&built, "v_fma"), 1, "{:#?}", instructions(&built));
        assert_eq!(count(&built, "v_mul") + count(&built, "v_add_f32"), 0);
    }
}

#[test]
fn sums_keep_their_order() {
    // ((a + b) + c) + d is a chain of three; a reassociated tree would add c and d first.
    let body = four(
        "%10: f32 varying = fadd %6, %7\n%11: f32 varying = fadd %10, %8\n%12: f32 varying = fsub %11, %10
         %13: f32 varying = fadd %12, %9\nstore global %1 + %4 align 4, %13",
    );
    for target in Target::ALL {
        let built = build(target, STREAM, &body);
        let adds = count(&built, "v_add_f32") + count(&built, "v_sub_f32");
        assert_eq!(adds, 4, "{:#?}", instructions(&built));
    }
}

#[test]
fn halves_are_rounded_after_the_operation_and_not_in_it() {
    for target in Target::ALL {
        for operation in ["fmul %6, %7", "fadd %6, %7", "fma %6, %7, %8"] {
            let body = four(&format!(
                "%10: f32 varying = {operation}\n%11: f16 varying = ftruncate %10\nstore global %1 + %4 align 2, %11"
            ));
            let built = build(target, &NARROW.replace("KIND", "f16"), &body);
            let code = instructions(&built).join("\n");
            assert_lacks(&code, "mix");
            assert_has(&code, "v_cvt_f16_f32");
        }
    }
}

#[test]
fn uniform_values_are_narrowed_like_any_other() {
    let body = "%2: f32 uniform = load global %0 align 4
                %3: f32 uniform = load global %0 + 4 align 4
                %4: f32 uniform = fmul %2, %3
                %5: f32 uniform = rcp %4
                %6: KIND uniform = ftruncate %4
                %7: KIND uniform = ftruncate %5
                store global %1 align 2, %6
                store global %1 + 2 align 2, %7";
    for target in Target::ALL {
        for kind in ["f16", "bf16"] {
            let built = build(target, &NARROW.replace("KIND", kind), &body.replace("KIND", kind));
            assert_lacks(&instructions(&built).join("\n"), "mix");
        }
    }
}

#[test]
fn widened_halves_are_not_computed_as_halves() {
    let declarations =
        "param %0 x: buffer f16 read_only align 16\nparam %1 y: buffer f16 write_only align 16";
    let body = "%2: i32 varying = special thread_id
                %3: i32 uniform = const 2
                %4: i32 varying = shl %2, %3
                %5: f16x2 varying = load global %0 + %4 align 4
                %6: f32x2 varying = fextend %5
                %7: f32 varying = extract %6, 0
                %8: f32 varying = extract %6, 1
                %9: f32 varying = fmul %7, %8
                %10: f16 varying = ftruncate %9
                store global %1 + %4 align 2, %10";
    for target in Target::ALL {
        let code = instructions(&build(target, declarations, body)).join("\n");
        assert_lacks(&code, "v_mul_f16");
        assert_lacks(&code, "mix");
        assert_has(&code, "v_mul_f32");
    }
}

#[test]
fn bf16_is_narrowed_by_the_instruction_or_by_integers() {
    let body = four("%10: bf16x4 varying = ftruncate %5\nstore global %1 + %4 align 8, %10");
    let declarations = NARROW.replace("KIND", "bf16");
    let with_instruction = build(Target::Gfx950, &declarations, &body);
    assert_eq!(
        count(&with_instruction, "v_cvt_pk_bf16_f32"),
        2,
        "{:#?}",
        instructions(&with_instruction)
    );
    let by_integers = build(Target::Gfx1100, &declarations, &body);
    assert_lacks(&by_integers.llvm_ir, "fptrunc");
    for part in ["splat (i32 32767)", "splat (i32 4194304)", "fcmp uno"] {
        assert_has(&by_integers.llvm_ir, part);
    }
}

#[test]
fn transcendentals_are_single_instructions() {
    for (operation, instruction) in [
        ("exp2", "v_exp_f32"),
        ("log2", "v_log_f32"),
        ("rcp", "v_rcp_f32"),
        ("rsq", "v_rsq_f32"),
        ("sqrt", "v_sqrt_f32"),
    ] {
        for target in Target::ALL {
            let body =
                format!("{LOAD}%6: f32 varying = {operation} %5\nstore global %1 + %4 align 4, %6");
            let built = build(target, STREAM, &body);
            let arithmetic: Vec<_> = instructions(&built)
                .into_iter()
                .filter(|line| line.starts_with("v_") && line.contains("_f32"))
                .collect();
            assert_eq!(arithmetic.len(), 1, "{arithmetic:?}");
            assert!(arithmetic[0].starts_with(instruction), "{arithmetic:?}");
        }
    }
}

#[test]
fn a_reciprocal_is_never_folded() {
    // The argument becomes a constant only after inlining the choice; a folded 1/3 would be rounded
    // correctly, the instruction's is not.
    let body = format!(
        "{LOAD}%6: f32 uniform = const 0x40400000
         %7: f32 uniform = const 0x40a00000
         %8: i1 varying = flt %5, %6
         %9: f32 varying = select %8, %6, %7
         %10: f32 varying = rcp %9
         store global %1 + %4 align 4, %10"
    );
    for target in Target::ALL {
        assert_eq!(count(&build(target, STREAM, &body), "v_rcp_f32"), 1);
    }
}

#[test]
fn transcendentals_of_vectors_go_by_element() {
    let body = four("%10: f32x4 varying = exp2 %5\nstore global %1 + %4 align 16, %10");
    for target in Target::ALL {
        assert_eq!(count(&build(target, STREAM, &body), "v_exp_f32"), 4);
    }
}

#[test]
fn minimum_and_maximum_order_the_zeros_and_skip_nan() {
    let body = four(
        "%10: f32 varying = fmin %6, %7\n%11: f32 varying = fmax %7, %8\nstore global %1 + %4 align 4, %10
         store global %1 + %4 + 4 align 4, %11",
    );
    for target in Target::ALL {
        let built = build(target, STREAM, &body);
        assert_has(&built.llvm_ir, "@llvm.minimumnum.f32");
        assert_has(&built.llvm_ir, "@llvm.maximumnum.f32");
        let code = instructions(&built).join("\n");
        assert!(code.contains("min_f32") && code.contains("max_f32"), "{code}");
    }
}

#[test]
fn comparisons_of_floats_are_ordered_but_for_unequal() {
    for (operation, predicate) in [("feq", "oeq"), ("fne", "une"), ("flt", "olt"), ("fle", "ole")] {
        let body = four(&format!(
            "%10: i1 varying = {operation} %6, %7\n%11: f32 varying = select %10, %8, %9\nstore global %1 + %4 align 4, %11"
        ));
        assert_has(
            &build(Target::Gfx1100, STREAM, &body).llvm_ir,
            &format!("fcmp {predicate} float"),
        );
    }
}

#[test]
fn float_to_integer_saturates() {
    let declarations =
        "param %0 x: buffer f32 read_only align 16\nparam %1 y: buffer i32 write_only align 16";
    let body = format!("{LOAD}%6: i32 varying = f32_to_i32 %5\nstore global %1 + %4 align 4, %6");
    for target in Target::ALL {
        let built = build(target, declarations, &body);
        assert_has(&built.llvm_ir, "@llvm.fptosi.sat.i32.f32");
        assert_eq!(count(&built, "v_cvt_i32_f32"), 1);
    }
}

#[test]
fn negation_and_magnitude_touch_only_the_sign() {
    let body = four(
        "%10: f32 varying = fneg %6\n%11: f32 varying = fabs %7\n%12: f32 varying = fmul %10, %11\nstore global %1 + %4 align 4, %12",
    );
    for target in Target::ALL {
        let built = build(target, STREAM, &body);
        assert_has(&built.llvm_ir, "fneg float");
        assert_lacks(&built.llvm_ir, "fsub");
        assert!(
            instructions(&built).iter().any(|line| line.contains("-v") && line.contains("|v")),
            "{:#?}",
            instructions(&built)
        );
    }
}

#[test]
fn constants_arrive_bit_for_bit() {
    // A signalling NaN with a payload, −0, the smallest subnormal.
    for (bits, spelled) in [
        ("0x7fa12345", "0x7FF42468A0000000"),
        ("0x80000000", "-0.000000e+00"),
        ("0x00000001", "0x36A0000000000000"),
    ] {
        let body = format!(
            "{LOAD}%6: f32 uniform = const {bits}\n%7: i1 varying = fne %5, %5\n%8: f32 varying = select %7, %6, %5\nstore global %1 + %4 align 4, %8"
        );
        assert_has(&build(Target::Gfx950, STREAM, &body).llvm_ir, spelled);
    }
}
