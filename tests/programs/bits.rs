//! Operations on bits and integers of every width, packed and dot products, as LLVM selects them.

use half::f16;
use isa::Target;

use crate::bench::{ALL_LEVELS, Arg, BOTH, Bench, Program, assert_equal, random_words};
use crate::elementwise::{BLOCK, GROUPS, N, guarded, put};
use crate::ir::{kernel, v};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "bits_32",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: |target| source(target, "bits_32", &OPS_32),
        check: |bench| check(bench, &OPS_32),
    },
    Program {
        name: "bits_64",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: |target| source(target, "bits_64", &OPS_64),
        check: |bench| check(bench, &OPS_64),
    },
    Program {
        name: "swap_64",
        targets: BOTH,
        levels: &[2, 3],
        source: |target| source(target, "swap_64", &SWAP_64),
        check: |bench| check(bench, &SWAP_64),
    },
    Program {
        name: "packed",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: |target| source(target, "packed", &PACKED),
        check: |bench| check(bench, &PACKED),
    },
];

type Function<T> = fn(T, T, T) -> T;

/// An operation on three integers: lines of IR separated by `;` with operands `X`, `Y`, `Z` of the type and
/// `P` for the result of the line before, and the function.
struct Family<T: 'static> {
    ty: &'static str,
    ops: &'static [(&'static str, Function<T>)],
}

fn signed(x: u32) -> i32 {
    x.cast_signed()
}

const OPS_32: Family<u32> = Family {
    ty: "i32",
    ops: &[
        ("add i32 X, Y", |x, y, _| x.wrapping_add(y)),
        ("sub i32 X, Y", |x, y, _| x.wrapping_sub(y)),
        ("mul i32 X, Y", |x, y, _| x.wrapping_mul(y)),
        ("and i32 Z, 31; shl i32 X, P", |x, _, z| x << (z & 31)),
        ("and i32 Z, 31; lshr i32 X, P", |x, _, z| x >> (z & 31)),
        ("and i32 Z, 31; ashr i32 X, P", |x, _, z| (signed(x) >> (z & 31)) as u32),
        ("call i32 @llvm.ctpop.i32(i32 X)", |x, _, _| x.count_ones()),
        ("call i32 @llvm.ctlz.i32(i32 X, i1 false)", |x, _, _| x.leading_zeros()),
        ("call i32 @llvm.cttz.i32(i32 X, i1 false)", |x, _, _| x.trailing_zeros()),
        ("call i32 @llvm.bitreverse.i32(i32 X)", |x, _, _| x.reverse_bits()),
        ("call i32 @llvm.bswap.i32(i32 X)", |x, _, _| x.swap_bytes()),
        ("call i32 @llvm.fshl.i32(i32 X, i32 X, i32 Z)", |x, _, z| x.rotate_left(z & 31)),
        ("call i32 @llvm.fshr.i32(i32 X, i32 Y, i32 Z)", |x, y, z| {
            ((u64::from(x) << 32 | u64::from(y)) >> (z & 31)) as u32
        }),
        ("call i32 @llvm.abs.i32(i32 X, i1 false)", |x, _, _| signed(x).wrapping_abs() as u32),
        ("call i32 @llvm.smax.i32(i32 X, i32 Y)", |x, y, _| signed(x).max(signed(y)) as u32),
        ("call i32 @llvm.umin.i32(i32 X, i32 Y)", |x, y, _| x.min(y)),
        (
            "call i32 @llvm.smax.i32(i32 X, i32 Y); call i32 @llvm.smin.i32(i32 P, i32 Z)",
            |x, y, z| signed(x).max(signed(y)).min(signed(z)) as u32,
        ),
        ("call i32 @llvm.uadd.sat.i32(i32 X, i32 Y)", |x, y, _| x.saturating_add(y)),
        ("call i32 @llvm.usub.sat.i32(i32 X, i32 Y)", |x, y, _| x.saturating_sub(y)),
        ("call i32 @llvm.sadd.sat.i32(i32 X, i32 Y)", |x, y, _| {
            signed(x).saturating_add(signed(y)) as u32
        }),
        ("call i32 @llvm.ssub.sat.i32(i32 X, i32 Y)", |x, y, _| {
            signed(x).saturating_sub(signed(y)) as u32
        }),
        ("xor i32 X, Y; xor i32 P, Z", |x, y, z| x ^ y ^ z),
        ("and i32 X, Y; or i32 P, Z", |x, y, z| x & y | z),
        ("xor i32 Y, Z; and i32 P, X; xor i32 P, Z", |x, y, z| x & y | !x & z),
        ("add i32 X, Y; add i32 P, Z", |x, y, z| x.wrapping_add(y).wrapping_add(z)),
        ("shl i32 X, 3; add i32 P, Y", |x, y, _| (x << 3).wrapping_add(y)),
        ("lshr i32 X, 5; and i32 P, 2047", |x, _, _| x >> 5 & 2047),
        ("shl i32 X, 9; ashr i32 P, 20", |x, _, _| (signed(x << 9) >> 20) as u32),
        ("call i32 @llvm.amdgcn.perm(i32 X, i32 Y, i32 50462976)", |_, y, _| y),
        ("call i32 @llvm.amdgcn.perm(i32 X, i32 Y, i32 117835012)", |x, _, _| x),
        ("call i32 @llvm.amdgcn.ubfe.i32(i32 X, i32 7, i32 13)", |x, _, _| x >> 7 & 0x1fff),
        ("call i32 @llvm.amdgcn.sbfe.i32(i32 X, i32 7, i32 13)", |x, _, _| {
            (signed(x << 12) >> 19) as u32
        }),
        ("call i32 @llvm.amdgcn.alignbyte(i32 X, i32 Y, i32 3)", |x, y, _| x << 8 | y >> 24),
        ("call i32 @llvm.amdgcn.udot4(i32 X, i32 Y, i32 Z, i1 false)", |x, y, z| {
            let bytes = x.to_le_bytes().into_iter().zip(y.to_le_bytes());
            bytes.fold(z, |sum, (x, y)| sum.wrapping_add(u32::from(x) * u32::from(y)))
        }),
        ("and i32 X, 16777215; and i32 Y, 16777215; mul i32 P, 9999999", |_, y, _| {
            (y & 0xff_ffff).wrapping_mul(9_999_999)
        }),
        ("icmp ult i32 X, Y; select i1 P, i32 Z, i32 X", |x, y, z| if x < y { z } else { x }),
        ("icmp sge i32 X, Y; zext i1 P to i32; add i32 P, Z", |x, y, z| {
            z.wrapping_add(u32::from(signed(x) >= signed(y)))
        }),
    ],
};

