//! Buffer accesses, one instruction at a time. Expected values follow from the rules in the module's
//! documentation and their sources.

use isa::format::Encoding;
use isa::inst::{Inst, MAX_OPERANDS, Modifiers};
use isa::table::{Buffer, Field, Smem};
use isa::{Op, Operand, Target};

use crate::exec::alone::{self, Around};
use crate::fault::Cause;
use crate::lds::Lds;
use crate::machine::Options;
use crate::memory::{Access, BufferId, Memory};
use crate::scratch::Scratch;
use crate::wave::{Wave, scalar};

const DATA: u8 = 8;
const ADDRESS: u8 = 16;
const RESOURCE: u8 = 8;
const SCALAR_OFFSET: u8 = 12;
/// Where scalar loads go.
const SCALARS: u8 = 20;
/// What registers hold before a load.
const OLD: u32 = 0xdead_beef;
/// Bytes of the buffer, more than the resources of the tests cover.
const SIZE: usize = 256;

struct Bench {
    target: Target,
    inst: Inst,
    wave: Wave,
    lds: Lds,
    memory: Memory,
    buffer: BufferId,
}

impl Bench {
    /// A raw resource of 64 B over a buffer whose byte `i` is `i`; lane 0 alone is active, at offset 0.
    fn new(target: Target, op: Op) -> Bench {
        let row = op.row();
        let mut operands = [Operand::None; MAX_OPERANDS];
        for (operand, spec) in operands.iter_mut().zip(row.operands) {
            *operand = match spec.field {
                Field::Vdata => Operand::Vgpr(DATA),
                Field::Vaddr => Operand::Vgpr(ADDRESS),
                Field::Srsrc | Field::Sbase => Operand::Sgpr(RESOURCE),
                Field::Soffset => Operand::Sgpr(SCALAR_OFFSET),
                _ => Operand::Sgpr(SCALARS),
            };
        }
        let encoding = row.form(target).expect("the target has it").encoding;
        let mods = Modifiers { offen: encoding == Encoding::Mubuf, ..Modifiers::default() };
        let inst = Inst { op, encoding, size_bytes: 8, operands, mods, dual: None };
        let mut wave = Wave::new(target, [256, 256]);
        wave.n_vectors = [64, 0];
        wave.reset(0, 0, 0x3f0);
        wave.scalars.set(scalar::M0, 0, 0);
        let mut memory = Memory::new(1 << 20);
        let buffer = memory.allocate("buffer", SIZE as u64, Access::ReadWrite).expect("fits");
        let bytes: Vec<u8> = (0..=255).collect();
        memory.write(buffer, 0, &bytes).expect("inside");
        let mut bench = Bench { target, inst, wave, lds: Lds::new(1024), memory, buffer };
        bench.set_exec(1);
        bench.set_resource(0, 64, bench.raw());
        bench.wave.scalars.set(SCALAR_OFFSET, 0, 0);
        for lane in 0..bench.wave.width as usize {
            bench.set_place(lane, 0, 0);
            for word in 0..4 {
                bench.set(DATA + word, lane, OLD);
            }
        }
        bench
    }

    fn buffer(target: Target, op: Buffer) -> Bench {
        Bench::new(target, Op::Buffer(op))
    }

    /// Word 3 of raw buffers, as compilers write it.
    fn raw(&self) -> u32 {
        if self.target == Target::Gfx950 { 0x0002_7000 } else { 0x3101_4000 }
    }

    fn set_exec(&mut self, mask: u64) {
        self.wave.set_mask(scalar::EXEC, mask, 0);
        self.wave.active = mask;
    }

    fn set_resource(&mut self, stride: u32, n_records: u32, word3: u32) {
        let base = self.memory.address(self.buffer).expect("a buffer");
        let words = [base as u32, (base >> 32) as u32 | stride << 16, n_records, word3];
        for (register, word) in (RESOURCE..).zip(words) {
            self.wave.scalars.set(register, word, 0);
        }
    }

