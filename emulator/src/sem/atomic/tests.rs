//! Atomics, one instruction at a time.
//!
//! Expected values follow from the operations' definitions in the CDNA3 and RDNA3 ISA manuals.

use std::collections::BTreeSet;

use isa::format::Encoding;
use isa::inst::{Inst, MAX_OPERANDS, Modifiers};
use isa::table::{BufferAtomic, Counter, Field, FlatAtomic, LdsAtomic, Op, Ty};
use isa::{Operand, Target};

use crate::exec::alone::{self, Around};
use crate::finding::Rule;
use crate::lds::Lds;
use crate::machine::Options;
use crate::memory::{Access, BufferId, Memory};
use crate::prepare::prepare;
use crate::scratch::Scratch;
use crate::wave::{Wave, scalar};

const RESULT: u8 = 8;
const ADDRESS: u8 = 16;
/// First data operand; the second one follows four registers later.
const DATA: u8 = 24;
/// First SGPR of a buffer resource, and the SGPR of its scalar offset.
const RESOURCE: u8 = 8;
const SCALAR_OFFSET: u8 = 12;

struct Bench {
    target: Target,
    inst: Inst,
    wave: Wave,
    lds: Lds,
    memory: Memory,
    buffer: BufferId,
}

impl Bench {
    /// A wave whose lanes all address byte 16 of LDS or of a buffer.
    fn new(target: Target, op: Op) -> Bench {
        let row = op.row();
        let mut operands = [Operand::None; MAX_OPERANDS];
        for (operand, spec) in operands.iter_mut().zip(row.operands) {
            *operand = match spec.field {
                Field::Vdst => Operand::Vgpr(RESULT),
                Field::Addr => Operand::Vgpr(ADDRESS),
                Field::Data | Field::Data0 | Field::Vdata => Operand::Vgpr(DATA),
                Field::Vaddr => Operand::Vgpr(ADDRESS),
                Field::Srsrc => Operand::Sgpr(RESOURCE),
                Field::Soffset => Operand::Sgpr(SCALAR_OFFSET),
                Field::Data1 => Operand::Vgpr(DATA + 4),
                _ => Operand::None,
            };
        }
        let mut mods = Modifiers::default();
        (mods.cache.sc0, mods.cache.glc) = (target == Target::Gfx950, target == Target::Gfx1100);
        let encoding = row.form(target).expect("the target has it").encoding;
        mods.offen = encoding == Encoding::Mubuf;
        let inst = Inst { op, encoding, size_bytes: 8, operands, mods, dual: None };
        let mut wave = Wave::new(target, [256, 256]);
        wave.n_vectors = [256, 0];
        wave.reset(0, 0, 0x3f0);
        wave.set_mask(scalar::EXEC, u64::MAX >> (64 - wave.width), 0);
        wave.active = wave.exec();
        let mut memory = Memory::new(1 << 20);
        let buffer = memory.allocate("buffer", 64, Access::ReadWrite).expect("fits");
        let base = memory.address(buffer).expect("a buffer");
        // Word 3: 32-bit elements; on gfx1100 OOB_SELECT 3, raw.
        let format = if target == Target::Gfx950 { 0x0002_7000 } else { 0x3101_4000 };
        let words = [base as u32, (base >> 32) as u32, 64, format, 0];
        for (register, word) in (RESOURCE..).zip(words) {
            wave.scalars.set(register, word, 0);
        }
        let mut bench = Bench { target, inst, wave, lds: Lds::new(64), memory, buffer };
        for lane in 0..bench.wave.width as usize {
            bench.set_address(lane, 16);
        }
        bench
    }

    fn is_lds(&self) -> bool {
        self.inst.encoding == Encoding::Ds
    }

    fn is_buffer(&self) -> bool {
        self.inst.encoding == Encoding::Mubuf
    }

    fn set(&mut self, register: u8, lane: usize, value: u64) {
        for word in 0..2_u8 {
            let value = (value >> (32 * word)) as u32;
            self.wave.vectors.write_lane((register + word).into(), lane, u32::MAX, value, 0);
        }
    }

    fn set_address(&mut self, lane: usize, offset: u64) {
        let base = self.memory.address(self.buffer).expect("a buffer");
        let address = if self.is_lds() || self.is_buffer() { offset } else { base + offset };
        self.set(ADDRESS, lane, address);
    }

