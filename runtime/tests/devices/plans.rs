//! Whole plans on a device that is not emulated.

use isa::Target;
use specs::Element;
use specs::plan::{ArgBinding, ArgValue, Launch, LaunchPlan, SlotsContract, TensorDecl};
use specs::signature::{Access, Role};
use specs::status::StatusWord;
use wavesmith_runtime::{Device, PlanFailure, PlanOutcome, PlanProblem, Tensors, run_plan};

use crate::recording::Recording;

pub const UPDATE_SLOTS_GFX950: &[u8] = include_bytes!("../fixtures/update_slots_gfx950.hsaco");
pub const UPDATE_SLOTS_GFX1100: &[u8] = include_bytes!("../fixtures/update_slots_gfx1100.hsaco");

const SENTINEL: i32 = -1;
const POOL_SLOTS: u32 = 4;
const ROWS: u32 = 3;

fn tensor(name: &str, element: Element, dims: &[u64], access: Access, role: Role) -> TensorDecl {
    let slots = (role == Role::Slots)
        .then_some(SlotsContract { sentinel: SENTINEL, pool_slots: POOL_SLOTS });
    TensorDecl {
        name: name.to_owned(),
        element,
        dims: dims.to_vec(),
        role,
        access,
        align_bytes: 16,
        slots,
        ends_at: None,
        paged: None,
    }
}

/// Three rows over a pool of four slots.
pub fn plan() -> LaunchPlan {
    let (rows, pool) = (u64::from(ROWS), u64::from(POOL_SLOTS));
    let bind = |name: &str| ArgBinding {
        argument: name.to_owned(),
        value: ArgValue::Tensor(name.to_owned()),
    };
    let mut args: Vec<ArgBinding> = ["x", "pool", "slots", "y"].into_iter().map(bind).collect();
    args.push(ArgBinding { argument: "factor".to_owned(), value: ArgValue::F32(0.25) });
    LaunchPlan {
        tensors: vec![
            tensor("x", Element::F32, &[rows, 64], Access::ReadOnly, Role::Input),
            tensor("pool", Element::F32, &[pool, 64], Access::ReadWrite, Role::PoolState),
            tensor("slots", Element::I32, &[rows], Access::ReadOnly, Role::Slots),
            tensor("y", Element::F32, &[rows, 64], Access::WriteOnly, Role::Output),
        ],
        launches: vec![Launch {
            kernel: "update_slots".to_owned(),
            grid: [ROWS, 1, 1],
            workgroup: [64, 1, 1],
            args,
        }],
    }
}

fn bytes(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn slots(slots: &[i32]) -> Vec<u8> {
    slots.iter().flat_map(|slot| slot.to_le_bytes()).collect()
}

fn x(row: usize, lane: usize) -> f32 {
    (row * 64 + lane) as f32
}

fn pool(slot: usize, lane: usize) -> f32 {
    1000.0 * slot as f32 - lane as f32
}

/// Inputs in which row 1 is nobody's.
pub fn inputs() -> Tensors {
    let rows =
        |n: usize, f: fn(usize, usize) -> f32| bytes((0..n * 64).map(|at| f(at / 64, at % 64)));
    Tensors::from([
        ("x".to_owned(), rows(ROWS as usize, x)),
        ("pool".to_owned(), rows(POOL_SLOTS as usize, pool)),
        ("slots".to_owned(), slots(&[2, SENTINEL, 0])),
    ])
}

/// Asserts that the outputs are what the kernel's source says for [`inputs`].
#[track_caller]
pub fn assert_outputs(outcome: &PlanOutcome) {
    let after = |row: usize, slot: usize, lane: usize| pool(slot, lane) + x(row, lane) * 0.25;
    let lanes = || 0..64;
    let y = lanes()
        .map(|lane| after(0, 2, lane))
        .chain(lanes().map(|_| 0.0))
        .chain(lanes().map(|lane| after(2, 0, lane)));
    let pool = lanes()
        .map(|lane| after(2, 0, lane))
        .chain(lanes().map(|lane| pool(1, lane)))
        .chain(lanes().map(|lane| after(0, 2, lane)))
        .chain(lanes().map(|lane| pool(3, lane)));
    let expected = Tensors::from([("y".to_owned(), bytes(y)), ("pool".to_owned(), bytes(pool))]);
    assert!(outcome.outputs.keys().eq(expected.keys()));
    for (name, expected) in &expected {
        let got = &outcome.outputs[name];
        let differs = (0..expected.len() / 4)
            .find(|at| got[4 * at..4 * at + 4] != expected[4 * at..4 * at + 4]);
        assert_eq!(
            (got.len(), differs),
            (expected.len(), None),
            "first element of '{name}' that differs"
        );
    }
}

fn run(plan: &LaunchPlan, inputs: &Tensors) -> Result<PlanOutcome, PlanFailure> {
    let mut device = Recording::new(Target::Gfx1100);
    let module = device.load(UPDATE_SLOTS_GFX1100).expect("the fixture is valid");
    let result = run_plan(&mut device, &[module], plan, inputs);
    assert!(device.buffers.iter().all(Option::is_none), "buffers are left behind");
    assert!(result.is_ok() || device.dispatched.is_empty(), "a refused plan must not run");
    result
}

#[track_caller]
fn refused(plan: &LaunchPlan, inputs: &Tensors, messages: &[&str]) {
    let Err(PlanFailure::Refused(problems)) = run(plan, inputs) else { panic!("not refused") };
    assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), messages);
}

