//! Kernels whose shape a back end gets wrong easily, in the text form.

use dsl::text::parse;
use runtime::{Arg, BufferAccess, BufferRequest, Device, EmulatedDevice, Fill, LaunchDims};

use super::compiled;
use isa::Target;

/// The words that a kernel with one output buffer writes, one workgroup.
fn run(target: Target, body: &str, words: u64) -> Vec<u32> {
    let width = target.wave_width();
    let text = format!(
        "wavesmith-ir 1\nkernel by_hand\ntarget {target}\nworkgroup_size {width}\n\
         param %0 out: buffer i32 write_only align 16\nbody {{\n{body}}}\n"
    );
    let kernel = parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    dsl::verify::verify(&kernel).unwrap_or_else(|errors| panic!("{errors:?}"));
    let code_object = compiled(&kernel).code_object;
    let mut device = EmulatedDevice::new(target, emulator::Options::default());
    let module = device.load(&code_object).unwrap();
    let access = BufferAccess::ReadWrite;
    let request = BufferRequest { label: "out", size_bytes: 4 * words, access, fill: Fill::POISON };
    let buffer = device.allocate(request).unwrap();
    let dims = LaunchDims { grid: [1, 1, 1], workgroup: [width, 1, 1] };
    let function = module.kernel("by_hand").unwrap();
    let args = [Arg::Buffer(buffer.whole())];
    let report = device.launch(&function, dims, &args).unwrap().emulated.unwrap();
    assert_eq!(report.findings, [], "{target}");
    let bytes = device.read(&buffer.whole()).unwrap();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// The exchange happens with all lanes; its only user runs with some. An exchange done by the user would read lanes
/// that are switched off.
#[test]
fn a_lane_exchange_before_an_arm_sees_all_lanes() {
    for target in Target::ALL {
        for mask in (0..target.wave_width().ilog2()).map(|bit| 1 << bit) {
            let body = format!(
                "  %1: i32 varying = special thread_id\n  %2: f32 varying = u32_to_f32 %1\n  \
                 %3: f32 varying = lane_xor %2, {mask}\n  %4: i32 uniform = const 2\n  \
                 %5: i32 varying = shl %1, %4\n  %6: i32 uniform = const 5\n  \
                 %7: i1 varying = lt_u %1, %6\n  %8: f32 uniform = const 0x3f800000\n  \
                 %9: f32 varying = if %7 {{\n    %10: f32 varying = fadd %3, %8\n    yield %10\n  }} else {{\n    \
                 yield %8\n  }}\n  store global %0 + %5 align 4, %9\n"
            );
            let got = run(target, &body, target.wave_width().into());
            for (lane, word) in (0u32..).zip(got) {
                let want = if lane < 5 { (lane ^ mask) as f32 + 1.0 } else { 1.0 };
                assert_eq!(f32::from_bits(word), want, "{target} mask {mask} lane {lane}");
            }
        }
    }
}

/// A number that a loop carries, multiplied in pairs inside it and read after it.
#[test]
fn a_carried_number_stays_one_register_for_its_readers() {
    for target in Target::ALL {
        let body = "  %1: i32 varying = special thread_id\n  %2: f32 varying = u32_to_f32 %1\n  \
             %3: i32 uniform = const 0\n  %4: i32 uniform = const 2\n  %5: i32 varying = shl %1, %4\n  \
             %6: f32 varying = for %7: i32 uniform from %3 to %4 step 1 {\n    carry %8: f32 varying = %2\n    \
             %9: f32x2 varying = pack %8, %8\n    %10: f32x2 varying = fadd %9, %9\n    \
             %11: f32 varying = extract %10, 1\n    yield %11\n  }\n  \
             %12: f32x2 varying = pack %6, %2\n  %13: f32x2 varying = fadd %12, %12\n  \
             %14: f32 varying = extract %13, 0\n  store global %0 + %5 align 4, %14\n";
        for (lane, word) in (0u32..).zip(run(target, body, target.wave_width().into())) {
            assert_eq!(f32::from_bits(word), 8.0 * lane as f32, "{target} lane {lane}");
        }
    }
}