    /// The data operands of every lane; the second half of a pair that lies in one operand follows it.
    fn set_data(&mut self, first: u64, second: u64) {
        let pair = self.inst.row().operands.iter();
        let pair = pair.clone().find(|spec| matches!(spec.field, Field::Data | Field::Vdata));
        let distance = match pair.map(|spec| spec.ty) {
            Some(Ty::B32x2) => 1,
            Some(Ty::B64x2) => 2,
            _ => 4,
        };
        for lane in 0..self.wave.width as usize {
            self.set(DATA, lane, first);
            self.set(DATA + distance, lane, second);
        }
    }

    fn set_memory(&mut self, value: u64) {
        let bytes = value.to_le_bytes();
        self.lds.store::<8>(16, bytes, 0xff).expect("inside");
        self.memory.write(self.buffer, 16, &bytes).expect("inside");
    }

    fn memory(&self) -> u64 {
        let bytes: [u8; 8] = if self.is_lds() {
            self.lds.load::<8>(16).expect("inside").0
        } else {
            let bytes = self.memory.read(self.buffer).expect("a buffer");
            bytes[16..24].try_into().expect("eight bytes")
        };
        u64::from_le_bytes(bytes)
    }

    fn result(&self, lane: usize) -> u64 {
        let first = u16::from(if self.is_buffer() { DATA } else { RESULT });
        let word = |word: u16| u64::from(self.wave.vectors.lane(first + word, lane));
        word(0) | word(1) << 32
    }

    fn run(&mut self) -> Vec<Rule> {
        let around = Around {
            memory: &mut self.memory,
            lds: &mut self.lds,
            scratch: &mut Scratch::new(0, 0),
            options: &Options::default(),
        };
        let ran = alone::execute(&mut self.wave, around, self.target, self.inst);
        let (outcome, found) = ran.expect("has a meaning");
        outcome.unwrap_or_else(|cause| panic!("{cause}"));
        found.into_iter().map(|finding| finding.rule).collect()
    }
}

/// Width in bits of what an atomic works on.
fn width(op: Op) -> u32 {
    let data = op
        .row()
        .operands
        .iter()
        .find(|spec| matches!(spec.field, Field::Data | Field::Data0 | Field::Vdata));
    match data.map(|spec| spec.ty) {
        Some(Ty::B32x2) => 32,
        Some(Ty::B64x2) => 64,
        Some(ty) => ty.bits(Target::Gfx950),
        None => 0,
    }
}

/// What an atomic does to an old value, from its mnemonic on gfx1100 (or gfx950), in one lane.
fn cases(op: Op) -> Vec<(u64, u64, u64, u64)> {
    let row = op.row();
    let mnemonic = row.gfx1100.or(row.gfx950).expect("on some target").mnemonic;
    let plain = mnemonic
        .replace("ds_", "")
        .replace("buffer_", "")
        .replace("atomic_", "")
        .replace("rtn_", "");
    let (name, ty) = plain.rsplit_once('_').expect("a name and a type");
    let all = u64::MAX >> (64 - width(op));
    let minus = |value: u64| value.wrapping_neg() & all;
    let is_signed = ty.starts_with('i');
    match (name, ty) {
        ("add", "f32") => vec![(0x3f80_0000, 0x4000_0000, 0, 0x4040_0000), (1, 1, 0, 2)],
        ("add", "f64") => vec![(0x3ff0 << 48, 0x4000 << 48, 0, 0x4008 << 48)],
        ("min", "f32") => vec![(0x3f80_0000, 0xc000_0000, 0, 0xc000_0000), (0x7fc0_0000, 1, 0, 1)],
        ("max", "f32") => vec![(0x3f80_0000, 0xc000_0000, 0, 0x3f80_0000), (0x7fc0_0000, 1, 0, 1)],
        ("min", "f64") => vec![(0x3ff0 << 48, 0xc000 << 48, 0, 0xc000 << 48)],
        ("max", "f64") => vec![(0x3ff0 << 48, 0xc000 << 48, 0, 0x3ff0 << 48)],
        ("pk_add", "f16") => vec![
            (0x3c00_4000, 0x4000_3c00, 0, 0x4200_4200),
            (0x0001_7bff, 0x0001_7bff, 0, 0x0002_7c00),
        ],
        ("pk_add", "bf16") => vec![
            (0x3f80_4000, 0x4000_3f80, 0, 0x4040_4040),
            (0x3f80_3f80, 0x3b80_3c80, 0, 0x3f80_3f82),
        ],
        ("add", _) => vec![(5, 7, 0, 12), (minus(1), 2, 0, 1)],
        ("csub", _) => vec![(7, 5, 0, 2), (5, 7, 0, 0)],
        ("sub", _) => vec![(5, 7, 0, minus(2))],
        ("rsub", _) => vec![(5, 7, 0, 2), (7, 5, 0, minus(2))],
        ("inc", _) => vec![(4, 6, 0, 5), (6, 6, 0, 0), (7, 6, 0, 0)],
        ("dec", _) => vec![(4, 6, 0, 3), (0, 6, 0, 6), (7, 6, 0, 6)],
        ("min", _) if is_signed => vec![(3, minus(4), 0, minus(4)), (minus(4), 3, 0, minus(4))],
        ("max", _) if is_signed => vec![(3, minus(4), 0, 3), (minus(4), 3, 0, 3)],
        ("min", _) => vec![(3, minus(4), 0, 3), (minus(4), 3, 0, 3)],
        ("max", _) => vec![(3, minus(4), 0, minus(4)), (minus(4), 3, 0, minus(4))],
        ("and", _) => vec![(minus(4), 0x3f, 0, 0x3c)],
        ("or", _) => vec![(0x30, 0x0f, 0, 0x3f)],
        ("xor", _) => vec![(0x3f, minus(1), 0, minus(0x40))],
        ("mskor", _) => vec![(0xff, 0x0f, 0x05, 0xf5)],
        ("swap" | "storexchg", _) => vec![(minus(3), 9, 0, 9)],
        // New value first; gfx950's LDS form is turned round by the caller.
        ("cmpswap" | "cmpstore", _) => vec![(3, 9, 3, 9), (4, 9, 3, 4)],
        other => panic!("no case for {other:?}"),
    }
}

