//! Whether a library's file is whole: the dynamic loader maps one that was cut short, and the process ends with SIGBUS when
//! it looks at what is missing.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What a program header says of a loadable segment (`PT_LOAD`).
const LOADABLE: u64 = 1;

/// Bytes of the header of a 64-bit ELF file, and of one of its program headers. Source: System V ABI.
const HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;

/// Why a file is not to be given to the loader; files that are no ELF are left to the loader's own words.
pub(crate) fn check(path: &Path) -> Result<(), String> {
    let Ok(about) = std::fs::metadata(path) else { return Ok(()) };
    // Looked at before it is opened: a named pipe would wait for somebody to write to it.
    if !about.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let Ok(file) = File::open(path) else { return Ok(()) };
    let mut header = [0; HEADER_BYTES];
    if file.read_exact_at(&mut header, 0).is_err() || !header.starts_with(b"\x7fELF\x02\x01") {
        return Ok(());
    }
    let (table, count) = (number(&header, 32, 8), number(&header, 56, 2));
    for index in 0..count {
        let mut entry = [0; PROGRAM_HEADER_BYTES];
        let at = table.saturating_add(index * PROGRAM_HEADER_BYTES as u64);
        if file.read_exact_at(&mut entry, at).is_err() {
            return Err(cut(about.len(), at.saturating_add(PROGRAM_HEADER_BYTES as u64)));
        }
        let end = number(&entry, 8, 8).saturating_add(number(&entry, 32, 8));
        if number(&entry, 0, 4) == LOADABLE && end > about.len() {
            return Err(cut(about.len(), end));
        }
    }
    Ok(())
}

fn cut(got: u64, needed: u64) -> String {
    format!("the file is cut off: it has {got} bytes, its segments end at byte {needed}")
}

/// A little-endian number of a header.
fn number(bytes: &[u8], offset: usize, size: usize) -> u64 {
    bytes[offset..offset + size].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_cut_is_told_with_both_sizes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library.so");
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(check(&path), Ok(()));
        for length in [70, 200, 4096, whole.len() / 10] {
            std::fs::write(&path, &whole[..length]).unwrap();
            let why = check(&path).unwrap_err();
            assert!(why.contains(&format!("{length} bytes")), "{why}");
        }
        for text in [&b""[..], b"text", &whole[..40]] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(check(&path), Ok(()), "the loader has words for it");
        }
        assert!(check(folder.path()).is_err() && check(Path::new("/dev/null")).is_err());
        assert_eq!(check(Path::new("/nowhere.so")), Ok(()));
    }
}
