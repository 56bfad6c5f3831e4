//! Reading with a size limit and writing whole: a file either has its new content or its old one.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Larger than anything this file could rightly be.
    #[error("{} has more than {limit_bytes} bytes, the limit for {what}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What it was read as.
        what: &'static str,
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// Text that is not UTF-8.
    #[error("{} is not UTF-8 text (byte {offset})", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// Offset of the first byte that is not.
        offset: usize,
    },
}

/// The bytes of a file of at most `limit_bytes`.
///
/// # Errors
/// [`FileError`] when it cannot be read or is larger.
pub fn read(path: &Path, what: &'static str, limit_bytes: u64) -> Result<Vec<u8>, FileError> {
    let io = |source| FileError::Io { action: "read", path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io)?;
    file.take(limit_bytes + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > limit_bytes {
        return Err(FileError::TooLarge { path: path.to_owned(), what, limit_bytes });
    }
    Ok(bytes)
}

/// The text of a file of at most `limit_bytes`.
///
/// # Errors
/// [`FileError`] when it cannot be read, is larger or is not UTF-8.
pub fn read_text(path: &Path, what: &'static str, limit_bytes: u64) -> Result<String, FileError> {
    let bytes = read(path, what, limit_bytes)?;
    String::from_utf8(bytes).map_err(|error| FileError::NotText {
        path: path.to_owned(),
        offset: error.utf8_error().valid_up_to(),
    })
}

/// Writes a file under a temporary name beside it and renames it when it is whole. Folders on the
/// way are made.
///
/// # Errors
/// [`FileError::Io`]; the file is then as it was.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let io = |source| FileError::Io { action: "write", path: path.to_owned(), source };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).map_err(io)?;
    let mut temporary = NamedTempFile::new_in(folder).map_err(io)?;
    temporary.write_all(bytes).map_err(io)?;
    // A temporary file is private to its owner; an artefact is for everybody the umask allows.
    set_readable(temporary.as_file()).map_err(io)?;
    temporary.persist(path).map_err(|error| io(error.error))?;
    Ok(())
}

#[cfg(unix)]
fn set_readable(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_readable(_: &File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/file.bin");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(read(&path, "a test", 3).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert!(matches!(write(&path.join("below"), b""), Err(FileError::Io { .. })));
    }

    #[test]
    fn reading_knows_its_limits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [b'a', 0xff]).unwrap();
        let too_large = read(&path, "a test", 1).unwrap_err().to_string();
        assert!(too_large.contains("more than 1 bytes"), "{too_large}");
        let not_text = read_text(&path, "a test", 9).unwrap_err().to_string();
        assert!(not_text.contains("byte 1"), "{not_text}");
        let missing = read(&folder.path().join("none"), "a test", 1).unwrap_err().to_string();
        assert!(missing.contains("cannot read"), "{missing}");
    }
}
