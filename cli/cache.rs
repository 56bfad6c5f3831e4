//! Code objects that were compiled before, by what they were made of.
//!
//! `WAVESMITH_CACHE` names the directory; without it nothing is kept. The key covers the kernel's IR text, the spec, the
//! back end with everything that decides its bytes and this program's version, so an entry is never stale. An entry carries its own hash: what is damaged is built
//! anew. Entries are written under another name and renamed, so processes may share the directory and a writer may be
//! killed at any point.

use std::path::{Path, PathBuf};

use dsl::ir::Kernel;
use specs::Spec;

use crate::backend::Backend;
use crate::error::CliError;
use crate::files::{self, FileError};
use crate::harness::sha256;
use crate::{pipeline, report};

/// Names the cache's directory.
pub const CACHE_VARIABLE: &str = "WAVESMITH_CACHE";

/// First words of an entry; the number changes with the format.
const MAGIC: &str = "wavesmith-cache 1";

/// Bytes that an entry may have.
const MAX_ENTRY_BYTES: u64 = 1 << 30;

/// A directory of code objects.
#[derive(Clone, Debug)]
pub struct Cache {
    directory: PathBuf,
}

/// What a look into the cache found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A code object whose hash is right.
    Whole(Vec<u8>),
    /// Nothing.
    Absent,
    /// Bytes that are not what was written.
    Damaged {
        /// What is wrong with them.
        why: String,
    },
}

impl Cache {
    /// The cache that the environment names.
    pub fn from_environment() -> Option<Cache> {
        let directory = std::env::var_os(CACHE_VARIABLE).filter(|value| !value.is_empty())?;
        Some(Cache::at(Path::new(&directory)))
    }

    /// A cache in a directory, which is made when something is stored.
    pub fn at(directory: &Path) -> Cache {
        Cache { directory: directory.to_owned() }
    }

    /// The file of a key.
    pub fn path(&self, key: &str) -> PathBuf {
        self.directory.join(&key[..key.len().min(2)]).join(key)
    }

    /// The code object of a key.
    pub fn load(&self, key: &str) -> Entry {
        let path = self.path(key);
        if std::fs::symlink_metadata(&path).is_err() {
            return Entry::Absent;
        }
        match files::read_own(&path, "a cache entry", MAX_ENTRY_BYTES) {
            Ok(bytes) => unpack(key, &bytes),
            Err(error) => Entry::Damaged { why: error.to_string() },
        }
    }

    /// Keeps a code object.
    ///
    /// # Errors
    /// The directory or the file cannot be written.
    pub fn store(&self, key: &str, code_object: &[u8]) -> Result<(), FileError> {
        let path = self.path(key);
        files::make_folder_of(&path)?;
        let head = format!("{MAGIC} {key} {} {}\n", sha256(code_object), code_object.len());
        files::write_own(&path, &[head.as_bytes(), code_object].concat())
    }
}

/// The code object of an entry, if the entry is whole and of this key.
fn unpack(key: &str, bytes: &[u8]) -> Entry {
    let damaged = |why: String| Entry::Damaged { why };
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return damaged("it has no first line".to_owned());
    };
    let (head, code_object) = (&bytes[..end], &bytes[end + 1..]);
    let (hash, size) = (sha256(code_object), code_object.len());
    let expected = format!("{MAGIC} {key} {hash} {size}");
    match head == expected.as_bytes() {
        true => Entry::Whole(code_object.to_vec()),
        false => damaged(format!(
            "its first line is '{}', its {size} bytes say '{expected}'",
            String::from_utf8_lossy(&head[..head.len().min(256)])
        )),
    }
}

/// What an entry is found by: 64 hexadecimal digits.
///
/// # Errors
/// There is no toolchain to ask.
pub fn key(spec: &Spec, kernel: &Kernel, backend: Backend) -> Result<String, CliError> {
    let identity = backend.identity(&spec.name())?;
    let parts = [
        env!("CARGO_PKG_VERSION"),
        backend.name(),
        &identity,
        spec.target().name(),
        &spec.spec_hash(),
        &spec.name(),
        &dsl::text::print(kernel),
    ];
    // Lengths keep one part from running into the next.
    let text: String = parts.iter().map(|part| format!("{}:{part}\n", part.len())).collect();
    Ok(sha256(text.as_bytes()))
}

/// The code object of a spec: from the cache where there is one and it has it, else compiled and kept.
///
/// # Errors
/// What building or compiling the kernel says. A cache that cannot be written is noted on stderr, no more.
pub fn code_object(spec: &Spec, backend: Backend) -> Result<Vec<u8>, CliError> {
    let Some(cache) = Cache::from_environment() else {
        return backend.code_object(spec);
    };
    let kernel = pipeline::kernel(spec)?;
    let key = key(spec, &kernel, backend)?;
    match cache.load(&key) {
        Entry::Whole(code_object) => return Ok(code_object),
        Entry::Absent => {}
        Entry::Damaged { why } => {
            let path = cache.path(&key);
            report::note(&format!(
                "cache entry {} is damaged and built anew: {why}",
                path.display()
            ));
        }
    }
    let code_object = backend.code_object(spec)?;
    if let Err(error) = cache.store(&key, &code_object) {
        report::note(&format!("not kept in the cache: {error}"));
    }
    Ok(code_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_whole_or_built_anew() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let key = sha256(b"key");
        assert_eq!(cache.load(&key), Entry::Absent);
        cache.store(&key, b"code object").unwrap();
        assert_eq!(cache.load(&key), Entry::Whole(b"code object".to_vec()));
        let whole = std::fs::read(cache.path(&key)).unwrap();
        for length in 0..whole.len() {
            std::fs::write(cache.path(&key), &whole[..length]).unwrap();
            assert!(matches!(cache.load(&key), Entry::Damaged { .. }), "{length} bytes");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x20;
            std::fs::write(cache.path(&key), &changed).unwrap();
            assert!(matches!(cache.load(&key), Entry::Damaged { .. }), "byte {at}");
        }
        let other = sha256(b"another key");
        std::fs::create_dir_all(cache.path(&other).parent().unwrap()).unwrap();
        std::fs::write(cache.path(&other), &whole).unwrap();
        assert!(matches!(cache.load(&other), Entry::Damaged { .. }), "an entry of another key");
    }
}
