//! Checking a bundle: every file is what the manifest says, and the manifest is what its code objects say.

use std::path::Path;

use codeobj::{CodeObject, KernelArg, KernelMetadata};
use serde::Serialize;

use crate::bundle::manifest::{KernelEntry, Manifest, SCHEMA_NUMBER};
use crate::bundle::{BundleError, MANIFEST, MANIFEST_HASH, c_header, hash_line, rust_module};
use crate::error::CliError;
use crate::files::{self, FileError};
use crate::harness::sha256;

/// Bytes that a file of a bundle may have.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Bytes that a manifest may have.
const MAX_MANIFEST_BYTES: u64 = 1 << 24;

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
    let text = files::read_text(&path, "a bundle's manifest", MAX_MANIFEST_BYTES)?;
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
    if std::fs::symlink_metadata(directory.join(MANIFEST)).is_ok_and(|about| about.is_symlink()) {
        found.push(discrepancy(MANIFEST, "is a link, a bundle's manifest is a file".to_owned()));
    }
    for (name, expected) in &manifest.files {
        match is_plain(name).then(|| read_file(&directory.join(name))) {
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
    for plan in &manifest.plans {
        found.extend(
            plan.problem(&manifest.kernels)
                .map(|what| discrepancy(MANIFEST, format!("plan '{}' {what}", plan.identifier))),
        );
    }
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

/// A file of a bundle.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, FileError> {
    files::read_own(path, "a file of a bundle", MAX_FILE_BYTES)
}

fn discrepancy(file: &str, what: String) -> Discrepancy {
    Discrepancy { file: file.to_owned(), what }
}

/// The manifest against its own hash.
fn check_manifest_hash(directory: &Path) -> Result<Option<Discrepancy>, CliError> {
    let manifest =
        files::read(&directory.join(MANIFEST), "a bundle's manifest", MAX_MANIFEST_BYTES)?;
    let expected = hash_line(&manifest);
    let what = match read_file(&directory.join(MANIFEST_HASH)) {
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

/// Whether a name is one of a file in the bundle's own directory.
pub(crate) fn is_plain(name: &str) -> bool {
    let mut components = Path::new(name).components();
    let first = components.next();
    first.is_some_and(|first| first.as_os_str() == name)
        && components.next().is_none()
        && !name.starts_with('.')
        && !name.contains('\0')
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
    let pairs = identities(entry, &object, bytes)
        .into_iter()
        .chain([arguments(entry, &kernel.metadata)])
        .chain(resources(entry, &kernel.metadata))
        .chain(launches(entry, &kernel.metadata));
    let differ = pairs.filter(|(_, compiled, listed)| compiled != listed);
    differ
        .map(|(what, compiled, listed)| {
            discrepancy(
                file,
                format!("{what}: {compiled} in the code object, {listed} in the manifest"),
            )
        })
        .collect()
}

/// What is compared, as the code object and as the manifest have it.
type Pair = (&'static str, String, String);

/// Who the kernel and its file are.
fn identities(entry: &KernelEntry, object: &CodeObject, bytes: &[u8]) -> [Pair; 7] {
    let listed = &entry.code_object;
    [
        ("target", object.target.to_string(), entry.target.clone()),
        ("target id", object.features.target_id(object.target), entry.target_id.clone()),
        ("identifier", format!("{}_{}", entry.kernel, object.target), entry.identifier.clone()),
        ("version", object.abi_version.to_string(), listed.version.clone()),
        ("size in bytes", bytes.len().to_string(), listed.bytes.to_string()),
        ("SHA-256 of the code object", sha256(bytes), listed.sha256.clone()),
        ("SHA-256 of what is loaded", object.loaded_bytes_sha256(), listed.loaded_sha256.clone()),
    ]
}

/// Names, places and access of the arguments.
fn arguments(entry: &KernelEntry, metadata: &KernelMetadata) -> Pair {
    // What the compiler saw a kernel do with an argument; it does not tell of all.
    let access = |arg: &KernelArg| arg.known_access().map(|access| access.word().to_owned());
    let known: Vec<bool> = metadata.explicit_args().map(|arg| access(arg).is_some()).collect();
    let compiled: Vec<_> = metadata
        .explicit_args()
        .map(|arg| (arg.name.clone().unwrap_or_default(), Some(arg.offset), arg.size, access(arg)))
        .collect();
    let listed = entry.arguments.iter().cloned().enumerate();
    let listed: Vec<_> = listed
        .map(|(index, arg)| {
            let access = arg.access.filter(|_| known.get(index) == Some(&true));
            (arg.name, arg.offset, arg.size, access)
        })
        .collect();
    ("arguments", format!("{compiled:?}"), format!("{listed:?}"))
}

/// What the kernel needs of the hardware.
fn resources(entry: &KernelEntry, metadata: &KernelMetadata) -> [Pair; 8] {
    let listed = &entry.resources;
    let pair = |what, compiled: u32, listed: u32| (what, compiled.to_string(), listed.to_string());
    [
        pair("LDS in bytes", metadata.group_segment_fixed_size, listed.lds_bytes),
        pair("scratch in bytes", metadata.private_segment_fixed_size, listed.scratch_bytes),
        pair("vector registers", metadata.vgpr_count, listed.vgprs),
        pair("accumulation registers", metadata.agpr_count.unwrap_or(0), listed.agprs),
        pair("scalar registers", metadata.sgpr_count, listed.sgprs),
        pair("bytes of arguments", metadata.kernarg_segment_size, listed.kernarg_bytes),
        pair("wave width", metadata.wavefront_size, listed.wave_width),
        pair("largest workgroup", metadata.max_flat_workgroup_size, listed.max_workgroup),
    ]
}

/// How it is launched, as far as the code object or the entry itself tells.
fn launches(entry: &KernelEntry, metadata: &KernelMetadata) -> [Pair; 3] {
    let launch = &entry.launch;
    let idle = launch.grid.iter().filter(|f| f.unit.is_none() && f.per_unit != 0).count();
    let workgroup = metadata.reqd_workgroup_size.unwrap_or(launch.workgroup);
    let grid = launch.grid.map(|formula| formula.text(""));
    [
        ("workgroup", format!("{workgroup:?}"), format!("{:?}", launch.workgroup)),
        ("grid, as text", format!("{grid:?}"), format!("{:?}", launch.grid_text)),
        ("axes of a grid that grow with nothing", "0".to_owned(), idle.to_string()),
    ]
}
