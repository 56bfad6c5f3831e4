//! Scratch, spills, calls, copies, dynamic LDS, transposing LDS reads, loads straight to LDS.

use isa::Target;

use crate::bench::{ALL_LEVELS, Arg, BOTH, Bench, GFX950, Program, assert_equal, random_words};
use crate::ir::{Ir, kernel, kernel_with, v};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "histogram",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: histogram,
        check: check_histogram,
    },
    Program { name: "spill", targets: BOTH, levels: ALL_LEVELS, source: spill, check: check_spill },
    Program { name: "calls", targets: BOTH, levels: ALL_LEVELS, source: calls, check: check_calls },
    Program {
        name: "copies",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: copies,
        check: check_copies,
    },
    Program {
        name: "dynamic_lds",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: dynamic_lds,
        check: check_dynamic_lds,
    },
    Program {
        name: "transpose_16",
        targets: GFX950,
        levels: ALL_LEVELS,
        source: transpose,
        check: check_transpose,
    },
    Program {
        name: "load_to_lds",
        targets: GFX950,
        levels: ALL_LEVELS,
        source: load_to_lds,
        check: check_load_to_lds,
    },
];

const BLOCK: u32 = 128;
const PARAMS: &str = "ptr addrspace(1) %in, ptr addrspace(1) %out";

/// Element of the block's part of a buffer.
fn element(ir: &mut Ir) -> String {
    let (item, group) = (ir.item(), ir.group());
    let start = v!(ir, "mul i32 {group}, {BLOCK}");
    v!(ir, "add i32 {start}, {item}")
}

/// Private arrays, indexed by data, too large for registers: each work-item counts the digits of its
/// number in arrays of 8, 16, 32 and 64 bits, and folds them.
const SLOTS: u32 = 90;

fn histogram(target: Target) -> String {
    kernel(target, "histogram", PARAMS, BLOCK, |ir| {
        let at = element(ir);
        let x = ir.load(1, "i32", "%in", &at);
        let types = ["i8", "i16", "i32", "i64"];
        let arrays: Vec<String> = types
            .iter()
            .map(|ty| v!(ir, "alloca [{SLOTS} x {ty}], align 16, addrspace(5)"))
            .collect();
        for (ty, array) in types.iter().zip(&arrays) {
            for i in 0..SLOTS {
                ir.store(5, ty, &i.to_string(), array, &i.to_string());
            }
        }
        ir.each(["0", "32", "4"], &[], |ir, shift, _| {
            let digit = v!(ir, "lshr i32 {x}, {shift}");
            let digit = v!(ir, "urem i32 {digit}, {SLOTS}");
            for (ty, array) in types.iter().zip(&arrays) {
                let count = ir.load(5, ty, array, &digit);
                let more = v!(ir, "mul {ty} {count}, 3");
                let more = v!(ir, "add {ty} {more}, 100");
                ir.store(5, ty, &more, array, &digit);
            }
            vec![]
        });
        let sum = ir.each(["0", &SLOTS.to_string(), "1"], &[("i64", "0")], |ir, i, sum| {
            let mut sum = v!(ir, "mul i64 {}, 31", sum[0]);
            for (ty, array) in types.iter().zip(&arrays) {
                let count = ir.load(5, ty, array, i);
                let wide = match *ty {
                    "i64" => count,
                    _ => v!(ir, "sext {ty} {count} to i64"),
                };
                sum = v!(ir, "add i64 {sum}, {wide}");
            }
            vec![sum]
        });
        ir.store(1, "i64", &sum[0], "%out", &at);
    })
}

fn check_histogram(bench: &mut Bench) {
    let values = random_words(61, 2 * BLOCK as usize);
    let (input, out) = (bench.input(&values), bench.output::<i64>(values.len()));
    bench.launch(2, BLOCK, &[input, out]);
    let expected: Vec<i64> = values
        .iter()
        .map(|x| {
            let mut counts: Vec<i64> = (0..SLOTS.into()).collect();
            for shift in (0..32).step_by(4) {
                let digit = ((x >> shift) % SLOTS) as usize;
                counts[digit] = counts[digit].wrapping_mul(3).wrapping_add(100);
            }
            counts.iter().fold(0_i64, |sum, count| {
                let narrow = i64::from(*count as i8) + i64::from(*count as i16);
                let all = narrow + i64::from(*count as i32) + count;
                sum.wrapping_mul(31).wrapping_add(all)
            })
        })
        .collect();
    assert_equal("digits", &bench.read::<i64>(out), &expected);
}

