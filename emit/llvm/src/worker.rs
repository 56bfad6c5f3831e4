//! The worker: one request on the input, one reply on the output, then the process ends.

use std::io::{self, BufReader, Read, Write};
use std::process::ExitCode;

use dsl::ir::Kernel;
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::{FileType, TargetMachine};
use isa::Target;
use rlimit::Resource;
use serde::Serialize;

use crate::assemble;
use crate::binding::{Diagnostics, on_fatal_error};
use crate::codegen;
use crate::disassemble;
use crate::error::CompileError;
use crate::foreign;
use crate::link;
use crate::lower::lower_kernel;
use crate::module::new_module;
use crate::protocol::{
    Assembly, Failure, FrameError, LlvmIdentity, Reply, Request, Toolchain, read_frame, write_frame,
};

/// Most address space of the worker and its linker in bytes: an LLVM that runs away ends here.
const MAX_ADDRESS_SPACE_BYTES: u64 = 4 << 30;

/// Most processor time of the worker, and of its linker, in seconds: the end of a worker whose client has
/// died before its own time limit.
const MAX_CPU_SECONDS: u64 = 600;

/// Largest core file in bytes. One byte writes none, and Linux then starts no crash handler either, which
/// it would for zero.
const MAX_CORE_BYTES: u64 = 1;

/// Artefacts of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artefacts {
    /// The LLVM that made them.
    pub llvm: LlvmIdentity,
    /// LLVM IR text before any optimisation.
    pub llvm_ir: String,
    /// Assembly text after optimisation.
    pub assembly: String,
    /// The linked code object.
    pub code_object: Vec<u8>,
}

