//! Wrong loads and launches: each its own typed error with both values, before the driver is asked where that is possible.

use std::fmt::Display;

use hip_abi::Code;
use isa::Target;
use wavesmith_runtime::hip::{ArgumentId, DevicePointer, HipError, Library, PreparedLaunch};
use wavesmith_runtime::{
    Arg, Buffer, BufferAccess, BufferRequest, Device, DeviceError, Fill, HipDevice, Kernel,
    LaunchDims,
};

use crate::support::{
    DIMS, TARGET_VARIABLE, buffer, device, in_child, inputs, library, on_every_target, update_slots,
};

/// An error must say all of this.
#[track_caller]
fn says<T>(result: Result<T, impl Display>, needles: &[&str]) {
    let words = match result {
        Ok(_) => panic!("accepted, expected {needles:?}"),
        Err(error) => error.to_string(),
    };
    for needle in needles {
        assert!(words.contains(needle), "'{needle}' is not in: {words}");
    }
}

fn other(target: Target) -> Target {
    match target {
        Target::Gfx950 => Target::Gfx1100,
        Target::Gfx1100 => Target::Gfx950,
    }
}

/// A kernel, and its arguments in order.
struct Ready {
    device: HipDevice,
    kernel: Kernel,
    buffers: Vec<Buffer>,
}

impl Ready {
    fn new(target: Target) -> Ready {
        let mut device = device(target);
        let kernel = device.load(update_slots(target)).unwrap().kernel("update_slots").unwrap();
        let mut buffers: Vec<Buffer> =
            inputs().iter().map(|(name, contents)| buffer(&mut device, name, contents)).collect();
        buffers.push(buffer(&mut device, "y", &[0xff; 768]));
        Ready { device, kernel, buffers }
    }

    fn args(&self) -> Vec<Arg> {
        let buffers = self.buffers.iter().map(|buffer| Arg::Buffer(buffer.whole()));
        buffers.chain([Arg::F32(0.25)]).collect()
    }

    fn launch(&mut self, dims: LaunchDims, args: &[Arg]) -> Result<(), DeviceError> {
        self.device.launch(&self.kernel, dims, args).map(|_| ())
    }

    fn with(&self, index: usize, arg: Arg) -> Vec<Arg> {
        let mut args = self.args();
        args[index] = arg;
        args
    }
}

#[test]
fn loads_and_launches() {
    on_every_target("wrong::loads_and_launches", |target| {
        loads(target);
        names_and_counts(target);
        kinds_and_places(target);
        sizes(target);
        handles(target);
        prepared(target);
    });
}

fn loads(target: Target) {
    let mut device = device(target);
    let right = update_slots(target);
    let changed = |at: usize, byte: u8| {
        let mut bytes = right.to_vec();
        bytes[at] = byte;
        bytes
    };
    says(device.load(update_slots(other(target))), &["gfx950", "gfx1100"]);
    says(device.load(&right[..right.len() / 2]), &["truncated", &(right.len() / 2).to_string()]);
    says(device.load(&[]), &["ELF header", "64 bytes", "0 bytes"]);
    says(
        device.load(b"MZ is no ELF object, however long the file may be, at all, never ever"),
        &["4d, 5a"],
    );
    says(device.load(&changed(8, 2)), &["EI_ABIVERSION is 2", "3 (v5)"]);
    says(device.load(&changed(48, 0x4c)), &["0x4c", "gfx950 (0x4f)"]);
    says(device.load(&changed(18, 62)), &["e_machine is 62", "224"]);
    says(
        device.load(&with_short_pointer(right)),
        &["size of an argument", "4", "global_buffer has 8"],
    );
    says(device.load(&without_descriptor(right)), &["update_slots.kd", "update_slots.kx"]);
    let undefined = include_bytes!("../../../codeobj/tests/fixtures/undefined_gfx1100_v5.hsaco");
    says(device.load(undefined), &["undefined symbol", "--no-undefined"]);
}

/// The first argument, a pointer, with half of its size in the metadata.
fn with_short_pointer(right: &[u8]) -> Vec<u8> {
    let size = b"\xa5.size\x08";
    let at = right.windows(size.len()).position(|window| window == size).unwrap();
    let mut bytes = right.to_vec();
    bytes[at + size.len() - 1] = 4;
    bytes
}

