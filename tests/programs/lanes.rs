//! Data between lanes: scans, DPP, swizzles, permutes, lane reads, ballots.
//!
//! What each control does to a lane is written down here from the ISA manuals ("DPP", "Cross-lane
//! operations") as a function from a lane to the lane it reads.

use isa::Target;

use crate::bench::{ALL_LEVELS, BOTH, Bench, GFX950, GFX1100, Program, assert_equal, random_words};
use crate::ir::{Ir, kernel, v};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "scan_dpp",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: scan_dpp,
        check: check_scan,
    },
    Program {
        name: "scan_group",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: scan_group,
        check: check_scan_group,
    },
    Program { name: "moves", targets: BOTH, levels: ALL_LEVELS, source: moves, check: check_moves },
    Program {
        name: "swaps",
        targets: GFX950,
        levels: ALL_LEVELS,
        source: swaps,
        check: check_swaps,
    },
    Program {
        name: "row_permutes",
        targets: GFX1100,
        levels: ALL_LEVELS,
        source: row_permutes,
        check: check_row_permutes,
    },
    Program { name: "votes", targets: BOTH, levels: ALL_LEVELS, source: votes, check: check_votes },
];

const PARAMS: &str = "ptr addrspace(1) %in, ptr addrspace(1) %out";
/// Work-items of most programs here: more than one wave on both targets.
const BLOCK: u32 = 128;

fn dpp(ir: &mut Ir, old: &str, value: &str, control: u32, row_mask: u32) -> String {
    v!(
        ir,
        "call i32 @llvm.amdgcn.update.dpp.i32(i32 {old}, i32 {value}, i32 {control}, i32 {row_mask}, \
         i32 15, i1 false)"
    )
}

/// Inclusive sums over a wave: row shifts, then what the target has to go from row to row.
fn wave_scan(ir: &mut Ir, value: &str) -> String {
    let mut sum = value.to_owned();
    for shift in [1, 2, 4, 8] {
        let other = dpp(ir, "0", &sum, 0x110 + shift, 15);
        sum = v!(ir, "add i32 {sum}, {other}");
    }
    match ir.target {
        Target::Gfx950 => {
            // row_bcast15 into rows 1 and 3, row_bcast31 into rows 2 and 3.
            for (control, rows) in [(0x142, 0b1010), (0x143, 0b1100)] {
                let other = dpp(ir, "0", &sum, control, rows);
                sum = v!(ir, "add i32 {sum}, {other}");
            }
            sum
        }
        Target::Gfx1100 => {
            let other = v!(
                ir,
                "call i32 @llvm.amdgcn.permlanex16.i32(i32 0, i32 {sum}, i32 -1, i32 -1, i1 false, \
                 i1 false)"
            );
            let lane = ir.lane();
            let upper = v!(ir, "icmp ugt i32 {lane}, 15");
            let other = v!(ir, "select i1 {upper}, i32 {other}, i32 0");
            v!(ir, "add i32 {sum}, {other}")
        }
    }
}

fn scan_dpp(target: Target) -> String {
    kernel(target, "scan_dpp", PARAMS, BLOCK, |ir| {
        let item = ir.item();
        let value = ir.load(1, "i32", "%in", &item);
        let sum = wave_scan(ir, &value);
        ir.store(1, "i32", &sum, "%out", &item);
    })
}

/// Sums of each chunk of the input.
fn sums(input: &[u32], chunk: usize) -> Vec<u32> {
    let running = |values: &[u32]| {
        let mut sum = 0_u32;
        values
            .iter()
            .map(|value| {
                sum = sum.wrapping_add(*value);
                sum
            })
            .collect::<Vec<_>>()
    };
    input.chunks(chunk).flat_map(running).collect()
}

fn check_scan(bench: &mut Bench) {
    let values = random_words(41, BLOCK as usize);
    let (input, out) = (bench.input(&values), bench.output::<u32>(values.len()));
    bench.launch(1, BLOCK, &[input, out]);
    let expected = sums(&values, bench.target.wave_width() as usize);
    assert_equal("sums", &bench.read::<u32>(out), &expected);
}