#[test]
fn a_plan_runs() {
    let outcome = run(&plan(), &inputs()).expect("everything fits");
    assert_outputs(&outcome);
    assert_eq!(outcome.launches.len(), 1);
    assert_eq!(outcome.launches[0].emulated, None);
}

#[test]
fn outputs_that_a_kernel_forgets_stay_poisoned() {
    let mut short = plan();
    short.launches[0].grid = [2, 1, 1];
    let outcome = run(&short, &inputs()).expect("everything fits");
    let forgotten = &outcome.outputs["y"][2 * 256..];
    assert_eq!(forgotten, [0xff; 256]);
    assert!(f32::from_le_bytes(forgotten[..4].try_into().expect("four bytes")).is_nan());
}

/// A status word is zeroed and read by whoever launches; what no kernel can have written is an error.
#[test]
fn status_words_are_zeroed_read_and_judged() {
    let mut clean = plan();
    let word = tensor("status", Element::I32, &[1], Access::ReadWrite, Role::Status);
    clean.tensors.push(word);
    let outcome = run(&clean, &inputs()).expect("everything fits");
    assert_eq!(outcome.status, Some(StatusWord::CLEAN));
    assert_outputs(&outcome);
    assert_eq!(run(&plan(), &inputs()).expect("everything fits").status, None);
    let mut inputs = inputs();
    inputs.insert("status".to_owned(), vec![0; 4]);
    refused(&clean, &inputs, &["tensor 'status' is written by the plan and takes no input"]);
}

#[test]
fn unknown_bits_of_a_status_word_are_an_error() {
    let mut plan = plan();
    (plan.tensors[3].role, plan.tensors[3].access) = (Role::Status, Access::ReadWrite);
    let mut device = Recording::new(Target::Gfx1100);
    let module = device.load(UPDATE_SLOTS_GFX1100).expect("the fixture is valid");
    let Err(error) = run_plan(&mut device, &[module], &plan, &inputs()) else { panic!("accepted") };
    assert!(matches!(&error, PlanFailure::Status { tensor, .. } if tensor == "y"), "{error}");
    assert!(error.to_string().contains("discard the run"), "{error}");
}

#[test]
fn inputs_that_do_not_fit() {
    let mut inputs = inputs();
    inputs.remove("x");
    inputs.insert("pole".to_owned(), Vec::new());
    inputs.insert("y".to_owned(), vec![0; 4]);
    inputs.insert("slots".to_owned(), vec![0; 11]);
    refused(
        &plan(),
        &inputs,
        &[
            "input tensor 'x' is missing: 768 bytes, dims [3, 64]",
            "tensor 'slots' has 11 bytes, dims [3] take 12 bytes",
            "tensor 'y' is written by the plan and takes no input",
            "'pole' is no tensor of the plan, which has x, pool, slots, y; did you mean 'pool'?",
        ],
    );
}