/// Values that are alive together, more than the registers that the attributes leave.
const ALIVE: u32 = 96;

fn spill(target: Target) -> String {
    let attributes = "\"amdgpu-num-vgpr\"=\"32\" \"amdgpu-num-sgpr\"=\"40\"";
    kernel_with(target, "spill", PARAMS, BLOCK, attributes, |ir| {
        let at = element(ir);
        let mut values: Vec<String> = Vec::new();
        for i in 0..ALIVE {
            // Volatile loads stay in order and cannot be repeated.
            let place = v!(ir, "add i32 {at}, {}", i * 2 * BLOCK);
            let place = ir.at(1, "i32", "%in", &place);
            values.push(v!(ir, "load volatile i32, ptr addrspace(1) {place}"));
        }
        // Uniform ones as well: the first element of every row.
        let uniform: Vec<String> = (0..ALIVE)
            .map(|i| {
                let place = ir.at(1, "i32", "%in", &(i * 2 * BLOCK).to_string());
                let word = v!(ir, "load volatile i32, ptr addrspace(1) {place}");
                v!(ir, "call i32 @llvm.amdgcn.readfirstlane.i32(i32 {word})")
            })
            .collect();
        for round in 0..2 {
            for i in 0..ALIVE as usize {
                let other = (i * 7 + 5 + round) % ALIVE as usize;
                let product = v!(ir, "mul i32 {}, {}", values[other], i * 2 + 1);
                let sum = v!(ir, "add i32 {}, {product}", values[i]);
                values[i] = v!(ir, "xor i32 {sum}, {}", uniform[other]);
            }
        }
        for (i, value) in values.iter().enumerate() {
            let place = v!(ir, "add i32 {at}, {}", i as u32 * 2 * BLOCK);
            ir.store(1, "i32", value, "%out", &place);
        }
    })
}

fn check_spill(bench: &mut Bench) {
    let row = 2 * BLOCK as usize;
    let words = random_words(62, ALIVE as usize * row);
    let (input, out) = (bench.input(&words), bench.output::<u32>(words.len()));
    bench.launch(2, BLOCK, &[input, out]);
    let mut expected = words.clone();
    for column in 0..row {
        for round in 0..2 {
            for i in 0..ALIVE as usize {
                let other = (i * 7 + 5 + round) % ALIVE as usize;
                let product = expected[other * row + column].wrapping_mul(i as u32 * 2 + 1);
                let sum = expected[i * row + column].wrapping_add(product);
                expected[i * row + column] = sum ^ words[other * row];
            }
        }
    }
    assert_equal("values", &bench.read::<u32>(out), &expected);
}

