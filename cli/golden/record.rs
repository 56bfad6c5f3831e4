//! Fixtures: their form on disk.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use isa::Target;
use serde::{Deserialize, Serialize};

use super::error::GoldenError;
use crate::files;
use crate::harness::sha256;

/// The form that this version reads and writes.
const SCHEMA: u32 = 1;
/// Largest fixture in bytes.
const MAX_FIXTURE_BYTES: u64 = 1 << 20;

/// One variant's records, one a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixture {
    /// Version of this form.
    pub schema: u32,
    /// The family; also the folder.
    pub family: String,
    /// The variant's name, which is also the kernel's symbol; also the file's name.
    pub variant: String,
    /// The last blessing.
    pub blessed: Blessing,
    /// Target → record.
    pub targets: BTreeMap<String, Record>,
}

/// Who looks at a golden later reads why it is as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blessing {
    /// Why, in the words of whoever blessed.
    pub why: String,
    /// When (UTC), as `2026-01-31`.
    pub date: String,
}

/// What one variant's artefacts are on one target. Hashes are SHA-256 in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Of the fields that change code (`Spec::spec_hash`).
    pub spec_sha256: String,
    /// Of the kernel IR's text.
    pub kernel_ir_sha256: String,
    /// The kernel IR's text itself, where it is short enough to be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_ir: Option<String>,
    /// What the GCN back end made of it; absent where it has too few registers for the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcn: Option<GcnRecord>,
    /// What LLVM made of it.
    pub llvm: LlvmRecord,
}

/// What the GCN back end makes of a kernel. It is part of this program, so that its records can always be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GcnRecord {
    /// Of the assembly text without its comments, which name lines of the kernels' source.
    pub assembly_sha256: String,
    /// Of the code object's loaded bytes (`codeobj::CodeObject::loaded_bytes_sha256`).
    pub code_object_sha256: String,
    /// What a reviewer reads of the code object.
    pub properties: Properties,
}

/// What one LLVM makes of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LlvmRecord {
    /// The exact version.
    pub version: String,
    /// Of the LLVM IR's text before any optimisation.
    pub llvm_ir_sha256: String,
    /// Of the code object's loaded bytes (`codeobj::CodeObject::loaded_bytes_sha256`).
    pub code_object_sha256: String,
    /// What a reviewer reads of the code object.
    pub properties: Properties,
}

/// Name → count or size, such as `vgprs` or `instructions_valu`.
pub type Properties = BTreeMap<String, u64>;

impl Blessing {
    /// A blessing of today.
    ///
    /// # Errors
    /// [`GoldenError::NoReason`] when `why` says nothing, [`GoldenError::InCi`] when `in_ci`.
    pub fn today(why: &str, in_ci: bool) -> Result<Blessing, GoldenError> {
        let why = why.trim();
        if why.is_empty() {
            return Err(GoldenError::NoReason);
        }
        if in_ci {
            return Err(GoldenError::InCi);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Blessing { why: why.to_owned(), date: civil_date(now.as_secs() / 86_400) })
    }
}

impl Fixture {
    /// A fixture without records.
    pub(super) fn new(family: &str, variant: &str, blessed: Blessing) -> Fixture {
        let (family, variant) = (family.to_owned(), variant.to_owned());
        Fixture { schema: SCHEMA, family, variant, blessed, targets: BTreeMap::new() }
    }

    /// Reads the fixture that lies at `<folder>/<family>/<variant>.toml`.
    ///
    /// # Errors
    /// [`GoldenError`] when the file cannot be read, is no fixture, or is another variant's.
    pub fn read(path: &Path) -> Result<Fixture, GoldenError> {
        let text = files::read_text(path, "a golden fixture", MAX_FIXTURE_BYTES)?;
        let refuse = |problem| GoldenError::Fixture { path: path.to_owned(), problem };
        let fixture: Fixture = toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        fixture.check(path).map_err(refuse)?;
        Ok(fixture)
    }

    /// Writes the fixture, whole or not at all.
    ///
    /// # Errors
    /// [`GoldenError`] when the file cannot be written.
    pub(super) fn write(&self, path: &Path) -> Result<(), GoldenError> {
        files::make_folder_of(path)?;
        Ok(files::write(path, self.text(path)?.as_bytes())?)
    }

    /// The text on disk; `path` names the file in errors.
    pub(super) fn text(&self, path: &Path) -> Result<String, GoldenError> {
        toml::to_string_pretty(self).map_err(|error| GoldenError::Fixture {
            path: path.to_owned(),
            problem: error.to_string(),
        })
    }

    fn check(&self, path: &Path) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("schema is {}, this version reads {SCHEMA}", self.schema));
        }
        for target in self.targets.keys() {
            target.parse::<Target>().map_err(|error| error.to_string())?;
        }
        if self.blessed.why.trim().is_empty() {
            return Err("its blessing has no reason".to_owned());
        }
        for (target, record) in &self.targets {
            let text_hash = record.kernel_ir.as_ref().map(|text| sha256(text.as_bytes()));
            if text_hash.is_some_and(|hash| hash != record.kernel_ir_sha256) {
                return Err(format!(
                    "the kernel IR kept for {target} has another hash than is recorded"
                ));
            }
        }
        let place = Path::new(&self.family).join(format!("{}.toml", self.variant));
        if !path.ends_with(&place) {
            return Err(format!("it is the fixture of {}", place.display()));
        }
        Ok(())
    }
}

/// `yyyy-mm-dd` of a day of the Gregorian calendar, counted from 1970-01-01.
fn civil_date(day: u64) -> String {
    let is_leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let (mut year, mut day) = (1970, day);
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        for (day, date) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_786, "2026-11-29"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(civil_date(day), date);
        }
    }

    #[test]
    fn a_blessing_needs_a_reason_and_a_person() {
        assert!(matches!(Blessing::today(" \n", false), Err(GoldenError::NoReason)));
        assert!(matches!(Blessing::today("faster", true), Err(GoldenError::InCi)));
        let blessing = Blessing::today(" faster ", false).unwrap();
        assert_eq!((blessing.why.as_str(), blessing.date.len()), ("faster", 10));
    }
}
