//! Waves and workgroups that wait for each other. Encodings by LLVM 22's assembler.

use isa::Target;
use wavesmith_emulator::{
    Activity, Cause, Dispatch, ExecutionFault, Fault, Machine, Options, Report,
};

use crate::bench::Args;
use crate::faults::assembled;

/// Text and words of each instruction.
type Code = &'static [(&'static str, &'static [u32])];

/// Both waves of a workgroup meet; then the first one reads a flag in LDS until the second one sets it.
fn flag(target: Target) -> Code {
    match target {
        Target::Gfx950 => GFX950_FLAG,
        Target::Gfx1100 => GFX1100_FLAG,
    }
}

/// A barrier of three workgroups: each counts itself in global memory and waits until all have.
fn grid_barrier(target: Target) -> Code {
    match target {
        Target::Gfx950 => GFX950_GRID,
        Target::Gfx1100 => GFX1100_GRID,
    }
}

/// Runs code on workgroups of `n_waves` waves, with one word of zero to count in.
fn run(
    target: Target,
    code: Code,
    n_workgroups: u32,
    n_waves: u32,
    options: Options,
) -> (Result<Report, Fault>, u32) {
    let words: Vec<u32> = code.iter().flat_map(|(_, words)| words.to_vec()).collect();
    let mut machine = Machine::new(target, options);
    let object = machine.load(&assembled(target, &words)).expect("loads");
    let counter = machine.memory_mut().allocate_with("counter", &[0; 4]).expect("fits");
    let args = Args::default().pointer(&machine, counter).pointer(&machine, counter);
    let result = machine.dispatch(&Dispatch {
        object,
        kernel: "template",
        workgroups: [n_workgroups, 1, 1],
        workgroup_size: [n_waves * target.wave_width(), 1, 1],
        kernarg: &args.0,
        dynamic_lds_bytes: 0,
    });
    let bytes = machine.memory().read(counter).expect("live");
    (result, u32::from_le_bytes(bytes.try_into().expect("one word")))
}

fn clean(result: Result<Report, Fault>) -> Report {
    let report = result.expect("ends");
    assert_eq!(report.findings, []);
    report
}

fn stopped(result: Result<Report, Fault>) -> ExecutionFault {
    match result {
        Err(Fault::Execution(fault)) => *fault,
        other => panic!("expected a fault of execution, got {other:?}"),
    }
}

#[test]
fn a_wave_that_waits_for_another_one_does_not_starve_it() {
    for target in Target::ALL {
        let (result, _) = run(target, flag(target), 1, 2, Options::default());
        clean(result);
    }
}

#[test]
fn workgroups_that_wait_for_later_ones_make_progress() {
    for target in Target::ALL {
        for options in [
            Options::default(),
            Options { resident_workgroups: 3, ..Options::default() },
            Options { race_checks: false, ..Options::default() },
        ] {
            let (result, counter) = run(target, grid_barrier(target), 3, 1, options);
            clean(result);
            assert_eq!(counter, 3, "{target}");
        }
    }
}

#[test]
fn waiting_workgroups_run_in_the_same_order_every_time() {
    for target in Target::ALL {
        let run = || {
            let options = Options { stats: true, ..Options::default() };
            clean(run(target, grid_barrier(target), 3, 1, options).0)
        };
        assert_eq!(run(), run(), "{target}");
    }
}

#[test]
fn too_few_residents_end_at_the_limit_which_names_every_wave() {
    for target in Target::ALL {
        let options =
            Options { resident_workgroups: 2, instruction_limit: 1_000_000, ..Options::default() };
        let (result, counter) = run(target, grid_barrier(target), 3, 1, options);
        let fault = stopped(result);
        assert_eq!(counter, 2, "{target}: the third workgroup has not started");
        assert_eq!(fault.cause, Cause::InstructionLimit { limit: 1_000_000 });
        assert_eq!(fault.report.wave_instructions, 1_000_000);
        let workgroups: Vec<u32> = fault.waves.iter().map(|wave| wave.place.workgroup[0]).collect();
        assert_eq!(workgroups, [0, 1], "{target}");
        let spin: Vec<&str> = grid_barrier(target).iter().skip(7).map(|(text, _)| *text).collect();
        for wave in &fault.waves {
            assert_eq!(wave.activity, Activity::Running);
            assert!(spin.contains(&wave.next.instruction.as_str()), "{target}: {wave}");
            assert!(fault.to_string().contains(&wave.to_string()), "{fault}");
        }
    }
}

