//! What engines need of a launch: their stream, their pointers, no allocation, no wait, graphs, plans that travel.
#![allow(unsafe_code, reason = "an engine lends its own stream")]

use isa::Target;
use wavesmith_runtime::hip::{DevicePointer, Event, PreparedLaunch, PreparedPlan, Stream};
use wavesmith_runtime::{
    Buffer, Device, DeviceError, EmulatedDevice, HipDevice, Module, Tensors, run_plan,
};

use crate::support::{DIMS, buffer, device, inputs, on_every_target, plan, update_slots};

fn tensors() -> Tensors {
    inputs().into_iter().map(|(name, contents)| (name.to_owned(), contents)).collect()
}

/// Runs the plan on a device; the outputs.
fn outputs(device: &mut dyn Device, target: Target, plan: &specs::LaunchPlan) -> Tensors {
    let module = device.load(update_slots(target)).unwrap();
    let outcome = run_plan(device, &[module], plan, &tensors());
    outcome.unwrap_or_else(|error| panic!("{error}")).outputs
}

#[test]
fn a_plan_is_the_same_after_a_journey_and_on_both_devices() {
    on_every_target("engine::a_plan_is_the_same_after_a_journey_and_on_both_devices", |target| {
        let written = serde_json::to_string(&plan()).unwrap();
        let read: specs::LaunchPlan = serde_json::from_str(&written).unwrap();
        assert_eq!(read, plan());
        let mut emulated = EmulatedDevice::new(target, emulator::Options::default());
        let expected = outputs(&mut emulated, target, &plan());
        assert_eq!(outputs(&mut device(target), target, &read), expected);
        assert!(
            serde_json::from_str::<specs::LaunchPlan>(&written.replace("read_only", "red_only"))
                .is_err()
        );
    });
}

/// A device with the caller's memory, a plan bound to it, and a stream of the caller.
struct Engine {
    device: HipDevice,
    buffers: Vec<Buffer>,
    plan: PreparedPlan,
    stream: Stream,
}

impl Engine {
    fn new(target: Target) -> Engine {
        let mut device = device(target);
        let module: Module = device.load(update_slots(target)).unwrap();
        let mut prepared = PreparedPlan::new(&mut device, &[module], &plan()).unwrap();
        let mut buffers = Vec::new();
        for (name, contents) in inputs().into_iter().chain([("y", vec![0xff; 768])]) {
            let buffer = buffer(&mut device, name, &contents);
            let pointer = DevicePointer(device.address(&buffer).unwrap());
            prepared.bind(name, pointer).unwrap();
            buffers.push(buffer);
        }
        let stream = Stream::new(device.library()).unwrap();
        Engine { device, buffers, plan: prepared, stream }
    }

    /// `pool` and `y` after everything on the stream.
    fn results(&mut self) -> [Vec<u8>; 2] {
        self.stream.synchronize().unwrap();
        [1, 3].map(|index| self.device.read(&self.buffers[index].whole()).unwrap())
    }
}

#[test]
fn a_launch_allocates_nothing_and_can_be_captured() {
    on_every_target("engine::a_launch_allocates_nothing_and_can_be_captured", |target| {
        let mut direct = Engine::new(target);
        for _ in 0..3 {
            let (plan, stream) = (&mut direct.plan, &direct.stream);
            let counted = allocation_counter::measure(|| plan.launch(stream).unwrap());
            assert_eq!(counted.count_total, 0, "a launch allocated {} bytes", counted.bytes_total);
        }
        let expected = direct.results();
        let mut captured = Engine::new(target);
        let before = captured.results();
        let plan = &mut captured.plan;
        let graph = captured.stream.capture(|stream| plan.launch(stream)).unwrap();
        assert_eq!(captured.results(), before, "a capture runs nothing");
        // The graph has the arguments of the capture, whatever is bound afterwards.
        let elsewhere = buffer(&mut captured.device, "elsewhere", &[0; 768]);
        let address = captured.device.address(&elsewhere).unwrap();
        captured.plan.bind("y", DevicePointer(address)).unwrap();
        for _ in 0..3 {
            graph.launch(&captured.stream).unwrap();
        }
        assert_ne!(captured.results(), before);
        assert_eq!(captured.results(), expected);
        assert_eq!(captured.device.read(&elsewhere.whole()).unwrap(), [0; 768]);
    });
}

