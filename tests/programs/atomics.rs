//! Atomic operations in global memory and LDS, returning or not, and what workgroups tell each other.
//!
//! Operations on one cell may happen in any order. Whatever the order, what they return and what they leave
//! must form a chain: each value that some operation found is the initial one or was left by another.

use half::{bf16, f16};
use isa::Target;

use crate::bench::{ALL_LEVELS, Arg, BOTH, Bench, Plain, Program, assert_equal, random_words};
use crate::ir::{Ir, kernel, v};

macro_rules! atomics {
    ($name:literal, $space:expr, $scope:expr, $ty:ty, $ops:expr) => {
        Program {
            name: $name,
            targets: BOTH,
            levels: ALL_LEVELS,
            source: |target| source(target, $name, $space, $scope, &$ops),
            check: |bench| check::<$ty>(bench, $space, &$ops),
        }
    };
}

const GLOBAL: u32 = 1;
const LDS: u32 = 3;
const FLAT: u32 = 0;

pub const PROGRAMS: &[Program] = &[
    atomics!("atomic_i32", GLOBAL, "agent", u32, OPS_I32),
    atomics!("atomic_i64", GLOBAL, "agent", u64, OPS_I64),
    atomics!("atomic_f32", GLOBAL, "agent", f32, OPS_F32),
    atomics!("atomic_f64", GLOBAL, "agent", f64, OPS_F64),
    atomics!("atomic_2f16", GLOBAL, "agent", [f16; 2], OPS_2F16),
    atomics!("atomic_2bf16", GLOBAL, "agent", [bf16; 2], OPS_2BF16),
    atomics!("atomic_i32_system", GLOBAL, "", u32, OPS_I32),
    atomics!("atomic_i32_flat", FLAT, "agent", u32, OPS_I32),
    atomics!("atomic_f32_flat", FLAT, "agent", f32, OPS_F32),
    atomics!("atomic_i32_group", GLOBAL, "workgroup", u32, OPS_I32),
    atomics!("atomic_i32_lds", LDS, "workgroup", u32, OPS_I32),
    atomics!("atomic_i64_lds", LDS, "workgroup", u64, OPS_I64),
    atomics!("atomic_f32_lds", LDS, "workgroup", f32, OPS_F32),
    atomics!("atomic_f64_lds", LDS, "workgroup", f64, OPS_F64),
    atomics!("atomic_2f16_lds", LDS, "workgroup", [f16; 2], OPS_2F16),
    atomics!("atomic_2bf16_lds", LDS, "workgroup", [bf16; 2], OPS_2BF16),
    Program {
        name: "exchange_i32",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: |target| compare_exchange(target, "exchange_i32", "i32"),
        check: check_exchange::<u32>,
    },
    Program {
        name: "exchange_i64",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: |target| compare_exchange(target, "exchange_i64", "i64"),
        check: check_exchange::<u64>,
    },
    Program {
        name: "last_block",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: last_block,
        check: check_last_block,
    },
    Program {
        name: "mailbox",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: mailbox,
        check: check_mailbox,
    },
];

/// An operation: its name in LLVM, and what it leaves of a cell and an operand.
struct Op<T> {
    name: &'static str,
    leaves: fn(T, T) -> T,
}

const fn op<T>(name: &'static str, leaves: fn(T, T) -> T) -> Op<T> {
    Op { name, leaves }
}

macro_rules! integer_ops {
    ($name:ident, $unsigned:ty, $signed:ty) => {
        const $name: [Op<$unsigned>; 13] = [
            op("add", <$unsigned>::wrapping_add),
            op("sub", <$unsigned>::wrapping_sub),
            op("and", |a, b| a & b),
            op("or", |a, b| a | b),
            op("xor", |a, b| a ^ b),
            op("nand", |a, b| !(a & b)),
            op("xchg", |_, b| b),
            op("max", |a, b| (a as $signed).max(b as $signed) as $unsigned),
            op("min", |a, b| (a as $signed).min(b as $signed) as $unsigned),
            op("umax", |a, b| a.max(b)),
            op("umin", |a, b| a.min(b)),
            op("uinc_wrap", |a, b| if a >= b { 0 } else { a + 1 }),
            op("udec_wrap", |a, b| if a == 0 || a > b { b } else { a - 1 }),
        ];
    };
}