/// At -O0 LLVM 22 moves only low halves before the byte permutations of gfx1100 (`v_mov_b16`, then
/// `v_perm_b32` of the whole register): what it emits there is wrong on hardware too.
const SWAP_64: Family<u64> =
    Family { ty: "i64", ops: &[("call i64 @llvm.bswap.i64(i64 X)", |x, _, _| x.swap_bytes())] };

fn wide(x: u64) -> u128 {
    x.into()
}

const OPS_64: Family<u64> = Family {
    ty: "i64",
    ops: &[
        ("add i64 X, Y", |x, y, _| x.wrapping_add(y)),
        ("sub i64 X, Y", |x, y, _| x.wrapping_sub(y)),
        ("mul i64 X, Y", |x, y, _| x.wrapping_mul(y)),
        ("and i64 Z, 63; shl i64 X, P", |x, _, z| x << (z & 63)),
        ("and i64 Z, 63; lshr i64 X, P", |x, _, z| x >> (z & 63)),
        ("and i64 Z, 63; ashr i64 X, P", |x, _, z| (x.cast_signed() >> (z & 63)) as u64),
        ("call i64 @llvm.ctpop.i64(i64 X)", |x, _, _| x.count_ones().into()),
        ("call i64 @llvm.ctlz.i64(i64 X, i1 false)", |x, _, _| x.leading_zeros().into()),
        ("call i64 @llvm.cttz.i64(i64 X, i1 false)", |x, _, _| x.trailing_zeros().into()),
        ("call i64 @llvm.bitreverse.i64(i64 X)", |x, _, _| x.reverse_bits()),
        ("call i64 @llvm.fshl.i64(i64 X, i64 Y, i64 Z)", |x, y, z| {
            ((wide(x) << 64 | wide(y)) << (z & 63) >> 64) as u64
        }),
        ("call i64 @llvm.smin.i64(i64 X, i64 Y)", |x, y, _| {
            x.cast_signed().min(y.cast_signed()) as u64
        }),
        ("call i64 @llvm.uadd.sat.i64(i64 X, i64 Y)", |x, y, _| x.saturating_add(y)),
        ("call i64 @llvm.abs.i64(i64 X, i1 false)", |x, _, _| {
            x.cast_signed().wrapping_abs() as u64
        }),
        (
            "zext i64 X to i128; mul i128 P, 340282366920938463463374607431768211297; lshr i128 P, 64; trunc i128 P to i64",
            |x, _, _| (wide(x).wrapping_mul(u128::MAX - 158) >> 64) as u64,
        ),
        ("trunc i64 X to i32; sext i32 P to i64; mul i64 P, Y", |x, y, _| {
            i64::from(x as i32).wrapping_mul(y.cast_signed()) as u64
        }),
        (
            "trunc i64 X to i32; zext i32 P to i64; mul i64 P, 4000000007; add i64 P, Z",
            |x, _, z| u64::from(x as u32).wrapping_mul(4_000_000_007).wrapping_add(z),
        ),
        ("icmp slt i64 X, Y; select i1 P, i64 Z, i64 Y", |x, y, z| {
            if x.cast_signed() < y.cast_signed() { z } else { y }
        }),
        ("xor i64 X, Y; and i64 P, Z", |x, y, z| (x ^ y) & z),
    ],
};

