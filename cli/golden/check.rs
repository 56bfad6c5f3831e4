//! Comparison of artefacts with their records.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use isa::Target;
use serde::Serialize;
use similar::TextDiff;

use super::error::GoldenError;
use super::observe::{ArtefactSource, Observations, Observed, observe_all};
use super::record::{GcnRecord, LlvmRecord, Properties, Record};
use super::suite::{Found, Suite, Variant};

/// Lines of unchanged text around a change.
const CONTEXT_LINES: usize = 3;

/// What was compared, in the order of families, variants and targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// One entry a variant and target.
    pub entries: Vec<Entry>,
    /// How many have which status.
    pub counts: Counts,
    /// Whether everything is as recorded.
    pub passed: bool,
}

/// One variant on one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The family; for a file that is no fixture, its folder.
    pub family: String,
    /// The variant's name; for a file that is no fixture, the file's.
    pub variant: String,
    /// The target; none for a file that is no fixture.
    pub target: Option<&'static str>,
    /// How it compares.
    #[serde(flatten)]
    pub status: Status,
}

/// How artefacts compare with their record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// Every hash and property is as recorded.
    Match,
    /// Something moved.
    Changed {
        /// What, from and to.
        moved: Vec<Moved>,
        /// Lines of the kernel IR that changed, where [`diff`] was asked and the old text was kept.
        #[serde(skip_serializing_if = "Option::is_none")]
        kernel_ir: Option<String>,
    },
    /// Kernel IR and what the GCN back end makes match; what LLVM makes cannot be compared here.
    NotComparable {
        /// Why not.
        reason: String,
    },
    /// A spec without a record.
    Missing,
    /// A record, or a file in the folder of fixtures, that no spec asks for.
    Extra,
    /// A record of another spec that had this name.
    Stale {
        /// Hash of the spec that was recorded.
        recorded_spec_sha256: String,
    },
    /// The artefacts cannot be made.
    Failed {
        /// Why not.
        reason: String,
    },
}

/// One hash or property that moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Its name.
    pub what: String,
    /// As recorded; none when it is new.
    pub old: Option<String>,
    /// As it is; none when it is gone.
    pub new: Option<String>,
}

/// How many entries have which status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are the variants of Status")]
pub struct Counts {
    pub matching: usize,
    pub changed: usize,
    pub not_comparable: usize,
    pub missing: usize,
    pub extra: usize,
    pub stale: usize,
    pub failed: usize,
}

/// Compares every variant with its record. Unless `require_comparable`, what another LLVM recorded
/// does not fail the suite.
///
/// # Errors
/// [`GoldenError`] when a fixture cannot be read.
pub fn check(
    suite: &Suite,
    source: &dyn ArtefactSource,
    require_comparable: bool,
) -> Result<Report, GoldenError> {
    let found = suite.read_fixtures()?;
    let observations = observe_all(suite, source);
    Ok(Report::of(compare(suite, &found, &observations, Detail::Hashes), require_comparable))
}

/// As [`check`] that requires nothing comparable, and shows what changed in the kernel IR.
///
/// # Errors
/// [`GoldenError`] when a fixture cannot be read.
pub fn diff(suite: &Suite, source: &dyn ArtefactSource) -> Result<Report, GoldenError> {
    Ok(difference(suite, &suite.read_fixtures()?, &observe_all(suite, source)))
}

/// As [`diff`], of what was read and observed already.
pub(super) fn difference(suite: &Suite, found: &Found, observations: &Observations) -> Report {
    Report::of(compare(suite, found, observations, Detail::KernelIr), false)
}

/// What a changed entry shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Hashes,
    KernelIr,
}

impl Report {
    fn of(entries: Vec<Entry>, require_comparable: bool) -> Report {
        let mut counts = Counts::default();
        entries.iter().for_each(|entry| *counts.of_mut(&entry.status) += 1);
        let passes = |entry: &Entry| match entry.status {
            Status::Match => true,
            Status::NotComparable { .. } => !require_comparable,
            _ => false,
        };
        let passed = entries.iter().all(passes);
        Report { entries, counts, passed }
    }
}

impl Counts {
    fn of_mut(&mut self, status: &Status) -> &mut usize {
        match status {
            Status::Match => &mut self.matching,
            Status::Changed { .. } => &mut self.changed,
            Status::NotComparable { .. } => &mut self.not_comparable,
            Status::Missing => &mut self.missing,
            Status::Extra => &mut self.extra,
            Status::Stale { .. } => &mut self.stale,
            Status::Failed { .. } => &mut self.failed,
        }
    }
}

impl Entry {
    fn new(variant: &Variant, target: &'static str, status: Status) -> Entry {
        let (family, name) = (variant.family.clone(), variant.name.clone());
        Entry { family, variant: name, target: Some(target), status }
    }

    /// A file that is in no fixture's place.
    fn stranger(path: &Path) -> Entry {
        let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let family = text(path.parent().map(Path::as_os_str));
        Entry { family, variant: text(path.file_name()), target: None, status: Status::Extra }
    }
}

