//! The functions that C programs call. Everything unsafe of this library is in this folder.
//!
//! HIP's functions trust their callers: a pointer is valid or null, a string ends, an array has as many elements as the
//! kernel has arguments. Here what is read of a caller is copied by Linux, which refuses addresses without memory, and what
//! is written is looked up first (`host.rs`); that valid memory is the right one stays the caller's promise.

#![allow(unsafe_code, reason = "an interface for C cannot be written without")]
#![allow(non_snake_case, reason = "the functions have HIP's names")]

mod context;
mod device;
mod graph;
mod identity;
mod memory;
mod module;
mod stream;

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hip_abi::Code;

use crate::failure::{Done, Failure, fail, say};
use crate::host::{self, Use};

thread_local! {
    /// What `hipGetLastError` gives: the last failure of this thread.
    static LAST_ERROR: Cell<Code> = const { Cell::new(Code::Success) };
}

/// Runs the body of a call: turns failures into codes and words on stderr, and panics into failures.
fn call(name: &str, body: impl FnOnce() -> Done<()>) -> u32 {
    let done = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        fail(Code::Unknown, "the library panicked, which is a defect of it: please report it")
    });
    match done {
        Ok(()) => Code::Success.number(),
        Err(Failure { code, words }) => {
            if !words.is_empty() {
                say(format_args!("{name}: {}: {words}", code.name()));
            }
            LAST_ERROR.set(code);
            code.number()
        }
    }
}

/// Defines exported functions and a table of their names and addresses for `hipGetProcAddress`.
macro_rules! exports {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                $crate::ffi::call(stringify!($name), || {
                    #[allow(
                        unused_unsafe,
                        reason = "some bodies touch no memory of their caller"
                    )]
                    // SAFETY: the caller promises what HIP's function of this name asks for: pointers that are valid
                    // for what is read or written through them, or null, which every helper refuses.
                    unsafe { $body }
                })
            }
        )*

        /// Names and addresses of the functions above.
        pub(super) const TABLE: &[(&str, *const ())] =
            &[$((stringify!($name), $name as *const ()),)*];
    };
}
pub(crate) use exports;

/// The exported function of a name.
fn address_of(name: &str) -> Option<*const ()> {
    let tables = [
        context::TABLE,
        device::TABLE,
        graph::TABLE,
        identity::TABLE,
        memory::TABLE,
        module::TABLE,
        stream::TABLE,
    ];
    let mut all = tables.into_iter().flatten();
    all.find(|(known, _)| *known == name).map(|(_, address)| *address)
}

/// Writes a result through a caller's pointer.
///
/// # Safety
/// `to` is null or valid for a write of a `T`.
unsafe fn put<T>(to: *mut T, value: T) -> Done<()> {
    if to.is_null() {
        return fail(Code::InvalidValue, "the pointer for a result is null");
    }
    host::check(to as usize, size_of::<T>(), Use::Write)?;
    // SAFETY: not null, so valid by this function's contract; it need not be aligned.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// As [`put`], for results that the caller may leave out.
///
/// # Safety
/// As [`put`].
unsafe fn put_if<T>(to: *mut T, value: T) -> Done<()> {
    if to.is_null() {
        return Ok(());
    }
    // SAFETY: as this function's contract says.
    unsafe { put(to, value) }
}

/// The text behind a caller's pointer.
///
/// # Safety
/// `from` is null or points to a string that ends with a zero byte.
unsafe fn text(from: *const c_char) -> Done<String> {
    if from.is_null() {
        return fail(Code::InvalidValue, "the pointer to a name is null");
    }
    let bytes = match host::read_text(from as usize)? {
        Some(bytes) => bytes,
        // SAFETY: not null, so a string that ends by this function's contract.
        None => unsafe { CStr::from_ptr(from) }.to_bytes().to_vec(),
    };
    String::from_utf8(bytes).map_err(|error| Failure::new(Code::InvalidValue, error))
}

/// Bytes behind a caller's pointer.
///
/// # Safety
/// `from` is null or valid for reads of `size` bytes.
unsafe fn bytes(from: *const u8, size: usize, what: &str) -> Done<Vec<u8>> {
    if from.is_null() {
        return fail(Code::InvalidValue, format!("{what}: the pointer is null"));
    }
    Ok(match host::read(from as usize, size, what)? {
        Some(bytes) => bytes,
        // SAFETY: not null, so valid by this function's contract.
        None => unsafe { std::slice::from_raw_parts(from, size) }.to_vec(),
    })
}

/// A number behind a caller's pointer.
///
/// # Safety
/// As [`bytes`], of the size of an address.
unsafe fn number(from: *const usize, what: &str) -> Done<usize> {
    // SAFETY: as this function's contract says.
    let bytes = unsafe { bytes(from.cast(), size_of::<usize>(), what) }?;
    Ok(usize::from_ne_bytes(bytes.try_into().unwrap_or_default()))
}

/// Writes text and its final zero into a caller's array of `size` bytes, cut where it does not fit.
///
/// # Safety
/// `to` is null or valid for writes of `size` bytes.
unsafe fn put_text(to: *mut c_char, size: i32, value: &str) -> Done<()> {
    let Some(room) = usize::try_from(size).ok().filter(|room| *room > 0 && !to.is_null()) else {
        return fail(Code::InvalidValue, format!("no room for a name: {size} bytes"));
    };
    let bytes = &value.as_bytes()[..value.len().min(room - 1)];
    host::check(to as usize, bytes.len() + 1, Use::Write)?;
    // SAFETY: `room` bytes are valid for writes by this function's contract, and at most so many are written.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        to.cast::<u8>().add(bytes.len()).write(0);
    }
    Ok(())
}
