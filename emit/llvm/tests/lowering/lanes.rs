//! Lane exchanges: the emitted sequence is run by definitions taken from the ISA manuals.

use crate::support::{LOAD, STREAM, assert_has, build, count, instructions};
use isa::Target;

/// The numbers in the argument list of a call, after the values.
fn immediates(call: &str) -> Vec<u32> {
    let arguments = call.split_once('(').expect("a call has arguments").1;
    let numbers =
        arguments.split([',', ')']).filter_map(|argument| argument.trim().strip_prefix("i32 "));
    numbers.filter_map(|number| number.parse::<i64>().ok()).map(|number| number as u32).collect()
}

/// Source lane of `v_mov_b32` with a DPP control.
fn dpp_source(control: u32, lane: u32) -> u32 {
    let (quad, row, half) = (lane & !3, lane & !15, lane & !7);
    match control {
        0..=0xff => quad | (control >> (2 * (lane & 3))) & 3,
        // A rotation to the right by n: each lane receives from n lanes below, cyclically.
        0x121..=0x12f => row | (lane.wrapping_sub(control & 15) & 15),
        0x140 => row | (15 - (lane & 15)),
        0x141 => half | (7 - (lane & 7)),
        0x160..=0x16f => lane ^ (control & 15),
        _ => panic!("DPP control {control:#x}"),
    }
}

/// Source lane of `ds_swizzle_b32` in bit-mask mode: and, or, xor masks of five bits each.
fn swizzle_source(pattern: u32, lane: u32) -> u32 {
    assert_eq!(pattern >> 15, 0, "bit-mask mode");
    let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
    (lane & !31) | (((lane & 31) & and | or) ^ xor)
}

/// Source lane of `v_permlanex16_b32`: a nibble a lane selects in the other row.
fn permlanex16_source(low: u32, high: u32, lane: u32) -> u32 {
    let selectors = u64::from(high) << 32 | u64::from(low);
    ((lane & !15) ^ 16) | (selectors >> (4 * (lane & 15)) & 15) as u32
}

/// Where each lane's value comes from after the whole sequence.
fn sources(llvm_ir: &str, target: Target) -> Vec<u32> {
    let mut from: Vec<u32> = (0..target.wave_width()).collect();
    for line in llvm_ir.lines().filter(|line| line.contains("= call ")) {
        let source: Box<dyn Fn(u32) -> u32> = match immediates(line)[..] {
            [control, rows, banks] if line.contains("@llvm.amdgcn.update.dpp") => {
                assert_eq!((rows, banks), (15, 15));
                assert_eq!(control >= 0x160, target == Target::Gfx1100 && control > 0xff, "{line}");
                Box::new(move |lane| dpp_source(control, lane))
            }
            [pattern] if line.contains("@llvm.amdgcn.ds.swizzle") => {
                Box::new(move |lane| swizzle_source(pattern, lane))
            }
            [low, high] if line.contains("@llvm.amdgcn.permlanex16") => {
                Box::new(move |lane| permlanex16_source(low, high, lane))
            }
            _ if line.contains("@llvm.amdgcn.permlane32.swap") => Box::new(|lane| lane ^ 32),
            _ => continue,
        };
        from = (0..target.wave_width()).map(|lane| from[source(lane) as usize]).collect();
    }
    from
}

#[test]
fn every_mask_reads_the_lane_it_names() {
    for target in Target::ALL {
        for mask in 1..target.wave_width() {
            let body = format!(
                "{LOAD}%6: f32 varying = lane_xor %5, {mask}\nstore global %1 + %4 align 4, %6"
            );
            let built = build(target, STREAM, &body);
            let expected: Vec<u32> = (0..target.wave_width()).map(|lane| lane ^ mask).collect();
            assert_eq!(sources(&built.llvm_ir, target), expected, "{target}, mask {mask}");
        }
    }
}

#[test]
fn the_halves_are_selected_the_right_way_round() {
    let body = format!("{LOAD}%6: f32 varying = lane_xor %5, 32\nstore global %1 + %4 align 4, %6");
    let built = build(Target::Gfx950, STREAM, &body);
    // v_permlane32_swap exchanges the upper half of its first with the lower half of its second operand:
    // the first then holds the lower half twice, the second the upper half twice.
    let ir = &built.llvm_ir;
    let field = |index: u32| {
        let line = ir
            .lines()
            .find(|line| line.contains("extractvalue") && line.ends_with(&format!(", {index}")));
        line.and_then(|line| line.trim().split_once(" ="))
            .expect("both results are used")
            .0
            .to_owned()
    };
    assert_has(ir, &format!("i32 {}, i32 {}", field(1), field(0)));
    assert_has(ir, "and i32");
    assert_has(ir, "icmp eq i32");
    assert_eq!(count(&built, "v_permlane32_swap_b32"), 1);
}

#[test]
fn short_exchanges_take_no_lds_and_fuse_with_their_use() {
    for (target, masks) in
        [(Target::Gfx950, &[1, 2, 3, 7, 8, 15][..]), (Target::Gfx1100, &[1, 2, 4, 8, 13])]
    {
        for mask in masks {
            let body = format!(
                "{LOAD}%6: f32 varying = lane_xor %5, {mask}\n%7: f32 varying = fadd %5, %6\nstore global %1 + %4 align 4, %7"
            );
            let built = build(target, STREAM, &body);
            assert_eq!(
                count(&built, "v_add_f32_dpp"),
                1,
                "{target} {mask}: {:#?}",
                instructions(&built)
            );
            assert_eq!(count(&built, "ds_"), 0, "{target} {mask}");
        }
    }
}

#[test]
fn the_wave_index_is_uniform_for_llvm() {
    let declarations = format!("{STREAM}\nlds slots: 64 bytes align 16");
    let body = format!(
        "{LOAD}%6: i32 uniform = special wave_id
         %7: i32 uniform = shl %6, %3
         store lds slots + %7 align 4, %5
         barrier
         %8: f32x4 uniform = load lds slots align 16
         %9: f32 uniform = extract %8, 2
         store global %1 + %4 align 4, %9"
    );
    for target in Target::ALL {
        let built = build(target, &declarations, &body);
        assert_eq!(count(&built, "v_readfirstlane_b32"), 1, "{:#?}", instructions(&built));
        assert_has(&built.llvm_ir, &format!("= lshr i32 %2, {}\n", target.wave_width().ilog2()));
    }
}

#[test]
fn the_first_lane_is_read_as_bits() {
    let body =
        format!("{LOAD}%6: f32 uniform = read_first_lane %5\nstore global %1 + %4 align 4, %6");
    for target in Target::ALL {
        let built = build(target, STREAM, &body);
        assert_eq!(count(&built, "v_readfirstlane_b32"), 1);
    }
}