integer_ops!(OPS_I32, u32, i32);
integer_ops!(OPS_I64, u64, i64);

const OPS_F32: [Op<f32>; 4] =
    [op("fadd", |a, b| a + b), op("fmax", f32::max), op("fmin", f32::min), op("xchg", |_, b| b)];

const OPS_F64: [Op<f64>; 3] =
    [op("fadd", |a, b| a + b), op("fmax", f64::max), op("fmin", f64::min)];

const OPS_2F16: [Op<[f16; 2]>; 1] = [op("fadd", |a, b| [a[0] + b[0], a[1] + b[1]])];
const OPS_2BF16: [Op<[bf16; 2]>; 1] = [op("fadd", |a, b| [a[0] + b[0], a[1] + b[1]])];

/// Values of a cell: a small number, so that sums of floats are exact and counters wrap.
trait Cell: Plain + PartialEq + std::fmt::Debug {
    const TYPE: &'static str;
    fn sample(word: u32) -> Self;
    /// Equal bits have equal keys.
    fn key(self) -> Vec<u8> {
        self.bytes()
    }
}

impl Cell for u32 {
    const TYPE: &'static str = "i32";
    fn sample(word: u32) -> u32 {
        if word & 1 == 0 { word } else { word >> 28 }
    }
}

impl Cell for u64 {
    const TYPE: &'static str = "i64";
    fn sample(word: u32) -> u64 {
        if word & 1 == 0 { u64::from(word) * 0x1_0000_0001 } else { (word >> 28).into() }
    }
}

impl Cell for f32 {
    const TYPE: &'static str = "float";
    fn sample(word: u32) -> f32 {
        (word % 64) as f32 - 31.5
    }
}

impl Cell for f64 {
    const TYPE: &'static str = "double";
    fn sample(word: u32) -> f64 {
        f64::from(word % 64) - 31.5
    }
}

impl Cell for [f16; 2] {
    const TYPE: &'static str = "<2 x half>";
    fn sample(word: u32) -> [f16; 2] {
        [word % 8, word / 8 % 8].map(|small| f16::from_f32(small as f32 - 3.5))
    }
}

impl Cell for [bf16; 2] {
    const TYPE: &'static str = "<2 x bfloat>";
    fn sample(word: u32) -> [bf16; 2] {
        // Seven operations a cell of at most two digits each: exact in the eight digits of bf16.
        [word % 4, word / 8 % 4].map(|small| bf16::from_f32(small as f32 - 1.5))
    }
}

impl Plain for [f16; 2] {
    fn bytes(self) -> Vec<u8> {
        self.map(f16::to_le_bytes).concat()
    }
    fn from_bytes(bytes: &[u8]) -> Self {
        [f16::from_bytes(&bytes[..2]), f16::from_bytes(&bytes[2..])]
    }
}

impl Plain for [bf16; 2] {
    fn bytes(self) -> Vec<u8> {
        self.map(bf16::to_le_bytes).concat()
    }
    fn from_bytes(bytes: &[u8]) -> Self {
        [bf16::from_bytes(&bytes[..2]), bf16::from_bytes(&bytes[2..])]
    }
}

const BLOCK: u32 = 128;
/// Cells of one operation; not a divisor of anything.
const CELLS: u32 = 17;

/// With these LLVM takes the hardware's float atomics: memory is this device's own, subnormals may be
/// flushed.
const OWN_MEMORY: &str = "!amdgpu.no.fine.grained.memory !0, !amdgpu.no.remote.memory !0, !amdgpu.ignore.denormal.mode !0";

