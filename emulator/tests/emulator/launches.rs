//! Launches: what is refused before anything runs, and what a launch promises.

use codeobj::CodeObject;
use isa::Target;
use wavesmith_emulator::{
    Access, Dispatch, Fault, LaunchError, LoadedObject, Machine, MemoryError, Numerics, Options,
    Step,
};

use crate::bench::fixture;

const TARGET: Target = Target::Gfx1100;

fn machine() -> (Machine, LoadedObject, CodeObject) {
    let object = fixture("vector_add", TARGET);
    let mut machine = Machine::new(TARGET, Options::default());
    let loaded = machine.load(&object).expect("loads");
    (machine, loaded, object)
}

fn dispatch(object: LoadedObject) -> Dispatch<'static> {
    Dispatch {
        object,
        kernel: "vector_add",
        workgroups: [1, 1, 1],
        workgroup_size: [100, 1, 1],
        kernarg: &[0; 28],
        dynamic_lds_bytes: 0,
    }
}

#[test]
fn a_mode_of_numerics_of_the_other_target_is_refused() {
    let options = Options { numerics: Numerics::Cdna3Fdpa, ..Options::default() };
    let mut machine = Machine::new(TARGET, options);
    let loaded = machine.load(&fixture("vector_add", TARGET)).expect("loads");
    match machine.dispatch(&dispatch(loaded)) {
        Err(Fault::Launch(LaunchError::Numerics(wrong))) => {
            assert_eq!((wrong.got, wrong.target), (Numerics::Cdna3Fdpa, TARGET));
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// The error of a launch that must be refused.
fn refusal(change: impl FnOnce(&mut Dispatch<'static>)) -> LaunchError {
    let (mut machine, loaded, _) = machine();
    let mut dispatch = dispatch(loaded);
    change(&mut dispatch);
    match machine.dispatch(&dispatch) {
        Err(Fault::Launch(error)) => error,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn a_code_object_for_another_target_is_refused() {
    let mut machine = Machine::new(Target::Gfx950, Options::default());
    let error = machine.load(&fixture("vector_add", Target::Gfx1100)).expect_err("refused");
    assert_eq!(error, LaunchError::WrongTarget { got: Target::Gfx1100, expected: Target::Gfx950 });
}

#[test]
fn unknown_kernels_are_named_with_what_there_is() {
    let error = refusal(|dispatch| dispatch.kernel = "vector_ad").to_string();
    assert!(error.contains("vector_ad") && error.contains("vector_add"), "{error}");
}

#[test]
fn sizes_out_of_range_say_limit_and_unit() {
    let limit = |error: LaunchError| match error {
        LaunchError::Limit { what, got, limit, unit, .. } => (what, got, limit, unit),
        other => panic!("{other}"),
    };
    let error = refusal(|dispatch| dispatch.workgroup_size = [101, 1, 1]);
    assert_eq!(limit(error), ("workgroup size", 101, 100, "work-items"));
    let error = refusal(|dispatch| dispatch.workgroup_size = [0, 1, 1]);
    assert_eq!(limit(error), ("workgroup size", 0, 100, "work-items"));
    let error = refusal(|dispatch| dispatch.dynamic_lds_bytes = 65_537);
    assert_eq!(limit(error), ("LDS of a workgroup", 65_537, 65_536, "bytes"));
    let error = refusal(|dispatch| dispatch.kernarg = &[0; 29]);
    assert_eq!(limit(error), ("kernel arguments", 29, 28, "bytes"));
    let error = refusal(|dispatch| dispatch.workgroups = [u32::MAX, 1, 1]);
    assert_eq!(limit(error).0, "grid");
    let error = refusal(|dispatch| dispatch.workgroups = [1, 0, 1]);
    assert_eq!(limit(error).0, "grid");
}

#[test]
fn memory_has_a_limit_and_buffers_have_ends() {
    let mut machine =
        Machine::new(TARGET, Options { memory_limit_bytes: 1000, ..Options::default() });
    let memory = machine.memory_mut();
    let buffer = memory.allocate("small", 600, Access::ReadWrite).expect("fits");
    let error = memory.allocate("large", 401, Access::ReadWrite).expect_err("does not fit");
    assert!(
        matches!(error, MemoryError::OutOfMemory { used_bytes: 600, limit_bytes: 1000, .. }),
        "{error}"
    );
    assert!(memory.allocate("endless", u64::MAX, Access::ReadWrite).is_err());
    assert!(!memory.all_written(buffer).expect("live"));
    memory.write(buffer, 0, &[7; 600]).expect("fits");
    assert!(memory.all_written(buffer).expect("live"));
    assert!(matches!(
        memory.write(buffer, 599, &[0; 2]),
        Err(MemoryError::HostOutOfBounds { end_bytes: 601, .. })
    ));
    memory.free(buffer).expect("live");
    assert_eq!(memory.free(buffer), Err(MemoryError::NoSuchBuffer));
    memory.allocate("large", 1000, Access::ReadWrite).expect("freed bytes are free again");
}

#[test]
fn a_dispatch_gives_back_what_it_allocated() {
    let object = fixture("vector_add", TARGET);
    let options = Options { memory_limit_bytes: 1 << 14, ..Options::default() };
    let mut machine = Machine::new(TARGET, options);
    let loaded = machine.load(&object).expect("loads");
    for _ in 0..1000 {
        // No work-item is inside n = 0, so nothing is loaded through the null pointers.
        machine.dispatch(&dispatch(loaded)).expect("runs");
    }
}

#[test]
fn an_unloaded_object_gives_back_its_memory_and_is_named() {
    let object = fixture("vector_add", TARGET);
    let image: u64 = object.segments.iter().map(|segment| segment.memory_size).sum();
    let options = Options { memory_limit_bytes: 2 * image - 1, ..Options::default() };
    let mut machine = Machine::new(TARGET, options);
    let first = machine.load(&object).expect("there is room for one");
    assert!(matches!(machine.load(&object), Err(LaunchError::Memory(_))), "and for no other");
    for number in 0..50 {
        let loaded = if number == 0 { first } else { machine.load(&object).expect("room again") };
        machine.dispatch(&dispatch(loaded)).expect("runs");
        machine.unload(loaded).expect("is loaded");
        let unloaded = |error: LaunchError| match error {
            LaunchError::Unloaded { number: got, kernels } => {
                assert_eq!((got, kernels), (number, vec!["vector_add".to_owned()]));
            }
            other => panic!("{other}"),
        };
        unloaded(machine.unload(loaded).expect_err("twice"));
        unloaded(machine.check(&dispatch(loaded)).expect_err("nothing to launch"));
        match machine.dispatch(&dispatch(loaded)) {
            Err(Fault::Launch(error)) => unloaded(error),
            other => panic!("{other:?}"),
        }
        let address = loaded.address_of(object.segments[0].address);
        assert_eq!(machine.memory().buffer_at(address), None);
    }
}

#[test]
fn buffers_are_aligned_as_those_of_a_gpu_also_after_code() {
    let (mut machine, _, object) = machine();
    for size in [1, 100, 256, 1000] {
        machine.load(&object).expect("loads");
        let memory = machine.memory_mut();
        let buffer = memory.allocate("buffer", size, Access::ReadWrite).expect("room");
        assert!(memory.address(buffer).expect("live").is_multiple_of(256), "{size} bytes");
    }
}

#[test]
fn memory_that_nobody_touches_costs_the_host_nothing() {
    let options = Options { memory_limit_bytes: 1 << 40, ..Options::default() };
    let mut memory = Machine::new(TARGET, options);
    let before = resident_bytes();
    let buffer = memory.memory_mut().allocate("large", 1 << 30, Access::ReadWrite).expect("room");
    memory.memory_mut().write(buffer, (1 << 30) - 4, &[7; 4]).expect("fits");
    let grown = resident_bytes() - before;
    assert!(grown < 1 << 27, "{grown} bytes for a buffer of which four were written");
}

/// Bytes of this process that are in the host's memory.
fn resident_bytes() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("it is listed");
    let kibibytes = line.split_whitespace().nth(1).expect("a number").parse::<i64>();
    kibibytes.expect("a number") * 1024
}

#[test]
fn an_object_of_another_machine_is_refused() {
    let (_, loaded, _) = machine();
    let mut empty = Machine::new(TARGET, Options::default());
    assert!(matches!(
        empty.dispatch(&dispatch(loaded)),
        Err(Fault::Launch(LaunchError::NotLoaded))
    ));
}

#[test]
fn a_tracer_sees_every_instruction_in_order() {
    let (mut machine, loaded, object) = machine();
    let mut steps: Vec<Step> = Vec::new();
    let report =
        machine.dispatch_traced(&dispatch(loaded), &mut |step| steps.push(step)).expect("runs");
    assert_eq!(steps.len() as u64, report.wave_instructions);
    assert_eq!(steps[0].site.address, object.kernels[0].entry_address);
    assert_eq!(steps.last().map(|step| step.site.instruction.as_str()), Some("s_endpgm"));
    // 100 work-items: three full waves and one of four lanes.
    assert_eq!(steps[0].exec, 0xffff_ffff);
    assert!(steps.iter().any(|step| step.place.wave == 3 && step.exec == 0xf));
}

#[test]
fn the_same_dispatch_gives_the_same_report() {
    let run = || {
        let (mut machine, loaded, _) = machine();
        machine.dispatch(&dispatch(loaded)).expect("runs")
    };
    assert_eq!(run(), run());
}