#[test]
fn a_capture_keeps_copies_and_fills_too_and_refuses_to_allocate() {
    on_every_target(
        "engine::a_capture_keeps_copies_and_fills_too_and_refuses_to_allocate",
        |target| {
            let mut engine = Engine::new(target);
            let library = engine.device.library().clone();
            let memory =
                wavesmith_runtime::hip::DeviceMemory::new(&library, "scratch", 64).unwrap();
            let graph = engine.stream.capture(|stream| memory.fill(stream, 7)).unwrap();
            graph.launch(&engine.stream).unwrap();
            engine.stream.synchronize().unwrap();
            let refused = engine.stream.capture(|_| {
                wavesmith_runtime::hip::DeviceMemory::new(&library, "late", 64).map(|_| ())
            });
            let words = refused.unwrap_err().to_string();
            assert!(words.contains("hipErrorStreamCaptureUnsupported (900)"), "{words}");
            let waits = engine.stream.capture(Stream::synchronize).unwrap_err().to_string();
            assert!(waits.contains("hipErrorStreamCaptureUnsupported (900)"), "{waits}");
            let (plan, stream) = (&mut engine.plan, &engine.stream);
            plan.launch(stream).unwrap();
        },
    );
}

#[test]
fn streams_of_the_caller_and_events_between_them() {
    on_every_target("engine::streams_of_the_caller_and_events_between_them", |target| {
        let mut engine = Engine::new(target);
        let library = engine.device.library().clone();
        let own = Stream::new(&library).unwrap();
        // SAFETY: `own` outlives the borrowed handle.
        let lent = unsafe { Stream::borrowed(&library, own.raw()) };
        engine.plan.launch(&lent).unwrap();
        let event = Event::new(&library).unwrap();
        event.record(&lent).unwrap();
        engine.stream.wait_for(&event).unwrap();
        engine.plan.launch(&engine.stream).unwrap();
        event.synchronize().unwrap();
        drop(lent);
        own.synchronize().unwrap();
        let mut twice = Engine::new(target);
        twice.plan.launch(&twice.stream).unwrap();
        twice.plan.launch(&twice.stream).unwrap();
        assert_eq!(engine.results(), twice.results());
    });
}

#[test]
fn one_launch_takes_other_pointers_each_time() {
    on_every_target("engine::one_launch_takes_other_pointers_each_time", |target| {
        let mut engine = Engine::new(target);
        let module = engine.device.load(update_slots(target)).unwrap();
        let kernel = module.kernel("update_slots").unwrap();
        let mut launch = PreparedLaunch::new(&mut engine.device, &kernel, DIMS, 0, 16).unwrap();
        let outputs: Vec<Buffer> = ["first", "second"]
            .iter()
            .map(|name| buffer(&mut engine.device, name, &[0xff; 768]))
            .collect();
        for (name, buffer) in ["x", "pool", "slots"].iter().zip(&engine.buffers) {
            let pointer = DevicePointer(engine.device.address(buffer).unwrap());
            launch.set_pointer(launch.argument(name).unwrap(), pointer).unwrap();
        }
        launch.set_value(launch.argument("factor").unwrap(), &0.0_f32.to_le_bytes()).unwrap();
        for output in &outputs {
            let pointer = DevicePointer(engine.device.address(output).unwrap());
            launch.set_pointer(launch.argument("y").unwrap(), pointer).unwrap();
            launch.launch(&engine.stream).unwrap();
        }
        engine.stream.synchronize().unwrap();
        let read = |device: &mut HipDevice, buffer: &Buffer| device.read(&buffer.whole()).unwrap();
        let first = read(&mut engine.device, &outputs[0]);
        assert_eq!(first, read(&mut engine.device, &outputs[1]));
        assert!(first[256..512].iter().all(|byte| *byte == 0), "row 1 is nobody's");
    });
}

/// A kernel of one device cannot be prepared on another.
#[test]
fn a_kernel_of_another_device_is_not_prepared() {
    on_every_target("engine::a_kernel_of_another_device_is_not_prepared", |target| {
        let (mut here, mut there) = (device(target), device(target));
        let kernel = there.load(update_slots(target)).unwrap().kernel("update_slots").unwrap();
        let refused = PreparedLaunch::new(&mut here, &kernel, DIMS, 0, 16).unwrap_err();
        assert!(matches!(&refused, DeviceError::InvalidHandle { .. }), "{refused}");
    });
}