/// The descriptor's symbol under another name, as a linker script can leave it.
fn without_descriptor(right: &[u8]) -> Vec<u8> {
    let name = b"update_slots.kd\0";
    let at = right.windows(name.len()).position(|window| window == name).unwrap();
    let mut bytes = right.to_vec();
    bytes[at + name.len() - 2] = b'x';
    bytes
}

fn names_and_counts(target: Target) {
    let mut ready = Ready::new(target);
    says(
        ready.kernel.module.kernel("update_slot"),
        &["'update_slot'", "did you mean 'update_slots'"],
    );
    let args = ready.args();
    says(ready.launch(DIMS, &args[..4]), &["4 arguments", "takes 5", "factor"]);
    let one_more = [args.clone(), vec![Arg::F32(1.0)]].concat();
    says(ready.launch(DIMS, &one_more), &["6 arguments", "takes 5"]);
    ready.launch(DIMS, &args).unwrap();
    ready.device.synchronize().unwrap();
}

fn kinds_and_places(target: Target) {
    let mut ready = Ready::new(target);
    let wide = ready.with(4, Arg::I64(1));
    says(ready.launch(DIMS, &wide), &["'factor'", "8 bytes", "4 bytes"]);
    let pointer = ready.with(4, Arg::Buffer(ready.buffers[0].whole()));
    says(ready.launch(DIMS, &pointer), &["'factor'", "buffer 'x'", "4 bytes"]);
    let value = ready.with(0, Arg::F32(1.0));
    says(ready.launch(DIMS, &value), &["'x'", "takes a buffer"]);
    let outside = ready.with(3, Arg::Buffer(ready.buffers[3].slice(256..1024)));
    says(ready.launch(DIMS, &outside), &["256..1024", "768 bytes"]);
    let twice = ready.with(3, Arg::Buffer(ready.buffers[1].slice(0..768)));
    says(ready.launch(DIMS, &twice), &["'pool'", "'y'", "overlap"]);
    let request = BufferRequest {
        label: "constants",
        size_bytes: 768,
        access: BufferAccess::ReadOnly,
        fill: Fill::POISON,
    };
    let constants = ready.device.allocate(request).unwrap();
    let read_only = ready.with(3, Arg::Buffer(constants.whole()));
    says(ready.launch(DIMS, &read_only), &["'constants'", "read-only"]);
    let y = ready.buffers[3].clone();
    says(ready.device.write(&y, 700, &[0; 100]), &["700..800", "768 bytes"]);
    says(ready.device.read(&y.slice(700..800)), &["700..800", "768 bytes"]);
}

fn sizes(target: Target) {
    let mut ready = Ready::new(target);
    let args = ready.args();
    let grid = |grid| LaunchDims { grid, ..DIMS };
    says(ready.launch(grid([3, 0, 1]), &args), &["[3, 0, 1]", "at least 1"]);
    says(ready.launch(grid([1 << 30, 1, 1]), &args), &["68719476736", "4294967295"]);
    let workgroup = |workgroup| LaunchDims { workgroup, ..DIMS };
    says(ready.launch(workgroup([128, 1, 1]), &args), &["[128, 1, 1]", "[64, 1, 1]"]);
    says(
        ready.launch(workgroup([2048, 1, 1]), &args),
        &["2048 work-items", "(.max_flat_workgroup_size)"],
    );
}

