//! Bundles: what an engine ships of some kernels, and how it is checked.
//!
//! A bundle is a directory: code objects, a manifest with everything there is to know about them, a Rust module and a C header
//! with one call a kernel, and one a plan of kernels that belong together. Equal specs and toolchains give equal bytes. `docs/bundle.md` describes it.

mod c_header;
pub mod formula;
pub mod manifest;
pub mod plan;
mod rust_module;
pub mod verify;

use std::collections::BTreeMap;
use std::path::Path;

use codeobj::CodeObject;
use specs::{Job, Spec};

use crate::backend::Backend;
use crate::bundle::manifest::{Emulated, KernelEntry, Manifest};
use crate::error::CliError;
use crate::harness::sha256;
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
        "'{name}': its grid in {axis} grows evenly with none of batch, chunks and segments, which is what bundles know: {grids}"
    )]
    Grid {
        /// Name of the kernel.
        name: String,
        /// The axis.
        axis: &'static str,
        /// Problems, and the workgroups that their launch plans say.
        grids: String,
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
pub fn make(
    sources: &[Source],
    backend: Backend,
    emulate: bool,
) -> Result<BTreeMap<String, Vec<u8>>, CliError> {
    refuse_twice(sources)?;
    let mut files = BTreeMap::new();
    let (mut kernels, mut built) = (Vec::new(), Vec::new());
    for Source { spec, .. } in sources {
        let code_object = cache::code_object(spec, backend)?;
        let job = Job::from(spec);
        let emulated = if emulate { Some(Emulated::run(job, &[&code_object])?) } else { None };
        let toolchain = backend.toolchain(&spec.name())?;
        let entry = KernelEntry::new(spec, &code_object, toolchain, emulated)?;
        built.push((*spec, code_object.clone()));
        files.insert(entry.code_object.file.clone(), code_object);
        kernels.push(entry);
    }
    // Whatever order the specs were given in.
    kernels.sort_by(|a, b| a.identifier.cmp(&b.identifier));
    let manifest = Manifest::new(kernels, plan::all(&built, emulate)?);
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
    remove_older(directory, files);
    for (name, bytes) in files.iter().filter(|(name, _)| *name != MANIFEST) {
        files::write_own(&directory.join(name), bytes)?;
    }
    files::write_own(&manifest, &files[MANIFEST])?;
    Ok(())
}

/// Removes the manifest of an older bundle in a directory, so that it never speaks of the new one's files, and whatever of
/// that bundle the new one does not have. What cannot be removed is in nobody's way: `verify` names it.
fn remove_older(directory: &Path, files: &BTreeMap<String, Vec<u8>>) {
    let Ok(older) = verify::read_manifest(directory) else { return };
    let _ = std::fs::remove_file(directory.join(MANIFEST));
    for (name, hash) in older.files.iter().filter(|(name, _)| !files.contains_key(*name)) {
        let path = directory.join(name);
        let unchanged = || verify::read_file(&path).is_ok_and(|bytes| sha256(&bytes) == *hash);
        if verify::is_plain(name) && unchanged() {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// What [`MANIFEST_HASH`] holds for a manifest.
fn hash_line(manifest: &[u8]) -> String {
    format!("{}  {MANIFEST}\n", sha256(manifest))
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