fn source<T: Cell>(target: Target, name: &str, space: u32, scope: &str, ops: &[Op<T>]) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %cells, ptr addrspace(1) %found, i32 %n";
    let ty = T::TYPE;
    let n_cells = CELLS * ops.len() as u32;
    kernel(target, name, params, BLOCK, |ir| {
        ir.global("!0 = !{}");
        let (item, group) = (ir.item(), ir.group());
        let start = v!(ir, "mul i32 {group}, {BLOCK}");
        let at = v!(ir, "add i32 {start}, {item}");
        let value = ir.load(1, ty, "%in", &at);
        let cells = match space {
            GLOBAL => "%cells".to_owned(),
            FLAT => v!(ir, "addrspacecast ptr addrspace(1) %cells to ptr"),
            _ => {
                let lds = ir.lds("tile", ty, n_cells);
                copy(ir, ty, n_cells, [(GLOBAL, "%cells"), (LDS, &lds)]);
                lds
            }
        };
        let mut cell = v!(ir, "urem i32 {item}, {CELLS}");
        let mut found_at = at;
        let scope = match scope {
            "" => String::new(),
            scope => format!("syncscope(\"{scope}\")"),
        };
        for (k, op) in ops.iter().enumerate() {
            let place = ir.at(space, ty, &cells, &cell);
            let found = v!(
                ir,
                "atomicrmw {} ptr addrspace({space}) {place}, {ty} {value} {scope} monotonic, {OWN_MEMORY}",
                op.name
            );
            // Every other operation does not return: the compiler drops what nobody uses.
            if k % 2 == 0 {
                ir.store(1, ty, &found, "%found", &found_at);
            }
            found_at = v!(ir, "add i32 {found_at}, %n");
            cell = v!(ir, "add i32 {cell}, {CELLS}");
        }
        if space == LDS {
            ir.barrier();
            copy(ir, ty, n_cells, [(LDS, "@tile"), (GLOBAL, "%cells")]);
        }
    })
}

/// Copies the cells between global memory and LDS, and lets the workgroup see them.
fn copy(ir: &mut Ir, ty: &str, n_cells: u32, [from, to]: [(u32, &str); 2]) {
    let item = ir.item();
    ir.each([&item, &n_cells.to_string(), &BLOCK.to_string()], &[], |ir, at, _| {
        let value = ir.load(from.0, ty, from.1, at);
        ir.store(to.0, ty, &value, to.1, at);
        vec![]
    });
    ir.barrier();
}

fn check<T: Cell>(bench: &mut Bench, space: u32, ops: &[Op<T>]) {
    // Cells in LDS belong to one workgroup.
    let groups = if space == LDS { 1 } else { 3 };
    let n = (groups * BLOCK) as usize;
    let values: Vec<T> = random_words(51, n).into_iter().map(T::sample).collect();
    let initial: Vec<T> =
        random_words(52, CELLS as usize * ops.len()).into_iter().map(T::sample).collect();
    let (input, cells) = (bench.input(&values), bench.input(&initial));
    let found = bench.output::<T>(n * ops.len());
    bench.launch(groups, BLOCK, &[input, cells, found, Arg::U32(n as u32)]);
    let (left, found): (Vec<T>, Vec<T>) = (bench.read(cells), bench.read(found));
    for (k, op) in ops.iter().enumerate() {
        for cell in 0..CELLS as usize {
            let users: Vec<usize> =
                (0..n).filter(|i| i % BLOCK as usize % CELLS as usize == cell).collect();
            let at = k * CELLS as usize + cell;
            match k % 2 == 0 {
                true => {
                    let steps: Vec<_> =
                        users.iter().map(|i| (found[k * n + i], values[*i])).collect();
                    check_chain(op, initial[at], &steps, left[at]);
                }
                false => check_final(op, initial[at], &users, &values, left[at]),
            }
        }
    }
}

/// Initial value and what the operations left, beside what they found and the last value: equal sets.
fn check_chain<T: Cell>(op: &Op<T>, initial: T, steps: &[(T, T)], left: T) {
    let mut before: Vec<_> = steps.iter().map(|(found, _)| found.key()).collect();
    let mut after: Vec<_> =
        steps.iter().map(|(found, value)| (op.leaves)(*found, *value).key()).collect();
    before.push(left.key());
    after.push(initial.key());
    before.sort();
    after.sort();
    assert!(
        before == after,
        "atomicrmw {}: no order of the operations gives these results",
        op.name
    );
}

