//! What a launch refuses, in which words, and what it passes when it does not.

use isa::Target;
use wavesmith_runtime::{
    Arg, Buffer, BufferAccess, BufferRequest, Device, DeviceError, Fill, Kernel, LaunchDims,
    LaunchProblem,
};

use crate::recording::Recording;

/// Kernels `scale_rows` (x, y, count, factor, row_stride; workgroup 64 × 2) and `modes` (out, an i8, four
/// i32, hidden arguments; at most 256 work-items).
const KERNELS: &[u8] = include_bytes!("../../../codeobj/tests/fixtures/kernels_gfx1100_v5.hsaco");

const DIMS: LaunchDims = LaunchDims { grid: [3, 5, 1], workgroup: [64, 2, 1] };

struct Setting {
    device: Recording,
    kernel: Kernel,
    x: Buffer,
    y: Buffer,
}

fn setting() -> Setting {
    let mut device = Recording::new(Target::Gfx1100);
    let module = device.load(KERNELS).expect("the fixture is valid");
    let kernel = module.kernel("scale_rows").expect("the fixture has it");
    let x = buffer(&mut device, "x", 4096, BufferAccess::ReadOnly);
    let y = buffer(&mut device, "y", 4096, BufferAccess::ReadWrite);
    Setting { device, kernel, x, y }
}

fn buffer(device: &mut Recording, label: &str, size_bytes: u64, access: BufferAccess) -> Buffer {
    device
        .allocate(BufferRequest { label, size_bytes, access, fill: Fill::Undefined })
        .expect("memory is plenty")
}

impl Setting {
    fn args(&self) -> Vec<Arg> {
        vec![
            Arg::Buffer(self.x.whole()),
            Arg::Buffer(self.y.whole()),
            Arg::I32(7),
            Arg::F32(0.5),
            Arg::I64(-2),
        ]
    }

    /// The arguments with one replaced.
    fn args_but(&self, index: usize, arg: Arg) -> Vec<Arg> {
        let mut args = self.args();
        args[index] = arg;
        args
    }

    fn problems(&mut self, dims: LaunchDims, args: &[Arg]) -> Vec<LaunchProblem> {
        match self.device.launch(&self.kernel.clone(), dims, args) {
            Err(DeviceError::Refused(refused)) => {
                assert!(self.device.dispatched.is_empty(), "a refused launch must not run");
                refused.problems
            }
            other => panic!("not refused: {other:?}"),
        }
    }

    #[track_caller]
    fn refused(&mut self, dims: LaunchDims, args: &[Arg], message: &str) {
        let problems: Vec<String> =
            self.problems(dims, args).iter().map(ToString::to_string).collect();
        assert_eq!(problems, [message]);
    }

    #[track_caller]
    fn argument_refused(&mut self, index: usize, arg: Arg, message: &str) {
        let args = self.args_but(index, arg);
        self.refused(DIMS, &args, message);
    }
}

#[test]
fn arguments_are_packed_where_the_metadata_says() {
    let mut setting = setting();
    let args = setting.args_but(1, Arg::Buffer(setting.y.slice(256..1024)));
    setting.device.launch(&setting.kernel.clone(), DIMS, &args).expect("everything fits");
    let [(name, dims, kernarg)] = setting.device.dispatched.as_slice() else {
        panic!("one dispatch")
    };
    assert_eq!((name.as_str(), *dims), ("scale_rows", DIMS));
    let mut expected = Vec::new();
    expected.extend(setting.device.address(&setting.x).expect("valid").to_le_bytes());
    expected.extend((setting.device.address(&setting.y).expect("valid") + 256).to_le_bytes());
    expected.extend(7_i32.to_le_bytes());
    expected.extend(0.5_f32.to_le_bytes());
    expected.extend((-2_i64).to_le_bytes());
    assert_eq!(kernarg, &expected);
}

