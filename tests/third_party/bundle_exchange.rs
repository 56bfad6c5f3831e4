// What engines of the tests have in common: their binding of HIP, tensors from files and into files. Included by a client
// after its module `bundle`.

use std::ffi::{CString, c_void};
use std::fs;

unsafe extern "C" {
    fn hipModuleLoadData(module: *mut usize, image: *const c_void) -> i32;
    fn hipModuleGetFunction(function: *mut usize, module: usize, name: *const i8) -> i32;
    fn hipModuleUnload(module: usize) -> i32;
    fn hipMalloc(pointer: *mut u64, size: usize) -> i32;
    fn hipFree(pointer: u64) -> i32;
    fn hipMemcpy(to: u64, from: u64, size: usize, kind: i32) -> i32;
    fn hipDeviceSynchronize() -> i32;
    fn hipModuleLaunchKernel(
        function: usize, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, lds: u32, stream: usize,
        params: *const *const u8, extra: *const *const c_void,
    ) -> i32;
}

/// A loaded kernel.
struct Binding {
    module: usize,
    function: usize,
}

impl Binding {
    fn load(code_object: &[u8], kernel: &str) -> Binding {
        let (mut module, mut function) = (0, 0);
        let name = CString::new(kernel).unwrap();
        // SAFETY: the image is a whole code object, the name ends with a zero, results are locals.
        unsafe {
            ok(hipModuleLoadData(&mut module, code_object.as_ptr().cast())).unwrap();
            ok(hipModuleGetFunction(&mut function, module, name.as_ptr())).unwrap();
        }
        Binding { module, function }
    }

    fn unload(self) {
        // SAFETY: the module lives.
        ok(unsafe { hipModuleUnload(self.module) }).unwrap();
    }
}

impl bundle::Launch for Binding {
    type Error = i32;

    fn launch(&self, launched: &bundle::Launched<'_>) -> Result<(), i32> {
        let params: Vec<*const u8> =
            launched.offsets.iter().map(|offset| launched.kernarg[*offset..].as_ptr()).collect();
        let ([gx, gy, gz], [bx, by, bz]) = (launched.grid, launched.workgroup);
        let (function, lds) = (self.function, launched.dynamic_lds_bytes);
        // SAFETY: the function lives, every argument has its pointer, HIP copies them before it returns.
        ok(unsafe {
            hipModuleLaunchKernel(function, gx, gy, gz, bx, by, bz, lds, 0, params.as_ptr(), std::ptr::null())
        })
    }
}

fn ok(code: i32) -> Result<(), i32> {
    if code == 0 { Ok(()) } else { Err(code) }
}

fn synchronize() {
    // SAFETY: takes nothing.
    ok(unsafe { hipDeviceSynchronize() }).unwrap();
}

#[derive(Clone)]
struct Tensor {
    name: &'static str,
    device: u64,
    size: usize,
}

fn upload(folder: &str, name: &'static str) -> Tensor {
    let bytes = fs::read(format!("{folder}/{name}.in")).unwrap();
    upload_bytes(name, &bytes)
}

fn upload_bytes(name: &'static str, bytes: &[u8]) -> Tensor {
    let mut device = 0;
    // SAFETY: the pointer is a local, the bytes are valid for the copy.
    unsafe {
        // A tensor without elements has an address all the same.
        ok(hipMalloc(&mut device, bytes.len().max(1))).unwrap();
        ok(hipMemcpy(device, bytes.as_ptr() as u64, bytes.len(), 1)).unwrap();
    }
    Tensor { name, device, size: bytes.len() }
}

fn download(folder: &str, tensor: &Tensor) {
    let mut bytes = vec![0_u8; tensor.size];
    // SAFETY: the vector has the bytes; the memory is freed once.
    unsafe {
        ok(hipMemcpy(bytes.as_mut_ptr() as u64, tensor.device, tensor.size, 2)).unwrap();
        ok(hipFree(tensor.device)).unwrap();
    }
    fs::write(format!("{folder}/{}.out", tensor.name), bytes).unwrap();
}
