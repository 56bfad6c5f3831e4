//! Counts that only `Options::stats` asks for. Expected values are counted by hand from the source of the
//! kernels, with the bank rules that `isa::banks` names its sources for.

use std::collections::BTreeMap;

use isa::Target;
use wavesmith_emulator::{
    Access, Class, Detail, Dispatch, GlobalTraffic, LdsTraffic, Machine, Options, PlainTraffic,
    Report, Step, Traffic,
};

use crate::bench::{Args, fixture};
use crate::faults::assembled;

/// Options with stats and without the checks that slow paths share with them.
fn options() -> Options {
    Options { stats: true, race_checks: false, ..Options::default() }
}

fn detail(report: &Report) -> &Detail {
    report.stats.detail.as_ref().expect("stats were asked for")
}

fn global(instructions: u64, bytes: u64, lines_64: u64, lines_128: u64) -> GlobalTraffic {
    GlobalTraffic { instructions, bytes, lines_64, lines_128 }
}

fn lds(instructions: u64, bytes: u64, clocks: [u64; 3]) -> LdsTraffic {
    let [clocks, conflict_clocks, assumed_clocks] = clocks;
    LdsTraffic { instructions, bytes, clocks, conflict_clocks, assumed_clocks }
}

/// A fixture that takes two pointers, on words that are all 1.
fn run_fixture(name: &str, target: Target, work_items: u32) -> Report {
    let mut machine = Machine::new(target, options());
    let object = machine.load(&fixture(name, target)).expect("loads");
    let mut buffer =
        |label: &str| machine.memory_mut().allocate_with(label, &[1; 4096]).expect("fits");
    let (input, output) = (buffer("in"), buffer("out"));
    let args = Args::default().pointer(&machine, input).pointer(&machine, output);
    let dispatch = Dispatch {
        object,
        kernel: name,
        workgroups: [1, 1, 1],
        workgroup_size: [work_items, 1, 1],
        kernarg: &args.0,
        dynamic_lds_bytes: 0,
    };
    machine.dispatch(&dispatch).expect("runs")
}

#[test]
fn a_reduction_reads_and_writes_what_its_source_says() {
    // 256 stores; then in levels of h = 128, 64, … 1 active work-items two loads and a store each; at last
    // one load. All side by side, so without conflicts.
    let bytes = 4 * (256 + 255);
    for (target, reads, writes) in [
        // 4 waves of 64: level 128 is two waves, all others one. Writes of more than 32 lanes take two clocks.
        (Target::Gfx950, lds(19, bytes, [19, 0, 0]), lds(13, bytes, [20, 0, 20])),
        // 8 waves of 32: levels of 4, 2 and six times 1 wave.
        (Target::Gfx1100, lds(25, bytes, [25, 0, 0]), lds(20, bytes, [20, 0, 20])),
    ] {
        let report = run_fixture("reduce", target, 256);
        let traffic = &detail(&report).traffic;
        assert_eq!((traffic.lds_reads, traffic.lds_writes), (reads, writes), "{target}");
        let waves = 256 / u64::from(target.wave_width());
        assert_eq!(traffic.global_loads, global(waves, 1024, 16, 8), "{target}");
        assert_eq!(traffic.global_stores, global(1, 4, 1, 1), "{target}");
    }
}

#[test]
fn wide_and_narrow_accesses_take_their_phases() {
    // A 16-byte store and a byte store a work-item; a byte and four words back, words in pairs. Side by side.
    for (target, reads, writes) in [
        (Target::Gfx950, lds(3, 64 + 1024, [5, 0, 1]), lds(2, 64 + 1024, [10, 0, 10])),
        (Target::Gfx1100, lds(6, 64 + 1024, [10, 0, 2]), lds(4, 64 + 1024, [10, 0, 10])),
    ] {
        let report = run_fixture("lds_wide", target, 64);
        let traffic = &detail(&report).traffic;
        assert_eq!((traffic.lds_reads, traffic.lds_writes), (reads, writes), "{target}");
    }
}