#[test]
fn gaps_between_arguments_are_zero_and_hidden_arguments_are_left_out() {
    let mut setting = setting();
    let kernel = setting.kernel.module.kernel("modes").expect("the fixture has it");
    let four = [0xaa; 16];
    let args = [Arg::Buffer(setting.y.whole()), Arg::Bytes(vec![0x7f]), Arg::Bytes(four.to_vec())];
    let dims = LaunchDims { grid: [1, 1, 1], workgroup: [1, 1, 1] };
    setting.device.launch(&kernel, dims, &args).expect("everything fits");
    let (_, _, kernarg) = &setting.device.dispatched[0];
    assert_eq!(kernarg[8..16], [0x7f, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(kernarg[16..], four);
}

#[test]
fn sizes() {
    let mut setting = setting();
    let args = setting.args();
    let mut refused =
        |grid, workgroup, message| setting.refused(LaunchDims { grid, workgroup }, &args, message);
    refused([3, 0, 1], DIMS.workgroup, "grid is [3, 0, 1] workgroups: every axis needs at least 1");
    refused(
        [1 << 26, 1, 1],
        DIMS.workgroup,
        "the grid has 4294967296 work-items in x, the limit is 4294967295: launch fewer workgroups at a time",
    );
    refused(
        DIMS.grid,
        [128, 1, 1],
        "workgroup is [128, 1, 1], but the kernel was compiled for [64, 2, 1] (.reqd_workgroup_size)",
    );
}

#[test]
fn workgroups_larger_than_the_kernel() {
    let mut setting = setting();
    setting.kernel = setting.kernel.module.kernel("modes").expect("the fixture has it");
    let args = [Arg::Buffer(setting.y.whole()), Arg::Bytes(vec![0]), Arg::Bytes(vec![0; 16])];
    for (workgroup, items) in
        [([257, 1, 1], "257"), ([16, 0, 1], "0"), ([u32::MAX; 3], "79228162458924105385300197375")]
    {
        let dims = LaunchDims { grid: [1, 1, 1], workgroup };
        let problems = setting.problems(dims, &args);
        assert_eq!(
            problems[0].to_string(),
            format!(
                "workgroup is {workgroup:?}, {items} work-items, not in 1 to 256 (.max_flat_workgroup_size)"
            )
        );
    }
}

#[test]
fn number_of_arguments() {
    let mut setting = setting();
    let args = setting.args();
    setting.refused(
        DIMS,
        &args[..4],
        "4 arguments, the kernel takes 5: x, y, count, factor, row_stride",
    );
}

#[test]
fn kinds_and_sizes_of_arguments() {
    let mut setting = setting();
    setting.argument_refused(
        0,
        Arg::I64(0x1000),
        "argument 'x': got the i64 4096 (8 bytes), the kernel takes a buffer",
    );
    let y = Arg::Buffer(setting.y.whole());
    setting.argument_refused(
        3,
        y,
        "argument 'factor': got bytes 0..4096 of buffer 'y' (4096 bytes), the kernel takes a value of 4 bytes",
    );
    setting.argument_refused(
        2,
        Arg::I64(7),
        "argument 'count': got the i64 7 (8 bytes), the kernel takes a value of 4 bytes",
    );
    setting.argument_refused(
        4,
        Arg::Bytes(vec![1, 2, 3]),
        "argument 'row_stride': got a value of 3 bytes, the kernel takes a value of 8 bytes",
    );
}

#[test]
fn slices() {
    let mut setting = setting();
    let outside = Arg::Buffer(setting.x.slice(4000..4097));
    setting.argument_refused(
        0,
        outside,
        "argument 'x': got bytes 4000..4097 of buffer 'x' (4096 bytes), which lie outside it",
    );
    let read_only =
        Arg::Buffer(buffer(&mut setting.device, "weights", 64, BufferAccess::ReadOnly).whole());
    setting.argument_refused(
        1,
        read_only,
        "argument 'y': buffer 'weights' is read-only, but the kernel writes to it",
    );
    let foreign = buffer(&mut Recording::new(Target::Gfx1100), "far", 64, BufferAccess::ReadWrite);
    setting.argument_refused(
        1,
        Arg::Buffer(foreign.whole()),
        "argument 'y': buffer 'far' belongs to another device",
    );
}

#[test]
fn slices_that_overlap() {
    let mut setting = setting();
    let mut args = setting.args_but(0, Arg::Buffer(setting.y.slice(0..1025)));
    args[1] = Arg::Buffer(setting.y.slice(1024..2048));
    setting.refused(
        DIMS,
        &args,
        "arguments 'x' (bytes 0..1025 of buffer 'y' (4096 bytes)) and 'y' (bytes 1024..2048 of buffer 'y' (4096 bytes)) \
         overlap, but the kernel was compiled on the promise that they do not, and writes",
    );
    args[0] = Arg::Buffer(setting.y.slice(0..1024));
    setting.device.launch(&setting.kernel.clone(), DIMS, &args).expect("neighbours do not overlap");
}

#[test]
fn everything_at_once() {
    let mut setting = setting();
    let mut args = setting.args_but(0, Arg::F32(1.0));
    args[2] = Arg::I64(1);
    let dims = LaunchDims { grid: [0, 1, 1], workgroup: [512, 1, 1] };
    let refused = match setting.device.launch(&setting.kernel.clone(), dims, &args) {
        Err(DeviceError::Refused(refused)) => refused.to_string(),
        other => panic!("not refused: {other:?}"),
    };
    assert_eq!(
        refused,
        "launch of 'scale_rows' refused
  grid is [0, 1, 1] workgroups: every axis needs at least 1
  workgroup is [512, 1, 1], 512 work-items, not in 1 to 128 (.max_flat_workgroup_size)
  workgroup is [512, 1, 1], but the kernel was compiled for [64, 2, 1] (.reqd_workgroup_size)
  argument 'x': got the f32 1 (4 bytes), the kernel takes a buffer
  argument 'count': got the i64 1 (8 bytes), the kernel takes a value of 4 bytes"
    );
}

#[test]
fn kernels_of_another_device_or_width() {
    let mut setting = setting();
    let args = setting.args();
    setting.kernel = Recording::new(Target::Gfx1100)
        .load(KERNELS)
        .expect("valid")
        .kernel("scale_rows")
        .expect("there");
    setting.refused(DIMS, &args, "the kernel was loaded on another device");

    let mut wide = Recording::new(Target::Gfx950);
    let kernel = wide
        .load(KERNELS)
        .expect("the recording device loads anything")
        .kernel("modes")
        .expect("there");
    let y = buffer(&mut wide, "y", 64, BufferAccess::ReadWrite);
    let args = [Arg::Buffer(y.whole()), Arg::Bytes(vec![0]), Arg::Bytes(vec![0; 16])];
    let error = wide
        .launch(&kernel, LaunchDims { grid: [1; 3], workgroup: [1; 3] }, &args)
        .expect_err("wave32 on gfx950");
    assert_eq!(
        error.to_string(),
        "launch of 'modes' refused: the kernel's waves have 32 lanes, gfx950 runs 64: compile it for wave64"
    );
}