    fn set(&mut self, register: u8, lane: usize, value: u32) {
        self.wave.vectors.write_lane(register.into(), lane, u32::MAX, value, 0);
    }

    /// Index and offset of a lane; call after the modifiers are chosen.
    fn set_place(&mut self, lane: usize, index: u32, offset: u32) {
        let mods = self.inst.mods;
        if mods.idxen {
            self.set(ADDRESS, lane, index);
        }
        if mods.offen {
            self.set(ADDRESS + u8::from(mods.idxen), lane, offset);
        }
    }

    fn run(&mut self) -> Result<(), Box<Cause>> {
        let around = Around {
            memory: &mut self.memory,
            lds: &mut self.lds,
            scratch: &mut Scratch::new(0, 0),
            options: &Options::default(),
        };
        let ran = alone::execute(&mut self.wave, around, self.target, self.inst);
        let (outcome, found) = ran.expect("has a meaning");
        assert!(found.is_empty(), "{found:?}");
        outcome
    }

    fn data<const M: usize>(&self, lane: usize) -> [u32; M] {
        std::array::from_fn(|word| self.wave.vectors.lane(u16::from(DATA) + word as u16, lane))
    }

    fn loaded<const M: usize>(&mut self) -> [u32; M] {
        self.run().expect("executed");
        self.data(0)
    }

