//! Reading with a size limit and writing whole: a file either has its new content or its old one.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
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
    /// A named pipe, which might never end or never begin.
    #[error("{} is a named pipe, but {what} must be a file: write it to one first", path.display())]
    Pipe {
        /// The pipe.
        path: PathBuf,
        /// What it was read as.
        what: &'static str,
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
    if specs::is_named_pipe(path) {
        return Err(FileError::Pipe { path: path.to_owned(), what });
    }
    let file = File::open(path).map_err(io)?;
    // Files that say their size are refused before memory is taken for them; what says none is read to its limit.
    if file.metadata().is_ok_and(|about| about.len() > limit_bytes) {
        return Err(FileError::TooLarge { path: path.to_owned(), what, limit_bytes });
    }
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
    text(path, read(path, what, limit_bytes)?)
}

/// The bytes of a file as text.
///
/// # Errors
/// [`FileError::NotText`] when they are not UTF-8.
pub fn text(path: &Path, bytes: Vec<u8>) -> Result<String, FileError> {
    String::from_utf8(bytes).map_err(|error| FileError::NotText {
        path: path.to_owned(),
        offset: error.utf8_error().valid_up_to(),
    })
}

/// Makes the folder that a file is to stand in.
///
/// # Errors
/// [`FileError::Io`] when the system refuses.
pub fn make_folder_of(path: &Path) -> Result<(), FileError> {
    let io = |source| FileError::Io { action: "make the folder of", path: path.to_owned(), source };
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(io)
}

/// The place that [`write()`] would write to, whatever way a path spells it: links are followed, also one whose
/// target does not exist yet.
///
/// # Errors
/// [`FileError::Io`] when the path names no place for a file, such as one in a folder that does not exist.
pub fn destination(path: &Path) -> Result<PathBuf, FileError> {
    /// Links in a row that Linux follows.
    const MAX_LINKS: usize = 40;
    let io = |source| FileError::Io { action: "write", path: path.to_owned(), source };
    let mut at = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(whole) = fs::canonicalize(&at) {
            return Ok(whole);
        }
        // A pipe under /proc exists without a path of its own.
        if fs::metadata(&at).is_ok() {
            return Ok(at);
        }
        match fs::read_link(&at) {
            Ok(target) => at = folder_of(&at).join(target),
            Err(_) => {
                let name = at.file_name().ok_or_else(|| io(std::io::ErrorKind::NotFound.into()))?;
                return Ok(fs::canonicalize(folder_of(&at)).map_err(io)?.join(name));
            }
        }
    }
    Err(io(std::io::Error::other("too many links in a row")))
}

/// Whether [`write()`] can be expected to succeed, found out by making its temporary file and dropping it.
///
/// # Errors
/// [`FileError::Io`] as `write` would say it.
pub fn check_writable(path: &Path) -> Result<(), FileError> {
    let io = |source| FileError::Io { action: "write", path: path.to_owned(), source };
    let path = destination(path)?;
    match fs::metadata(&path) {
        Ok(found) if found.is_dir() => Err(io(std::io::ErrorKind::IsADirectory.into())),
        // Opening a device or a pipe may itself do something.
        Ok(found) if !found.is_file() => Ok(()),
        _ => NamedTempFile::new_in(folder_of(&path)).map(drop).map_err(io),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Writes a file under a temporary name beside it and renames it when it is whole. A link is
/// followed, an existing file keeps its permissions, and what is no regular file (a device, a pipe) is
/// written through.
///
/// # Errors
/// [`FileError::Io`]; a regular file is then as it was.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let io = |source| FileError::Io { action: "write", path: path.to_owned(), source };
    let path = &destination(path)?;
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io(std::io::ErrorKind::IsADirectory.into())),
        Ok(found) if !found.is_file() => write_through(path, bytes).map_err(io),
        Ok(found) => replace(path, bytes, Some(found.permissions())).map_err(io),
        Err(_) => replace(path, bytes, None).map_err(io),
    }
}

/// As [`write()`] in a folder of this program's own: what stands in the file's place is replaced, also a link, which is
/// not followed to somebody else's file.
///
/// # Errors
/// [`FileError::Io`]; what stood there is then as it was.
pub fn write_own(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let io = |source| FileError::Io { action: "write", path: path.to_owned(), source };
    replace(path, bytes, None).map_err(io)
}

/// The bytes of a file of at most `limit_bytes` that is one itself: a link may lead to another thing tomorrow, and what is
/// no regular file may never end.
///
/// # Errors
/// As [`read`], and [`FileError::Io`] of anything but a regular file.
pub fn read_own(path: &Path, what: &'static str, limit_bytes: u64) -> Result<Vec<u8>, FileError> {
    let io = |source| FileError::Io { action: "read", path: path.to_owned(), source };
    let about = fs::symlink_metadata(path).map_err(io)?;
    if about.is_file() {
        return read(path, what, limit_bytes);
    }
    let kind = if about.is_symlink() { "a link" } else { "no regular file" };
    Err(io(std::io::Error::other(format!("it is {kind}, {what} is a file"))))
}

/// Writes files into a folder, which is made if it does not exist; `last` comes last, so that a folder that has it has
/// everything.
///
/// # Errors
/// [`FileError::Io`]; every file is then whole or as it was.
pub fn write_all(
    folder: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    last: &str,
) -> Result<(), FileError> {
    make_folder_of(&folder.join(last))?;
    let (ends, others): (Vec<_>, Vec<_>) = files.iter().partition(|(name, _)| *name == last);
    others
        .into_iter()
        .chain(ends)
        .try_for_each(|(name, bytes)| write_own(&folder.join(name), bytes))
}

fn write_through(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    file.write_all(bytes)?;
    file.flush()
}

fn replace(path: &Path, bytes: &[u8], permissions: Option<Permissions>) -> std::io::Result<()> {
    let mut temporary = NamedTempFile::new_in(folder_of(path))?;
    temporary.write_all(bytes)?;
    match permissions {
        Some(permissions) => temporary.as_file().set_permissions(permissions)?,
        // A temporary file is private to its owner; an artefact is for everybody.
        None => set_readable(temporary.as_file())?,
    }
    temporary.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(unix)]
fn set_readable(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(Permissions::from_mode(0o644))
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
        let path = folder.path().join("file.bin");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(read(&path, "a test", 3).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        for wrong in [path.join("below"), folder.path().join("none/file"), folder.path().to_owned()]
        {
            assert!(matches!(write(&wrong, b""), Err(FileError::Io { .. })), "{}", wrong.display());
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_modes_and_devices_survive() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, b"old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let full = write(Path::new("/dev/full"), b"no").unwrap_err().to_string();
        assert!(full.contains("/dev/full"), "{full}");
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
