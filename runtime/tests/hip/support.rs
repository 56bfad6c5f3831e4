//! Bodies of tests in processes of their own, and a small kernel to launch.

use std::path::PathBuf;
use std::process::Command;

use isa::Target;
use specs::Element;
use specs::plan::{ArgBinding, ArgValue, Launch, LaunchPlan, TensorDecl};
use specs::signature::{Access, Role};
use wavesmith_runtime::hip::LIBRARY_VARIABLE;
use wavesmith_runtime::{Buffer, BufferAccess, BufferRequest, Device, Fill, HipDevice, LaunchDims};

/// Set in the process that runs a body.
const CHILD_VARIABLE: &str = "WAVESMITH_TEST_BODY";
/// The emulated library's target.
pub const TARGET_VARIABLE: &str = "WAVESMITH_HIP_TARGET";

/// Rows of the kernel's problem.
pub const ROWS: u32 = 3;

/// The emulated library, which Cargo built beside this test.
pub fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let library = test.parent().unwrap().join("libwavesmith_hip_emulated.so");
    assert!(library.is_file(), "{} is missing", library.display());
    library
}

/// Runs the body of a test once in a process with these variables; the body runs where the process is that one.
pub fn in_child(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if std::env::var_os(CHILD_VARIABLE).is_some() {
        return body();
    }
    spawn(test, variables);
}

/// As [`in_child`], for both targets.
pub fn on_every_target(test: &str, body: impl FnOnce(Target)) {
    match std::env::var(CHILD_VARIABLE) {
        Ok(_) => body(std::env::var(TARGET_VARIABLE).unwrap().parse().unwrap()),
        Err(_) => {
            for target in Target::ALL {
                spawn(test, &[(TARGET_VARIABLE, target.name())]);
            }
        }
    }
}

/// The process that runs a test's body.
pub fn command(program: &str, test: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(program);
    command.env_remove(TARGET_VARIABLE).env(LIBRARY_VARIABLE, library()).env(CHILD_VARIABLE, "1");
    command.envs(variables.iter().copied());
    if program != own() {
        command.arg(own());
    }
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command
}

/// This test program.
pub fn own() -> String {
    std::env::current_exe().unwrap().to_string_lossy().into_owned()
}

fn spawn(test: &str, variables: &[(&str, &str)]) {
    let output = command(&own(), test, variables).output().unwrap();
    let (words, complaints) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{variables:?}\n{words}\n{complaints}");
    assert!(words.contains("1 passed"), "no test is called {test}:\n{words}");
}

/// One row of 64 floats a workgroup: `pool[slots[row]] += factor * x[row]`, `y[row]` the new row.
pub fn update_slots(target: Target) -> &'static [u8] {
    match target {
        Target::Gfx950 => include_bytes!("../fixtures/update_slots_gfx950.hsaco"),
        Target::Gfx1100 => include_bytes!("../fixtures/update_slots_gfx1100.hsaco"),
    }
}

/// Sizes of its launch.
pub const DIMS: LaunchDims = LaunchDims { grid: [ROWS, 1, 1], workgroup: [64, 1, 1] };

/// The device of the process.
pub fn device(target: Target) -> HipDevice {
    HipDevice::of_target(target).unwrap_or_else(|error| panic!("{error}"))
}

/// A buffer that holds something.
pub fn buffer(device: &mut dyn Device, label: &str, contents: &[u8]) -> Buffer {
    let request = BufferRequest {
        label,
        size_bytes: contents.len() as u64,
        access: BufferAccess::ReadWrite,
        fill: Fill::POISON,
    };
    let buffer = device.allocate(request).unwrap();
    device.write(&buffer, 0, contents).unwrap();
    buffer
}

/// Its inputs: `x`, `pool`, `slots`.
pub fn inputs() -> [(&'static str, Vec<u8>); 3] {
    let floats = |count: u32, step: f32| {
        (0..count).flat_map(move |i| (f64::from(i) as f32 * step - 3.0).to_le_bytes()).collect()
    };
    let slots = [2_i32, -1, 0].into_iter().flat_map(i32::to_le_bytes).collect();
    [("x", floats(ROWS * 64, 0.125)), ("pool", floats(4 * 64, 0.5)), ("slots", slots)]
}

fn tensor(name: &str, element: Element, dims: &[u64], access: Access, role: Role) -> TensorDecl {
    TensorDecl {
        name: name.to_owned(),
        element,
        dims: dims.to_vec(),
        role,
        access,
        align_bytes: 16,
        slots: None,
        ends_at: None,
        paged: None,
    }
}

/// Its launch plan.
pub fn plan() -> LaunchPlan {
    let rows = u64::from(ROWS);
    let bind = |name: &str| ArgBinding {
        argument: name.to_owned(),
        value: ArgValue::Tensor(name.to_owned()),
    };
    let mut args: Vec<ArgBinding> = ["x", "pool", "slots", "y"].into_iter().map(bind).collect();
    args.push(ArgBinding { argument: "factor".to_owned(), value: ArgValue::F32(0.25) });
    LaunchPlan {
        tensors: vec![
            tensor("x", Element::F32, &[rows, 64], Access::ReadOnly, Role::Input),
            tensor("pool", Element::F32, &[4, 64], Access::ReadWrite, Role::PoolState),
            tensor("slots", Element::I32, &[rows], Access::ReadOnly, Role::Slots),
            tensor("y", Element::F32, &[rows, 64], Access::WriteOnly, Role::Output),
        ],
        launches: vec![Launch {
            kernel: "update_slots".to_owned(),
            grid: DIMS.grid,
            workgroup: DIMS.workgroup,
            args,
        }],
    }
}
