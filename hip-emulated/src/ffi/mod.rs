//! The functions that C programs call. Everything unsafe of this library is in this folder.
//!
//! HIP's functions trust their callers: a pointer is valid or null, a string ends, an array has as many elements as the
//! kernel has arguments. What can be checked is; what cannot is the caller's promise, here as there.

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

use crate::failure::{Done, Failure, fail};

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
                eprintln!("hip-emulated: {name}: {}: {words}", code.name());
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
/// `from` is null or points to a string that ends with a zero byte and stays while the result is used.
unsafe fn text<'s>(from: *const c_char) -> Done<&'s str> {
    if from.is_null() {
        return fail(Code::InvalidValue, "the pointer to a name is null");
    }
    // SAFETY: not null, so a string that ends by this function's contract.
    let text = unsafe { CStr::from_ptr(from) };
    text.to_str().map_err(|error| Failure::new(Code::InvalidValue, error))
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
    // SAFETY: `room` bytes are valid for writes by this function's contract, and at most so many are written.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        to.cast::<u8>().add(bytes.len()).write(0);
    }
    Ok(())
}
