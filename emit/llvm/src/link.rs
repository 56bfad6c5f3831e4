//! The linker: an object to a loadable code object, with the same bytes everywhere.

use std::env;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::error::CompileError;

/// Names a linker to use instead of the one found at build time.
pub const LLD_VARIABLE: &str = "WAVESMITH_LLD";

/// What stands in `.comment` instead of the linker's own name and version, so that equal code has equal
/// bytes under every linker.
const COMMENT: &str = "Linker: wavesmith";

const OBJECT: &str = "kernel.o";
const CODE_OBJECT: &str = "kernel.hsaco";

/// The linker in use: from the environment, else the one that belongs to the LLVM of the build.
pub fn lld() -> OsString {
    env::var_os(LLD_VARIABLE).unwrap_or_else(|| env!("WAVESMITH_BUILT_LLD").into())
}

/// The first line that the linker prints about its version, or why it printed none.
pub fn lld_version() -> Result<String, String> {
    let output = run(lld_command().arg("--version")).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next() {
        Some(line) if output.status.success() => Ok(line.to_owned()),
        _ => Err(format!("{} --version: {}", lld().display(), complaint(&output))),
    }
}

/// Links one object into a code object. Nothing may stay undefined: a loader would refuse it much later.
pub fn link(object: &[u8]) -> Result<Vec<u8>, CompileError> {
    let folder = folder_of_its_own().map_err(|error| failed("no temporary folder", &error))?;
    std::fs::write(folder.path().join(OBJECT), object).map_err(|error| failed(OBJECT, &error))?;
    let output = run(&mut link_command(folder.path()))?;
    let undefined = undefined_symbols(&String::from_utf8_lossy(&output.stderr));
    if !undefined.is_empty() {
        return Err(CompileError::LinkUndefined(undefined));
    }
    if !output.status.success() {
        return Err(CompileError::LinkFailed(complaint(&output)));
    }
    let linked = std::fs::read(folder.path().join(CODE_OBJECT))
        .map_err(|error| failed(CODE_OBJECT, &error))?;
    check_comment(&linked)?;
    Ok(linked)
}

/// What the names of its folders begin with.
const FOLDER: &str = "wavesmith-link-";
/// Nothing links for so long: the client stops a worker after a minute.
const STALE: Duration = Duration::from_secs(3600);

/// A folder that goes when it is dropped; a worker that was killed leaves its own to later ones, which take away what
/// is stale.
fn folder_of_its_own() -> std::io::Result<TempDir> {
    remove_stale(&env::temp_dir());
    tempfile::Builder::new().prefix(FOLDER).tempdir()
}

/// Removes what killed workers left. Folders of others stay: the system does not let them go.
fn remove_stale(parent: &Path) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let is_stale = |entry: &DirEntry| {
        let age = entry.metadata().and_then(|found| found.modified()).map(|at| at.elapsed());
        matches!(age, Ok(Ok(age)) if age > STALE)
    };
    entries
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(FOLDER.as_bytes()))
        .filter(is_stale)
        .for_each(|entry| std::fs::remove_dir_all(entry.path()).unwrap_or_default());
}

/// Constant file names in a folder of its own: no path reaches the output.
fn link_command(folder: &Path) -> Command {
    let mut command = lld_command();
    command
        .args(["-shared", "--no-undefined", "--error-limit=0", "--hash-style=sysv", "--threads=1"])
        .args([OBJECT, "-o", CODE_OBJECT])
        .current_dir(folder)
        .env("LLD_VERSION", COMMENT);
    command
}

fn lld_command() -> Command {
    let mut command = Command::new(lld());
    command.args(["-flavor", "gnu"]).env_remove("LLD_VERSION").stdin(Stdio::null());
    command
}

fn run(command: &mut Command) -> Result<Output, CompileError> {
    let output = command.output();
    output.map_err(|error| {
        failed(&format!("{} (set {LLD_VARIABLE} to an lld)", lld().display()), &error)
    })
}

/// lld's lines of the form `ld.lld: error: undefined symbol: NAME`.
fn undefined_symbols(stderr: &str) -> Vec<String> {
    let names = stderr
        .lines()
        .filter_map(|line| Some(line.split_once("error: undefined symbol: ")?.1.to_owned()));
    names.collect()
}

/// `LLD_VERSION` is a hook for lld's own tests: if a linker ignores it, its name and version are in the
/// bytes, which then differ from machine to machine.
fn check_comment(linked: &[u8]) -> Result<(), CompileError> {
    let expected = format!("\0{COMMENT}\0");
    if linked.windows(expected.len()).any(|window| window == expected.as_bytes()) {
        return Ok(());
    }
    Err(CompileError::LinkFailed(format!(
        "{} ignores LLD_VERSION, so its output is not reproducible",
        lld().display()
    )))
}

fn complaint(output: &Output) -> String {
    format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
}

fn failed(what: &str, error: &std::io::Error) -> CompileError {
    CompileError::LinkFailed(format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use inkwell::targets::FileType;
    use isa::Target;

    use super::*;
    use crate::binding::Diagnostics;
    use crate::codegen;

    #[test]
    fn an_intrinsic_that_llvm_does_not_know_is_undefined_at_the_link() {
        // Everything before the link takes it for a function: this is the second line of defence.
        let ir = "declare float @llvm.amdgcn.made.up(float)
            define amdgpu_kernel void @k(ptr addrspace(1) %p) {
              %x = call float @llvm.amdgcn.made.up(float 1.0)
              store float %x, ptr addrspace(1) %p
              ret void
            }";
        for target in Target::ALL {
            let context = Context::create();
            let diagnostics = Diagnostics::attach(&context);
            let machine = codegen::target_machine(target, inkwell::OptimizationLevel::Default)
                .expect("LLVM has the target");
            let buffer = MemoryBuffer::create_from_memory_range_copy(ir.as_bytes(), "made_up");
            let module = context.create_module_from_ir(buffer).expect("LLVM parses it");
            module.set_triple(&machine.get_triple());
            module.set_data_layout(&machine.get_target_data().get_data_layout());
            codegen::verify(&module).expect("LLVM's verifier takes it");
            let object = codegen::emit(&module, &machine, &diagnostics, FileType::Object)
                .expect("LLVM generates code for it");
            let error = link(&object).expect_err("nothing defines it");
            assert!(
                matches!(&error, CompileError::LinkUndefined(names) if *names == ["llvm.amdgcn.made.up"]),
                "{error}"
            );
        }
    }

    #[test]
    fn undefined_symbols_are_read_from_llds_report() {
        let report = "rust-lld: error: undefined symbol: made_up\n>>> referenced by kernel.o:(k)\n\
                      rust-lld: error: undefined symbol: llvm.amdgcn.nothing\n";
        assert_eq!(undefined_symbols(report), ["made_up", "llvm.amdgcn.nothing"]);
        assert!(undefined_symbols("rust-lld: error: cannot open kernel.o").is_empty());
    }

    #[test]
    fn garbage_is_refused_with_the_linkers_words() {
        let error = link(b"not an object").expect_err("lld refuses garbage");
        assert!(
            matches!(&error, CompileError::LinkFailed(words) if words.contains("kernel.o")),
            "{error}"
        );
    }

    #[test]
    fn a_foreign_comment_is_refused() {
        assert!(check_comment(b"\0Linker: LLD 22.1.2\0").is_err());
        assert!(check_comment(b"\0Linker: wavesmith\0").is_ok());
    }
}