/// Every spec with its record, every record without a spec, and every stray file.
fn compare(
    suite: &Suite,
    found: &Found,
    observations: &Observations,
    detail: Detail,
) -> Vec<Entry> {
    let mut entries: Vec<Entry> =
        found.strangers.iter().map(|path| Entry::stranger(path)).collect();
    for ((variant, target), observed) in observations {
        let fixture = found.fixtures.get(variant);
        let record = fixture.and_then(|fixture| fixture.targets.get(target.name()));
        let status = status(record, observed, detail);
        entries.push(Entry::new(variant, target.name(), status));
    }
    for (variant, fixture) in &found.fixtures {
        let asked = suite.variants.get(variant);
        let targets = Target::ALL.into_iter().filter(|target| {
            let recorded = fixture.targets.contains_key(target.name());
            recorded && asked.is_none_or(|specs| !specs.contains_key(target))
        });
        entries.extend(targets.map(|target| Entry::new(variant, target.name(), Status::Extra)));
    }
    entries.sort_by(|a, b| {
        let key = |entry: &Entry| (entry.family.clone(), entry.variant.clone(), entry.target);
        key(a).cmp(&key(b))
    });
    entries
}

fn status(record: Option<&Record>, observed: &Result<Observed, String>, detail: Detail) -> Status {
    match (record, observed) {
        (_, Err(reason)) => Status::Failed { reason: reason.clone() },
        (None, Ok(_)) => Status::Missing,
        (Some(record), Ok(observed)) if record.spec_sha256 != observed.spec_sha256 => {
            Status::Stale { recorded_spec_sha256: record.spec_sha256.clone() }
        }
        (Some(record), Ok(observed)) => status_of(record, observed, detail),
    }
}

/// Compares artefacts with the record of the same spec.
fn status_of(record: &Record, observed: &Observed, detail: Detail) -> Status {
    let mut moved = Vec::new();
    let kernel_ir_sha256 = observed.kernel_ir_sha256();
    push_moved(&mut moved, "kernel_ir_sha256", &record.kernel_ir_sha256, &kernel_ir_sha256);
    push_gcn_moved(&mut moved, record.gcn.as_ref(), observed.gcn.as_ref());
    let incomparable = match &observed.llvm {
        Err(reason) => Some(format!("LLVM is unavailable: {reason}")),
        Ok(llvm) if llvm.version != record.llvm.version => Some(format!(
            "recorded with LLVM {}, this is LLVM {}",
            record.llvm.version, llvm.version
        )),
        Ok(llvm) => {
            push_llvm_moved(&mut moved, &record.llvm, llvm);
            None
        }
    };
    match incomparable {
        _ if !moved.is_empty() => {
            let old = record.kernel_ir.as_ref().filter(|_| detail == Detail::KernelIr);
            let kernel_ir = old.map(|old| line_diff(old, &observed.kernel_ir));
            Status::Changed { moved, kernel_ir: kernel_ir.filter(|text| !text.is_empty()) }
        }
        Some(reason) => Status::NotComparable { reason },
        None => Status::Match,
    }
}

/// Hashes first, then properties in the order of their names.
fn push_llvm_moved(moved: &mut Vec<Moved>, old: &LlvmRecord, new: &LlvmRecord) {
    push_moved(moved, "llvm_ir_sha256", &old.llvm_ir_sha256, &new.llvm_ir_sha256);
    push_moved(moved, "code_object_sha256", &old.code_object_sha256, &new.code_object_sha256);
    push_properties_moved(moved, "", &old.properties, &new.properties);
}

/// As [`push_llvm_moved`], with `gcn.` before every name; a kernel may become too large for its registers, or fit.
fn push_gcn_moved(moved: &mut Vec<Moved>, old: Option<&GcnRecord>, new: Option<&GcnRecord>) {
    let (Some(old), Some(new)) = (old, new) else {
        let word = |record: Option<&GcnRecord>| if record.is_some() { "fits" } else { "refused" };
        return push_moved(moved, "gcn", word(old), word(new));
    };
    push_moved(moved, "gcn.assembly_sha256", &old.assembly_sha256, &new.assembly_sha256);
    push_moved(moved, "gcn.code_object_sha256", &old.code_object_sha256, &new.code_object_sha256);
    push_properties_moved(moved, "gcn.", &old.properties, &new.properties);
}

fn push_properties_moved(moved: &mut Vec<Moved>, prefix: &str, old: &Properties, new: &Properties) {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (old, new) = (old.get(name), new.get(name));
        if old != new {
            let text = |value: Option<&u64>| value.map(u64::to_string);
            moved.push(Moved { what: format!("{prefix}{name}"), old: text(old), new: text(new) });
        }
    }
}

fn push_moved(moved: &mut Vec<Moved>, what: &str, old: &str, new: &str) {
    if old != new {
        let (old, new) = (Some(old.to_owned()), Some(new.to_owned()));
        moved.push(Moved { what: what.to_owned(), old, new });
    }
}

/// The lines that changed, with some that did not around them.
fn line_diff(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(CONTEXT_LINES).header("recorded", "now").to_string()
}