#[test]
fn every_limit_ends_a_dispatch() {
    for target in Target::ALL {
        for limit in [0, 1, 8, 1023, 1024, 1025] {
            let options = Options { instruction_limit: limit, ..Options::default() };
            let fault = stopped(run(target, grid_barrier(target), 2, 1, options).0);
            assert_eq!(fault.cause, Cause::InstructionLimit { limit }, "{target}");
            assert_eq!(fault.report.wave_instructions, limit, "{target}");
        }
    }
}

#[test]
fn a_wave_at_a_barrier_is_named_beside_the_one_that_never_comes() {
    for target in Target::ALL {
        // Without its exit the second wave goes on to the barrier; the first one spins on a branch to itself.
        let (branch, barrier) = match target {
            Target::Gfx950 => (0xbf82_ffff, 0xbf8a_0000),
            Target::Gfx1100 => (0xbfa0_ffff, 0xbfbd_0000),
        };
        let skip = match target {
            Target::Gfx950 => 0xbf85_0001,
            Target::Gfx1100 => 0xbfa2_0001,
        };
        let words = [0x7e10_0500, 0xbf07_8008, skip, branch, barrier];
        let mut machine =
            Machine::new(target, Options { instruction_limit: 5000, ..Options::default() });
        let object = machine.load(&assembled(target, &words)).expect("loads");
        let result = machine.dispatch(&Dispatch {
            object,
            kernel: "template",
            workgroups: [1, 1, 1],
            workgroup_size: [2 * target.wave_width(), 1, 1],
            kernarg: &[0; 16],
            dynamic_lds_bytes: 0,
        });
        let fault = stopped(result);
        let activities: Vec<Activity> = fault.waves.iter().map(|wave| wave.activity).collect();
        assert_eq!(activities, [Activity::Running, Activity::AtBarrier], "{target}");
        assert!(fault.to_string().contains("wave 1 waits at the barrier before"), "{fault}");
    }
}

#[test]
fn the_texts_of_the_code_are_what_its_words_say() {
    for target in Target::ALL {
        for (text, words) in flag(target).iter().chain(grid_barrier(target)) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let inst = isa::decode(target, &bytes).expect("decodes");
            assert_eq!(isa::disasm::disassemble(target, &inst), *text, "{target}");
        }
    }
}

#[rustfmt::skip]
const GFX950_FLAG: Code = &[
    ("v_readfirstlane_b32 s8, v0", &[0x7e10_0500]),
    ("v_mov_b32_e32 v1, 0", &[0x7e02_0280]),
    ("v_mov_b32_e32 v2, 0", &[0x7e04_0280]),
    ("v_mov_b32_e32 v3, 1", &[0x7e06_0281]),
    ("s_cmp_lg_u32 s8, 0", &[0xbf07_8008]),
    ("s_cbranch_scc1 3", &[0xbf85_0003]),
    ("ds_write_b32 v1, v2", &[0xd81a_0000, 0x0000_0201]),
    ("s_waitcnt lgkmcnt(0)", &[0xbf8c_c07f]),
    ("s_barrier", &[0xbf8a_0000]),
    ("s_cmp_lg_u32 s8, 0", &[0xbf07_8008]),
    ("s_cbranch_scc1 7", &[0xbf85_0007]),
    ("ds_add_rtn_u32 v4, v1, v2", &[0xd840_0000, 0x0400_0201]),
    ("s_waitcnt lgkmcnt(0)", &[0xbf8c_c07f]),
    ("v_readfirstlane_b32 s9, v4", &[0x7e12_0504]),
    ("s_cmp_eq_u32 s9, 0", &[0xbf06_8009]),
    ("s_cbranch_scc1 65530", &[0xbf85_fffa]),
    ("s_endpgm", &[0xbf81_0000]),
    ("ds_add_u32 v1, v3", &[0xd800_0000, 0x0000_0301]),
    ("s_waitcnt lgkmcnt(0)", &[0xbf8c_c07f]),
];

