//! The library's questions, and what it hands out: memory, modules, functions, each freed when it is dropped.
#![allow(
    unsafe_code,
    reason = "calls of the C library, whose promises the types of this file keep"
)]

use std::ffi::CString;
use std::sync::Arc;

use hip_abi::{Attribute, Code, PROPERTIES_R0000, PROPERTIES_R0600, Version};

use crate::hip::binding::{Api, Missing};
use crate::hip::error::HipError;
use crate::hip::library::Library;
use crate::hip::streams::Stream;

/// The error of a call, if it failed.
pub(crate) fn done(
    number: u32,
    call: &'static str,
    doing: impl FnOnce() -> String,
) -> Result<(), HipError> {
    match number {
        0 => Ok(()),
        _ => Err(HipError::Call { call, doing: doing(), number }),
    }
}

/// Bytes that any version of HIP's properties struct fits in.
const PROPERTIES_ROOM: usize = 4096;

impl Library {
    /// The version that a library says it has, 0 where it does not say.
    pub(crate) fn ask_version(api: &Api) -> Version {
        let mut number = 0;
        // SAFETY: the result is written to a local.
        unsafe { api.hipRuntimeGetVersion(&mut number) };
        Version(number)
    }

    /// How many devices there are, after initialising the runtime.
    ///
    /// # Errors
    /// [`HipError::NoDevice`], or what the calls say.
    pub fn device_count(&self) -> Result<i32, HipError> {
        // SAFETY: takes no pointer.
        let number = unsafe { self.api.hipInit(0) };
        self.available(number, "hipInit")?;
        let mut count = 0;
        // SAFETY: the result is written to a local.
        let number = unsafe { self.api.hipGetDeviceCount(&mut count) };
        self.available(number, "hipGetDeviceCount")?;
        Ok(count)
    }

    /// Tells *no device* from other failures of a call that asks for one.
    fn available(&self, number: u32, call: &'static str) -> Result<(), HipError> {
        match Code::from_number(number) {
            Some(code @ (Code::NoDevice | Code::InvalidDevice | Code::InsufficientDriver)) => {
                let (library, version) = (self.path().to_owned(), self.version());
                Err(HipError::NoDevice { library, version, call, code })
            }
            _ => done(number, call, || "looking for devices".to_owned()),
        }
    }

    /// Makes a device the one that this thread's calls are about.
    ///
    /// # Errors
    /// What the call says.
    pub fn set_device(&self, device: i32) -> Result<(), HipError> {
        // SAFETY: takes no pointer.
        let number = unsafe { self.api.hipSetDevice(device) };
        done(number, "hipSetDevice", || format!("device {device}"))
    }

    /// A device's name.
    ///
    /// # Errors
    /// What the call says.
    pub fn device_name(&self, device: i32) -> Result<String, HipError> {
        let mut name = [0_u8; 256];
        // SAFETY: the array has as many bytes as the call is told.
        let number = unsafe { self.api.hipDeviceGetName(name.as_mut_ptr().cast(), 256, device) };
        done(number, "hipDeviceGetName", || format!("device {device}"))?;
        Ok(until_zero(&name))
    }

    /// A device's target id, such as `gfx950:sramecc+:xnack-`. It is in the properties struct only.
    ///
    /// # Errors
    /// What the call says.
    pub fn device_target_id(&self, device: i32) -> Result<String, HipError> {
        let mut properties = vec![0_u8; PROPERTIES_ROOM];
        let to = properties.as_mut_ptr().cast();
        // SAFETY: no version of the struct is larger than the room.
        let newer = unsafe { self.api.hipGetDevicePropertiesR0600(to, device) };
        let (asked, layout) = match newer {
            Ok(number) => (Ok(number), PROPERTIES_R0600),
            // SAFETY: as above.
            Err(_) => (unsafe { self.api.hipGetDeviceProperties(to, device) }, PROPERTIES_R0000),
        };
        let missing = |Missing(symbol)| self.missing(symbol);
        done(asked.map_err(missing)?, "hipGetDeviceProperties", || format!("device {device}"))?;
        Ok(until_zero(&properties[layout.gcn_arch_name..layout.gcn_arch_name + 256]))
    }

    /// An attribute of a device.
    ///
    /// # Errors
    /// What the call says.
    pub fn attribute(&self, attribute: Attribute, device: i32) -> Result<i32, HipError> {
        let mut value = 0;
        // SAFETY: the result is written to a local.
        let number =
            unsafe { self.api.hipDeviceGetAttribute(&mut value, attribute.number(), device) };
        done(number, "hipDeviceGetAttribute", || format!("{attribute:?} of device {device}"))?;
        Ok(value)
    }