/// One wave: reads of LDS at a pitch of 256 bytes, an atomic, a lane move, accesses to global memory at
/// pitches of 256 and 4 bytes, a store to scratch, on gfx950 a load to LDS. Encodings by LLVM 22's assembler.
#[rustfmt::skip]
const GFX950: &[(&str, &[u32])] = &[
    ("s_load_dwordx4 s[4:7], s[0:1], 0x0", &[0xc00a_0100, 0]),
    ("v_lshlrev_b32_e32 v1, 8, v0", &[0x2402_0088]),
    ("v_lshlrev_b32_e32 v6, 2, v0", &[0x240c_0082]),
    ("s_waitcnt lgkmcnt(0)", &[0xbf8c_c07f]),
    ("ds_read_b32 v2, v1", &[0xd86c_0000, 0x0200_0001]),
    ("ds_read_b128 v[8:11], v1", &[0xd9fe_0000, 0x0800_0001]),
    ("ds_read2_b64 v[12:15], v1 offset1:1", &[0xd8ee_0100, 0x0c00_0001]),
    ("ds_add_u32 v6, v0", &[0xd800_0000, 0x0000_0006]),
    ("ds_bpermute_b32 v16, v6, v0", &[0xd87e_0000, 0x1000_0006]),
    ("global_load_dword v17, v1, s[4:5]", &[0xdc50_8000, 0x1104_0001]),
    ("global_load_dword v18, v6, s[4:5]", &[0xdc50_8000, 0x1204_0006]),
    ("global_store_dword v6, v0, s[4:5]", &[0xdc70_8000, 0x0004_0006]),
    ("scratch_store_dword off, v0, off", &[0xdc70_4000, 0x007f_0000]),
    ("s_mov_b32 m0, 0", &[0xbefc_0080]),
    ("v_lshlrev_b32_e32 v7, 4, v0", &[0x240e_0084]),
    ("global_load_lds_dwordx4 v7, s[4:5]", &[0xddf4_8000, 0x0004_0007]),
    ("s_waitcnt vmcnt(0) lgkmcnt(0)", &[0xbf8c_0070]),
];

/// As [`GFX950`], without the load to LDS.
#[rustfmt::skip]
const GFX1100: &[(&str, &[u32])] = &[
    ("s_load_b128 s[4:7], s[0:1], null", &[0xf408_0100, 0xf800_0000]),
    ("v_lshlrev_b32_e32 v1, 8, v0", &[0x3002_0088]),
    ("v_lshlrev_b32_e32 v6, 2, v0", &[0x300c_0082]),
    ("s_waitcnt lgkmcnt(0)", &[0xbf89_fc07]),
    ("ds_load_b32 v2, v1", &[0xd8d8_0000, 0x0200_0001]),
    ("ds_load_b128 v[8:11], v1", &[0xdbfc_0000, 0x0800_0001]),
    ("ds_load_2addr_b64 v[12:15], v1 offset1:1", &[0xd9dc_0100, 0x0c00_0001]),
    ("ds_add_u32 v6, v0", &[0xd800_0000, 0x0000_0006]),
    ("ds_bpermute_b32 v16, v6, v0", &[0xdacc_0000, 0x1000_0006]),
    ("global_load_b32 v17, v1, s[4:5]", &[0xdc52_0000, 0x1104_0001]),
    ("global_load_b32 v18, v6, s[4:5]", &[0xdc52_0000, 0x1204_0006]),
    ("global_store_b32 v6, v0, s[4:5]", &[0xdc6a_0000, 0x0004_0006]),
    ("scratch_store_b32 off, v0, off", &[0xdc69_0000, 0x007c_0000]),
    ("s_waitcnt vmcnt(0) lgkmcnt(0)", &[0xbf89_0007]),
    ("s_waitcnt_vscnt null, 0x0", &[0xbc7c_0000]),
];

#[test]
fn every_memory_and_every_conflict_is_counted() {
    let gfx950 = Traffic {
        global_loads: global(3, 256 + 256 + 1024, 64 + 4 + 16, 64 + 2 + 8),
        global_stores: global(1, 256, 4, 2),
        global_atomics: global(0, 0, 0, 0),
        scalar_loads: PlainTraffic { instructions: 1, bytes: 16 },
        scratch_loads: PlainTraffic::default(),
        scratch_stores: PlainTraffic { instructions: 1, bytes: 256 },
        // 64 lanes on a bank in one phase; 4 phases of 16; twice 2 phases of 32.
        lds_reads: lds(3, 256 + 1024 + 1024, [1 + 4 + 4, 63 + 4 * 15 + 4 * 31, 0]),
        lds_writes: lds(1, 1024, [8, 0, 8]),
        lds_atomics: lds(1, 256, [2, 0, 2]),
        lds_lane_moves: lds(1, 256, [1, 0, 1]),
    };
    let gfx1100 = Traffic {
        global_loads: global(2, 128 + 128, 32 + 2, 32 + 1),
        global_stores: global(1, 128, 2, 1),
        scratch_stores: PlainTraffic { instructions: 1, bytes: 128 },
        // 32 lanes on a bank in one phase; 4 phases of 8; twice 2 phases of 16.
        lds_reads: lds(3, 128 + 512 + 512, [1 + 4 + 4, 31 + 4 * 7 + 4 * 15, 0]),
        lds_writes: LdsTraffic::default(),
        lds_atomics: lds(1, 128, [1, 0, 1]),
        lds_lane_moves: lds(1, 128, [1, 0, 1]),
        ..gfx950
    };
    for (target, code, expected) in
        [(Target::Gfx950, GFX950, gfx950), (Target::Gfx1100, GFX1100, gfx1100)]
    {
        let words: Vec<u32> = code.iter().flat_map(|(_, words)| words.to_vec()).collect();
        let mut machine = Machine::new(target, options());
        let object = machine.load(&assembled(target, &words)).expect("loads");
        let memory = machine.memory_mut();
        let data = memory.allocate_with("data", &[0; 1 << 14]).expect("fits");
        let unused = memory.allocate("unused", 4, Access::ReadWrite).expect("fits");
        let args = Args::default().pointer(&machine, data).pointer(&machine, unused);
        let dispatch = Dispatch {
            object,
            kernel: "template",
            workgroups: [1, 1, 1],
            workgroup_size: [target.wave_width(), 1, 1],
            kernarg: &args.0,
            dynamic_lds_bytes: 1 << 14,
        };
        let report = machine.dispatch(&dispatch).expect("runs");
        assert_eq!(report.findings, [], "{target}");
        assert_eq!(detail(&report).traffic, expected, "{target}");
    }
}