/// Sums over a workgroup: Hillis and Steele's scan in LDS, two buffers in turn, a barrier a step.
fn scan_group(target: Target) -> String {
    kernel(target, "scan_group", PARAMS, BLOCK, |ir| {
        let buffers = [ir.lds("even", "i32", BLOCK), ir.lds("odd", "i32", BLOCK)];
        let (item, group) = (ir.item(), ir.group());
        let start = v!(ir, "mul i32 {group}, {BLOCK}");
        let at = v!(ir, "add i32 {start}, {item}");
        let value = ir.load(1, "i32", "%in", &at);
        ir.store(3, "i32", &value, &buffers[0], &item);
        ir.barrier();
        for step in 0..BLOCK.ilog2() {
            let [from, to] = [step, step + 1].map(|step| &buffers[step as usize % 2]);
            let distance = 1 << step;
            let mine = ir.load(3, "i32", from, &item);
            let has_other = v!(ir, "icmp uge i32 {item}, {distance}");
            let other = ir.when_else(&has_other, "i32", "0", |ir| {
                let before = v!(ir, "sub i32 {item}, {distance}");
                ir.load(3, "i32", from, &before)
            });
            let sum = v!(ir, "add i32 {mine}, {other}");
            ir.store(3, "i32", &sum, to, &item);
            ir.barrier();
        }
        let sum = ir.load(3, "i32", &buffers[BLOCK.ilog2() as usize % 2], &item);
        ir.store(1, "i32", &sum, "%out", &at);
    })
}

fn check_scan_group(bench: &mut Bench) {
    let values = random_words(42, 3 * BLOCK as usize);
    let (input, out) = (bench.input(&values), bench.output::<u32>(values.len()));
    bench.launch(3, BLOCK, &[input, out]);
    assert_equal("sums", &bench.read::<u32>(out), &sums(&values, BLOCK as usize));
}

/// A move: the targets that have it, its text with `X` for the value and `L` for the lane, and the lane
/// that a lane reads; lanes that read none keep 7.
type Move = (&'static [Target], &'static str, fn(u32) -> Option<u32>);

fn in_row(lane: u32, from: i64) -> Option<u32> {
    let from = u32::try_from(from).ok()?;
    (from / 16 == lane / 16).then_some(from)
}

const MOVES: &[Move] = &[
    // quad_perm:[1,0,3,2], quad_perm:[3,3,3,3]
    (BOTH, "DPP(177)", |l| Some(l ^ 1)),
    (BOTH, "DPP(255)", |l| Some(l | 3)),
    // row_shl:3, row_shr:5, row_ror:7
    (BOTH, "DPP(259)", |l| in_row(l, i64::from(l) + 3)),
    (BOTH, "DPP(277)", |l| in_row(l, i64::from(l) - 5)),
    (BOTH, "DPP(295)", |l| Some(l / 16 * 16 + (l + 16 - 7) % 16)),
    // row_mirror, row_half_mirror
    (BOTH, "DPP(320)", |l| Some(l ^ 15)),
    (BOTH, "DPP(321)", |l| Some(l ^ 7)),
    // wave_shl:1, wave_rol:1, wave_shr:1, wave_ror:1
    (GFX950, "DPP(304)", |l| Some(l + 1).filter(|l| *l < 64)),
    (GFX950, "DPP(308)", |l| Some((l + 1) % 64)),
    (GFX950, "DPP(312)", |l| l.checked_sub(1)),
    (GFX950, "DPP(316)", |l| Some((l + 63) % 64)),
    // row_newbcast:5
    (GFX950, "DPP(341)", |l| Some(l / 16 * 16 + 5)),
    // row_share:9, row_xmask:6
    (GFX1100, "DPP(345)", |l| Some(l / 16 * 16 + 9)),
    (GFX1100, "DPP(358)", |l| Some(l ^ 6)),
    // dpp8:[7,6,5,4,3,2,1,0], three bits a lane
    (GFX1100, "call i32 @llvm.amdgcn.mov.dpp8.i32(i32 X, i32 342391)", |l| Some(l ^ 7)),
    // swizzle, bit mode: lane & 31 (and), | 0, ^ 9; and quad mode [2,3,0,1]
    (BOTH, "call i32 @llvm.amdgcn.ds.swizzle(i32 X, i32 9247)", |l| Some(l ^ 9)),
    (BOTH, "call i32 @llvm.amdgcn.ds.swizzle(i32 X, i32 32846)", |l| Some(l ^ 2)),
    // readlane, readfirstlane
    (BOTH, "call i32 @llvm.amdgcn.readlane.i32(i32 X, i32 19)", |_| Some(19)),
    (BOTH, "call i32 @llvm.amdgcn.readfirstlane.i32(i32 X)", |_| Some(0)),
];

