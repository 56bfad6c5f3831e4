//! Bundles: what an engine ships of some kernels, and how it is checked.
//!
//! A bundle is a directory: code objects, a manifest with everything there is to know about them, a Rust module and a C header
//! with one call a kernel. Equal specs and toolchains give equal bytes. `docs/bundle.md` describes it.

mod c_header;
pub mod formula;
pub mod manifest;
mod rust_module;
pub mod verify;

use std::collections::BTreeMap;
use std::path::Path;

use codeobj::CodeObject;
use specs::Spec;

use crate::bundle::manifest::{Emulated, KernelEntry, Manifest};
use crate::error::CliError;
use crate::{cache, files};

/// File name of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// File name of the manifest's hash, as `sha256sum --check` reads it.
pub const MANIFEST_HASH: &str = "manifest.sha256";
/// File name of the manifest's JSON Schema.
pub const SCHEMA: &str = "manifest.schema.json";
/// File name of the C header.
pub const C_HEADER: &str = "wavesmith_bundle.h";
/// File name of the Rust module.
pub const RUST_MODULE: &str = "wavesmith_bundle.rs";
/// The schema of [`MANIFEST`], for validators.
pub const SCHEMA_TEXT: &str = include_str!("manifest.schema.json");

/// Why there is no bundle, or why one is not right.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Two specs of one name and target.
    #[error("'{name}' for {target} is given twice: {first} and {second} describe one kernel")]
    Twice {
        /// Name of the kernel.
        name: String,
        /// Its target.
        target: &'static str,
        /// The spec file seen first.
        first: String,
        /// The other one.
        second: String,
    },
    /// A kernel whose grid is not what a formula of a bundle can say.
    #[error(
        "'{name}': its grid in {axis} is {got} workgroups for batch {batch}, the formula {formula} gives {expected}: bundles know grids that grow evenly with the batch or the chunks"
    )]
    Grid {
        /// Name of the kernel.
        name: String,
        /// The axis.
        axis: &'static str,
        /// The batch.
        batch: u32,
        /// What the launch plan says.
        got: u32,
        /// What the formula says.
        expected: u64,
        /// The formula.
        formula: String,
    },
    /// A kernel that is wrong on the emulator.
    #[error("'{name}' for {target} does not pass on the emulator, so it is not bundled: {why}")]
    Wrong {
        /// Name of the kernel.
        name: String,
        /// Its target.
        target: &'static str,
        /// The first output or finding that is wrong.
        why: String,
    },
    /// A manifest that cannot be read.
    #[error("{file}: {why}")]
    Manifest {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
}

/// A spec, and the file it was read from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file, for messages.
    pub file: String,
    /// The spec.
    pub spec: Spec,
}

/// The files of a bundle, by name.
///
/// # Errors
/// What keeps a kernel from being compiled, described or, unless `emulate` is false, from passing on the emulator.
pub fn make(sources: &[Source], emulate: bool) -> Result<BTreeMap<String, Vec<u8>>, CliError> {
    refuse_twice(sources)?;
    let mut files = BTreeMap::new();
    let mut kernels = Vec::new();
    for Source { spec, .. } in sources {
        let code_object = cache::code_object(spec)?;
        let emulated = if emulate { Some(Emulated::run(spec, &code_object)?) } else { None };
        let entry = KernelEntry::new(spec, &code_object, emulated)?;
        files.insert(entry.code_object.file.clone(), code_object);
        kernels.push(entry);
    }
    // Whatever order the specs were given in.
    kernels.sort_by(|a, b| a.identifier.cmp(&b.identifier));
    let manifest = Manifest::new(kernels);
    files.insert(C_HEADER.to_owned(), c_header::text(&manifest).into_bytes());
    files.insert(RUST_MODULE.to_owned(), rust_module::text(&manifest).into_bytes());
    files.insert(SCHEMA.to_owned(), SCHEMA_TEXT.as_bytes().to_vec());
    let text = manifest.text(&files)?;
    files.insert(MANIFEST_HASH.to_owned(), hash_line(text.as_bytes()).into_bytes());
    files.insert(MANIFEST.to_owned(), text.into_bytes());
    Ok(files)
}

/// Writes a bundle; the manifest comes last, so that a directory with a manifest has everything it names.
///
/// # Errors
/// A file that cannot be written.
pub fn write(directory: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), CliError> {
    let manifest = directory.join(MANIFEST);
    files::make_folder_of(&manifest)?;
    for (name, bytes) in files.iter().filter(|(name, _)| *name != MANIFEST) {
        files::write(&directory.join(name), bytes)?;
    }
    files::write(&manifest, &files[MANIFEST])?;
    Ok(())
}

/// What [`MANIFEST_HASH`] holds for a manifest.
fn hash_line(manifest: &[u8]) -> String {
    format!("{}  {MANIFEST}\n", crate::harness::sha256(manifest))
}

fn refuse_twice(sources: &[Source]) -> Result<(), BundleError> {
    let mut seen: BTreeMap<(String, &'static str), &str> = BTreeMap::new();
    for Source { file, spec } in sources {
        let (name, target) = (spec.name(), spec.target().name());
        if let Some(first) = seen.insert((name.clone(), target), file) {
            let (first, second) = (first.to_owned(), file.clone());
            return Err(BundleError::Twice { name, target, first, second });
        }
    }
    Ok(())
}

/// The kernel of a code object that holds one.
fn only_kernel<'o>(spec: &Spec, object: &'o CodeObject) -> Result<&'o codeobj::Kernel, CliError> {
    Ok(object.kernel(&spec.name())?)
}
