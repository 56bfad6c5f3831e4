//! Plans and launches on the emulator.

use emulator::{Cause, Fault, Options, Report, Rule};
use isa::Target;
use wavesmith_runtime::{
    Arg, Buffer, BufferAccess, BufferRequest, Device, DeviceError, EmulatedDevice, Fill, Kernel,
    LaunchDims, run_plan,
};

use crate::plans::{UPDATE_SLOTS_GFX950, UPDATE_SLOTS_GFX1100, assert_outputs, inputs, plan};

const TARGETS: [(Target, &[u8]); 2] =
    [(Target::Gfx950, UPDATE_SLOTS_GFX950), (Target::Gfx1100, UPDATE_SLOTS_GFX1100)];
const ONE_ROW: LaunchDims = LaunchDims { grid: [1, 1, 1], workgroup: [64, 1, 1] };
const ROW_BYTES: u64 = 256;

struct Setting {
    device: EmulatedDevice,
    kernel: Kernel,
    x: Buffer,
    pool: Buffer,
    slots: Buffer,
    y: Buffer,
}

impl Setting {
    fn new(target: Target, object: &[u8]) -> Setting {
        Setting::with(
            EmulatedDevice::new(target, Options::default()),
            object,
            Fill::Repeat(&[0]),
            BufferAccess::ReadWrite,
        )
    }

    fn with(
        mut device: EmulatedDevice,
        object: &[u8],
        x_fill: Fill<'_>,
        pool_access: BufferAccess,
    ) -> Setting {
        let kernel = device
            .load(object)
            .expect("the fixture is valid")
            .kernel("update_slots")
            .expect("there");
        let mut allocate = |label, size_bytes, access, fill| {
            device
                .allocate(BufferRequest { label, size_bytes, access, fill })
                .expect("memory is plenty")
        };
        let x = allocate("x", ROW_BYTES, BufferAccess::ReadOnly, x_fill);
        let pool = allocate("pool", ROW_BYTES, pool_access, Fill::Repeat(&[0]));
        let slots = allocate("slots", 4, BufferAccess::ReadOnly, Fill::Repeat(&[0]));
        let y = allocate("y", ROW_BYTES, BufferAccess::ReadWrite, Fill::Undefined);
        Setting { device, kernel, x, pool, slots, y }
    }

    fn launch(&mut self, dims: LaunchDims) -> Result<Report, DeviceError> {
        let buffers = [&self.x, &self.pool, &self.slots, &self.y];
        let mut args: Vec<Arg> =
            buffers.into_iter().map(|buffer| Arg::Buffer(buffer.whole())).collect();
        args.push(Arg::F32(2.0));
        let report = self.device.launch(&self.kernel.clone(), dims, &args)?;
        Ok(report.emulated.expect("the device is emulated"))
    }

    fn cause(&mut self, dims: LaunchDims) -> Cause {
        match self.launch(dims) {
            Err(DeviceError::Fault(Fault::Execution(fault))) => fault.cause,
            other => panic!("no fault: {other:?}"),
        }
    }
}

#[test]
fn a_plan_runs_on_both_targets() {
    for (target, object) in TARGETS {
        let mut device = EmulatedDevice::new(target, Options::default());
        let module = device.load(object).expect("the fixture is valid");
        let outcome =
            run_plan(&mut device, &[module], &plan(), &inputs()).expect("everything fits");
        assert_outputs(&outcome);
        let report = outcome.launches[0].emulated.as_ref().expect("the device is emulated");
        assert_eq!(report.findings, []);
        assert!(report.wave_instructions > 0);
    }
}

#[test]
fn objects_of_another_target_or_none_are_not_loaded() {
    let mut device = EmulatedDevice::new(Target::Gfx1100, Options::default());
    let error = device.load(UPDATE_SLOTS_GFX950).expect_err("another target");
    assert_eq!(
        error.to_string(),
        "the code object is for gfx950, the device is gfx1100: load it on a gfx950 device or build it for gfx1100"
    );
    let error = device.load(&UPDATE_SLOTS_GFX1100[..1000]).expect_err("truncated");
    assert!(matches!(error, DeviceError::CodeObject(_)), "{error}");
}

#[test]
fn accesses_outside_a_buffer_name_it() {
    for (target, object) in TARGETS {
        let cause = Setting::new(target, object).cause(LaunchDims { grid: [2, 1, 1], ..ONE_ROW });
        assert!(cause.to_string().contains("'slots'"), "{cause}");
    }
}

#[test]
fn stores_to_read_only_buffers_are_faults() {
    for (target, object) in TARGETS {
        let device = EmulatedDevice::new(target, Options::default());
        let cause = Setting::with(device, object, Fill::Repeat(&[0]), BufferAccess::ReadOnly)
            .cause(ONE_ROW);
        assert!(cause.to_string().contains("read-only buffer 'pool'"), "{cause}");
    }
}

#[test]
fn undefined_inputs_are_found() {
    for (target, object) in TARGETS {
        let device = EmulatedDevice::new(target, Options::default());
        let mut setting = Setting::with(device, object, Fill::Undefined, BufferAccess::ReadWrite);
        let report = setting.launch(ONE_ROW).expect("a finding is no fault");
        assert!(
            report.findings.iter().any(|finding| finding.rule == Rule::UndefinedStore),
            "{:?}",
            report.findings
        );
    }
}