/// Atomics of a target: all of them. The completeness test asks this.
pub(in crate::sem) fn ops(target: Target) -> impl Iterator<Item = Op> {
    let rows = LdsAtomic::ROWS.iter().chain(FlatAtomic::ROWS).chain(BufferAtomic::ROWS);
    rows.filter(move |row| row.form(target).is_some()).map(|row| row.op)
}

fn check(target: Target, op: Op, (old, first, second, want): (u64, u64, u64, u64)) {
    let mut bench = Bench::new(target, op);
    bench.wave.active = 1 << 5;
    let compares_first = matches!(
        op,
        Op::LdsAtomic(
            LdsAtomic::DsCmpstoreB32
                | LdsAtomic::DsCmpstoreRtnB32
                | LdsAtomic::DsCmpstoreB64
                | LdsAtomic::DsCmpstoreRtnB64
        )
    ) && target == Target::Gfx950;
    let (first, second) = if compares_first { (second, first) } else { (first, second) };
    let untouched = if width(op) == 32 { 0xabcd << 32 } else { 0 };
    bench.set_memory(old | untouched);
    bench.set_data(first, second);
    assert_eq!(bench.run(), [], "{target} {op:?}");
    assert_eq!(bench.memory(), want | untouched, "{target} {op:?} {old:#x} {first:#x} {second:#x}");
    if op.row().position(Field::Vdst).is_some() || bench.is_buffer() {
        let mask = u64::MAX >> (64 - width(op));
        assert_eq!(bench.result(5) & mask, old, "{target} {op:?} returns the old value");
    }
}

#[test]
fn every_atomic_updates_and_returns() {
    for target in Target::ALL {
        for op in ops(target) {
            cases(op).into_iter().for_each(|case| check(target, op, case));
        }
    }
}

#[test]
fn lanes_at_one_address_act_one_after_the_other() {
    for target in Target::ALL {
        for op in [
            Op::LdsAtomic(LdsAtomic::DsAddRtnU32),
            Op::FlatAtomic(FlatAtomic::AtomicAddU32),
            Op::BufferAtomic(BufferAtomic::BufferAtomicAddU32),
        ] {
            let mut bench = Bench::new(target, op);
            bench.set_memory(100);
            bench.set_data(3, 0);
            assert_eq!(bench.run(), []);
            let n = u64::from(bench.wave.width);
            assert_eq!(bench.memory(), 100 + 3 * n);
            let returned: BTreeSet<u64> =
                (0..n as usize).map(|lane| bench.result(lane) & 0xffff_ffff).collect();
            assert_eq!(returned, (0..n).map(|lane| 100 + 3 * lane).collect());
        }
    }
}