/// Calls: many arguments (some on the stack), a structure as result, recursion, and one of two functions
/// by an address from memory.
const FUNCTIONS: &str = "
define internal i32 @many(i32 %a, i64 %b, <4 x i32> %c, [24 x i32] %d, i32 %e) noinline {
  %b32 = trunc i64 %b to i32
  %c1 = extractelement <4 x i32> %c, i32 1
  %c3 = extractelement <4 x i32> %c, i32 3
  %d0 = extractvalue [24 x i32] %d, 0
  %d23 = extractvalue [24 x i32] %d, 23
  %s1 = mul i32 %a, 3
  %s2 = add i32 %s1, %b32
  %s3 = mul i32 %s2, 5
  %s4 = add i32 %s3, %c1
  %s5 = mul i32 %s4, 7
  %s6 = add i32 %s5, %c3
  %s7 = xor i32 %s6, %d0
  %s8 = add i32 %s7, %d23
  %s9 = sub i32 %s8, %e
  ret i32 %s9
}
define internal {i32, i64} @two(i32 %x) noinline {
  %wide = zext i32 %x to i64
  %square = mul i64 %wide, %wide
  %not = xor i32 %x, -1
  %r0 = insertvalue {i32, i64} poison, i32 %not, 0
  %r1 = insertvalue {i32, i64} %r0, i64 %square, 1
  ret {i32, i64} %r1
}
define internal i32 @fibonacci(i32 %n) noinline {
  %small = icmp ult i32 %n, 2
  br i1 %small, label %leaf, label %inner
leaf:
  ret i32 %n
inner:
  %n1 = sub i32 %n, 1
  %n2 = sub i32 %n, 2
  %f1 = call i32 @fibonacci(i32 %n1)
  %f2 = call i32 @fibonacci(i32 %n2)
  %f = add i32 %f1, %f2
  ret i32 %f
}
define internal i32 @twice(i32 %x) noinline {
  %y = add i32 %x, %x
  ret i32 %y
}
define internal i32 @thrice(i32 %x) noinline {
  %y = mul i32 %x, 3
  ret i32 %y
}
@table = internal addrspace(1) global [2 x ptr] [ptr @twice, ptr @thrice], align 8
";

fn calls(target: Target) -> String {
    kernel(target, "calls", PARAMS, BLOCK, |ir| {
        ir.global(FUNCTIONS);
        let (at, group) = (element(ir), ir.group());
        let x = ir.load(1, "i32", "%in", &at);
        let wide = v!(ir, "zext i32 {x} to i64");
        let vector = v!(ir, "insertelement <4 x i32> zeroinitializer, i32 {x}, i32 1");
        let vector = v!(ir, "insertelement <4 x i32> {vector}, i32 {at}, i32 3");
        let array = v!(ir, "insertvalue [24 x i32] zeroinitializer, i32 {x}, 0");
        let array = v!(ir, "insertvalue [24 x i32] {array}, i32 {at}, 23");
        let many = v!(
            ir,
            "call i32 @many(i32 {x}, i64 {wide}, <4 x i32> {vector}, [24 x i32] {array}, i32 17)"
        );
        let two = v!(ir, "call {{i32, i64}} @two(i32 {many})");
        let (first, second) = (
            v!(ir, "extractvalue {{i32, i64}} {two}, 0"),
            v!(ir, "extractvalue {{i32, i64}} {two}, 1"),
        );
        let second = v!(ir, "lshr i64 {second}, 11");
        let second = v!(ir, "trunc i64 {second} to i32");
        let n = v!(ir, "and i32 {x}, 7");
        let fibonacci = v!(ir, "call i32 @fibonacci(i32 {n})");
        let pointer = ir.at(1, "ptr", "@table", &group);
        let function = v!(ir, "load volatile ptr, ptr addrspace(1) {pointer}");
        let indirect = v!(ir, "call i32 {function}(i32 {first})");
        let mut sum = indirect;
        for part in [second, fibonacci] {
            sum = v!(ir, "add i32 {sum}, {part}");
        }
        ir.store(1, "i32", &sum, "%out", &at);
    })
}

fn check_calls(bench: &mut Bench) {
    let values = random_words(63, 2 * BLOCK as usize);
    let (input, out) = (bench.input(&values), bench.output::<u32>(values.len()));
    bench.launch(2, BLOCK, &[input, out]);
    let expected: Vec<u32> = (0..values.len() as u32)
        .map(|at| {
            let x = values[at as usize];
            let mut many = x.wrapping_mul(3).wrapping_add(x);
            many = many.wrapping_mul(5).wrapping_add(x).wrapping_mul(7).wrapping_add(at);
            many = (many ^ x).wrapping_add(at).wrapping_sub(17);
            let square = u64::from(many) * u64::from(many);
            let by = if at < BLOCK { 2 } else { 3 };
            let fibonacci = [0, 1, 1, 2, 3, 5, 8, 13][(x & 7) as usize];
            (!many).wrapping_mul(by).wrapping_add((square >> 11) as u32).wrapping_add(fibonacci)
        })
        .collect();
    assert_equal("results", &bench.read::<u32>(out), &expected);
}