/// Serves one request and says how the process should end: with success whenever a reply was written.
pub fn serve(input: impl Read, output: impl Write) -> ExitCode {
    limit_resources();
    on_fatal_error(report_fatal_error);
    let written = match read_frame::<Request>(BufReader::new(input)) {
        Ok((Request::Describe, _)) => reply_to_describe(output),
        Ok((Request::Compile, text)) => reply_with_artefacts(output, compile_bytes(text)),
        Ok((Request::CompileModule { target, level }, text)) => {
            reply_with_artefacts(output, foreign::compile_module(&text, &target, level))
        }
        Ok((Request::Assemble { target, output: wanted }, text)) => {
            reply_with_body(output, assembled(&target, wanted, text))
        }
        Ok((Request::Disassemble { target, slot_bytes }, code)) => {
            reply_with_body(output, disassembled(&target, slot_bytes, &code))
        }
        Err(error) => {
            write_frame(output, failed(Failure::BadRequest { message: error.to_string() }), &[])
        }
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn limit_resources() {
    for (resource, limit) in [
        (Resource::AS, MAX_ADDRESS_SPACE_BYTES),
        (Resource::CPU, MAX_CPU_SECONDS),
        (Resource::CORE, MAX_CORE_BYTES),
    ] {
        // A limit that is already lower cannot be raised and need not be.
        if let Ok((_, hard)) = resource.get() {
            let lowered = limit.min(hard);
            resource.set(lowered, lowered).ok();
        }
    }
}

/// LLVM's last words. Nothing has been written before: replies are written whole, at the end.
fn report_fatal_error(message: &str) -> ! {
    let reply = failed(Failure::Fatal { message: message.to_owned() });
    let code = i32::from(write_frame(io::stdout(), reply, &[]).is_err());
    std::process::exit(code)
}

fn failed(failure: Failure) -> Reply {
    Reply::Failed(failure)
}

fn reply_to_describe(output: impl Write) -> Result<(), FrameError> {
    let reply = match describe() {
        Ok(toolchain) => Reply::Described(toolchain),
        Err(error) => failed(error.into()),
    };
    write_frame(output, reply, &[])
}

fn reply_with_artefacts(
    output: impl Write,
    compiled: Result<Artefacts, CompileError>,
) -> Result<(), FrameError> {
    let artefacts = match compiled {
        Ok(artefacts) => artefacts,
        Err(error) => return write_frame(output, failed(error.into()), &[]),
    };
    let parts =
        [artefacts.llvm_ir.as_bytes(), artefacts.assembly.as_bytes(), &artefacts.code_object];
    let [llvm_ir_bytes, assembly_bytes, code_object_bytes] = parts.map(|part| part.len() as u64);
    let reply =
        Reply::Compiled { llvm: artefacts.llvm, llvm_ir_bytes, assembly_bytes, code_object_bytes };
    write_frame(output, reply, &parts)
}

/// Writes a reply that is one header and one body.
fn reply_with_body(
    output: impl Write,
    result: Result<(Reply, Vec<u8>), CompileError>,
) -> Result<(), FrameError> {
    match result {
        Ok((reply, body)) => write_frame(output, reply, &[&body]),
        Err(error) => write_frame(output, failed(error.into()), &[]),
    }
}

fn assembled(
    target: &str,
    wanted: Assembly,
    text: Vec<u8>,
) -> Result<(Reply, Vec<u8>), CompileError> {
    let target = target_named(target)?;
    let text =
        String::from_utf8(text).map_err(|error| CompileError::Malformed(error.to_string()))?;
    match wanted {
        Assembly::CodeObject => Ok((Reply::AssembledObject, assemble::code_object(target, &text)?)),
        Assembly::Lines => Ok((Reply::AssembledLines, json(&assemble::lines(target, &text)?)?)),
    }
}

fn disassembled(
    target: &str,
    slot_bytes: Option<u32>,
    code: &[u8],
) -> Result<(Reply, Vec<u8>), CompileError> {
    let target = target_named(target)?;
    let lines = match slot_bytes {
        None => disassemble::stream(target, code)?,
        Some(slot_bytes) => disassemble::slots(target, code, slot_bytes)?,
    };
    Ok((Reply::Disassembled, json(&lines)?))
}

fn target_named(name: &str) -> Result<Target, CompileError> {
    name.parse()
        .map_err(|error: isa::target::UnknownTarget| CompileError::Malformed(error.to_string()))
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, CompileError> {
    serde_json::to_vec(value).map_err(|error| CompileError::Malformed(error.to_string()))
}

/// The worker's LLVM and linker.
pub fn describe() -> Result<Toolchain, CompileError> {
    let machine = codegen::target_machine(Target::Gfx1100, OptimizationLevel::Aggressive)?;
    Ok(Toolchain {
        llvm: codegen::identity(&machine),
        libllvm: loaded_libllvm(),
        lld: link::lld().to_string_lossy().into_owned(),
        lld_version: link::lld_version(),
    })
}

/// The file from which libLLVM is mapped; where the system does not tell, the file of the build.
fn loaded_libllvm() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mapped = maps
        .lines()
        .find_map(|line| Some(&line[line.find('/')?..]).filter(|file| file.contains("libLLVM")));
    mapped.unwrap_or(env!("WAVESMITH_BUILT_LIBLLVM")).to_owned()
}

fn compile_bytes(text: Vec<u8>) -> Result<Artefacts, CompileError> {
    let text = String::from_utf8(text).map_err(|error| CompileError::Kernel(error.to_string()))?;
    let kernel =
        dsl::text::parse(&text).map_err(|error| CompileError::Kernel(error.to_string()))?;
    dsl::verify::verify(&kernel).map_err(|errors| {
        CompileError::Kernel(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    })?;
    compile(&kernel)
}

/// All artefacts of one kernel that the verifier accepts.
pub fn compile(kernel: &Kernel) -> Result<Artefacts, CompileError> {
    let context = Context::create();
    let diagnostics = Diagnostics::attach(&context);
    let machine = codegen::target_machine(kernel.target, OptimizationLevel::Aggressive)?;
    let module = new_module(&context, kernel, &machine);
    lower_kernel(&context, &module, kernel)?;
    let llvm_ir = module.print_to_string().to_string();
    codegen::optimise(&module, &machine)?;
    artefacts(&module, &machine, &diagnostics, llvm_ir)
}

/// What an optimised module becomes.
pub(crate) fn artefacts(
    module: &Module<'_>,
    machine: &TargetMachine,
    diagnostics: &Diagnostics<'_>,
    llvm_ir: String,
) -> Result<Artefacts, CompileError> {
    let assembly = codegen::emit(module, machine, diagnostics, FileType::Assembly)?;
    let object = codegen::emit(module, machine, diagnostics, FileType::Object)?;
    Ok(Artefacts {
        llvm: codegen::identity(machine),
        llvm_ir,
        assembly: String::from_utf8_lossy(&assembly).into_owned(),
        code_object: link::link(&object)?,
    })
}