fn handles(target: Target) {
    let mut ready = Ready::new(target);
    let elsewhere = Ready::new(target);
    let foreign = ready.with(0, Arg::Buffer(elsewhere.buffers[0].whole()));
    says(ready.launch(DIMS, &foreign), &["buffer 'x'", "another device"]);
    let args = ready.args();
    says(ready.device.launch(&elsewhere.kernel, DIMS, &args), &["another device"]);
    let kernel = ready.kernel.clone();
    let mut prepared = PreparedLaunch::new(&mut ready.device, &kernel, DIMS, 0, 16).unwrap();
    ready.device.unload(kernel.module.clone()).unwrap();
    says(ready.launch(DIMS, &args), &["'update_slots'", "module 0", "unloaded"]);
    says(ready.device.unload(kernel.module.clone()), &["'update_slots'", "module 0", "unloaded"]);
    says(ready.device.unload(elsewhere.kernel.module.clone()), &["another device"]);
    says(
        PreparedLaunch::new(&mut ready.device, &kernel, DIMS, 0, 16),
        &["'update_slots'", "module 0", "unloaded"],
    );
    bind(&mut prepared, &ready);
    prepared.launch(ready.device.stream()).unwrap();
    ready.device.synchronize().unwrap();
    let again = ready.device.load(update_slots(target)).unwrap();
    assert_eq!(again.id, 1, "numbers are not used twice");
    ready.kernel = again.kernel("update_slots").unwrap();
    let x = ready.buffers[0].clone();
    ready.device.free(x.clone()).unwrap();
    says(ready.launch(DIMS, &args), &["buffer 'x'", "freed"]);
    says(ready.device.free(x), &["buffer 'x'", "freed"]);
    says(HipDevice::open(ready.device.library().clone(), 7), &["device 7", "there are 1"]);
    says(HipDevice::of_target(other(target)), &["gfx950", "gfx1100"]);
    let n_threads = 2;
    std::thread::scope(|scope| {
        let loads = (0..n_threads).map(|_| scope.spawn(|| Ready::new(target).args().len()));
        let loads: Vec<_> = loads.collect();
        assert!(loads.into_iter().all(|load| load.join().unwrap() == 5));
    });
}

/// Gives a prepared launch everything it takes.
fn bind(prepared: &mut PreparedLaunch, ready: &Ready) {
    for (name, buffer) in ["x", "pool", "slots", "y"].iter().zip(&ready.buffers) {
        let pointer = DevicePointer(ready.device.address(buffer).unwrap());
        prepared.set_pointer(prepared.argument(name).unwrap(), pointer).unwrap();
    }
    prepared.set_value(prepared.argument("factor").unwrap(), &0.25_f32.to_le_bytes()).unwrap();
}

fn prepared(target: Target) {
    let mut ready = Ready::new(target);
    let limit = target.limits().lds_bytes_per_workgroup;
    let kernel = ready.kernel.clone();
    let device = &mut ready.device;
    let over = PreparedLaunch::new(device, &kernel, DIMS, limit + 4, 16);
    says(over, &[&(limit + 4).to_string(), &limit.to_string()]);
    let mut launch = PreparedLaunch::new(device, &kernel, DIMS, 0, 16).unwrap();
    says(launch.argument("scale"), &["'scale'", "factor"]);
    says_of_another_launch(device, launch.argument("factor").unwrap());
    let (x, factor) = (launch.argument("x").unwrap(), launch.argument("factor").unwrap());
    says(launch.set_pointer(x, DevicePointer(0)), &["'x'", "null"]);
    says(launch.set_pointer(x, DevicePointer(0x1008)), &["0x1008", "16 bytes"]);
    says(launch.set_pointer(factor, DevicePointer(0x1000)), &["'factor'", "a pointer", "4 bytes"]);
    says(launch.set_value(factor, &[0; 8]), &["8 bytes", "4 bytes"]);
    says(launch.set_value(x, &[0; 8]), &["8 bytes", "a pointer"]);
    launch.set_value(factor, &[0; 4]).unwrap();
    says(launch.launch(device.stream()), &["1 of 5", "x, pool, slots, y"]);
    says(launch.set_grid([0, 1, 1]), &["[0, 1, 1]"]);
    let allocated = device.stream().capture(|_| Library::find()?.memory_info().map(|_| ()));
    allocated.unwrap();
}

/// An argument that was looked up elsewhere: here in a kernel of five arguments, for one of three.
fn says_of_another_launch(device: &mut HipDevice, fifth: ArgumentId) {
    let object: &[u8] = match device.target() {
        Target::Gfx950 => include_bytes!("../../../codeobj/tests/fixtures/kernels_gfx950_v5.hsaco"),
        Target::Gfx1100 => {
            include_bytes!("../../../codeobj/tests/fixtures/kernels_gfx1100_v5.hsaco")
        }
    };
    let kernel = device.load(object).unwrap().kernel("modes").unwrap();
    let mut launch = PreparedLaunch::new(device, &kernel, DIMS, 0, 16).unwrap();
    says(launch.set_value(fifth, &[0; 4]), &["'modes'", "3 arguments", "number 4"]);
    says(launch.set_pointer(fifth, DevicePointer(0x1000)), &["'modes'", "3 arguments"]);
}

