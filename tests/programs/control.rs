//! Divergent control flow: loops over the values of a wave, switches, early exits.

use isa::Target;

use crate::bench::{ALL_LEVELS, BOTH, Bench, Program, assert_equal, random_words};
use crate::ir::{kernel, v};

pub const PROGRAMS: &[Program] = &[
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