fn moves_of(target: Target) -> impl Iterator<Item = &'static Move> {
    MOVES.iter().filter(move |(targets, ..)| targets.contains(&target))
}

fn moves(target: Target) -> String {
    kernel(target, "moves", PARAMS, BLOCK, |ir| {
        let item = ir.item();
        let x = ir.load(1, "i32", "%in", &item);
        let mut at = item;
        for (_, text, _) in moves_of(target) {
            let y = match text.strip_prefix("DPP(") {
                Some(control) => {
                    dpp(ir, "7", &x, control.trim_end_matches(')').parse().unwrap(), 15)
                }
                None => ir.value(&text.replace('X', &x)),
            };
            ir.store(1, "i32", &y, "%out", &at);
            at = v!(ir, "add i32 {at}, {BLOCK}");
        }
    })
}

fn check_moves(bench: &mut Bench) {
    let target = bench.target;
    let values = random_words(43, BLOCK as usize);
    let n = moves_of(target).count();
    let (input, out) = (bench.input(&values), bench.output::<u32>(n * values.len()));
    bench.launch(1, BLOCK, &[input, out]);
    let got: Vec<u32> = bench.read(out);
    for ((_, text, from), got) in moves_of(target).zip(got.chunks(BLOCK as usize)) {
        let expected: Vec<u32> = (0..BLOCK)
            .map(|item| {
                let (wave, lane) = (item / target.wave_width(), item % target.wave_width());
                let first = wave * target.wave_width();
                from(lane).map_or(7, |from| values[(first + from) as usize])
            })
            .collect();
        assert_equal(text, got, &expected);
    }
}

/// Both results of a swap, for rows of 16 and of 32 lanes.
fn swaps(target: Target) -> String {
    kernel(target, "swaps", PARAMS, BLOCK, |ir| {
        let item = ir.item();
        let x = ir.load(1, "i32", "%in", &item);
        let y = v!(ir, "xor i32 {x}, -1");
        let mut at = item;
        for width in [16, 32] {
            let pair = v!(
                ir,
                "call {{i32, i32}} @llvm.amdgcn.permlane{width}.swap(i32 {x}, i32 {y}, i1 false, i1 false)"
            );
            for part in 0..2 {
                let part = v!(ir, "extractvalue {{i32, i32}} {pair}, {part}");
                ir.store(1, "i32", &part, "%out", &at);
                at = v!(ir, "add i32 {at}, {BLOCK}");
            }
        }
    })
}

/// Odd rows of the first operand change places with even rows of the second.
fn check_swaps(bench: &mut Bench) {
    let values = random_words(44, BLOCK as usize);
    let (input, out) = (bench.input(&values), bench.output::<u32>(4 * values.len()));
    bench.launch(1, BLOCK, &[input, out]);
    let mut expected = Vec::new();
    for width in [16, 32] {
        let is_odd = |i: usize| i / width % 2 == 1;
        expected.extend(
            (0..values.len()).map(|i| if is_odd(i) { !values[i - width] } else { values[i] }),
        );
        expected.extend(
            (0..values.len()).map(|i| if is_odd(i) { !values[i] } else { values[i + width] }),
        );
    }
    assert_equal("swaps", &bench.read::<u32>(out), &expected);
}

/// Selectors of four bits a lane: 15 - i, and 5·i modulo 16.
fn row_permutes(target: Target) -> String {
    kernel(target, "row_permutes", PARAMS, BLOCK, |ir| {
        let item = ir.item();
        let x = ir.load(1, "i32", "%in", &item);
        let mut at = item;
        for (low, high) in [(0x89ab_cdef_u32, 0x0123_4567_u32), (0x3e94_fa50, 0xb61c_72d8)] {
            for name in ["permlane16", "permlanex16"] {
                let y = v!(
                    ir,
                    "call i32 @llvm.amdgcn.{name}.i32(i32 0, i32 {x}, i32 {}, i32 {}, i1 false, i1 false)",
                    low.cast_signed(),
                    high.cast_signed()
                );
                ir.store(1, "i32", &y, "%out", &at);
                at = v!(ir, "add i32 {at}, {BLOCK}");
            }
        }
    })
}

