//! Loads and stores of LDS, FLAT, GLOBAL, SCRATCH and scalar memory, one instruction at a time.
//!
//! Expected registers and bytes follow from the mnemonic of gfx1100, which states width, sign and half
//! (RDNA3 ISA manual, "LDS", "flat memory", "scalar memory"), over memory of a known pattern. A
//! row whose mnemonic the test does not understand fails it.

use isa::format::{Encoding, Field};
use isa::inst::{Inst, MAX_OPERANDS, Modifiers};
use isa::table::{Flat, Lds, Row, Smem};
use isa::{Op, Operand, Target};

use super::COMPILER_MODE;
use super::lds_moves::MOVES;
use crate::exec::alone::{self, Around};
use crate::lds::Lds as LdsMemory;
use crate::machine::Options;
use crate::memory::{Access, BufferId, Memory};
use crate::scratch::Scratch;
use crate::wave::{Wave, scalar};

const RESULT: u8 = 8;
const ADDRESS: u8 = 16;
const DATA: u8 = 24;
const SCALARS: u8 = 20;
const SIZE: usize = 1024;
/// The lane that is active.
const LANE: usize = 3;
/// What registers hold before.
const OLD: u32 = 0xdead_beef;
/// Offset of the instruction.
const OFFSET: i32 = 4;
/// Where the address points.
const AT: usize = 8;

struct Bench {
    target: Target,
    inst: Inst,
    wave: Wave,
    lds: LdsMemory,
    scratch: Scratch,
    memory: Memory,
    buffer: BufferId,
}

impl Bench {
    fn new(target: Target, row: &Row, encoding: Encoding) -> Bench {
        let mut operands = [Operand::None; MAX_OPERANDS];
        for (operand, spec) in operands.iter_mut().zip(row.operands) {
            *operand = match spec.field {
                Field::Vdst => Operand::Vgpr(RESULT),
                Field::Addr => Operand::Vgpr(ADDRESS),
                Field::Data | Field::Data0 => Operand::Vgpr(DATA),
                Field::Data1 => Operand::Vgpr(DATA + 4),
                Field::Sdata => Operand::Sgpr(SCALARS),
                Field::Sbase => Operand::Sgpr(4),
                _ => Operand::None,
            };
        }
        let mods = Modifiers { offset: OFFSET, ..Modifiers::default() };
        let inst = Inst { op: row.op, encoding, size_bytes: 8, operands, mods, dual: None };
        let mut wave = Wave::new(target, [256, 256]);
        wave.n_vectors = [64, 0];
        wave.reset(0, 0, COMPILER_MODE);
        wave.set_mask(scalar::EXEC, 1 << LANE, 0);
        wave.active = 1 << LANE;
        let mut memory = Memory::new(1 << 20);
        let buffer = memory.allocate("buffer", SIZE as u64, Access::ReadWrite).expect("fits");
        memory.write(buffer, 0, &pattern()).expect("inside");
        let (lds, scratch) = (LdsMemory::new(SIZE as u32), Scratch::new(SIZE as u32, 64));
        let mut bench = Bench { target, inst, wave, lds, scratch, memory, buffer };
        bench.fill();
        bench
    }

    /// Memory, address and data registers.
    fn fill(&mut self) {
        for (at, byte) in pattern().into_iter().enumerate() {
            self.lds.store::<1>(at as u32, [byte], 1).expect("inside");
            self.scratch.store::<1>(LANE, at as u32, [byte], 1).expect("inside");
        }
        let base = self.memory.address(self.buffer).expect("live") + AT as u64;
        let address = match self.inst.encoding {
            Encoding::Ds | Encoding::Scratch => AT as u64,
            _ => base,
        };
        for (word, value) in [address as u32, (address >> 32) as u32].into_iter().enumerate() {
            self.wave.vectors.write_lane(
                u16::from(ADDRESS) + word as u16,
                LANE,
                u32::MAX,
                value,
                0,
            );
            self.wave.scalars.set(4 + word as u8, value, 0);
        }
        for word in 0..8 {
            let value = OLD.wrapping_add(word);
            self.wave.vectors.write_lane(u16::from(DATA) + word as u16, LANE, u32::MAX, value, 0);
            self.wave.vectors.write_lane(u16::from(RESULT) + word as u16, LANE, u32::MAX, OLD, 0);
        }
    }

