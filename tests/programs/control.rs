//! Divergent control flow: loops over the values of a wave, switches, early exits.

use isa::Target;

use crate::bench::{ALL_LEVELS, Arg, BOTH, Bench, Program, assert_equal, random_words};
use crate::ir::{kernel, v};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "register_array",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: register_array,
        check: check_register_array,
    },
    Program {
        name: "waterfall",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: waterfall,
        check: check_waterfall,
    },
    Program {
        name: "branches",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: branches,
        check: check_branches,
    },
];

const PARAMS: &str = "ptr addrspace(1) %in, ptr addrspace(1) %out";
const BLOCK: u32 = 128;

/// A loop that serves the lanes of one value after the other, as compilers write it for operands that
/// must be uniform.
fn waterfall(target: Target) -> String {
    kernel(target, "waterfall", PARAMS, BLOCK, |ir| {
        ir.global(
            "define internal i32 @serve(i32 %key) noinline convergent {
entry:
  br label %loop
loop:
  %round = phi i32 [ 0, %entry ], [ %next, %again ]
  %first = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %key)
  %mine = icmp eq i32 %first, %key
  %next = add i32 %round, 1
  br i1 %mine, label %done, label %again
again:
  br label %loop
done:
  %shifted = shl i32 %first, 8
  %result = or i32 %shifted, %round
  ret i32 %result
}",
        );
        let item = ir.item();
        let x = ir.load(1, "i32", "%in", &item);
        let served = v!(ir, "call i32 @serve(i32 {x})");
        ir.store(1, "i32", &served, "%out", &item);
    })
}

fn check_waterfall(bench: &mut Bench) {
    let width = bench.target.wave_width() as usize;
    let keys: Vec<u32> = random_words(47, BLOCK as usize).iter().map(|x| x % 11).collect();
    let (input, out) = (bench.input(&keys), bench.output::<u32>(keys.len()));
    bench.launch(1, BLOCK, &[input, out]);
    let mut expected = Vec::new();
    for wave in keys.chunks(width) {
        let mut order: Vec<u32> = Vec::new();
        for key in wave {
            if !order.contains(key) {
                order.push(*key);
            }
        }
        let round = |key: &u32| order.iter().position(|served| served == key).unwrap() as u32;
        expected.extend(wave.iter().map(|key| key << 8 | round(key)));
    }
    assert_equal("rounds", &bench.read::<u32>(out), &expected);
}

/// Switches, divergent and uniform, inside loops of unequal length with early exits.
fn branches(target: Target) -> String {
    kernel(target, "branches", PARAMS, BLOCK, |ir| {
        ir.global(
            "define internal i32 @mix(i32 %x, i32 %uniform) noinline {
entry:
  %limit = and i32 %x, 31
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %join ]
  %acc = phi i32 [ %x, %entry ], [ %new, %join ]
  %more = icmp ult i32 %i, %limit
  br i1 %more, label %body, label %done
body:
  %low = and i32 %acc, 7
  switch i32 %low, label %other [ i32 0, label %zero
                                  i32 1, label %one
                                  i32 3, label %three
                                  i32 6, label %six ]
zero:
  %a = add i32 %acc, %uniform
  br label %join
one:
  %b = mul i32 %acc, 5
  br label %join
three:
  %c = lshr i32 %acc, 1
  %stop = icmp ult i32 %c, 1000000
  br i1 %stop, label %done, label %join
six:
  switch i32 %uniform, label %join [ i32 3, label %special
                                     i32 4, label %other ]
special:
  %d = xor i32 %acc, 1431655765
  br label %join
other:
  %e = add i32 %acc, 1
  br label %join
join:
  %new = phi i32 [ %a, %zero ], [ %b, %one ], [ %c, %three ], [ %d, %special ], [ %e, %other ], [ %i, %six ]
  %next = add i32 %i, 1
  br label %loop
done:
  %result = phi i32 [ %acc, %loop ], [ %i, %three ]
  ret i32 %result
}",
        );
        let (item, group) = (ir.item(), ir.group());
        let start = v!(ir, "mul i32 {group}, {BLOCK}");
        let at = v!(ir, "add i32 {start}, {item}");
        let x = ir.load(1, "i32", "%in", &at);
        let y = v!(ir, "call i32 @mix(i32 {x}, i32 {group})");
        ir.store(1, "i32", &y, "%out", &at);
    })
}

fn mix(x: u32, uniform: u32) -> u32 {
    let mut acc = x;
    for i in 0..x & 31 {
        acc = match acc & 7 {
            0 => acc.wrapping_add(uniform),
            1 => acc.wrapping_mul(5),
            3 if acc >> 1 < 1_000_000 => return i,
            3 => acc >> 1,
            6 if uniform == 3 => acc ^ 0x5555_5555,
            6 if uniform != 4 => i,
            _ => acc.wrapping_add(1),
        };
    }
    acc
}

fn check_branches(bench: &mut Bench) {
    let values = random_words(48, 5 * BLOCK as usize);
    let (input, out) = (bench.input(&values), bench.output::<u32>(values.len()));
    bench.launch(5, BLOCK, &[input, out]);
    let groups = values.chunks(BLOCK as usize).zip(0..);
    let expected: Vec<u32> =
        groups.flat_map(|(xs, group)| xs.iter().map(move |x| mix(*x, group))).collect();
    assert_equal("mixed", &bench.read::<u32>(out), &expected);
}

/// An array that stays in registers, read and written at places that the arguments choose: M0 selects the register
/// (`v_movrel*` of gfx1100, `s_set_gpr_idx_on` of gfx950).
fn register_array(target: Target) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %from, i32 %to";
    kernel(target, "register_array", params, BLOCK, |ir| {
        let item = ir.item();
        let array = ir.load(1, "<16 x i32>", "%in", &item);
        let first = v!(ir, "extractelement <16 x i32> {array}, i32 %from");
        let array = v!(ir, "insertelement <16 x i32> {array}, i32 {item}, i32 %to");
        let second = v!(ir, "extractelement <16 x i32> {array}, i32 %from");
        let sum = v!(ir, "add i32 {first}, {second}");
        let array = v!(ir, "insertelement <16 x i32> {array}, i32 {sum}, i32 3");
        // The same values in every lane.
        let same = v!(ir, "insertelement <8 x i32> zeroinitializer, i32 %from, i32 5");
        let same = v!(ir, "insertelement <8 x i32> {same}, i32 77, i32 %to");
        let chosen = v!(ir, "extractelement <8 x i32> {same}, i32 %from");
        let array = v!(ir, "insertelement <16 x i32> {array}, i32 {chosen}, i32 7");
        ir.store(1, "<16 x i32>", &array, "%out", &item);
    })
}

fn check_register_array(bench: &mut Bench) {
    let values = random_words(49, 16 * BLOCK as usize);
    for (from, to) in [(0, 0), (2, 6), (5, 5), (7, 2)] {
        let (input, out) = (bench.input(&values), bench.output::<u32>(values.len()));
        bench.launch(1, BLOCK, &[input, out, Arg::U32(from), Arg::U32(to)]);
        let mut same = [0; 8];
        same[5] = from;
        same[to as usize] = 77;
        let mut expected = values.clone();
        for (item, array) in expected.chunks_mut(16).enumerate() {
            let first = array[from as usize];
            array[to as usize] = item as u32;
            array[3] = first.wrapping_add(array[from as usize]);
            array[7] = same[from as usize];
        }
        assert_equal("array", &bench.read::<u32>(out), &expected);
    }
}