#[rustfmt::skip]
const GFX950_GRID: Code = &[
    ("s_load_dwordx4 s[4:7], s[0:1], 0x0", &[0xc00a_0100, 0x0000_0000]),
    ("s_mov_b64 exec, 1", &[0xbefe_0181]),
    ("v_mov_b32_e32 v1, 0", &[0x7e02_0280]),
    ("v_mov_b32_e32 v2, 0", &[0x7e04_0280]),
    ("v_mov_b32_e32 v3, 1", &[0x7e06_0281]),
    ("s_waitcnt lgkmcnt(0)", &[0xbf8c_c07f]),
    ("global_atomic_add v1, v3, s[4:5]", &[0xdd08_8000, 0x0004_0301]),
    ("global_atomic_add v4, v1, v2, s[4:5] sc0", &[0xdd09_8000, 0x0404_0201]),
    ("s_waitcnt vmcnt(0)", &[0xbf8c_0f70]),
    ("v_readfirstlane_b32 s9, v4", &[0x7e12_0504]),
    ("s_cmp_lt_u32 s9, 3", &[0xbf0a_8309]),
    ("s_cbranch_scc1 65530", &[0xbf85_fffa]),
];

#[rustfmt::skip]
const GFX1100_FLAG: Code = &[
    ("v_readfirstlane_b32 s8, v0", &[0x7e10_0500]),
    ("v_mov_b32_e32 v1, 0", &[0x7e02_0280]),
    ("v_mov_b32_e32 v2, 0", &[0x7e04_0280]),
    ("v_mov_b32_e32 v3, 1", &[0x7e06_0281]),
    ("s_cmp_lg_u32 s8, 0", &[0xbf07_8008]),
    ("s_cbranch_scc1 3", &[0xbfa2_0003]),
    ("ds_store_b32 v1, v2", &[0xd834_0000, 0x0000_0201]),
    ("s_waitcnt lgkmcnt(0)", &[0xbf89_fc07]),
    ("s_barrier", &[0xbfbd_0000]),
    ("s_cmp_lg_u32 s8, 0", &[0xbf07_8008]),
    ("s_cbranch_scc1 7", &[0xbfa2_0007]),
    ("ds_add_rtn_u32 v4, v1, v2", &[0xd880_0000, 0x0400_0201]),
    ("s_waitcnt lgkmcnt(0)", &[0xbf89_fc07]),
    ("v_readfirstlane_b32 s9, v4", &[0x7e12_0504]),
    ("s_cmp_eq_u32 s9, 0", &[0xbf06_8009]),
    ("s_cbranch_scc1 65530", &[0xbfa2_fffa]),
    ("s_endpgm", &[0xbfb0_0000]),
    ("ds_add_u32 v1, v3", &[0xd800_0000, 0x0000_0301]),
    ("s_waitcnt lgkmcnt(0)", &[0xbf89_fc07]),
];

#[rustfmt::skip]
const GFX1100_GRID: Code = &[
    ("s_load_b128 s[4:7], s[0:1], null", &[0xf408_0100, 0xf800_0000]),
    ("s_mov_b32 exec_lo, 1", &[0xbefe_0081]),
    ("v_mov_b32_e32 v1, 0", &[0x7e02_0280]),
    ("v_mov_b32_e32 v2, 0", &[0x7e04_0280]),
    ("v_mov_b32_e32 v3, 1", &[0x7e06_0281]),
    ("s_waitcnt lgkmcnt(0)", &[0xbf89_fc07]),
    ("global_atomic_add_u32 v1, v3, s[4:5]", &[0xdcd6_0000, 0x0004_0301]),
    ("global_atomic_add_u32 v4, v1, v2, s[4:5] glc", &[0xdcd6_4000, 0x0404_0201]),
    ("s_waitcnt vmcnt(0)", &[0xbf89_03f7]),
    ("v_readfirstlane_b32 s9, v4", &[0x7e12_0504]),
    ("s_cmp_lt_u32 s9, 3", &[0xbf0a_8309]),
    ("s_cbranch_scc1 65530", &[0xbfa2_fffa]),
];