    fn run(&mut self) {
        let around = Around {
            memory: &mut self.memory,
            lds: &mut self.lds,
            scratch: &mut self.scratch,
            options: &Options::default(),
        };
        let ran = alone::execute(&mut self.wave, around, self.target, self.inst);
        let (outcome, found) = ran.expect("has a meaning");
        outcome.unwrap_or_else(|cause| panic!("{:?}: {cause}", self.inst.op));
        assert!(found.is_empty(), "{:?}: {found:?}", self.inst.op);
    }

    fn registers(&self) -> [u32; 4] {
        std::array::from_fn(|word| self.wave.vectors.lane(u16::from(RESULT) + word as u16, LANE))
    }

    fn bytes(&self) -> Vec<u8> {
        let one = |at: usize| match self.inst.encoding {
            Encoding::Ds => self.lds.load::<1>(at as u32).expect("inside").0[0],
            Encoding::Scratch => self.scratch.load::<1>(LANE, at as u32).expect("inside").0[0],
            _ => self.memory.read(self.buffer).expect("live")[at],
        };
        (0..SIZE).map(one).collect()
    }
}

/// The byte of memory at `at`: different in neighbours and in neighbouring runs of 128.
fn byte_at(at: usize) -> u8 {
    ((0x80 + at + at / 128) & 0xff) as u8
}

fn pattern() -> Vec<u8> {
    (0..SIZE).map(byte_at).collect()
}

/// `n` bytes of the pattern from `at` on, as a number.
fn number(at: usize, n: usize) -> u32 {
    (0..n).fold(0, |bits, k| bits | u32::from(byte_at(at + k)) << (8 * k))
}

/// What a load or store moves, from the words of its mnemonic.
#[derive(Clone, Copy, Debug)]
struct Moved {
    bytes: usize,
    is_signed: bool,
    is_half: bool,
    is_high: bool,
    /// Distance of the two parts of a two-address form.
    stride: Option<usize>,
}

fn moved(mnemonic: &str) -> Moved {
    let words: Vec<&str> = mnemonic.split('_').collect();
    let mut widths = words.iter().filter_map(|word| {
        let bits = word.strip_prefix(['b', 'u', 'i'])?.parse::<usize>().ok()?;
        Some((bits / 8, word.starts_with('i')))
    });
    let (bytes, is_signed) =
        widths.next_back().unwrap_or_else(|| panic!("no width in '{mnemonic}'"));
    let has = |word: &str| words.contains(&word);
    let stride = has("2addr").then_some(if has("stride64") { 64 * bytes } else { bytes });
    Moved { bytes, is_signed, is_half: has("d16"), is_high: has("hi"), stride }
}

/// The registers after a load from `at`.
fn loaded(moved: Moved, at: usize) -> [u32; 4] {
    let mut registers = [OLD; 4];
    if moved.bytes >= 4 {
        let words = moved.bytes / 4;
        for (word, register) in registers.iter_mut().enumerate().take(words) {
            *register = number(at + 4 * word, 4);
        }
        return registers;
    }
    let value = number(at, moved.bytes);
    let value = if moved.is_signed && moved.bytes == 1 { value | 0xffff_ff00 } else { value };
    let value = if moved.is_signed && moved.bytes == 2 { value | 0xffff_0000 } else { value };
    registers[0] = match (moved.is_half, moved.is_high) {
        (false, _) => value,
        (true, false) => OLD & 0xffff_0000 | value & 0xffff,
        (true, true) => OLD & 0xffff | value << 16,
    };
    registers
}