#[test]
fn a_fault_of_a_kernel_is_told_by_the_wait() {
    on_every_target("wrong::a_fault_of_a_kernel_is_told_by_the_wait", |target| {
        let mut ready = Ready::new(target);
        // Row 3 does not exist: its slot index is read past the end of the buffer.
        let args = ready.args();
        ready.launch(LaunchDims { grid: [4, 1, 1], ..DIMS }, &args).unwrap();
        let fault = ready.device.synchronize().unwrap_err();
        let DeviceError::Hip(error @ HipError::Call { .. }) = &fault else { panic!("{fault}") };
        assert_eq!(error.code(), Some(Code::IllegalAddress), "{fault}");
        says(
            Err::<(), _>(fault),
            &["hipStreamSynchronize", "hipErrorIllegalAddress (700)", "emulate"],
        );
    });
}

#[test]
fn a_newer_code_object_than_the_runtime() {
    let variables = [(TARGET_VARIABLE, "gfx1100"), ("WAVESMITH_HIP_VERSION", "50221153")];
    in_child("wrong::a_newer_code_object_than_the_runtime", &variables, || {
        let v6 = include_bytes!("../../../codeobj/tests/fixtures/kernels_gfx1100_v6.hsaco");
        says(device(Target::Gfx1100).load(v6), &["v6", "6.3.0", "5.2.21153"]);
        device(Target::Gfx1100).load(update_slots(Target::Gfx1100)).unwrap();
    });
}

#[test]
fn more_memory_than_there_is() {
    let variables = [(TARGET_VARIABLE, "gfx950"), ("WAVESMITH_HIP_MEMORY", "1000000")];
    in_child("wrong::more_memory_than_there_is", &variables, || {
        let request = BufferRequest {
            label: "state",
            size_bytes: 2_000_000,
            access: BufferAccess::ReadWrite,
            fill: Fill::Undefined,
        };
        let refused = device(Target::Gfx950).allocate(request);
        says(refused, &["'state'", "2000000", "1000000 of 1000000"]);
    });
}

#[test]
fn no_library_no_hip_no_device() {
    let test = "wrong::no_library_no_hip_no_device";
    let here = library();
    let here = here.to_str().unwrap();
    let cases = [
        ("/nowhere/libamdhip64.so", "", "/nowhere/libamdhip64.so"),
        ("libc.so.6", "", "no function 'hipInit'"),
        (here, "", "hipErrorNoDevice (100)"),
        (here, "gfx942", "hipErrorNoDevice (100)"),
    ];
    if let Ok(expected) = std::env::var("EXPECTED") {
        let error = HipDevice::of_target(Target::Gfx950).unwrap_err();
        assert!(error.is_unavailable(), "{error}");
        return says(Err::<(), _>(error), &[&expected]);
    }
    for (library, target, expected) in cases {
        let variables =
            [("WAVESMITH_HIP", library), (TARGET_VARIABLE, target), ("EXPECTED", expected)];
        in_child(test, &variables, || ());
    }
}

#[test]
fn the_emulated_library_is_not_taken_for_a_real_one() {
    let test = "wrong::the_emulated_library_is_not_taken_for_a_real_one";
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(library(), folder.path().join("libamdhip64.so.7")).unwrap();
    let variables = [
        ("WAVESMITH_HIP", ""),
        ("LD_LIBRARY_PATH", folder.path().to_str().unwrap()),
        (TARGET_VARIABLE, "gfx950"),
    ];
    in_child(test, &variables, || {
        let search = wavesmith_runtime::hip::Search::run();
        let first = &search.tried[0];
        assert_eq!(first.name, "libamdhip64.so.7");
        assert!(first.answer.contains("emulated library"), "{first}");
        let emulated = search.library.as_ref().and_then(Library::emulated);
        assert_eq!(emulated, None, "found all the same");
    });
}
