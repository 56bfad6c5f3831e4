//! Rewriting of records by somebody who has a reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use super::check::{Report, difference};
use super::error::GoldenError;
use super::observe::{ArtefactSource, Observations, Observed, observe_all};
use super::record::{Blessing, Fixture, Record};
use super::suite::{Found, Suite, Variant};
use crate::files::FileError;

/// What a blessing did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Blessed {
    /// How artefacts and records compared before.
    pub before: Report,
    /// Fixtures that were written: those whose records moved or are new.
    pub written: Vec<PathBuf>,
    /// Fixtures that were removed: those that no spec asks for.
    pub removed: Vec<PathBuf>,
}

/// Records every variant's artefacts as they are now. Fixtures whose records are right already keep
/// their old reason. Files that are no fixtures are left alone, and keep failing the check.
///
/// # Errors
/// [`GoldenError::Incomplete`] when an artefact cannot be made: then nothing is written. Other
/// [`GoldenError`]s when a file cannot be read or written: then each file is as it was or whole.
pub fn bless(
    suite: &Suite,
    source: &dyn ArtefactSource,
    blessing: &Blessing,
) -> Result<Blessed, GoldenError> {
    let found = suite.read_fixtures()?;
    let observations = observe_all(suite, source);
    let before = difference(suite, &found, &observations);
    let records = all_records(&observations)?;
    let mut blessed = Blessed { before, written: Vec::new(), removed: Vec::new() };
    for (variant, targets) in records {
        let path = suite.path(&variant);
        if found.fixtures.get(&variant).is_none_or(|old| old.targets != targets) {
            let fixture = Fixture::new(&variant.family, &variant.name, blessing.clone());
            Fixture { targets, ..fixture }.write(&path)?;
            blessed.written.push(path);
        }
    }
    blessed.removed = remove_extra(suite, &found)?;
    Ok(blessed)
}

type Records = BTreeMap<Variant, BTreeMap<String, Record>>;

/// The records of every variant and target, or every reason why there are none.
fn all_records(observations: &Observations) -> Result<Records, GoldenError> {
    let mut records = Records::new();
    let (mut reasons, mut unavailable) = (Vec::new(), true);
    for ((variant, target), observed) in observations {
        unavailable &= observed.is_ok();
        match observed.as_ref().map_err(String::clone).and_then(Observed::record) {
            Ok(record) => {
                let targets = records.entry(variant.clone()).or_default();
                targets.insert(target.name().to_owned(), record);
            }
            Err(reason) => {
                reasons.push(format!("{}/{} for {target}: {reason}", variant.family, variant.name));
            }
        }
    }
    match reasons.is_empty() {
        true => Ok(records),
        false => Err(GoldenError::Incomplete { unavailable, reasons }),
    }
}

fn remove_extra(suite: &Suite, found: &Found) -> Result<Vec<PathBuf>, GoldenError> {
    let extra = found.fixtures.keys().filter(|variant| !suite.variants.contains_key(*variant));
    extra.map(|variant| remove(suite.path(variant))).collect()
}

fn remove(path: PathBuf) -> Result<PathBuf, GoldenError> {
    match fs::remove_file(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(FileError::Io { action: "remove", path, source }.into()),
    }
}
