//! The worker's request for LLVM IR of others: what it takes, and how it refuses the rest.

use emit::llvm::{Cause, EmitError, Failure, Options, compile_module};
use isa::Target;

const COPY: &str = "define amdgpu_kernel void @copy(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %x = load float, ptr addrspace(1) %in
  store float %x, ptr addrspace(1) %out
  ret void
}
";

fn compile(ir: &str, level: u8) -> Result<emit::llvm::Artefacts, EmitError> {
    let options =
        Options { worker: Some(env!("CARGO_BIN_EXE_wavesmith-llvm").into()), ..Options::default() };
    compile_module("copy", ir, Target::Gfx1100, level, &options)
}

#[test]
fn a_module_becomes_a_code_object_of_its_level() {
    for level in 0..4 {
        let artefacts = compile(COPY, level).expect("the module is right");
        let object = codeobj::CodeObject::parse(&artefacts.code_object).expect("it is read");
        assert_eq!(object.kernels[0].name, "copy");
    }
    let [plain, optimised] = [0, 2].map(|level| compile(COPY, level).unwrap().code_object);
    assert_ne!(plain, optimised, "the level reaches LLVM");
}

#[test]
fn modules_that_are_none_are_refused_with_llvms_words() {
    let triple = "target triple = \"x86_64-unknown-linux-gnu\"\n";
    let layout = "target datalayout = \"e-p:64:64\"\n";
    let cases = [
        (String::from("hello"), "expected top-level entity"),
        (String::from("\0"), "not LLVM IR text"),
        (String::from("BC\u{1}"), "not LLVM IR text"),
        (COPY.replace("load float", "load flat"), "expected type"),
        (COPY.replace("store float %x", "store i32 %x"), "'%x' defined with type 'float'"),
        (COPY.replace("ret void", "ret i32 0"), "value doesn't match function result type"),
        (COPY.replace("%x = load", "%y = load"), "use of undefined value '%x'"),
        (format!("{triple}{COPY}"), "x86_64-unknown-linux-gnu"),
        (format!("{layout}{COPY}"), "data layout"),
    ];
    for (ir, expected) in cases {
        match compile(&ir, 2).expect_err("this must fail").cause {
            Cause::Failed(Failure::Rejected { message }) => {
                assert!(message.contains(expected), "{message}")
            }
            other => panic!("{other}\n{ir}"),
        }
    }
    let cause = compile(COPY, 4).expect_err("there is no such level").cause;
    assert!(cause.to_string().contains("optimisation level 4"), "{cause}");
}

#[test]
fn what_the_module_lacks_is_named() {
    let calls = COPY.replace("load float, ptr addrspace(1) %in", "call float @elsewhere()");
    let cause = compile(&format!("{calls}declare float @elsewhere()\n"), 2).unwrap_err().cause;
    let Cause::Failed(Failure::LinkUndefined { symbols }) = &cause else { panic!("{cause}") };
    assert_eq!(symbols, &["elsewhere"]);
}

#[test]
fn damaged_modules_are_compiled_or_refused() {
    let mut state = 7_u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    let mut refused = 0;
    for _ in 0..40 {
        let mut bytes = COPY.as_bytes().to_vec();
        let at = random(bytes.len());
        match random(3) {
            0 => bytes.truncate(at),
            1 => bytes[at] = b"%{}@(0i \n"[random(9)],
            _ => bytes.drain(at..(at + 6).min(COPY.len())).for_each(drop),
        }
        let ir = String::from_utf8(bytes).expect("the damage is ASCII");
        match compile(&ir, 1) {
            Ok(_) => {}
            Err(EmitError { cause: Cause::Failed(_), .. }) => refused += 1,
            Err(error) => panic!("{error}\n{ir}"),
        }
    }
    assert!(refused > 20, "only {refused} of 40 were refused");
}