#[test]
fn plans_from_elsewhere_that_declare_too_much() {
    let mut twice = plan();
    twice.tensors.push(twice.tensors[0].clone());
    refused(&twice, &inputs(), &["tensor 'x' is declared twice"]);
    let mut endless = plan();
    endless.tensors[0].dims = vec![u64::MAX, 3, 1 << 40];
    refused(
        &endless,
        &inputs(),
        &[
            "tensor 'x' has 768 bytes, dims [18446744073709551615, 3, 1099511627776] take 18446744073709551615 bytes",
        ],
    );
}

#[test]
fn slots_that_the_kernel_would_trust() {
    let mut inputs = inputs();
    inputs.insert("slots".to_owned(), slots(&[3, 1, 3]));
    refused(
        &plan(),
        &inputs,
        &[
            "tensor 'slots': slot 3 is live in rows 0 and 2: two sequences would update one state; live slots must be distinct",
        ],
    );
    inputs.insert("slots".to_owned(), slots(&[4, -2, SENTINEL]));
    refused(
        &plan(),
        &inputs,
        &[
            "tensor 'slots', row 0: slot 4 is neither in 0..4 nor the sentinel -1",
            "tensor 'slots', row 1: slot -2 is neither in 0..4 nor the sentinel -1",
        ],
    );
    inputs.insert("slots".to_owned(), slots(&[SENTINEL; 3]));
    run(&plan(), &inputs).expect("the sentinel may repeat");
}

#[test]
fn a_sentinel_inside_the_pools_range_is_still_nobody() {
    let mut odd = plan();
    odd.tensors[2].slots = Some(SlotsContract { sentinel: 3, pool_slots: POOL_SLOTS });
    let mut inputs = inputs();
    inputs.insert("slots".to_owned(), slots(&[3, 3, 0]));
    run(&odd, &inputs).expect("rows of the sentinel are not live");
}

#[test]
fn plans_of_another_kernel() {
    let mut other = plan();
    other.launches[0].kernel = "update_slot".to_owned();
    refused(
        &other,
        &inputs(),
        &[
            "kernel 'update_slot' is in none of the modules, which have update_slots; did you mean 'update_slots'?",
        ],
    );
    let mut swapped = plan();
    swapped.launches[0].args.swap(0, 3);
    refused(
        &swapped,
        &inputs(),
        &[
            "kernel 'update_slots', argument 0 is 'x', the plan binds 'y': they come from different specs",
            "kernel 'update_slots', argument 3 is 'y', the plan binds 'x': they come from different specs",
        ],
    );
    let mut short = plan();
    short.launches[0].args.pop();
    refused(
        &short,
        &inputs(),
        &["kernel 'update_slots' takes 5 arguments (x, pool, slots, y, factor), the plan binds 4"],
    );
}

#[test]
fn access_that_the_kernel_was_not_compiled_for() {
    let mut plan = plan();
    plan.tensors[3].access = Access::ReadOnly;
    let mut inputs = inputs();
    inputs.insert("y".to_owned(), vec![0; 768]);
    refused(
        &plan,
        &inputs,
        &[
            "kernel 'update_slots', argument 'y': the plan says read_only, the kernel was compiled as write_only",
        ],
    );
    plan.tensors[3].access = Access::WriteOnly;
    plan.tensors[3].align_bytes = 512;
    plan.launches[0].args[0].value = ArgValue::Tensor("z".to_owned());
    inputs.remove("y");
    refused(
        &plan,
        &inputs,
        &[
            "tensor 'y' asks for an alignment of 512 bytes, buffers are aligned to 256 bytes",
            "kernel 'update_slots', argument 'x': the plan has no tensor 'z'",
        ],
    );
}

#[test]
fn problems_are_values_not_only_words() {
    let mut inputs = inputs();
    inputs.insert("slots".to_owned(), slots(&[0, 0, 1]));
    let Err(PlanFailure::Refused(problems)) = run(&plan(), &inputs) else { panic!("not refused") };
    let expected = PlanProblem::DuplicateSlot {
        tensor: "slots".to_owned(),
        slot: 0,
        first_row: 0,
        second_row: 1,
    };
    assert_eq!(problems, [expected]);
}
