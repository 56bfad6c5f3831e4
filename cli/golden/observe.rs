//! What a variant's artefacts are now.

use std::collections::BTreeMap;

use codeobj::CodeObject;
use isa::Target;
use specs::Spec;

use super::properties;
use super::record::{GcnRecord, LlvmRecord, Properties, Record};
use super::suite::{Suite, Variant};
use crate::harness::sha256;

/// Longest kernel IR text, in bytes, that a fixture keeps beside its hash.
const MAX_KEPT_IR_BYTES: usize = 16 * 1024;

/// Makes the artefacts of a spec.
pub trait ArtefactSource {
    /// The kernel IR in its text form.
    ///
    /// # Errors
    /// [`SourceError::Failed`] when the spec breaks a rule or no kernel can be built.
    fn kernel_ir(&self, spec: &Spec) -> Result<String, SourceError>;

    /// What the GCN back end makes of the spec's kernel, by [`GcnRecord::of`]; `None` where it has too few registers.
    ///
    /// # Errors
    /// [`SourceError::Failed`] when it refuses the kernel for anything else.
    fn gcn(&self, spec: &Spec) -> Result<Option<GcnRecord>, SourceError>;

    /// What LLVM makes of the spec's kernel, by [`LlvmRecord::of`].
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] when there is no LLVM, [`SourceError::Failed`] when it refuses.
    fn llvm(&self, spec: &Spec) -> Result<LlvmRecord, SourceError>;
}

/// Why an artefact could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Something is missing on this machine; it says what and how to get it.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// The artefact cannot be made anywhere.
    #[error("{0}")]
    Failed(String),
}

/// A variant's artefacts as they are now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Observed {
    pub spec_sha256: String,
    pub kernel_ir: String,
    pub gcn: Option<GcnRecord>,
    /// `Err` says why LLVM is unavailable.
    pub llvm: Result<LlvmRecord, String>,
}

/// Of every variant and target; `Err` says why artefacts cannot be made.
pub(super) type Observations = BTreeMap<(Variant, Target), Result<Observed, String>>;

/// Makes the artefacts of every variant and target.
pub(super) fn observe_all(suite: &Suite, source: &dyn ArtefactSource) -> Observations {
    let of_variant = |(variant, specs): (&Variant, &BTreeMap<Target, Spec>)| {
        let observe = |(target, spec): (&Target, &Spec)| {
            ((variant.clone(), *target), Observed::of(spec, source))
        };
        specs.iter().map(observe).collect::<Vec<_>>()
    };
    suite.variants.iter().flat_map(of_variant).collect()
}

impl Observed {
    /// Makes the artefacts of `spec`; `Err` says why that failed.
    fn of(spec: &Spec, source: &dyn ArtefactSource) -> Result<Observed, String> {
        let kernel_ir = source.kernel_ir(spec).map_err(|error| error.to_string())?;
        let gcn = source.gcn(spec).map_err(|error| error.to_string())?;
        let llvm = match source.llvm(spec) {
            Ok(record) => Ok(record),
            Err(SourceError::Unavailable(reason)) => Err(reason),
            Err(SourceError::Failed(reason)) => return Err(reason),
        };
        Ok(Observed { spec_sha256: spec.spec_hash(), kernel_ir, gcn, llvm })
    }

    /// The SHA-256 of the kernel IR.
    pub fn kernel_ir_sha256(&self) -> String {
        sha256(self.kernel_ir.as_bytes())
    }

    /// The record to write; `Err` says why LLVM is unavailable.
    pub fn record(&self) -> Result<Record, String> {
        let is_short = self.kernel_ir.len() <= MAX_KEPT_IR_BYTES;
        Ok(Record {
            spec_sha256: self.spec_sha256.clone(),
            kernel_ir_sha256: self.kernel_ir_sha256(),
            kernel_ir: is_short.then(|| self.kernel_ir.clone()),
            gcn: self.gcn.clone(),
            llvm: self.llvm.clone()?,
        })
    }
}

impl LlvmRecord {
    /// The record of what the LLVM of exactly this version made: the LLVM IR's text before any
    /// optimisation, and the linked code object with the kernel of this name.
    ///
    /// # Errors
    /// [`SourceError::Failed`] when the code object is malformed, has no such kernel, or its code
    /// does not decode.
    pub fn of(
        version: &str,
        llvm_ir: &str,
        code_object: &[u8],
        kernel: &str,
    ) -> Result<LlvmRecord, SourceError> {
        let (code_object_sha256, properties) = observed(code_object, kernel)?;
        Ok(LlvmRecord {
            version: version.to_owned(),
            llvm_ir_sha256: sha256(llvm_ir.as_bytes()),
            code_object_sha256,
            properties,
        })
    }
}

impl GcnRecord {
    /// The record of what the GCN back end made: its text, and the code object with the kernel of this name.
    ///
    /// # Errors
    /// As [`LlvmRecord::of`].
    pub fn of(assembly: &str, code_object: &[u8], kernel: &str) -> Result<GcnRecord, SourceError> {
        let is_comment = |line: &&str| line.trim_start().starts_with(';');
        let lines = assembly.lines().filter(|line| !is_comment(line));
        let code: String = lines.flat_map(|line| [line, "\n"]).collect();
        let (code_object_sha256, properties) = observed(code_object, kernel)?;
        Ok(GcnRecord { assembly_sha256: sha256(code.as_bytes()), code_object_sha256, properties })
    }
}

/// Hash and properties of a code object.
fn observed(code_object: &[u8], kernel: &str) -> Result<(String, Properties), SourceError> {
    let object = CodeObject::parse(code_object);
    let object = object.map_err(|error| SourceError::Failed(error.to_string()))?;
    let properties = properties::of_kernel(&object, kernel).map_err(SourceError::Failed)?;
    Ok((object.loaded_bytes_sha256(), properties))
}