#[test]
fn without_a_destination_nothing_is_returned_and_it_counts_as_a_store() {
    for target in Target::ALL {
        let op = Op::FlatAtomic(FlatAtomic::AtomicAddU32);
        let mut bench = Bench::new(target, op);
        let counter = |bench: &Bench| bench.inst.counters(target).collect::<Vec<Counter>>();
        assert_eq!(counter(&bench), [Counter::Vm]);
        (bench.inst.mods.cache.sc0, bench.inst.mods.cache.glc) = (false, false);
        bench.inst.operands[0] = Operand::None;
        let stores = if target == Target::Gfx1100 { Counter::Vs } else { Counter::Vm };
        assert_eq!(counter(&bench), [stores]);
        bench.set_memory(0);
        bench.set_data(1, 0);
        bench.set(RESULT, 3, 77);
        assert_eq!(bench.run(), []);
        assert_eq!((bench.memory(), bench.result(3)), (u64::from(bench.wave.width), 77));
    }
}

#[test]
fn misaligned_addresses_and_undefined_data_are_findings() {
    for target in Target::ALL {
        for op in [Op::LdsAtomic(LdsAtomic::DsAddU64), Op::FlatAtomic(FlatAtomic::AtomicAddU64)] {
            let mut bench = Bench::new(target, op);
            bench.set_memory(0);
            bench.set_data(1, 0);
            bench.set_address(2, 20);
            assert_eq!(bench.run(), [Rule::Misaligned], "{target} {op:?}");

            let mut bench = Bench::new(target, op);
            bench.set_memory(0);
            bench.set_data(1, 0);
            bench.wave.vectors.write_lane(u16::from(DATA) + 1, 7, u32::MAX, 0, 0x80);
            assert_eq!(bench.run(), [Rule::UndefinedStore], "{target} {op:?}");
        }
    }
}

#[test]
fn unwritten_memory_stays_undefined_unless_it_is_replaced() {
    for (op, written) in [(LdsAtomic::DsAddU32, 0), (LdsAtomic::DsStorexchgRtnB32, 0xf)] {
        let mut bench = Bench::new(Target::Gfx1100, Op::LdsAtomic(op));
        bench.wave.active = 1;
        bench.set_data(1, 0);
        assert_eq!(bench.run(), []);
        assert_eq!(bench.lds.load::<4>(16).map(|(_, written)| written), Some(written), "{op:?}");
    }
    let mut bench = Bench::new(Target::Gfx950, Op::LdsAtomic(LdsAtomic::DsAddRtnU32));
    bench.wave.active = 1;
    bench.set_data(1, 0);
    bench.run();
    let undefined = bench.wave.vectors.lane_bits(RESULT.into(), 0).undefined;
    assert_eq!(undefined, 0xffff_ffff, "what was there before");
}

#[test]
fn out_of_range_atomics_change_nothing_and_return_zero() {
    for target in Target::ALL {
        let mut bench = Bench::new(target, Op::BufferAtomic(BufferAtomic::BufferAtomicAddU64));
        bench.set_memory(100);
        bench.set_data(3, 0);
        // Lane 0 is in range; lane 1 begins in it and ends behind it.
        bench.wave.active = 3;
        bench.set_address(1, 60);
        bench.wave.vectors.write_lane(u16::from(DATA), 1, u32::MAX, 3, 1);
        assert_eq!(bench.run(), [], "no finding for what is dropped");
        assert_eq!((bench.memory(), bench.result(0), bench.result(1)), (103, 100, 0));
    }
}

#[test]
fn a_buffer_atomic_reads_its_data_and_writes_it_only_where_it_returns() {
    for target in Target::ALL {
        let op = Op::BufferAtomic(BufferAtomic::BufferAtomicCmpswapB32);
        let mut bench = Bench::new(target, op);
        let written = |bench: &Bench| {
            let prepared = prepare(0, bench.inst, target).expect("has a meaning");
            prepared.result_span().count
        };
        assert_eq!(written(&bench), 1, "half of the pair");
        (bench.inst.mods.cache.sc0, bench.inst.mods.cache.glc) = (false, false);
        assert_eq!(written(&bench), 0);
        bench.set_memory(3);
        bench.set_data(9, 3);
        bench.wave.active = 1;
        assert_eq!(bench.run(), []);
        assert_eq!((bench.memory(), bench.result(0) & 0xffff_ffff), (9, 9), "data stays");
    }
}