/// Memory after a store to `at` of the data registers from `first` on.
fn stored(bytes: &mut [u8], moved: Moved, at: usize, first: u32) {
    let words = (0..4).flat_map(|word| OLD.wrapping_add(first + word).to_le_bytes());
    let skip = if moved.is_high { 2 } else { 0 };
    for (place, byte) in bytes[at..].iter_mut().zip(words.skip(skip).take(moved.bytes)) {
        *place = byte;
    }
}

fn check(target: Target, row: &Row, encoding: Encoding) {
    let mnemonic = row.gfx1100.or(row.gfx950).expect("on some target").mnemonic;
    let moved = moved(mnemonic);
    let mut bench = Bench::new(target, row, encoding);
    if moved.stride.is_some() {
        (bench.inst.mods.offset, bench.inst.mods.offset1) = (1, 0);
    }
    let unit = moved.stride.unwrap_or(OFFSET as usize);
    let at = AT + unit;
    bench.run();
    let context = format!("{target} {encoding:?} {mnemonic}");
    if mnemonic.contains("load") {
        let mut want = loaded(moved, at);
        if moved.stride.is_some() {
            let second = loaded(moved, AT);
            let words = moved.bytes / 4;
            want[words..2 * words].copy_from_slice(&second[..words]);
        }
        assert_eq!(bench.registers(), want, "{context}");
        assert_eq!(bench.bytes(), pattern(), "{context}: memory stays");
    } else {
        let mut want = pattern();
        stored(&mut want, moved, at, 0);
        if moved.stride.is_some() {
            stored(&mut want, moved, AT, 4);
        }
        assert_eq!(bench.bytes(), want, "{context}");
    }
}

/// LDS operations that move no bytes of their address, lane moves apart, and what they add for each lane.
const COUNTERS: [(Lds, i32); 2] = [(Lds::DsAppend, 1), (Lds::DsConsume, -1)];
/// Loads to LDS and their words.
const TO_LDS: [(Flat, u32); 3] =
    [(Flat::LoadLdsDword, 1), (Flat::LoadLdsDwordx3, 3), (Flat::LoadLdsDwordx4, 4)];
/// Scalar loads, by address or through a resource, and their words.
const SCALAR_LOADS: [(Smem, u8); 10] = [
    (Smem::SLoadB32, 1),
    (Smem::SLoadB64, 2),
    (Smem::SLoadB128, 4),
    (Smem::SLoadB256, 8),
    (Smem::SLoadB512, 16),
    (Smem::SBufferLoadB32, 1),
    (Smem::SBufferLoadB64, 2),
    (Smem::SBufferLoadB128, 4),
    (Smem::SBufferLoadB256, 8),
    (Smem::SBufferLoadB512, 16),
];
const SCALAR_CACHES: [Smem; 5] =
    [Smem::SDcacheInv, Smem::SDcacheInvVol, Smem::SDcacheWb, Smem::SDcacheWbVol, Smem::SGl1Inv];
const CLOCKS: [Smem; 2] = [Smem::SMemtime, Smem::SMemrealtime];

fn lds_rows(target: Target) -> impl Iterator<Item = &'static Row> {
    let rows = Lds::ROWS.iter().filter(move |row| row.form(target).is_some());
    let others = || COUNTERS.map(|(op, _)| op).into_iter().chain(MOVES);
    rows.filter(move |row| others().all(|other| row.op != Op::Lds(other)))
}

fn rows_by_address(target: Target) -> impl Iterator<Item = &'static Row> {
    let rows = Flat::ROWS.iter().filter(move |row| row.form(target).is_some());
    rows.filter(|row| TO_LDS.iter().all(|(other, _)| row.op != Op::Flat(*other)))
}

/// Accesses of a target that tests here run. The completeness test asks this.
pub(super) fn accesses(target: Target) -> impl Iterator<Item = Op> {
    let scalars = SCALAR_LOADS.map(|(op, _)| op).into_iter().chain(SCALAR_CACHES).chain(CLOCKS);
    lds_rows(target)
        .chain(rows_by_address(target))
        .map(|row| row.op)
        .chain(COUNTERS.map(|(op, _)| Op::Lds(op)))
        .chain(TO_LDS.map(|(op, _)| Op::Flat(op)))
        .chain(scalars.map(Op::Smem))
}