    fn refused(&mut self) -> String {
        match *self.run().expect_err("refused") {
            Cause::Unsupported { why, .. } => why,
            other => panic!("{other}"),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.memory.read(self.buffer).expect("a buffer").to_vec()
    }
}

/// The word whose bytes are `first`, `first` + 1, …
fn word(first: u32) -> u32 {
    (0..4).fold(0, |word, byte| word | (first + byte) << (8 * byte))
}

/// Loads of the bytes from 0x83 on, and the registers afterwards.
const LOADS: [(Buffer, [u32; 4]); 14] = [
    (Buffer::BufferLoadU8, [0x83, OLD, OLD, OLD]),
    (Buffer::BufferLoadI8, [0xffff_ff83, OLD, OLD, OLD]),
    (Buffer::BufferLoadU16, [0x8483, OLD, OLD, OLD]),
    (Buffer::BufferLoadI16, [0xffff_8483, OLD, OLD, OLD]),
    (Buffer::BufferLoadD16U8, [0xdead_0083, OLD, OLD, OLD]),
    (Buffer::BufferLoadD16HiU8, [0x0083_beef, OLD, OLD, OLD]),
    (Buffer::BufferLoadD16I8, [0xdead_ff83, OLD, OLD, OLD]),
    (Buffer::BufferLoadD16HiI8, [0xff83_beef, OLD, OLD, OLD]),
    (Buffer::BufferLoadD16B16, [0xdead_8483, OLD, OLD, OLD]),
    (Buffer::BufferLoadD16HiB16, [0x8483_beef, OLD, OLD, OLD]),
    (Buffer::BufferLoadB32, [0x8685_8483, OLD, OLD, OLD]),
    (Buffer::BufferLoadB64, [0x8685_8483, 0x8a89_8887, OLD, OLD]),
    (Buffer::BufferLoadB96, [0x8685_8483, 0x8a89_8887, 0x8e8d_8c8b, OLD]),
    (Buffer::BufferLoadB128, [0x8685_8483, 0x8a89_8887, 0x8e8d_8c8b, 0x9291_908f]),
];
/// Stores of the old value, 1, 2 and 3, and the bytes that they write.
const STORES: [(Buffer, &[u8]); 8] = [
    (Buffer::BufferStoreB8, &[0xef]),
    (Buffer::BufferStoreD16HiB8, &[0xad]),
    (Buffer::BufferStoreB16, &[0xef, 0xbe]),
    (Buffer::BufferStoreD16HiB16, &[0xad, 0xde]),
    (Buffer::BufferStoreB32, &[0xef, 0xbe, 0xad, 0xde]),
    (Buffer::BufferStoreB64, &[0xef, 0xbe, 0xad, 0xde, 1, 0, 0, 0]),
    (Buffer::BufferStoreB96, &[0xef, 0xbe, 0xad, 0xde, 1, 0, 0, 0, 2, 0, 0, 0]),
    (Buffer::BufferStoreB128, &[0xef, 0xbe, 0xad, 0xde, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]),
];
/// Cache control, and how many operations it leaves outstanding: a write-back counts as a store.
const CACHES: [(Buffer, usize); 4] = [
    (Buffer::BufferWbl2, 1),
    (Buffer::BufferInv, 0),
    (Buffer::BufferGl0Inv, 0),
    (Buffer::BufferGl1Inv, 0),
];

/// Accesses that tests here run on each target that has them. The completeness test asks this.
pub(in crate::sem) fn accesses() -> impl Iterator<Item = Op> {
    let loads = LOADS.map(|(op, _)| op).into_iter();
    loads.chain(STORES.map(|(op, _)| op)).chain(CACHES.map(|(op, _)| op)).map(Op::Buffer)
}

#[test]
fn cache_control_changes_no_value() {
    for target in Target::ALL {
        let has = |op: Buffer| Op::Buffer(op).row().form(target).is_some();
        for (op, n_outstanding) in CACHES.into_iter().filter(|(op, _)| has(*op)) {
            let mut bench = Bench::buffer(target, op);
            let before = bench.bytes();
            assert_eq!((bench.loaded::<4>(), bench.bytes()), ([OLD; 4], before), "{target} {op:?}");
            assert_eq!(bench.wave.scoreboard.n_outstanding(), n_outstanding, "{target} {op:?}");
        }
    }
}

#[test]
fn widths_and_halves() {
    for target in Target::ALL {
        for (op, want) in LOADS {
            let mut bench = Bench::buffer(target, op);
            bench.set_resource(0, 256, bench.raw());
            bench.inst.mods.offset = 3;
            bench.set_place(0, 0, 0x80);
            assert_eq!(bench.loaded::<4>(), want, "{target} {op:?}");
        }
    }
}

#[test]
fn stores_of_every_width() {
    for target in Target::ALL {
        for (op, want) in STORES {
            let mut bench = Bench::buffer(target, op);
            (1..4).for_each(|word| bench.set(DATA + word, 0, word.into()));
            bench.set_place(0, 0, 16);
            bench.wave.scalars.set(SCALAR_OFFSET, 8, 0);
            bench.run().expect("executed");
            let mut expected: Vec<u8> = (0..=255).collect();
            expected[24..24 + want.len()].copy_from_slice(want);
            assert_eq!(bench.bytes(), expected, "{target} {op:?}");
        }
    }
}

#[test]
fn addresses_add_base_index_offsets() {
    for target in Target::ALL {
        let mut bench = Bench::buffer(target, Buffer::BufferLoadB32);
        // 16 records of 12 B: index 3, offset 4 of it, 16 B further by the scalar offset.
        let structured = if target == Target::Gfx950 { 0x0002_7000 } else { 0x0101_4000 };
        bench.inst.mods.idxen = true;
        bench.set_resource(12, 16, structured);
        bench.set_place(0, 3, 3);
        bench.inst.mods.offset = 1;
        bench.wave.scalars.set(SCALAR_OFFSET, 16, 0);
        assert_eq!(bench.loaded::<1>(), [word(3 * 12 + 4 + 16)], "{target}");

        bench.inst.mods.offen = false;
        bench.set_place(0, 15, 0);
        bench.wave.scalars.set(SCALAR_OFFSET, 0, 0);
        assert_eq!(bench.loaded::<1>(), [word(15 * 12 + 1)], "{target}: an index alone");
        bench.set_place(0, 16, 0);
        assert_eq!(bench.loaded::<1>(), [0], "{target}: behind the last record");
    }
}

#[test]
fn raw_buffers_end_at_their_number_of_bytes() {
    for target in Target::ALL {
        let mut bench = Bench::buffer(target, Buffer::BufferLoadB128);
        bench.set_place(0, 0, 56);
        assert_eq!(bench.loaded(), [word(56), word(60), 0, 0], "{target}: word by word");
        bench.set_place(0, 0, 58);
        assert_eq!(bench.loaded(), [word(58), 0, 0, 0], "{target}: half a word is out of range");
        bench.set_place(0, 0, u32::MAX - 3);
        assert_eq!(bench.loaded(), [0; 4], "{target}: offsets do not wrap");

        let mut bench = Bench::buffer(target, Buffer::BufferStoreB64);
        bench.set_place(0, 0, 60);
        bench.run().expect("executed");
        let mut expected: Vec<u8> = (0..=255).collect();
        expected[60..64].copy_from_slice(&OLD.to_le_bytes());
        assert_eq!(bench.bytes(), expected, "{target}: the second word is dropped");

        let mut bench = Bench::buffer(target, Buffer::BufferStoreB32);
        bench.set_place(0, 0, 64);
        bench.wave.vectors.write_lane(DATA.into(), 0, u32::MAX, 0, 1);
        bench.run().expect("executed, and what is dropped may be undefined");
    }
}

#[test]
fn gfx1100_selects_its_range_check() {
    // 4 records of 8 B; index, offset, and what OOB_SELECT 0, 1, 2 say.
    let cases = [
        (3, 4, [false, false, false]),
        (3, 5, [true, false, false]),
        (4, 0, [true, true, false]),
        (9, 8, [true, true, false]),
    ];
    for (index, offset, outs) in cases {
        for (select, is_out) in outs.into_iter().enumerate() {
            let mut bench = Bench::buffer(Target::Gfx1100, Buffer::BufferLoadB32);
            bench.inst.mods.idxen = true;
            bench.set_resource(8, 4, 0x0101_4000 | (select as u32) << 28);
            bench.set_place(0, index, offset);
            let want = if is_out { 0 } else { word(8 * index + offset) };
            assert_eq!(bench.loaded::<1>(), [want], "OOB_SELECT {select}, {index}, {offset}");
        }
    }
    let mut bench = Bench::buffer(Target::Gfx1100, Buffer::BufferLoadB32);
    bench.set_resource(0, 0, 0x2101_4000);
    assert_eq!(bench.loaded::<1>(), [0], "OOB_SELECT 2 of an empty resource");
    // Word 3 of gfx950 means OOB_SELECT 0, where a stride of 0 puts every byte out of range.
    bench.set_resource(0, 64, 0x0002_7000);
    assert_eq!(bench.loaded::<1>(), [0]);
}

#[test]
fn what_sources_disagree_about_is_refused() {
    let mut bench = Bench::buffer(Target::Gfx950, Buffer::BufferLoadB32);
    bench.set_place(0, 0, 56);
    bench.wave.scalars.set(SCALAR_OFFSET, 4, 0);
    assert_eq!(bench.loaded::<1>(), [word(60)]);
    bench.wave.scalars.set(SCALAR_OFFSET, 8, 0);
    assert!(bench.refused().starts_with("a scalar offset that leaves the range"));
    bench.set_place(0, 0, 64);
    assert_eq!(bench.loaded::<1>(), [0], "out of range either way");

    bench.inst.mods.idxen = true;
    bench.wave.scalars.set(SCALAR_OFFSET, 0, 0);
    bench.set_resource(8, 4, bench.raw());
    bench.set_place(0, 1, 8);
    assert!(bench.refused().starts_with("an offset that passes the stride"));

    let mut bench = Bench::buffer(Target::Gfx1100, Buffer::BufferLoadB32);
    bench.wave.scalars.set(SCALAR_OFFSET, 100, 0);
    assert_eq!(bench.loaded::<1>(), [word(100)], "the scalar offset is not checked");
    bench.inst.mods.idxen = true;
    bench.set_resource(8, 64, bench.raw());
    bench.set_place(0, 8, 0);
    assert!(bench.refused().starts_with("an index that leaves the range"));
}

#[test]
fn unsupported_fields_are_named() {
    let cases: &[(Target, u32, u32, &str)] = &[
        (Target::Gfx950, 0x8000, 0x0002_7000, "SWIZZLE_ENABLE"),
        (Target::Gfx1100, 0x4000, 0x3101_4000, "SWIZZLE_ENABLE"),
        (Target::Gfx950, 0, 0x0082_7000, "ADD_TID_ENABLE"),
        (Target::Gfx1100, 0, 0x3181_4000, "ADD_TID_ENABLE"),
        (Target::Gfx950, 0, 0x0000_7000, "format"),
        (Target::Gfx1100, 0, 0x3100_0000, "format"),
        (Target::Gfx950, 0, 0x8002_7000, "TYPE"),
        (Target::Gfx1100, 0, 0x7101_4000, "TYPE"),
        (Target::Gfx950, 0, 0x3101_4000, "reserved"),
    ];
    for (target, high, word3, name) in cases {
        let mut bench = Bench::buffer(*target, Buffer::BufferLoadB32);
        bench.set_resource(*high, 64, *word3);
        let why = bench.refused();
        assert!(why.contains(name), "{target} {word3:#x}: {why}");
    }
    // Swizzled banks of the cache change no result.
    let mut bench = Bench::buffer(Target::Gfx950, Buffer::BufferLoadB32);
    bench.set_resource(0x4000, 64, bench.raw());
    assert_eq!(bench.loaded::<1>(), [word(0)]);
}

#[test]
fn loads_to_lds_write_zero_for_what_is_out_of_range() {
    for (op, n_words) in
        [(Buffer::BufferLoadB32, 1), (Buffer::BufferLoadB96, 3), (Buffer::BufferLoadB128, 4)]
    {
        let mut bench = Bench::buffer(Target::Gfx950, op);
        (bench.inst.mods.lds, bench.inst.operands[0]) = (true, Operand::None);
        bench.inst.mods.offset = 4;
        bench.wave.scalars.set(scalar::M0, 100, 0);
        bench.set_exec(0b101);
        bench.set_place(0, 0, 0);
        bench.set_place(2, 0, 60);
        bench.run().expect("executed");
        for word_at in 0..n_words {
            let read = |lane: u32| {
                let (bytes, written) =
                    bench.lds.load::<4>(104 + 4 * (lane * n_words + word_at)).expect("inside");
                (u32::from_le_bytes(bytes), written)
            };
            assert_eq!(read(0), (word(4 + 4 * word_at), 0xf), "{op:?}");
            assert_eq!(read(1), (0, 0), "{op:?}: an inactive lane");
            assert_eq!(read(2), (0, 0xf), "{op:?}");
        }
        assert_eq!(bench.data::<1>(0), [OLD]);
    }
    let mut bench = Bench::buffer(Target::Gfx950, Buffer::BufferLoadU8);
    (bench.inst.mods.lds, bench.inst.operands[0]) = (true, Operand::None);
    assert!(bench.refused().contains("bytes and halves"));
}

#[test]
fn scalar_loads_through_a_resource() {
    for target in Target::ALL {
        let mut bench = Bench::new(target, Op::Smem(Smem::SBufferLoadB128));
        bench.inst.mods.offset = 16;
        bench.wave.scalars.set(SCALAR_OFFSET, 40, 0);
        bench.run().expect("executed");
        let read = |bench: &Bench| -> [u32; 4] {
            std::array::from_fn(|word| bench.wave.scalars.get(SCALARS + word as u8))
        };
        assert_eq!(read(&bench), [word(56), word(60), 0, 0], "{target}: word by word");
        // Records of 4 B: the range is their bytes.
        bench.set_resource(4, 18, bench.raw());
        bench.run().expect("executed");
        assert_eq!(read(&bench), [word(56), word(60), word(64), word(68)], "{target}");
        bench.set_resource(0, 62, bench.raw());
        assert!(bench.refused().contains("NUM_RECORDS"));
    }
}
