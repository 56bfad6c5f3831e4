//! Which variants have goldens, and where those lie.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use isa::Target;
use specs::Spec;

use super::error::GoldenError;
use super::record::Fixture;
use crate::files::FileError;

/// Specs and the folder of their fixtures.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// The variants.
    pub(super) variants: BTreeMap<Variant, BTreeMap<Target, Spec>>,
    /// The folder of `<family>/<variant>.toml`.
    pub(super) folder: PathBuf,
}

/// What one fixture is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Variant {
    pub family: String,
    pub name: String,
}

/// What lies in a folder of fixtures.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub fixtures: BTreeMap<Variant, Fixture>,
    /// Files that are in no fixture's place, relative to the folder.
    pub strangers: Vec<PathBuf>,
}

impl Suite {
    /// The suite of these specs with fixtures in `folder`.
    ///
    /// # Errors
    /// [`GoldenError::VariantTwice`] when two specs would share a record.
    pub fn new(specs: &[Spec], folder: &Path) -> Result<Suite, GoldenError> {
        let mut variants: BTreeMap<Variant, BTreeMap<Target, Spec>> = BTreeMap::new();
        for spec in specs {
            let variant = Variant { family: spec.family().to_owned(), name: spec.name() };
            let targets = variants.entry(variant.clone()).or_default();
            if targets.insert(spec.target(), *spec).is_some() {
                let Variant { family, name: variant } = variant;
                return Err(GoldenError::VariantTwice { family, variant, target: spec.target() });
            }
        }
        Ok(Suite { variants, folder: folder.to_owned() })
    }

    /// The suite of a repository: every spec file in `specs/library/`, fixtures in `golden/`.
    ///
    /// # Errors
    /// [`GoldenError`] when a spec file does not read, there is none, or two are of one variant.
    pub fn in_repository(root: &Path) -> Result<Suite, GoldenError> {
        let folder = root.join("specs").join("library");
        let files = entries(&folder)?.into_iter().filter(|path| has_toml_name(path));
        let specs: Vec<Spec> =
            files.map(|path| specs::read_spec(&path)).collect::<Result<_, _>>()?;
        if specs.is_empty() {
            return Err(GoldenError::NoSpecs { folder });
        }
        Suite::new(&specs, &root.join("golden"))
    }

    /// Every fixture in the folder; a folder that does not exist holds none.
    pub(super) fn read_fixtures(&self) -> Result<Found, GoldenError> {
        let mut found = Found::default();
        if !self.folder.exists() {
            return Ok(found);
        }
        for path in entries(&self.folder)? {
            if path.is_dir() {
                self.read_family(&path, &mut found)?;
            } else if path.file_name().is_none_or(|name| name != "README.md") {
                found.strangers.push(self.relative(&path));
            }
        }
        Ok(found)
    }

    fn read_family(&self, family: &Path, found: &mut Found) -> Result<(), GoldenError> {
        for path in entries(family)? {
            if path.is_dir() || !has_toml_name(&path) {
                found.strangers.push(self.relative(&path));
                continue;
            }
            let fixture = Fixture::read(&path)?;
            let variant = Variant { family: fixture.family.clone(), name: fixture.variant.clone() };
            found.fixtures.insert(variant, fixture);
        }
        Ok(())
    }

    /// Where a variant's fixture lies.
    pub(super) fn path(&self, variant: &Variant) -> PathBuf {
        self.folder.join(&variant.family).join(format!("{}.toml", variant.name))
    }

    fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.folder).unwrap_or(path).to_owned()
    }
}

fn has_toml_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// What a folder holds, in the order of names.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, GoldenError> {
    let io = |source| FileError::Io { action: "list", path: folder.to_owned(), source };
    let listing = fs::read_dir(folder).map_err(io)?;
    let paths = listing.map(|entry| entry.map(|entry| entry.path()).map_err(io));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}
