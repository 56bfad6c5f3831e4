//! Kernels from text, and views of what became of them.

use dsl::ir::Kernel;
use isa::Target;
use wavesmith_emit_llvm::error::CompileError;
use wavesmith_emit_llvm::{Artefacts, compile};

/// A kernel text of four waves: what stands between the header and the body, then the body.
pub fn text(target: Target, declarations: &str, body: &str) -> String {
    let workgroup_size = target.wave_width() * 4;
    format!(
        "wavesmith-ir 1\nkernel probe\ntarget {target}\nworkgroup_size {workgroup_size}\n{declarations}\nbody {{\n{body}\n}}\n"
    )
}

/// The kernel of a text, verified.
pub fn kernel(text: &str) -> Kernel {
    let kernel = dsl::text::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    dsl::verify::verify(&kernel).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    kernel
}

/// Compiles a body on one target.
pub fn try_build(
    target: Target,
    declarations: &str,
    body: &str,
) -> Result<Artefacts, CompileError> {
    compile(&kernel(&text(target, declarations, body)))
}

/// Compiles a body that must be right.
pub fn build(target: Target, declarations: &str, body: &str) -> Artefacts {
    try_build(target, declarations, body).unwrap_or_else(|error| panic!("{error}\n{body}"))
}

/// Buffers `x` (f32, read), `y` (f32, written) and a varying 4-byte offset `%4` with the loaded `%5`.
pub const STREAM: &str =
    "param %0 x: buffer f32 read_only align 16\nparam %1 y: buffer f32 write_only align 16";

/// The statements that go with [`STREAM`]; the next value is `%6`.
pub const LOAD: &str = "%2: i32 varying = special thread_id
%3: i32 uniform = const 2
%4: i32 varying = shl %2, %3
%5: f32 varying = load global %0 + %4 align 4\n";

/// The instructions of the assembly text, from the kernel's entry to its last `s_endpgm`.
pub fn instructions(artefacts: &Artefacts) -> Vec<&str> {
    let lines = artefacts.assembly.lines().map(str::trim);
    let lines = lines
        .skip_while(|line| !line.starts_with("; %bb.0"))
        .take_while(|line| !line.starts_with(".section"));
    let lines = lines
        .filter(|line| !line.is_empty() && !line.starts_with([';', '.']) && !line.ends_with(':'));
    lines.collect()
}

/// How many instructions' names start with a prefix.
pub fn count(artefacts: &Artefacts, prefix: &str) -> usize {
    instructions(artefacts).iter().filter(|line| line.starts_with(prefix)).count()
}

/// Fails with the whole text when it lacks a part.
pub fn assert_has(text: &str, part: &str) {
    assert!(text.contains(part), "no {part:?} in\n{text}");
}

/// Fails with the whole text when it has a part.
pub fn assert_lacks(text: &str, part: &str) {
    assert!(!text.contains(part), "{part:?} in\n{text}");
}
