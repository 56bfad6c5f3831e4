//! The caller's memory, looked at without trust: what cannot be read or written is a failure, not the end of the program.
//!
//! Linux reads a process's memory for it through `/proc/self/mem`, which refuses addresses that nothing is mapped at, and
//! lists in `/proc/self/maps` what may be done where. Both are asked anew each time: a child of `fork` has a memory of its
//! own. Where they cannot be read every address counts as valid, as in HIP.

use std::fs::File;
use std::os::unix::fs::FileExt;

use hip_abi::Code;

use crate::failure::{Done, Failure, fail};

/// What is to be done with memory of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Write,
    Execute,
}

impl Use {
    /// Where `maps` has its letter, and what to call it.
    fn letter(self) -> (usize, u8, &'static str) {
        match self {
            Use::Write => (1, b'w', "written"),
            Use::Execute => (2, b'x', "called"),
        }
    }
}

/// This process's memory as a file, where it can be read that way: some sandboxes open it and give nothing.
fn memory() -> Option<File> {
    let memory = File::open("/proc/self/mem").ok()?;
    let (known, mut seen) = ([0x5a_u8], [0]);
    memory.read_exact_at(&mut seen, known.as_ptr() as u64).ok()?;
    (seen == known).then_some(memory)
}

/// Bytes of the caller. `None` where Linux does not let them be read this way: then they must be trusted.
///
/// # Errors
/// Some of them are at addresses where there is nothing.
pub(crate) fn read(address: usize, size: usize, what: &str) -> Done<Option<Vec<u8>>> {
    let Some(memory) = memory() else { return Ok(None) };
    let nothing = |at: usize| {
        let words = format!("{what}: {size} bytes at {address:#x}, nothing can be read at {at:#x}");
        Failure::new(Code::InvalidValue, words)
    };
    let mut bytes = Vec::new();
    while bytes.len() < size {
        // Little by little, so that a size without sense is found out before as much memory is taken.
        const STEP: usize = 1 << 24;
        let (done, step) = (bytes.len(), (size - bytes.len()).min(STEP));
        let at = address.checked_add(done).ok_or_else(|| nothing(usize::MAX))?;
        bytes.try_reserve(step).map_err(|error| Failure::new(Code::OutOfMemory, error))?;
        bytes.resize(done + step, 0);
        let read = memory.read_at(&mut bytes[done..], at as u64).unwrap_or(0);
        if read == 0 {
            return Err(nothing(at));
        }
        bytes.truncate(done + read);
    }
    Ok(Some(bytes))
}

/// The caller's text up to its final zero, of at most [`MAX_TEXT_BYTES`]. `None` as in [`read`].
///
/// # Errors
/// Nothing can be read there, or there is no zero.
pub(crate) fn read_text(address: usize) -> Done<Option<Vec<u8>>> {
    let Some(memory) = memory() else { return Ok(None) };
    let mut bytes = vec![0; MAX_TEXT_BYTES];
    let read = memory.read_at(&mut bytes, address as u64).unwrap_or(0);
    match bytes[..read].iter().position(|byte| *byte == 0) {
        Some(end) => {
            bytes.truncate(end);
            Ok(Some(bytes))
        }
        None => fail(
            Code::InvalidValue,
            format!("no text at {address:#x}: {read} bytes can be read, none of them is zero"),
        ),
    }
}

/// Bytes that a name or a path may have.
pub(crate) const MAX_TEXT_BYTES: usize = 8192;

/// Whether all bytes of a range may be used so.
///
/// # Errors
/// The first address where they may not.
pub(crate) fn check(address: usize, size: usize, usage: Use) -> Done<()> {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return Ok(()) };
    match first_outside(&maps, address as u64, size as u64, usage) {
        None => Ok(()),
        Some(at) => {
            let (.., verb) = usage.letter();
            let words = format!(
                "{size} bytes of the host at {address:#x}: nothing may be {verb} at {at:#x}"
            );
            fail(Code::InvalidValue, words)
        }
    }
}

/// The first address of a range that lies in no mapping of that use.
fn first_outside(maps: &str, address: u64, size: u64, usage: Use) -> Option<u64> {
    let (place, letter, _) = usage.letter();
    let end = address.checked_add(size);
    let mut at = address;
    for line in maps.lines() {
        let Some((first, past, allowed)) = mapping(line) else { continue };
        if allowed.as_bytes().get(place) == Some(&letter) && first <= at && at < past {
            at = past;
        }
    }
    end.is_none_or(|end| at < end).then_some(at)
}

/// First address, the one past the last, and what may be done there, of a line such as `7f00-7f10 rw-p …`.
fn mapping(line: &str) -> Option<(u64, u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let (first, past) = words.next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(first)?, number(past)?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_and_what_is_not_is_told() {
        let bytes = vec![7_u8; 3 << 24];
        let address = bytes.as_ptr() as usize;
        assert_eq!(read(address, bytes.len(), "it").unwrap(), Some(bytes));
        for (address, size) in [(0, 1), (0x10, 8), (address, usize::MAX), (usize::MAX - 3, 8)] {
            let failure = read(address, size, "it").unwrap_err();
            assert_eq!(failure.code, Code::InvalidValue, "{failure:?}");
            assert!(
                failure.words.contains(&format!("{size} bytes at {address:#x}")),
                "{failure:?}"
            );
        }
        assert_eq!(read_text(c"name".as_ptr() as usize).unwrap(), Some(b"name".to_vec()));
        assert!(read_text(0x10).is_err());
        let endless = vec![b'x'; 2 * MAX_TEXT_BYTES];
        assert!(read_text(endless.as_ptr() as usize).unwrap_err().words.contains("none of them"));
    }

    #[test]
    fn ranges_go_over_neighbouring_mappings_of_the_same_use() {
        let maps = "1000-2000 r--p 0 00:00 0 /lib/some thing\n2000-3000 rw-p 0\n3000-4000 rwxp 0\nnonsense\n";
        let outside = |address, size, usage| first_outside(maps, address, size, usage);
        assert_eq!(outside(0x2000, 0x2000, Use::Write), None);
        assert_eq!(outside(0x1800, 0x1000, Use::Write), Some(0x1800));
        assert_eq!(outside(0x2800, 0x2000, Use::Write), Some(0x4000));
        assert_eq!(outside(0x2800, 0x900, Use::Execute), Some(0x2800));
        assert_eq!(outside(u64::MAX, 2, Use::Write), Some(u64::MAX));
        assert_eq!(outside(0x5000, 0, Use::Write), None);
    }

    #[test]
    fn constants_may_not_be_written() {
        let mut written = [0_u8; 16];
        check(written.as_mut_ptr() as usize, 16, Use::Write).unwrap();
        static CONSTANT: [u8; 16] = [1; 16];
        assert!(check(CONSTANT.as_ptr() as usize, 16, Use::Write).is_err());
        assert!(check(read as *const () as usize, 1, Use::Execute).is_ok());
        assert!(check(written.as_ptr() as usize, 1, Use::Execute).is_err());
    }
}