/// On both halves of words.
fn halves(x: u32, y: u32, z: u32, f: fn(u16, u16, u16) -> u16) -> u32 {
    let half = |shift: u32| {
        u32::from(f((x >> shift) as u16, (y >> shift) as u16, (z >> shift) as u16)) << shift
    };
    half(0) | half(16)
}

const PACKED: Family<u32> = Family {
    ty: "i32",
    ops: &[
        ("add <2 x i16> X, Y", |x, y, z| halves(x, y, z, |x, y, _| x.wrapping_add(y))),
        ("sub <2 x i16> X, Y", |x, y, z| halves(x, y, z, |x, y, _| x.wrapping_sub(y))),
        ("mul <2 x i16> X, Y", |x, y, z| halves(x, y, z, |x, y, _| x.wrapping_mul(y))),
        ("mul <2 x i16> X, Y; add <2 x i16> P, Z", |x, y, z| {
            halves(x, y, z, |x, y, z| x.wrapping_mul(y).wrapping_add(z))
        }),
        ("and <2 x i16> Z, splat (i16 15); shl <2 x i16> X, P", |x, y, z| {
            halves(x, y, z, |x, _, z| x << (z & 15))
        }),
        ("and <2 x i16> Z, splat (i16 15); lshr <2 x i16> X, P", |x, y, z| {
            halves(x, y, z, |x, _, z| x >> (z & 15))
        }),
        ("and <2 x i16> Z, splat (i16 15); ashr <2 x i16> X, P", |x, y, z| {
            halves(x, y, z, |x, _, z| (x.cast_signed() >> (z & 15)).cast_unsigned())
        }),
        ("call <2 x i16> @llvm.smax.v2i16(<2 x i16> X, <2 x i16> Y)", |x, y, z| {
            halves(x, y, z, |x, y, _| x.cast_signed().max(y.cast_signed()).cast_unsigned())
        }),
        ("call <2 x i16> @llvm.umin.v2i16(<2 x i16> X, <2 x i16> Y)", |x, y, z| {
            halves(x, y, z, |x, y, _| x.min(y))
        }),
        ("call <2 x i16> @llvm.uadd.sat.v2i16(<2 x i16> X, <2 x i16> Y)", |x, y, z| {
            halves(x, y, z, |x, y, _| x.saturating_add(y))
        }),
        ("call <2 x i16> @llvm.ssub.sat.v2i16(<2 x i16> X, <2 x i16> Y)", |x, y, z| {
            halves(x, y, z, |x, y, _| {
                x.cast_signed().saturating_sub(y.cast_signed()).cast_unsigned()
            })
        }),
        ("icmp ult <2 x i16> X, Y; select <2 x i1> P, <2 x i16> Z, <2 x i16> Y", |x, y, z| {
            halves(x, y, z, |x, y, z| if x < y { z } else { y })
        }),
        ("shufflevector <2 x i16> X, <2 x i16> Y, <2 x i32> <i32 1, i32 2>", |x, y, _| {
            x >> 16 | y << 16
        }),
        ("mul <4 x i8> A, B", |x, y, _| {
            let (x, y) = (x.to_le_bytes(), y.to_le_bytes());
            u32::from_le_bytes(std::array::from_fn(|i| x[i].wrapping_mul(y[i])))
        }),
        ("add <4 x i8> A, B; lshr <4 x i8> P, splat (i8 1)", |x, y, _| {
            let (x, y) = (x.to_le_bytes(), y.to_le_bytes());
            u32::from_le_bytes(std::array::from_fn(|i| x[i].wrapping_add(y[i]) >> 1))
        }),
        ("fadd <2 x half> H, G", |x, y, _| floats(x, y, |x, y| x + y)),
        ("fmul <2 x half> H, G", |x, y, _| floats(x, y, |x, y| x * y)),
        ("call <2 x half> @llvm.fma.v2f16(<2 x half> H, <2 x half> G, <2 x half> H)", |x, y, _| {
            floats(x, y, |x, y| x * y + x)
        }),
        ("call <2 x half> @llvm.maxnum.v2f16(<2 x half> H, <2 x half> G)", |x, y, _| {
            floats(x, y, f64::max)
        }),
    ],
};