#[test]
fn lds_loads_and_stores() {
    for target in Target::ALL {
        for row in lds_rows(target) {
            check(target, row, Encoding::Ds);
        }
    }
}

#[test]
fn loads_and_stores_by_address() {
    for target in Target::ALL {
        for row in rows_by_address(target) {
            for encoding in [Encoding::Flat, Encoding::Global, Encoding::Scratch] {
                check(target, row, encoding);
            }
        }
    }
}

#[test]
fn loads_to_lds_by_address() {
    for (op, words) in TO_LDS {
        let mut bench = Bench::new(Target::Gfx950, Op::Flat(op).row(), Encoding::Global);
        bench.wave.scalars.set(scalar::M0, 16, 0);
        bench.run();
        for word in 0..words {
            // Lane 3 writes behind the places of lanes 0 to 2.
            let at = 16 + OFFSET as u32 + 4 * (LANE as u32 * words + word);
            let (bytes, written) = bench.lds.load::<4>(at).expect("inside");
            let want = number(AT + OFFSET as usize + 4 * word as usize, 4);
            assert_eq!((u32::from_le_bytes(bytes), written), (want, 0xf), "{op:?} word {word}");
        }
    }
}

#[test]
fn scalar_loads() {
    for target in Target::ALL {
        for (op, words) in SCALAR_LOADS {
            let mut bench = Bench::new(target, Op::Smem(op).row(), Encoding::Smem);
            // Of a resource: its bytes, and a format that scalar loads do not look at.
            bench.wave.scalars.set(6, (SIZE - AT) as u32, 0);
            bench.wave.scalars.set(7, 0, 0);
            bench.run();
            assert_eq!(bench.wave.scoreboard.n_outstanding(), 1, "{target} {op:?}");
            for word in 0..16 {
                let got = bench.wave.scalars.get(SCALARS + word);
                let want = number(AT + OFFSET as usize + 4 * usize::from(word), 4);
                assert_eq!(got, if word < words { want } else { 0 }, "{target} {op:?} {word}");
            }
        }
    }
}

#[test]
fn scalar_caches_only_count() {
    for target in Target::ALL {
        let has = |op: &Smem| Op::Smem(*op).row().form(target).is_some();
        for op in SCALAR_CACHES.into_iter().filter(has) {
            let mut bench = Bench::new(target, Op::Smem(op).row(), Encoding::Smem);
            let scalars = |bench: &Bench| (0..128).map(|at| bench.wave.scalars.get(at)).collect();
            let before: Vec<u32> = scalars(&bench);
            bench.run();
            let after: Vec<u32> = scalars(&bench);
            assert_eq!((after, bench.bytes()), (before, pattern()), "{target} {op:?}");
            assert_eq!(bench.wave.scoreboard.n_outstanding(), 1, "{target} {op:?}");
        }
    }
}

#[test]
fn counters_of_active_lanes() {
    for target in Target::ALL {
        for (op, sign) in COUNTERS {
            let mut bench = Bench::new(target, Op::Lds(op).row(), Encoding::Ds);
            bench.wave.scalars.set(scalar::M0, AT as u32, 0);
            bench.wave.active = 0b1_1000;
            let at = AT as u32 + OFFSET as u32;
            bench.run();
            let before = number(at as usize, 4);
            assert_eq!(bench.registers()[0], before, "{target} {op:?}");
            let (bytes, _) = bench.lds.load::<4>(at).expect("inside");
            assert_eq!(u32::from_le_bytes(bytes), before.wrapping_add_signed(2 * sign));
        }
    }
}

#[test]
fn clocks_go_forward_and_are_the_same_on_every_run() {
    for op in CLOCKS {
        let mut bench = Bench::new(Target::Gfx950, Op::Smem(op).row(), Encoding::Smem);
        let mut read = || {
            bench.run();
            bench.wave.scalars.pair(SCALARS)
        };
        assert_eq!((read(), read()), (256, 512));
    }
}
