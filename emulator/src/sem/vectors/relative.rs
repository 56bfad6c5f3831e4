//! Moves whose registers M0 selects: expected registers by the RDNA3 and CDNA3 ISA manuals.

use super::{COMPILER_MODE, Lab, with_exec};
use crate::program::Program;
use crate::wave::{Wave, scalar};
use isa::inst::{Inst, MAX_OPERANDS, Modifiers};
use isa::table::{Lane, Salu};
use isa::{Op, Operand, Target};

/// Runs a move between two registers with this M0: vector register r of lane l holds 1000 · r + l, scalar
/// register r holds 1000 · r.
fn run(target: Target, op: Op, operands: [Operand; 2], m0: u32) -> Wave {
    let encoding = op.row().form(target).expect("the target has it").encoding;
    let mut all = [Operand::None; MAX_OPERANDS];
    all[..2].copy_from_slice(&operands);
    let mods = Modifiers::default();
    let inst = Inst { op, encoding, size_bytes: 4, operands: all, mods, dual: None };
    Lab { inst, ..Lab::on(target, op) }.run_on(u64::MAX, |wave| {
        for register in 10..30 {
            for lane in 0..wave.width as usize {
                let value = 1000 * u32::from(register) + lane as u32;
                wave.vectors.write_lane(register, lane, u32::MAX, value, 0);
            }
            wave.scalars.set(register as u8, 1000 * u32::from(register), 0);
        }
        wave.scalars.set(scalar::M0, m0, 0);
    })
}

#[test]
fn vector_registers_move_by_m0() {
    // M0, result and source, and the register that gets what the other one holds.
    const CASES: &[(Lane, u32, [u8; 2], u16, u16)] = &[
        (Lane::VMovreldB32, 0, [11, 20], 11, 20),
        (Lane::VMovreldB32, 5, [11, 20], 16, 20),
        (Lane::VMovrelsB32, 5, [11, 20], 11, 25),
        (Lane::VMovrelsdB32, 5, [11, 20], 16, 25),
        (Lane::VMovrelsd2B32, 3 << 16 | 5, [11, 20], 14, 25),
    ];
    for (op, m0, [result, source], to, from) in CASES {
        let operands = [Operand::Vgpr(*result), Operand::Vgpr(*source)];
        let wave = run(Target::Gfx1100, Op::Lane(*op), operands, *m0);
        for lane in 0..32 {
            let want = 1000 * u32::from(*from) + lane;
            assert_eq!(wave.vectors.lane(*to, lane as usize), want, "{op:?} M0 = {m0:#x}");
        }
        if *to != u16::from(*result) {
            let kept = 1000 * u32::from(*result);
            assert_eq!(wave.vectors.lane((*result).into(), 0), kept, "{op:?} M0 = {m0:#x}");
        }
    }
}

/// What registers hold afterwards.
type Held = &'static [(u8, u32)];

/// M0, result and source, and what registers hold afterwards.
const SCALAR_CASES: &[(Salu, u32, [u8; 2], Held)] = &[
    (Salu::SMovrelsB32, 4, [11, 20], &[(11, 24_000), (12, 12_000)]),
    (Salu::SMovrelsB64, 4, [12, 20], &[(12, 24_000), (13, 25_000)]),
    (Salu::SMovreldB32, 4, [11, 20], &[(15, 20_000), (11, 11_000)]),
    (Salu::SMovreldB64, 4, [12, 20], &[(16, 20_000), (17, 21_000), (12, 12_000)]),
    (Salu::SMovrelsd2B32, 3 << 16 | 5, [11, 20], &[(14, 25_000), (11, 11_000), (16, 16_000)]),
];

/// Scalar moves that are tested.
pub(super) fn moves() -> impl Iterator<Item = Salu> {
    SCALAR_CASES.iter().map(|(op, ..)| *op)
}

#[test]
fn scalar_registers_move_by_m0() {
    for target in Target::ALL {
        let has = |op: Salu| Op::Salu(op).row().form(target).is_some();
        for (op, m0, [result, source], want) in SCALAR_CASES.iter().filter(|(op, ..)| has(*op)) {
            let operands = [Operand::Sgpr(*result), Operand::Sgpr(*source)];
            let wave = run(target, Op::Salu(*op), operands, *m0);
            for (register, value) in *want {
                assert_eq!(wave.scalars.get(*register), *value, "{target} {op:?} s{register}");
            }
        }
    }
}

/// Index and choice may change between the moves of a run; behind it registers are their own again.
#[test]
fn a_run_of_moves_follows_index_and_choice() {
    const CODE: [u32; 8] = [
        0xbf11_0103, // s_set_gpr_idx_on s3, gpr_idx(SRC0)
        0x7e02_0302, // v_mov_b32_e32 v1, v2
        0xbe80_3204, // s_set_gpr_idx_idx s4
        0x7e0a_0302, // v_mov_b32_e32 v5, v2
        0xbf9d_0008, // s_set_gpr_idx_mode gpr_idx(DST)
        0x7e0c_0302, // v_mov_b32_e32 v6, v2
        0xbf9c_0000, // s_set_gpr_idx_off
        0x7e0e_0302, // v_mov_b32_e32 v7, v2
    ];
    let target = Target::Gfx950;
    let bytes: Vec<u8> = CODE.iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = Program::new(target, 0, [(0, bytes)].into_iter());
    let mut wave = Wave::new(target, [16, 0]);
    wave.n_vectors = [16, 0];
    wave.reset(0, 0, COMPILER_MODE);
    wave.set_mask(scalar::EXEC, u64::MAX, 0);
    for register in 0..16 {
        (0..64).for_each(|lane| {
            wave.vectors.write_lane(register, lane, u32::MAX, 100 * u32::from(register), 0)
        });
    }
    for (register, value) in [(3, 1), (4, 2), (scalar::M0, 0x500)] {
        wave.scalars.set(register, value, 0);
    }
    let (outcome, rules) = with_exec(&mut wave, &program, |exec| exec.run(8, &mut None));
    assert_eq!((outcome, rules), (Ok(0), vec![]));
    let registers: Vec<u32> = (0..16).map(|register| wave.vectors.lane(register, 63)).collect();
    let mut want: Vec<u32> = (0..16).map(|register| 100 * register).collect();
    (want[1], want[5], want[8], want[7]) = (300, 400, 200, 200);
    assert_eq!(registers, want);
    assert_eq!(wave.scalars.get(scalar::M0), 0x8502);
}
