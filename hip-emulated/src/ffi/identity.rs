//! Initialisation, versions, errors, and who this library is.

use std::ffi::{CStr, c_char, c_int};

use hip_abi::{Code, Version};

use super::{LAST_ERROR, address_of, exports, put, put_if, text};
use crate::failure::fail;
use crate::runtime::with;
use crate::settings::version;

/// What [`hip_abi::IDENTITY_SYMBOL`] gives.
const IDENTITY: &CStr =
    c"wavesmith hip-emulated: kernels run on an emulator of the ISA, not on a GPU";

/// See [`hip_abi::IDENTITY_SYMBOL`].
#[unsafe(no_mangle)]
extern "C" fn wavesmith_hip_emulated_identity() -> *const c_char {
    IDENTITY.as_ptr()
}

/// See [`hip_abi::FINDINGS_SYMBOL`].
#[unsafe(no_mangle)]
extern "C" fn wavesmith_hip_emulated_findings() -> u64 {
    with(|runtime| Ok(runtime.findings)).unwrap_or(0)
}

/// The name of a code's constant.
#[unsafe(no_mangle)]
extern "C" fn hipGetErrorName(code: u32) -> *const c_char {
    Code::from_number(code).map_or(c"unknown code", Code::name_c).as_ptr()
}

/// What a code means.
#[unsafe(no_mangle)]
extern "C" fn hipGetErrorString(code: u32) -> *const c_char {
    Code::from_number(code).map_or(c"a code that HIP does not have", Code::cause_c).as_ptr()
}

/// The last failure of this thread, which is then forgotten.
#[unsafe(no_mangle)]
extern "C" fn hipGetLastError() -> u32 {
    LAST_ERROR.replace(Code::Success).number()
}

/// The last failure of this thread.
#[unsafe(no_mangle)]
extern "C" fn hipPeekAtLastError() -> u32 {
    LAST_ERROR.get().number()
}

/// As [`hipGetLastError`], under the name that newer clients use.
#[unsafe(no_mangle)]
extern "C" fn hipExtGetLastError() -> u32 {
    hipGetLastError()
}

/// Functions that return no code.
const OTHERS: &[(&str, *const ())] = &[
    ("hipGetErrorName", hipGetErrorName as *const ()),
    ("hipGetErrorString", hipGetErrorString as *const ()),
    ("hipGetLastError", hipGetLastError as *const ()),
    ("hipPeekAtLastError", hipPeekAtLastError as *const ()),
    ("hipExtGetLastError", hipExtGetLastError as *const ()),
];

exports! {
    fn hipInit(flags: u32) {
        match flags {
            0 => with(|_| Ok(())),
            _ => fail(Code::InvalidValue, format!("flags are {flags}, they must be 0")),
        }
    }

    fn hipRuntimeGetVersion(number: *mut c_int) { put(number, version()?.0) }

    fn hipDriverGetVersion(number: *mut c_int) { put(number, version()?.0) }

    fn hipDrvGetErrorName(code: u32, name: *mut *const c_char) { put(name, hipGetErrorName(code)) }

    fn hipDrvGetErrorString(code: u32, words: *mut *const c_char) {
        put(words, hipGetErrorString(code))
    }

    fn hipGetProcAddress(
        symbol: *const c_char,
        function: *mut *const (),
        hip_version: c_int,
        _flags: u64,
        status: *mut c_int,
    ) {
        let asked = text(symbol)?;
        let name = match asked.as_str() {
            // The name means the layout of the caller's version.
            "hipGetDeviceProperties" if Version(hip_version) >= Version::new(6, 0) => {
                "hipGetDevicePropertiesR0600"
            }
            name => name,
        };
        match address_of(name).or_else(|| other(name)) {
            Some(address) => {
                put_if(status, 0)?;
                put(function, address)
            }
            None => {
                put_if(status, 1)?;
                put(function, std::ptr::null())?;
                fail(Code::NotFound, format!("this library has no function '{name}'"))
            }
        }
    }
}

fn other(name: &str) -> Option<*const ()> {
    OTHERS.iter().find(|(known, _)| *known == name).map(|(_, address)| *address)
}