/// Copies of every width through LDS, and of 41 bytes that lie anywhere.
fn copies(target: Target) -> String {
    kernel(target, "copies", PARAMS, BLOCK, |ir| {
        let item = ir.item();
        let mut start = 0;
        for (ty, bytes) in
            [("i8", 1), ("i16", 2), ("i32", 4), ("i64", 8), ("<3 x i32>", 12), ("<4 x i32>", 16)]
        {
            let pitch: u32 = if bytes == 12 { 16 } else { bytes };
            let lds = ir.lds(&format!("tile{bytes}"), ty, BLOCK);
            let [from, to] = ["%in", "%out"].map(|base| ir.at(1, "i8", base, &start.to_string()));
            let value = ir.load(1, ty, &from, &item);
            ir.store(3, ty, &value, &lds, &item);
            ir.barrier();
            let mirrored = v!(ir, "sub i32 {}, {item}", BLOCK - 1);
            let value = ir.load(3, ty, &lds, &mirrored);
            ir.store(1, ty, &value, &to, &item);
            start += pitch * BLOCK;
        }
        let at = v!(ir, "mul i32 {item}, 43");
        let at = v!(ir, "add i32 {at}, {start}");
        let [from, to] = ["%in", "%out"].map(|base| ir.at(1, "i8", base, &at));
        ir.statement(&format!(
            "call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) align 1 {to}, ptr addrspace(1) align 1 \
             {from}, i64 41, i1 false)"
        ));
    })
}

fn check_copies(bench: &mut Bench) {
    let n = BLOCK as usize;
    let size = (1 + 2 + 4 + 8 + 16 + 16) * n;
    let bytes: Vec<u8> = random_words(64, size + 43 * n).iter().map(|word| *word as u8).collect();
    let (input, out) = (bench.input(&bytes), bench.output::<u8>(bytes.len() / 2 * 2));
    bench.launch(1, BLOCK, &[input, out]);
    let got: Vec<u8> = bench.read(out);
    let mut start = 0;
    for (pitch, width) in [(1, 1), (2, 2), (4, 4), (8, 8), (16, 12), (16, 16)] {
        for i in 0..n {
            let (from, to) = (start + (n - 1 - i) * pitch, start + i * pitch);
            assert_equal("element", &got[to..to + width], &bytes[from..from + width]);
        }
        start += pitch * n;
    }
    for i in 0..n {
        let at = start + 43 * i;
        assert_equal("copy", &got[at..at + 41], &bytes[at..at + 41]);
        let poison = [0xff, 0x7f, 0xff];
        let first = (at + 41) & 1;
        assert_equal("gap", &got[at + 41..at + 43], &poison[first..first + 2]);
    }
}

/// LDS whose size only the launch knows, behind a static array: a rotation by an argument.
fn dynamic_lds(target: Target) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %by, i32 %n";
    kernel(target, "dynamic_lds", params, BLOCK, |ir| {
        ir.global("@dynamic = external addrspace(3) global [0 x i32], align 16");
        let fixed = ir.lds("fixed", "i32", BLOCK);
        let item = ir.item();
        ir.store(3, "i32", &item, &fixed, &item);
        let block = BLOCK.to_string();
        ir.each([&item, "%n", &block], &[], |ir, at, _| {
            let value = ir.load(1, "i32", "%in", at);
            ir.store(3, "i32", &value, "@dynamic", at);
            vec![]
        });
        ir.barrier();
        ir.each([&item, "%n", &block], &[], |ir, at, _| {
            let from = v!(ir, "add i32 {at}, %by");
            let from = v!(ir, "urem i32 {from}, %n");
            let value = ir.load(3, "i32", "@dynamic", &from);
            let own = v!(ir, "and i32 {at}, {}", BLOCK - 1);
            let number = ir.load(3, "i32", &fixed, &own);
            let sum = v!(ir, "add i32 {value}, {number}");
            ir.store(1, "i32", &sum, "%out", at);
            vec![]
        });
    })
}