/// Makes halves tame: exponents 9 to 23 of 31.
fn tame(x: u32) -> u32 {
    x & 0x97ff_97ff | 0x2020_2020
}

fn floats(x: u32, y: u32, f: fn(f64, f64) -> f64) -> u32 {
    let half = |shift: u32| {
        let [x, y] = [x, y].map(|word| f64::from(f16::from_bits((tame(word) >> shift) as u16)));
        u32::from(f16::from_f64(f(x, y)).to_bits()) << shift
    };
    half(0) | half(16)
}

fn source<T>(target: Target, name: &str, family: &Family<T>) -> String {
    let params = "ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %z, ptr addrspace(1) %out, \
                  i32 %n";
    kernel(target, name, params, BLOCK, |ir| {
        guarded(ir, |ir, i| {
            let words = ["%x", "%y", "%z"].map(|base| ir.load(1, family.ty, base, i));
            let is_packed = name == "packed";
            let as_halves = words.each_ref().map(|word| match is_packed {
                true => v!(ir, "bitcast i32 {word} to <2 x i16>"),
                false => word.clone(),
            });
            let as_bytes = words.each_ref().map(|word| match is_packed {
                true => v!(ir, "bitcast i32 {word} to <4 x i8>"),
                false => word.clone(),
            });
            let as_floats = [&words[0], &words[1]].map(|word| match is_packed {
                true => {
                    let masked = v!(ir, "and i32 {word}, {}", 0x97ff_97ff_u32.cast_signed());
                    let tamed = v!(ir, "or i32 {masked}, {}", 0x2020_2020);
                    v!(ir, "bitcast i32 {tamed} to <2 x half>")
                }
                false => word.clone(),
            });
            for (k, (lines, _)) in family.ops.iter().enumerate() {
                let mut result = String::new();
                let mut ty = String::new();
                for line in lines.split("; ") {
                    let operands = [
                        ("X", &as_halves[0]),
                        ("Y", &as_halves[1]),
                        ("Z", &as_halves[2]),
                        ("A", &as_bytes[0]),
                        ("B", &as_bytes[1]),
                        ("H", &as_floats[0]),
                        ("G", &as_floats[1]),
                        ("P", &result),
                    ];
                    let words = line.split_inclusive([' ', ',', '(', ')']).map(|word| {
                        let (name, rest) = word.split_at(word.len().min(1));
                        let operand = operands.iter().find(|(letter, _)| *letter == name);
                        match operand {
                            Some((_, value)) if rest.len() <= 1 => format!("{value}{rest}"),
                            _ => word.to_owned(),
                        }
                    });
                    let text: String = words.collect();
                    ty = if line.contains("half") {
                        "<2 x half>".into()
                    } else if line.contains("<4 x i8>") {
                        "<4 x i8>".into()
                    } else {
                        "<2 x i16>".into()
                    };
                    result = ir.value(&text);
                }
                if is_packed {
                    result = v!(ir, "bitcast {ty} {result} to i32");
                }
                put(ir, family.ty, &result, k, i);
            }
        });
    })
}

trait Int: crate::bench::Plain + PartialEq + std::fmt::Debug {
    fn sample(low: u32, high: u32) -> Self;
}

impl Int for u32 {
    fn sample(low: u32, high: u32) -> u32 {
        // One in four small, or all ones above.
        match high % 8 {
            0 => low % 40,
            1 => u32::MAX - low % 40,
            _ => low,
        }
    }
}

impl Int for u64 {
    fn sample(low: u32, high: u32) -> u64 {
        match high % 8 {
            0 => (low % 70).into(),
            1 => u64::MAX - u64::from(low % 70),
            _ => u64::from(high) << 32 | u64::from(low),
        }
    }
}

fn check<T: Int>(bench: &mut Bench, family: &Family<T>) {
    let values = |seed| -> Vec<T> {
        random_words(seed, 2 * N).chunks(2).map(|pair| T::sample(pair[0], pair[1])).collect()
    };
    let inputs = [71, 72, 73].map(values);
    let [x, y, z] = inputs.each_ref().map(|values| bench.input(values));
    let out = bench.output::<T>(N * family.ops.len());
    bench.launch(GROUPS, BLOCK, &[x, y, z, out, Arg::U32(N as u32)]);
    let got: Vec<T> = bench.read(out);
    let [x, y, z] = inputs;
    for ((text, op), got) in family.ops.iter().zip(got.chunks(N)) {
        let expected: Vec<T> = (0..N).map(|i| op(x[i], y[i], z[i])).collect();
        assert_equal(text, got, &expected);
    }
}