#[test]
fn the_texts_of_the_code_are_what_its_words_say() {
    for (target, code) in [(Target::Gfx950, GFX950), (Target::Gfx1100, GFX1100)] {
        for (text, words) in code {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let inst = isa::decode(target, &bytes).expect("decodes");
            assert_eq!(isa::disasm::disassemble(target, &inst), *text, "{target}");
        }
    }
}

#[test]
fn waves_apart_agree_with_the_trace() {
    for target in Target::ALL {
        let mut machine = Machine::new(target, options());
        let object = machine.load(&fixture("collatz", target)).expect("loads");
        let starts: Vec<u8> = (0..192_u32).flat_map(|i| (i * 37 + 1).to_le_bytes()).collect();
        let input = machine.memory_mut().allocate_with("in", &starts).expect("fits");
        let out = machine.memory_mut().allocate_with("out", &[0; 768]).expect("fits");
        let args = Args::default().pointer(&machine, input).pointer(&machine, out);
        let dispatch = Dispatch {
            object,
            kernel: "collatz",
            workgroups: [1, 1, 1],
            workgroup_size: [192, 1, 1],
            kernarg: &args.0,
            dynamic_lds_bytes: 0,
        };
        let mut traced: BTreeMap<u32, u64> = BTreeMap::new();
        let mut count = |step: Step| *traced.entry(step.place.wave).or_default() += 1;
        let report = machine.dispatch_traced(&dispatch, &mut count).expect("runs");
        let waves = &detail(&report).waves;
        let listed = waves.listed.iter();
        let sums: BTreeMap<u32, u64> =
            listed.map(|wave| (wave.wave, wave.instructions.values().sum())).collect();
        assert_eq!(sums, traced, "{target}");
        assert_eq!(waves.not_listed, 0);
        let of = |class: Class| {
            waves.listed.iter().map(move |wave| wave.instructions.get(&class).copied().unwrap_or(0))
        };
        for (class, total) in &report.stats.instructions {
            assert_eq!(of(*class).sum::<u64>(), *total, "{target} {class:?}");
            assert_eq!(of(*class).min().as_ref(), waves.min.get(class), "{target} {class:?}");
            assert_eq!(of(*class).max().as_ref(), waves.max.get(class), "{target} {class:?}");
        }
        assert!(waves.min[&Class::Valu] < waves.max[&Class::Valu], "{target}: {waves:?}");
    }
}

#[test]
fn counting_changes_nothing_else() {
    for target in Target::ALL {
        let mut with = run_fixture("reduce", target, 256);
        assert!(with.stats.detail.take().is_some());
        let mut machine = Machine::new(target, Options { stats: false, ..options() });
        let object = machine.load(&fixture("reduce", target)).expect("loads");
        let data = machine.memory_mut().allocate_with("data", &[1; 4096]).expect("fits");
        let args = Args::default().pointer(&machine, data).pointer(&machine, data);
        let dispatch = Dispatch {
            object,
            kernel: "reduce",
            workgroups: [1, 1, 1],
            workgroup_size: [256, 1, 1],
            kernarg: &args.0,
            dynamic_lds_bytes: 0,
        };
        assert_eq!(machine.dispatch(&dispatch).expect("runs"), with, "{target}");
    }
}