    /// The version of the driver, where the library tells.
    pub fn driver_version(&self) -> Option<Version> {
        let mut number = 0;
        // SAFETY: the result is written to a local.
        match unsafe { self.api.hipDriverGetVersion(&mut number) } {
            Ok(0) => Some(Version(number)),
            _ => None,
        }
    }

    /// Free and total bytes of the current device.
    ///
    /// # Errors
    /// What the call says.
    pub fn memory_info(&self) -> Result<(u64, u64), HipError> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the results are written to locals.
        let number = unsafe { self.api.hipMemGetInfo(&mut free, &mut total) };
        done(number, "hipMemGetInfo", || "asking for free memory".to_owned())?;
        Ok((free as u64, total as u64))
    }

    pub(crate) fn missing(&self, symbol: &'static str) -> HipError {
        HipError::MissingSymbol {
            symbol,
            library: self.path().to_owned(),
            version: Some(self.version()),
        }
    }
}

fn until_zero(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Memory of the device.
#[derive(Debug)]
pub struct DeviceMemory {
    library: Library,
    address: u64,
    size_bytes: u64,
}

impl DeviceMemory {
    /// New memory, whose bytes are whatever was there.
    ///
    /// # Errors
    /// [`HipError::OutOfMemory`] with what is free, or what the call says.
    pub fn new(library: &Library, label: &str, size_bytes: u64) -> Result<DeviceMemory, HipError> {
        let mut address = 0;
        // HIP answers a size of zero with a null pointer, which no kernel takes.
        let size = usize::try_from(size_bytes.max(1)).unwrap_or(usize::MAX);
        // SAFETY: the result is written to a local.
        let number = unsafe { library.api.hipMalloc(&mut address, size) };
        if Code::from_number(number) == Some(Code::OutOfMemory) {
            let (free_bytes, total_bytes) = library.memory_info().unwrap_or_default();
            let label = label.to_owned();
            return Err(HipError::OutOfMemory { label, size_bytes, free_bytes, total_bytes });
        }
        done(number, "hipMalloc", || format!("{size_bytes} bytes for buffer '{label}'"))?;
        Ok(DeviceMemory { library: library.clone(), address, size_bytes })
    }

    /// The address of its first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Whether a range lies inside.
    fn has(&self, offset_bytes: u64, n_bytes: usize) -> bool {
        let end = offset_bytes.checked_add(n_bytes as u64);
        end.is_some_and(|end| end <= self.size_bytes)
    }

    /// Writes bytes, and waits until they are there. `None` where they do not fit.
    pub(crate) fn write(
        &self,
        stream: &Stream,
        offset_bytes: u64,
        bytes: &[u8],
    ) -> Option<Result<(), HipError>> {
        if !self.has(offset_bytes, bytes.len()) {
            return None;
        }
        if bytes.is_empty() {
            return Some(Ok(()));
        }
        let to = self.address + offset_bytes;
        let from = bytes.as_ptr().cast();
        // SAFETY: the bytes are valid, the device's range lies in this memory, and the wait below ends the copy before
        // either can go.
        let number =
            unsafe { self.library.api.hipMemcpyHtoDAsync(to, from, bytes.len(), stream.raw()) };
        let doing = || format!("{} bytes to the device", bytes.len());
        Some(done(number, "hipMemcpyHtoDAsync", doing).and_then(|()| stream.synchronize()))
    }

    /// Reads bytes after everything on the stream. `None` where it does not have them.
    pub(crate) fn read(
        &self,
        stream: &Stream,
        offset_bytes: u64,
        n_bytes: usize,
    ) -> Option<Result<Vec<u8>, HipError>> {
        if !self.has(offset_bytes, n_bytes) {
            return None;
        }
        let mut bytes = vec![0; n_bytes];
        if n_bytes == 0 {
            return Some(stream.synchronize().map(|()| bytes));
        }
        let (to, from) = (bytes.as_mut_ptr().cast(), self.address + offset_bytes);
        // SAFETY: the vector has the bytes, the device's range lies in this memory, and the wait below ends the copy
        // before either can go.
        let number =
            unsafe { self.library.api.hipMemcpyDtoHAsync(to, from, n_bytes, stream.raw()) };
        let copied = done(number, "hipMemcpyDtoHAsync", || format!("{n_bytes} bytes to the host"));
        // The copy is waited for even where its submission failed: the vector must not go before.
        let waited = stream.synchronize();
        Some(copied.and(waited).map(|()| bytes))
    }

    /// Fills all of it with one byte, on a stream.
    ///
    /// # Errors
    /// What the call says.
    pub fn fill(&self, stream: &Stream, byte: u8) -> Result<(), HipError> {
        let size = usize::try_from(self.size_bytes).unwrap_or(usize::MAX);
        // SAFETY: the range is this memory; it is freed only after the device has finished, as HIP's hipFree waits.
        let number =
            unsafe { self.library.api.hipMemsetD8Async(self.address, byte, size, stream.raw()) };
        done(number, "hipMemsetD8Async", || format!("filling {size} bytes"))
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: the memory lives and is this value's own; the call waits for the device.
        unsafe { self.library.api.hipFree(self.address) };
    }
}

/// A loaded code object.
#[derive(Debug)]
pub struct LoadedModule {
    library: Library,
    raw: usize,
}

impl LoadedModule {
    /// Loads a code object that [`admit`](crate::hip::object::admit) has read: whole, of this device.
    ///
    /// # Errors
    /// What the call says.
    pub(crate) fn new(
        library: &Library,
        code_object: &[u8],
    ) -> Result<Arc<LoadedModule>, HipError> {
        let mut raw = 0;
        // SAFETY: the object was parsed, so every byte that its headers speak of is there.
        let number =
            unsafe { library.api.hipModuleLoadData(&mut raw, code_object.as_ptr().cast()) };
        let doing =
            || format!("a code object of {} bytes whose header is right", code_object.len());
        done(number, "hipModuleLoadData", doing)?;
        Ok(Arc::new(LoadedModule { library: library.clone(), raw }))
    }

    /// A kernel of the module.
    ///
    /// # Errors
    /// What the call says.
    pub fn function(self: &Arc<LoadedModule>, name: &str) -> Result<Function, HipError> {
        let doing = || format!("kernel '{name}'");
        let Ok(text) = CString::new(name) else {
            let number = Code::NotFound.number();
            return Err(HipError::Call { call: "hipModuleGetFunction", doing: doing(), number });
        };
        let mut raw = 0;
        // SAFETY: the module lives, the name ends with a zero, the result is written to a local.
        let number =
            unsafe { self.library.api.hipModuleGetFunction(&mut raw, self.raw, text.as_ptr()) };
        done(number, "hipModuleGetFunction", doing)?;
        Ok(Function { module: self.clone(), raw, name: name.into() })
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        // SAFETY: the module lives and is this value's own; functions keep it alive.
        unsafe { self.library.api.hipModuleUnload(self.raw) };
    }
}

/// A kernel that can be launched; keeps its module loaded.
#[derive(Clone, Debug)]
pub struct Function {
    module: Arc<LoadedModule>,
    raw: usize,
    name: Arc<str>,
}

/// Sizes of a launch as HIP takes them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchSize {
    pub grid: [u32; 3],
    pub workgroup: [u32; 3],
    pub dynamic_lds_bytes: u32,
}

impl Function {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Launches with arguments at offsets of a packed segment. HIP copies them before it returns.
    ///
    /// `addresses` is room for one address an argument, so that nothing is allocated here.
    pub(crate) fn launch(
        &self,
        size: LaunchSize,
        stream: &Stream,
        kernarg: &[u8],
        offsets: &[u32],
        addresses: &mut [usize],
    ) -> Result<(), HipError> {
        let base = kernarg.as_ptr() as usize;
        for (address, offset) in addresses.iter_mut().zip(offsets) {
            *address = base + *offset as usize;
        }
        let LaunchSize { grid: [x, y, z], workgroup: [i, j, k], dynamic_lds_bytes: lds } = size;
        let (params, extra) = (addresses.as_ptr(), std::ptr::null());
        // SAFETY: function and stream live; there is an address for each argument of the kernel's own table, each inside
        // the segment, which outlives the call, by which time HIP has copied the arguments.
        let number = unsafe {
            self.module.library.api.hipModuleLaunchKernel(
                self.raw,
                x,
                y,
                z,
                i,
                j,
                k,
                lds,
                stream.raw(),
                params,
                extra,
            )
        };
        done(number, "hipModuleLaunchKernel", || format!("kernel '{}'", self.name))
    }
}