/// Without what they found: the result of any order for operations that commute, of the ascending order
/// of work-items otherwise only a value that some operation can have left.
fn check_final<T: Cell>(op: &Op<T>, initial: T, users: &[usize], values: &[T], left: T) {
    let in_order = users.iter().fold(initial, |cell, i| (op.leaves)(cell, values[*i]));
    let backwards = users.iter().rev().fold(initial, |cell, i| (op.leaves)(cell, values[*i]));
    let commutes = in_order == backwards;
    match commutes {
        true => assert_eq!(left, in_order, "atomicrmw {}", op.name),
        false => assert!(
            users.iter().any(|i| (op.leaves)(values[*i], values[*i]) != left) || left == in_order,
            "atomicrmw {}: {left:?}",
            op.name
        ),
    }
}

/// A counter by compare and exchange: every work-item adds its value, and says what it found.
fn compare_exchange(target: Target, name: &str, ty: &str) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %cells, ptr addrspace(1) %found";
    kernel(target, name, params, BLOCK, |ir| {
        ir.global(&format!(
            "define internal {ty} @add_to(ptr addrspace(1) %cell, {ty} %value) noinline {{
entry:
  %first = load atomic {ty}, ptr addrspace(1) %cell syncscope(\"agent\") monotonic, align 8
  br label %loop
loop:
  %seen = phi {ty} [ %first, %entry ], [ %now, %loop ]
  %sum = add {ty} %seen, %value
  %pair = cmpxchg ptr addrspace(1) %cell, {ty} %seen, {ty} %sum syncscope(\"agent\") acq_rel monotonic
  %now = extractvalue {{ {ty}, i1 }} %pair, 0
  %won = extractvalue {{ {ty}, i1 }} %pair, 1
  br i1 %won, label %done, label %loop
done:
  ret {ty} %seen
}}"
        ));
        let (item, group) = (ir.item(), ir.group());
        let start = v!(ir, "mul i32 {group}, {BLOCK}");
        let at = v!(ir, "add i32 {start}, {item}");
        let value = ir.load(1, ty, "%in", &at);
        let cell = v!(ir, "urem i32 {item}, {CELLS}");
        // Cells 8 bytes apart for both widths.
        let place = ir.at(1, "i64", "%cells", &cell);
        let found = v!(ir, "call {ty} @add_to(ptr addrspace(1) {place}, {ty} {value})");
        ir.store(1, ty, &found, "%found", &at);
    })
}

fn check_exchange<T: Cell + From<u32> + std::ops::Add<Output = T>>(bench: &mut Bench) {
    let n = 2 * BLOCK as usize;
    let values: Vec<T> = random_words(53, n).into_iter().map(|word| T::from(word % 1000)).collect();
    let cells = bench.input(&vec![0_u64; CELLS as usize]);
    let (input, found) = (bench.input(&values), bench.output::<T>(n));
    bench.launch(2, BLOCK, &[input, cells, found]);
    let (left, found): (Vec<u64>, Vec<T>) = (bench.read(cells), bench.read(found));
    let add = op("cmpxchg", |a: T, b: T| a + b);
    for cell in 0..CELLS as usize {
        let users = (0..n).filter(|i| i % BLOCK as usize % CELLS as usize == cell);
        let steps: Vec<_> = users.map(|i| (found[i], values[i])).collect();
        let left = T::from(u32::try_from(left[cell]).expect("a small sum"));
        check_chain(&add, T::from(0), &steps, left);
    }
}