fn check_dynamic_lds(bench: &mut Bench) {
    let n = 1000;
    let values = random_words(65, n);
    let (input, out) = (bench.input(&values), bench.output::<u32>(n));
    bench.dynamic_lds_bytes = 4 * n as u32;
    bench.launch(1, BLOCK, &[input, out, Arg::U32(333), Arg::U32(n as u32)]);
    let rotated = (0..n).map(|i| values[(i + 333) % n].wrapping_add(i as u32 % BLOCK));
    assert_equal("rotated", &bench.read::<u32>(out), &rotated.collect::<Vec<_>>());
}

/// Transposing reads. Of 16 lanes each reads 8 bytes; together they are a matrix with rows of 16 elements,
/// and lane `i` gets column `i`.
fn transpose(target: Target) -> String {
    kernel(target, "transpose_16", PARAMS, 64, |ir| {
        let lds = ir.lds("tile", "i64", 64);
        let item = ir.item();
        let value = ir.load(1, "i64", "%in", &item);
        ir.store(3, "i64", &value, &lds, &item);
        ir.barrier();
        let place = ir.at(3, "i64", &lds, &item);
        let read =
            v!(ir, "call <4 x i16> @llvm.amdgcn.ds.read.tr16.b64.v4i16(ptr addrspace(3) {place})");
        let word = v!(ir, "bitcast <4 x i16> {read} to i64");
        ir.store(1, "i64", &word, "%out", &item);
    })
}

fn check_transpose(bench: &mut Bench) {
    let size = 2;
    let bytes: Vec<u8> = random_words(66, 512).iter().map(|word| *word as u8).collect();
    let (input, out) = (bench.input(&bytes), bench.output::<u8>(512));
    bench.launch(1, 64, &[input, out]);
    let mut expected = Vec::new();
    for matrix in bytes.chunks(16 * 8) {
        for column in 0..16 {
            for row in matrix.chunks(16 * size) {
                expected.extend(&row[column * size..][..size]);
            }
        }
    }
    assert_equal("columns", &bench.read::<u8>(out), &expected);
}

/// Global memory to LDS without registers, 4 and 16 bytes a lane: lane `i` of a wave writes the `i`-th
/// piece behind the address of the wave.
fn load_to_lds(target: Target) -> String {
    kernel(target, "load_to_lds", PARAMS, BLOCK, |ir| {
        let (item, wave) = (ir.item(), ir.wave());
        let mut start = 0;
        for bytes in [4, 16] {
            let lds = ir.lds(&format!("tile{bytes}"), "i8", BLOCK * bytes);
            let of_wave = v!(ir, "mul i32 {wave}, {}", 64 * bytes);
            let to = ir.at(3, "i8", &lds, &of_wave);
            // The source in reverse order, so that lanes and addresses differ.
            let from = v!(ir, "sub i32 {}, {item}", BLOCK - 1);
            let from = v!(ir, "mul i32 {from}, {bytes}");
            let from = v!(ir, "add i32 {from}, {start}");
            let from = ir.at(1, "i8", "%in", &from);
            ir.statement(&format!(
                "call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) {from}, ptr addrspace(3) {to}, \
                 i32 {bytes}, i32 0, i32 0)"
            ));
            ir.barrier();
            let ty = if bytes == 4 { "i32" } else { "<4 x i32>" };
            let other = v!(ir, "xor i32 {item}, 65");
            let value = ir.load(3, ty, &lds, &other);
            let base = ir.at(1, "i8", "%out", &start.to_string());
            ir.store(1, ty, &value, &base, &item);
            start += bytes * BLOCK;
        }
    })
}

fn check_load_to_lds(bench: &mut Bench) {
    let n = BLOCK as usize;
    let bytes: Vec<u8> = random_words(67, 20 * n).iter().map(|word| *word as u8).collect();
    let (input, out) = (bench.input(&bytes), bench.output::<u8>(bytes.len()));
    bench.launch(1, BLOCK, &[input, out]);
    let mut expected = Vec::new();
    for (size, part) in [(4, &bytes[..4 * n]), (16, &bytes[4 * n..])] {
        expected.extend((0..n).flat_map(|i| &part[(n - 1 - (i ^ 65)) * size..][..size]));
    }
    assert_equal("pieces", &bench.read::<u8>(out), &expected);
}
