//! HIP's functions by name. Every one is as unsafe as its C declaration: handles must live, pointers must be valid for
//! what is read and written through them. `handles.rs` keeps these promises.
#![allow(unsafe_code, reason = "the functions of a C library")]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;

use hip_abi::{FINDINGS_SYMBOL, IDENTITY_SYMBOL};
use libloading::os::unix::{Library as SharedObject, RTLD_LOCAL, RTLD_NOW, Symbol};

/// Why a function cannot be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing(pub &'static str);

/// Defines the table of functions. Required ones are looked up when the library is opened, the others when they are
/// called for the first time a caller needs them.
macro_rules! functions {
    (
        required { $(fn $required:ident($($arg:ident: $ty:ty),*);)* }
        optional { $(fn $optional:ident($($oarg:ident: $oty:ty),*);)* }
    ) => {
        /// An opened HIP library.
        #[expect(non_snake_case, reason = "the functions have HIP's names")]
        pub(crate) struct Api {
            $($required: Symbol<unsafe extern "C" fn($($ty),*) -> u32>,)*
            // Never closed: HIP's own threads may outlive every handle of ours.
            object: ManuallyDrop<SharedObject>,
        }

        #[expect(non_snake_case, reason = "the functions have HIP's names")]
        impl Api {
            fn resolve(object: SharedObject) -> Result<Api, Missing> {
                Ok(Api {
                    $($required: symbol(&object, stringify!($required))?,)*
                    object: ManuallyDrop::new(object),
                })
            }

            $(
                /// # Safety
                /// As HIP documents the function of this name.
                #[allow(clippy::too_many_arguments, reason = "a launch has as many")]
                pub(crate) unsafe fn $required(&self, $($arg: $ty),*) -> u32 {
                    // SAFETY: the symbol has this type in every version of HIP; its contract is passed on.
                    unsafe { (self.$required)($($arg),*) }
                }
            )*

            $(
                /// # Safety
                /// As HIP documents the function of this name.
                pub(crate) unsafe fn $optional(&self, $($oarg: $oty),*) -> Result<u32, Missing> {
                    type Signature = unsafe extern "C" fn($($oty),*) -> u32;
                    let function = symbol::<Signature>(&self.object, stringify!($optional))?;
                    // SAFETY: the symbol has this type in every version of HIP that has it; its contract is passed on.
                    Ok(unsafe { function($($oarg),*) })
                }
            )*
        }
    };
}

functions! {
    required {
        fn hipInit(flags: u32);
        fn hipRuntimeGetVersion(version: *mut c_int);
        fn hipGetDeviceCount(count: *mut c_int);
        fn hipSetDevice(device: c_int);
        fn hipDeviceGetName(name: *mut c_char, size: c_int, device: c_int);
        fn hipDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int);
        fn hipMemGetInfo(free: *mut usize, total: *mut usize);
        fn hipMalloc(pointer: *mut u64, size: usize);
        fn hipFree(pointer: u64);
        fn hipMemcpyHtoDAsync(to: u64, from: *const c_void, size: usize, stream: usize);
        fn hipMemcpyDtoHAsync(to: *mut c_void, from: u64, size: usize, stream: usize);
        fn hipModuleLoadData(module: *mut usize, image: *const c_void);
        fn hipModuleUnload(module: usize);
        fn hipModuleGetFunction(function: *mut usize, module: usize, name: *const c_char);
        fn hipModuleLaunchKernel(
            function: usize, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
            lds_bytes: u32, stream: usize, params: *const usize, extra: *const usize
        );
        fn hipStreamCreateWithFlags(stream: *mut usize, flags: u32);
        fn hipStreamDestroy(stream: usize);
        fn hipStreamSynchronize(stream: usize);
        fn hipStreamWaitEvent(stream: usize, event: usize, flags: u32);
        fn hipEventCreateWithFlags(event: *mut usize, flags: u32);
        fn hipEventDestroy(event: usize);
        fn hipEventRecord(event: usize, stream: usize);
        fn hipEventSynchronize(event: usize);
        fn hipMemsetD8Async(to: u64, value: u8, count: usize, stream: usize);
    }
    optional {
        fn hipDriverGetVersion(version: *mut c_int);
        fn hipGetDevicePropertiesR0600(properties: *mut c_void, device: c_int);
        fn hipGetDeviceProperties(properties: *mut c_void, device: c_int);
        fn hipStreamBeginCapture(stream: usize, mode: c_int);
        fn hipStreamEndCapture(stream: usize, graph: *mut usize);
        fn hipGraphInstantiateWithFlags(executable: *mut usize, graph: usize, flags: u64);
        fn hipGraphLaunch(executable: usize, stream: usize);
        fn hipGraphExecDestroy(executable: usize);
        fn hipGraphDestroy(graph: usize);
    }
}

fn symbol<T>(object: &SharedObject, name: &'static str) -> Result<Symbol<T>, Missing> {
    // SAFETY: looking a name up runs nothing; the callers give the type that HIP's headers give the name.
    unsafe { object.get(name.as_bytes()) }.map_err(|_| Missing(name))
}

impl Api {
    /// Opens a library and looks up what is required of it.
    ///
    /// # Errors
    /// What the loader says, or the first function that is missing.
    pub(crate) fn open(name: &OsStr) -> Result<Result<Api, Missing>, libloading::Error> {
        // SAFETY: initialisers of the library run, as they do in every program linked with HIP.
        let object = unsafe { SharedObject::open(Some(name), RTLD_NOW | RTLD_LOCAL) }?;
        Ok(Api::resolve(object))
    }

    /// Who the library says it is, if it is the emulated one.
    pub(crate) fn emulated_identity(&self) -> Option<String> {
        type Signature = unsafe extern "C" fn() -> *const c_char;
        let function = symbol::<Signature>(&self.object, IDENTITY_SYMBOL).ok()?;
        // SAFETY: the function takes nothing and returns a string that lives as long as the library, which is never closed.
        let text = unsafe { CStr::from_ptr(function()) };
        Some(text.to_string_lossy().into_owned())
    }

    /// Findings of all launches so far, of the emulated library.
    pub(crate) fn emulated_findings(&self) -> Option<u64> {
        let function =
            symbol::<unsafe extern "C" fn() -> u64>(&self.object, FINDINGS_SYMBOL).ok()?;
        // SAFETY: the function takes nothing.
        Some(unsafe { function() })
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}
