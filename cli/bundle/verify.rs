//! Checking a bundle: every file is what the manifest says, and the manifest is what its code objects say.

use std::path::Path;

use codeobj::CodeObject;
use serde::Serialize;

use crate::bundle::manifest::{KernelEntry, Manifest, SCHEMA_NUMBER};
use crate::bundle::{BundleError, MANIFEST, MANIFEST_HASH, c_header, hash_line, rust_module};
use crate::error::CliError;
use crate::files;
use crate::harness::sha256;

/// Bytes that a file of a bundle may have.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// One thing that is not right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Discrepancy {
    /// The file.
    pub file: String,
    /// What is wrong, with both values.
    pub what: String,
}

/// A verified bundle.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The manifest.
    pub manifest: Manifest,
    /// What is not right; empty for a good bundle.
    pub discrepancies: Vec<Discrepancy>,
}

/// Reads a manifest.
///
/// # Errors
/// A file that is missing or no manifest of this format.
pub fn read_manifest(directory: &Path) -> Result<Manifest, CliError> {
    let path = directory.join(MANIFEST);
    let text = files::read_text(&path, "a bundle's manifest", MAX_FILE_BYTES)?;
    let unreadable = |why: String| BundleError::Manifest { file: path.display().to_string(), why };
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    match value.get("schema").and_then(serde_json::Value::as_u64) {
        Some(number) if number == u64::from(SCHEMA_NUMBER) => {}
        got => {
            let got = got.map_or_else(|| "missing".to_owned(), |number| number.to_string());
            let why = format!(
                "its schema is {got}, this program reads {SCHEMA_NUMBER}: make the bundle anew"
            );
            return Err(unreadable(why).into());
        }
    }
    Ok(serde_json::from_value(value).map_err(|error| unreadable(error.to_string()))?)
}

/// Checks a bundle.
///
/// # Errors
/// Only a manifest that cannot be read; all else is a discrepancy.
pub fn verify(directory: &Path) -> Result<Verified, CliError> {
    let manifest = read_manifest(directory)?;
    let mut found = Vec::new();
    for (name, expected) in &manifest.files {
        let plain = Path::new(name).components().count() == 1 && !name.starts_with('.');
        match plain
            .then(|| files::read(&directory.join(name), "a file of a bundle", MAX_FILE_BYTES))
        {
            None => found.push(discrepancy(name, "is no plain file name".to_owned())),
            Some(Err(error)) => found.push(discrepancy(name, error.to_string())),
            Some(Ok(bytes)) if sha256(&bytes) != *expected => {
                let what = format!("SHA-256 is {}, the manifest says {expected}", sha256(&bytes));
                found.push(discrepancy(name, what));
            }
            Some(Ok(bytes)) => found.extend(check_content(&manifest, name, &bytes)),
        }
    }
    found.extend(check_manifest_hash(directory)?);
    found.extend(check_listing(directory, &manifest));
    for kernel in &manifest.kernels {
        let file = &kernel.code_object.file;
        if !manifest.files.contains_key(file) {
            found.push(discrepancy(
                file,
                format!("kernel '{}' needs it, no hash is listed", kernel.kernel),
            ));
        }
    }
    Ok(Verified { manifest, discrepancies: found })
}

fn discrepancy(file: &str, what: String) -> Discrepancy {
    Discrepancy { file: file.to_owned(), what }
}

/// The manifest against its own hash.
fn check_manifest_hash(directory: &Path) -> Result<Option<Discrepancy>, CliError> {
    let manifest = files::read(&directory.join(MANIFEST), "a bundle's manifest", MAX_FILE_BYTES)?;
    let expected = hash_line(&manifest);
    let what = match files::read(&directory.join(MANIFEST_HASH), "a hash", MAX_FILE_BYTES) {
        Err(error) => error.to_string(),
        Ok(bytes) if bytes == expected.as_bytes() => return Ok(None),
        Ok(bytes) => format!(
            "says '{}', the manifest gives '{}'",
            String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).trim_end(),
            expected.trim_end()
        ),
    };
    Ok(Some(discrepancy(MANIFEST_HASH, what)))
}

/// Files that nobody speaks of.
fn check_listing(directory: &Path, manifest: &Manifest) -> Vec<Discrepancy> {
    let own = [MANIFEST, MANIFEST_HASH];
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut strangers: Vec<String> = names
        .filter(|name| !own.contains(&name.as_str()) && !manifest.files.contains_key(name))
        .collect();
    strangers.sort();
    strangers.iter().map(|name| discrepancy(name, "is not in the manifest".to_owned())).collect()
}

/// What a file with the right hash should hold.
fn check_content(manifest: &Manifest, name: &str, bytes: &[u8]) -> Vec<Discrepancy> {
    let generated = match name {
        crate::bundle::C_HEADER => Some(c_header::text(manifest)),
        crate::bundle::RUST_MODULE => Some(rust_module::text(manifest)),
        _ => None,
    };
    if generated.is_some_and(|text| text.as_bytes() != bytes) {
        return vec![discrepancy(name, "is not what the manifest's kernels give".to_owned())];
    }
    let kernels = manifest.kernels.iter().filter(|kernel| kernel.code_object.file == name);
    kernels.flat_map(|kernel| check_kernel(kernel, bytes)).collect()
}

/// A kernel's entry against its code object.
fn check_kernel(entry: &KernelEntry, bytes: &[u8]) -> Vec<Discrepancy> {
    let file = &entry.code_object.file;
    let object = match CodeObject::parse(bytes) {
        Ok(object) => object,
        Err(error) => return vec![discrepancy(file, error.to_string())],
    };
    let kernel = match object.kernel(&entry.kernel) {
        Ok(kernel) => kernel,
        Err(error) => return vec![discrepancy(file, error.to_string())],
    };
    let metadata = &kernel.metadata;
    let compiled: Vec<(String, u32, u32)> = metadata
        .explicit_args()
        .map(|arg| (arg.name.clone().unwrap_or_default(), arg.offset, arg.size))
        .collect();
    let listed: Vec<(String, u32, u32)> =
        entry.arguments.iter().map(|arg| (arg.name.clone(), arg.offset, arg.size)).collect();
    let resources = &entry.resources;
    let pairs = [
        ("target", object.target.to_string(), entry.target.clone()),
        ("SHA-256 of the code object", sha256(bytes), entry.code_object.sha256.clone()),
        (
            "SHA-256 of what is loaded",
            object.loaded_bytes_sha256(),
            entry.code_object.loaded_sha256.clone(),
        ),
        ("arguments", format!("{compiled:?}"), format!("{listed:?}")),
        (
            "LDS in bytes",
            metadata.group_segment_fixed_size.to_string(),
            resources.lds_bytes.to_string(),
        ),
        (
            "scratch in bytes",
            metadata.private_segment_fixed_size.to_string(),
            resources.scratch_bytes.to_string(),
        ),
        ("vector registers", metadata.vgpr_count.to_string(), resources.vgprs.to_string()),
        ("scalar registers", metadata.sgpr_count.to_string(), resources.sgprs.to_string()),
        (
            "workgroup",
            format!("{:?}", metadata.reqd_workgroup_size.unwrap_or(entry.launch.workgroup)),
            format!("{:?}", entry.launch.workgroup),
        ),
    ];
    let differ = pairs.into_iter().filter(|(_, compiled, listed)| compiled != listed);
    differ
        .map(|(what, compiled, listed)| {
            discrepancy(
                file,
                format!("{what}: {compiled} in the code object, {listed} in the manifest"),
            )
        })
        .collect()
}