fn check_row_permutes(bench: &mut Bench) {
    let values = random_words(45, BLOCK as usize);
    let (input, out) = (bench.input(&values), bench.output::<u32>(4 * values.len()));
    bench.launch(1, BLOCK, &[input, out]);
    let mut expected = Vec::new();
    let selectors: [fn(usize) -> usize; 2] = [|i| 15 - i, |i| 5 * i % 16];
    for selector in selectors {
        for other in [0, 16] {
            expected.extend(
                (0..values.len()).map(|i| values[((i / 16 * 16) ^ other) + selector(i % 16)]),
            );
        }
    }
    assert_equal("rows", &bench.read::<u32>(out), &expected);
}

/// Ballots of a divergent condition, counts below the lane, the sum over lanes of a divergent set by a
/// loop over the ballot's bits, and writelane.
fn votes(target: Target) -> String {
    let mask = format!("i{}", target.wave_width());
    kernel(target, "votes", PARAMS, BLOCK, |ir| {
        let item = ir.item();
        let x = ir.load(1, "i32", "%in", &item);
        let low = v!(ir, "and i32 {x}, 3");
        let odd = v!(ir, "icmp eq i32 {low}, 1");
        let votes = v!(ir, "call {mask} @llvm.amdgcn.ballot.{mask}(i1 {odd})");
        let count = v!(ir, "call {mask} @llvm.ctpop.{mask}({mask} {votes})");
        let count = match target.wave_width() {
            64 => v!(ir, "trunc i64 {count} to i32"),
            _ => count,
        };
        ir.store(1, "i32", &count, "%out", &item);
        let wide = match target.wave_width() {
            64 => votes.clone(),
            _ => v!(ir, "zext i32 {votes} to i64"),
        };
        let (first, high) = (v!(ir, "trunc i64 {wide} to i32"), v!(ir, "lshr i64 {wide}, 32"));
        let high = v!(ir, "trunc i64 {high} to i32");
        let below = v!(ir, "call i32 @llvm.amdgcn.mbcnt.lo(i32 {first}, i32 0)");
        let below = v!(ir, "call i32 @llvm.amdgcn.mbcnt.hi(i32 {high}, i32 {below})");
        let at = v!(ir, "add i32 {item}, {BLOCK}");
        ir.store(1, "i32", &below, "%out", &at);
        let inside = ir.when_else(&odd, "i32", "-1", |ir| {
            let active = v!(ir, "call {mask} @llvm.amdgcn.ballot.{mask}(i1 true)");
            let same = v!(ir, "icmp eq {mask} {active}, {votes}");
            let first = v!(ir, "call i32 @llvm.amdgcn.readfirstlane.i32(i32 {x})");
            v!(ir, "select i1 {same}, i32 {first}, i32 0")
        });
        let at = v!(ir, "add i32 {item}, {}", 2 * BLOCK);
        ir.store(1, "i32", &inside, "%out", &at);
        let written = v!(ir, "call i32 @llvm.amdgcn.writelane.i32(i32 {count}, i32 21, i32 {x})");
        let at = v!(ir, "add i32 {item}, {}", 3 * BLOCK);
        ir.store(1, "i32", &written, "%out", &at);
    })
}

fn check_votes(bench: &mut Bench) {
    let width = bench.target.wave_width() as usize;
    let values = random_words(46, BLOCK as usize);
    let (input, out) = (bench.input(&values), bench.output::<u32>(4 * values.len()));
    bench.launch(1, BLOCK, &[input, out]);
    let mut expected = vec![Vec::new(); 4];
    for wave in values.chunks(width) {
        let odd: Vec<bool> = wave.iter().map(|x| x & 3 == 1).collect();
        let count = odd.iter().filter(|odd| **odd).count() as u32;
        let first = wave[odd.iter().position(|odd| *odd).expect("some lane votes")];
        for lane in 0..width {
            expected[0].push(count);
            expected[1].push(odd[..lane].iter().filter(|odd| **odd).count() as u32);
            expected[2].push(if odd[lane] { first } else { u32::MAX });
            expected[3].push(if lane == 21 { count } else { wave[lane] });
        }
    }
    assert_equal("votes", &bench.read::<u32>(out), &expected.concat());
}
