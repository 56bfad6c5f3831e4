//! The back ends: what identifies them, and code objects by them.

use clap::ValueEnum;
use dsl::ir::Kernel;
use emit::gcn;
use emit::llvm::{self, EmitError, Options, WorkerReport};
use serde::{Deserialize, Serialize};
use specs::Spec;

use crate::error::CliError;
use crate::harness::sha256;
use crate::{files, pipeline};

/// A hash of the source of everything between kernel IR and code object, made when this program was built.
const SOURCES: &str = env!("WAVESMITH_BACKEND_SOURCES");

/// The back ends. Every verb takes the default one, unless its goal is LLVM's artefacts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// The GCN back end, in pure Rust: needs no LLVM
    #[default]
    Gcn,
    /// LLVM, in its worker process
    Llvm,
}

/// What made a code object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toolchain {
    /// The back end.
    pub backend: String,
    /// Its LLVM, where it has one.
    pub llvm: Option<String>,
    /// Its linker, where it has one.
    pub linker: Option<String>,
    /// Hash of the source of both back ends: equal hashes and LLVMs make equal code objects of a kernel.
    pub sources: String,
}

impl Backend {
    /// The name of the option's value.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Llvm => "llvm",
            Backend::Gcn => "gcn",
        }
    }

    /// Assembly text of a legal spec.
    ///
    /// # Errors
    /// What the back end says.
    pub fn assembly(self, spec: &Spec) -> Result<String, CliError> {
        match self {
            Backend::Llvm => Ok(pipeline::compile(spec)?.assembly),
            Backend::Gcn => Ok(pipeline::compile_gcn(spec)?.assembly),
        }
    }

    /// The code object of a kernel.
    ///
    /// # Errors
    /// What the back end says.
    pub fn compile(self, kernel: &Kernel) -> Result<Vec<u8>, CliError> {
        match self {
            Backend::Llvm => Ok(llvm::compile(kernel, &Options::default())?.code_object),
            Backend::Gcn => Ok(gcn::code_object(kernel, &gcn::Options::default())?),
        }
    }

    /// The code object of a legal spec.
    ///
    /// # Errors
    /// What the back end says.
    pub fn code_object(self, spec: &Spec) -> Result<Vec<u8>, CliError> {
        match self {
            Backend::Llvm => Ok(pipeline::compile(spec)?.code_object),
            Backend::Gcn => pipeline::code_object_by_gcn(spec),
        }
    }

    /// What makes its code objects; `kernel` stands in errors.
    ///
    /// # Errors
    /// There is no LLVM worker to ask.
    pub fn toolchain(self, kernel: &str) -> Result<Toolchain, CliError> {
        Ok(self.toolchain_of(self.worker(kernel)?.as_ref()))
    }

    /// Everything that decides the bytes of its code objects, for the keys of a cache: more than the toolchain where the
    /// worker is a program of its own, which could be another one.
    ///
    /// # Errors
    /// As [`Backend::toolchain`], and a worker that cannot be read.
    pub fn identity(self, kernel: &str) -> Result<String, CliError> {
        let worker = self.worker(kernel)?;
        let toolchain = self.toolchain_of(worker.as_ref());
        let Some(worker) = worker else { return Ok(format!("{toolchain:?}")) };
        let program = files::read(&worker.worker, "the LLVM worker", MAX_WORKER_BYTES)?;
        let (llvm, program) = (worker.toolchain.llvm, sha256(&program));
        Ok(format!("{toolchain:?} {llvm:?} {program}"))
    }

    /// The worker of a back end that has one.
    fn worker(self, kernel: &str) -> Result<Option<WorkerReport>, CliError> {
        match self {
            Backend::Gcn => Ok(None),
            Backend::Llvm => {
                let report = llvm::describe(&Options::default());
                let kernel = kernel.to_owned();
                Ok(Some(report.map_err(|cause| EmitError { kernel, cause })?))
            }
        }
    }

    fn toolchain_of(self, worker: Option<&WorkerReport>) -> Toolchain {
        let tools = worker.map(|worker| &worker.toolchain);
        Toolchain {
            backend: self.name().to_owned(),
            llvm: tools.map(|tools| tools.llvm.version.clone()),
            linker: tools.and_then(|tools| tools.lld_version.clone().ok()),
            sources: SOURCES.to_owned(),
        }
    }
}

/// Bytes that a worker may have, with LLVM linked into it and debug information.
const MAX_WORKER_BYTES: u64 = 1 << 31;