/// Each workgroup leaves its sum in memory; the one that comes last, as a counter tells, adds them up.
fn last_block(target: Target) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %partial, ptr addrspace(1) %counter, \
                  ptr addrspace(1) %out, i32 %groups";
    let n_waves = BLOCK / target.wave_width();
    kernel(target, "last_block", params, BLOCK, |ir| {
        let scratch = ir.lds("scratch", "i32", n_waves);
        let ticket = ir.lds("ticket", "i32", 1);
        let (item, group) = (ir.item(), ir.group());
        let start = v!(ir, "mul i32 {group}, {BLOCK}");
        let at = v!(ir, "add i32 {start}, {item}");
        let value = ir.load(1, "i32", "%in", &at);
        let add = |a: &str, b: &str| format!("add i32 {a}, {b}");
        let sum = ir.group_reduce("i32", &value, &scratch, n_waves, &add);
        let is_first = v!(ir, "icmp eq i32 {item}, 0");
        ir.when(&is_first, |ir| {
            ir.store(1, "i32", &sum, "%partial", &group);
            let before = v!(
                ir,
                "atomicrmw add ptr addrspace(1) %counter, i32 1 syncscope(\"agent\") acq_rel"
            );
            ir.store(3, "i32", &before, &ticket, "0");
        });
        ir.barrier();
        let before = ir.load(3, "i32", &ticket, "0");
        let last = v!(ir, "sub i32 %groups, 1");
        let is_last = v!(ir, "icmp eq i32 {before}, {last}");
        ir.when(&is_last, |ir| {
            ir.statement("fence syncscope(\"agent\") acquire");
            let total = ir.each([&item, "%groups", "128"], &[("i32", "0")], |ir, at, total| {
                let partial = ir.load(1, "i32", "%partial", at);
                vec![v!(ir, "add i32 {}, {partial}", total[0])]
            });
            let total = ir.group_reduce("i32", &total[0], &scratch, n_waves, &add);
            ir.when(&is_first, |ir| ir.store(1, "i32", &total, "%out", "0"));
        });
    })
}

fn check_last_block(bench: &mut Bench) {
    // More than a wave has lanes: waves that did not run the atomic read sums of other workgroups.
    let groups = 75;
    let values = random_words(54, (groups * BLOCK) as usize);
    let (input, partial) = (bench.input(&values), bench.output::<u32>(groups as usize));
    let (counter, out) = (bench.input(&[0_u32]), bench.output::<u32>(1));
    bench.launch(groups, BLOCK, &[input, partial, counter, out, Arg::U32(groups)]);
    let total = values.iter().fold(0_u32, |sum, value| sum.wrapping_add(*value));
    assert_equal("total", &bench.read::<u32>(out), &[total]);
    assert_equal("counter", &bench.read::<u32>(counter), &[groups]);
}

/// Waves of a workgroup hand values on through global memory: stored, a barrier, read by the other wave.
fn mailbox(target: Target) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %box, ptr addrspace(1) %out";
    kernel(target, "mailbox", params, BLOCK, |ir| {
        let (item, group) = (ir.item(), ir.group());
        let start = v!(ir, "mul i32 {group}, {BLOCK}");
        let at = v!(ir, "add i32 {start}, {item}");
        let mut value = ir.load(1, "i32", "%in", &at);
        for round in 0..3 {
            ir.store(1, "i32", &value, "%box", &at);
            ir.barrier();
            let other = v!(ir, "add i32 {item}, {}", 64 + round);
            let other = v!(ir, "urem i32 {other}, {BLOCK}");
            let other = v!(ir, "add i32 {start}, {other}");
            let theirs = ir.load(1, "i32", "%box", &other);
            value = v!(ir, "add i32 {value}, {theirs}");
            ir.barrier();
        }
        ir.store(1, "i32", &value, "%out", &at);
    })
}

fn check_mailbox(bench: &mut Bench) {
    let values = random_words(55, 2 * BLOCK as usize);
    let (input, letters) = (bench.input(&values), bench.output::<u32>(values.len()));
    let out = bench.output::<u32>(values.len());
    bench.launch(2, BLOCK, &[input, letters, out]);
    let mut expected = Vec::new();
    for group in values.chunks(BLOCK as usize) {
        let mut group = group.to_vec();
        for round in 0..3 {
            let other = |i: usize| group[(i + 64 + round) % BLOCK as usize];
            group = (0..group.len()).map(|i| group[i].wrapping_add(other(i))).collect();
        }
        expected.extend(group);
    }
    assert_equal("letters", &bench.read::<u32>(out), &expected);
}
