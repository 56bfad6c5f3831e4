//! An engine in Rust: loads a kernel of a bundle and launches it with the generated call, on a binding of its own.
//!
//! Compiled by rustc alone, with the environment variables BUNDLE_MODULE (path of the generated module) and linked with
//! the HIP library. Usage: client FOLDER BATCH SCALE; reads FOLDER/NAME.in, writes FOLDER/NAME.out.

use std::ffi::{CString, c_void};
use std::fs;

#[allow(dead_code, reason = "the module has every kernel of the bundle")]
mod bundle {
    include!(env!("BUNDLE_MODULE"));
}
use bundle::gdn as kernel;

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

struct Binding(usize);

impl bundle::Launch for Binding {
    type Error = i32;

    fn launch(&self, launched: &bundle::Launched<'_>) -> Result<(), i32> {
        let params: Vec<*const u8> =
            launched.offsets.iter().map(|offset| launched.kernarg[*offset..].as_ptr()).collect();
        let ([gx, gy, gz], [bx, by, bz]) = (launched.grid, launched.workgroup);
        let lds = launched.dynamic_lds_bytes;
        // SAFETY: the function lives, every argument has its pointer, HIP copies them before it returns.
        ok(unsafe {
            hipModuleLaunchKernel(self.0, gx, gy, gz, bx, by, bz, lds, 0, params.as_ptr(), std::ptr::null())
        })
    }
}

fn ok(code: i32) -> Result<(), i32> {
    if code == 0 { Ok(()) } else { Err(code) }
}

struct Tensor {
    name: &'static str,
    device: u64,
    size: usize,
}

fn upload(folder: &str, name: &'static str) -> Tensor {
    let bytes = fs::read(format!("{folder}/{name}.in")).unwrap();
    let mut device = 0;
    // SAFETY: the pointer is a local, the bytes are valid for the copy.
    unsafe {
        ok(hipMalloc(&mut device, bytes.len())).unwrap();
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

fn main() {
    let values: Vec<String> = std::env::args().collect();
    let (folder, batch, scale) = (&values[1], values[2].parse().unwrap(), values[3].parse().unwrap());
    let (mut module, mut function) = (0, 0);
    let name = CString::new(kernel::KERNEL).unwrap();
    // SAFETY: the image is a whole code object, the name ends with a zero, results are locals.
    unsafe {
        ok(hipModuleLoadData(&mut module, kernel::CODE_OBJECT.as_ptr().cast())).unwrap();
        ok(hipModuleGetFunction(&mut function, module, name.as_ptr())).unwrap();
    }
    let names = ["q", "k", "v", "g", "beta", "state", "next_state", "o"];
    let tensors = names.map(|name| upload(folder, name));
    let [q, k, v, g, beta, state, next_state, o] = [0, 1, 2, 3, 4, 5, 6, 7].map(|i: usize| tensors[i].device);
    let arguments = kernel::Arguments { q, k, v, g, beta, state, next_state, o, scale };
    let binding = Binding(function);
    let null = kernel::Arguments { k: 0, ..arguments };
    let refused = kernel::launch(&binding, batch, &null);
    assert_eq!(refused, Err(bundle::Failed::Refused(bundle::Refused::Null { argument: "k" })));
    assert!(matches!(kernel::launch(&binding, 0, &arguments), Err(bundle::Failed::Refused(_))));
    kernel::launch(&binding, batch, &arguments).unwrap();
    // SAFETY: takes nothing.
    ok(unsafe { hipDeviceSynchronize() }).unwrap();
    tensors.iter().for_each(|tensor| download(folder, tensor));
    // SAFETY: the module lives.
    ok(unsafe { hipModuleUnload(module) }).unwrap();
}