#[test]
fn bytes_that_a_kernel_writes_are_tracked() {
    for (target, object) in TARGETS {
        let mut setting = Setting::new(target, object);
        assert!(!setting.device.all_written(&setting.y).expect("valid"));
        setting.launch(ONE_ROW).expect("everything fits");
        assert!(setting.device.all_written(&setting.y).expect("valid"));
    }
}

#[test]
fn a_limit_on_instructions_ends_a_launch() {
    for (target, object) in TARGETS {
        let options = Options { instruction_limit: 10, ..Options::default() };
        let device = EmulatedDevice::new(target, options);
        let cause = Setting::with(device, object, Fill::Repeat(&[0]), BufferAccess::ReadWrite)
            .cause(ONE_ROW);
        assert_eq!(cause, Cause::InstructionLimit { limit: 10 });
    }
}

#[test]
fn an_unloaded_module_launches_nothing_and_is_named() {
    for (target, object) in TARGETS {
        let mut setting = Setting::new(target, object);
        let module = setting.kernel.module.clone();
        setting.device.unload(module.clone()).expect("is loaded");
        for error in [
            setting.launch(ONE_ROW).expect_err("unloaded"),
            setting.device.unload(module.clone()).expect_err("twice"),
        ] {
            let DeviceError::Unloaded { what, module } = &error else { panic!("{error}") };
            assert!(what.contains("'update_slots'") && *module == 0, "{error}");
        }
        let mut elsewhere = EmulatedDevice::new(target, Options::default());
        let foreign = elsewhere.unload(module).expect_err("of another device");
        assert!(matches!(foreign, DeviceError::InvalidHandle { .. }), "{foreign}");
        let again = setting.device.load(object).expect("loads again");
        setting.kernel = again.kernel("update_slots").expect("there");
        setting.launch(ONE_ROW).expect("runs");
    }
}

#[test]
fn freed_and_foreign_buffers_are_refused() {
    let mut setting = Setting::new(Target::Gfx950, UPDATE_SLOTS_GFX950);
    setting.device.free(setting.x.clone()).expect("valid");
    let error = setting.launch(ONE_ROW).expect_err("x is gone");
    assert_eq!(error.to_string(), "buffer 'x' was freed or belongs to another device");
    let mut other = EmulatedDevice::new(Target::Gfx950, Options::default());
    let error = other.read(&setting.y.whole()).expect_err("another device's");
    assert_eq!(error.to_string(), "buffer 'y' was freed or belongs to another device");
    let error = setting.device.read(&setting.y.slice(0..257)).expect_err("one byte too many");
    assert_eq!(error.to_string(), "bytes 0..257 of buffer 'y' (256 bytes) lie outside it");
}

#[test]
fn fills_repeat_their_pattern() {
    let mut device = EmulatedDevice::new(Target::Gfx950, Options::default());
    let request =
        |fill| BufferRequest { label: "odd", size_bytes: 7, access: BufferAccess::ReadWrite, fill };
    let buffer = device.allocate(request(Fill::Repeat(&[1, 2, 3]))).expect("memory is plenty");
    assert_eq!(device.read(&buffer.whole()).expect("valid"), [1, 2, 3, 1, 2, 3, 1]);
    assert!(device.all_written(&buffer).expect("valid"));
    let undefined = device.allocate(request(Fill::Repeat(&[]))).expect("memory is plenty");
    assert!(!device.all_written(&undefined).expect("valid"));
}

#[test]
fn hidden_arguments_that_follow_from_the_sizes_are_supplied() {
    for (target, object) in [
        (
            Target::Gfx950,
            &include_bytes!("../../../codeobj/tests/fixtures/kernels_gfx950_v6.hsaco")[..],
        ),
        (
            Target::Gfx1100,
            &include_bytes!("../../../codeobj/tests/fixtures/kernels_gfx1100_v6.hsaco")[..],
        ),
    ] {
        // Every workgroup stores the same value to the same place, which is a race and not this test's.
        let options = Options { race_checks: false, ..Options::default() };
        let mut device = EmulatedDevice::new(target, options);
        let kernel =
            device.load(object).expect("the fixture is valid").kernel("modes").expect("there");
        let out = BufferRequest {
            label: "out",
            size_bytes: 64,
            access: BufferAccess::ReadWrite,
            fill: Fill::POISON,
        };
        let out = device.allocate(out).expect("memory is plenty");
        // The kernel stores the number of workgroups in x to its stack, reads it back, adds 10 and the
        // ids of work-item and workgroup in z, which are 0, and stores the sum at its own index.
        let four = [0_i32, 0, 10, 0].into_iter().flat_map(i32::to_le_bytes).collect();
        let args = [Arg::Buffer(out.whole()), Arg::Bytes(vec![0]), Arg::Bytes(four)];
        let dims = LaunchDims { grid: [5, 1, 1], workgroup: [1, 1, 1] };
        let report = device.launch(&kernel, dims, &args).expect("everything fits");
        assert_eq!(report.emulated.expect("the device is emulated").findings, []);
        let mut expected = [0xff; 64];
        expected[60..].copy_from_slice(&15_i32.to_le_bytes());
        assert_eq!(device.read(&out.whole()).expect("valid"), expected);
    }
}
