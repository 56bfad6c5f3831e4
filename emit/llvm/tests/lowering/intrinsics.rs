//! Intrinsics that a kernel names: what is accepted, what is refused and how.

use crate::support::{LOAD, STREAM, assert_has, build, count, try_build};
use isa::Target;
use wavesmith_emit_llvm::error::CompileError;

fn call(operation: &str) -> String {
    format!("{LOAD}%6: f32 varying = intrinsic {operation}\nstore global %1 + %4 align 4, %6")
}

fn refusal(target: Target, operation: &str) -> CompileError {
    try_build(target, STREAM, &call(operation)).expect_err(operation)
}

#[test]
fn a_known_intrinsic_is_called() {
    for target in Target::ALL {
        assert_eq!(
            count(&build(target, STREAM, &call("llvm.amdgcn.fract.f32 %5")), "v_fract_f32"),
            1
        );
    }
}

#[test]
fn an_unknown_name_is_named() {
    for name in ["llvm.amdgcn.made.up", "llvm.nothing", "made_up", "memcpy", "amdgcn.fract"] {
        for target in Target::ALL {
            let error = refusal(target, &format!("{name} %5"));
            assert!(
                matches!(&error, CompileError::UnknownIntrinsic { symbol } if symbol == name),
                "{error}"
            );
        }
    }
}

#[test]
fn a_wrong_signature_is_refused_before_code_generation() {
    for operation in [
        "llvm.amdgcn.fract.f99 %5",
        "llvm.amdgcn.fract.f32 %5, %5",
        "llvm.amdgcn.fract.f32 %4",
        "llvm.amdgcn.fract.f32",
    ] {
        let error = refusal(Target::Gfx1100, operation);
        let CompileError::Llvm(words) = &error else { panic!("{operation}: {error}") };
        assert_has(words, "llvm.amdgcn.fract");
    }
}

#[test]
fn immediates_must_be_constants() {
    let error = refusal(Target::Gfx1100, "llvm.amdgcn.mov.dpp8.f32 %5, %4");
    assert!(matches!(&error, CompileError::Llvm(_)), "{error}");
}

#[test]
fn side_effects_are_refused() {
    let body = format!("{LOAD}%6: i64 varying = intrinsic llvm.amdgcn.s.memtime");
    let error = try_build(Target::Gfx950, STREAM, &body).expect_err("it reads a clock");
    assert_has(
        &error.to_string(),
        "llvm.amdgcn.s.memtime touches memory or has other side effects",
    );
}

#[test]
fn effects_without_a_result_are_refused() {
    for operation in ["llvm.trap", "llvm.amdgcn.s.barrier", "llvm.amdgcn.s.sleep %3"] {
        assert!(matches!(refusal(Target::Gfx950, operation), CompileError::Llvm(_)));
    }
}
