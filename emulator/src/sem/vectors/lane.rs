//! Lane moves, and the forms that move lanes or parts: each lane holds its own number.

use super::Lab;
use crate::wave::{FIRST_ACC, Wave};
use isa::format::Encoding;
use isa::inst::{Dpp, DppCtrl, Dual, Inst, MAX_OPERANDS, Modifiers, Sdwa, SdwaSel, SdwaUnused};
use isa::table::{Float, Int, Lane};
use isa::{Op, Operand, Target};

/// Registers that tests use.
const A: u8 = 20;
const B: u8 = 24;
const S: u8 = 30;

/// An instruction on registers of the test's choice.
fn inst(target: Target, op: Op, operands: &[Operand]) -> Inst {
    let encoding = op.row().form(target).expect("the target has it").encoding;
    let mut all = [Operand::None; MAX_OPERANDS];
    all[..operands.len()].copy_from_slice(operands);
    Inst { op, encoding, size_bytes: 4, operands: all, mods: Modifiers::default(), dual: None }
}

/// Lane l starts with l in A, 100 + l in B; returns A and B afterwards.
fn run(target: Target, inst: Inst, exec: u64) -> (Vec<u32>, Vec<u32>, Wave) {
    let wave = Lab { inst, ..Lab::on(target, inst.op) }.run_on(exec, |wave| {
        for lane in 0..wave.width as usize {
            wave.vectors.write_lane(A.into(), lane, u32::MAX, lane as u32, 0);
            wave.vectors.write_lane(B.into(), lane, u32::MAX, 100 + lane as u32, 0);
        }
        wave.scalars.set(S, 0x7654_3210, 0);
        wave.scalars.set(S + 1, 0x0123_4567, 0);
    });
    let read = |register: u8| {
        (0..wave.width as usize).map(|lane| wave.vectors.lane(register.into(), lane)).collect()
    };
    (read(A), read(B), wave)
}

const V: [Operand; 2] = [Operand::Vgpr(A), Operand::Vgpr(B)];

#[test]
fn swaps_exchange_whole_registers_and_halves_of_waves() {
    let swap = |op: Lane, exec: u64| {
        let (a, b, _) = run(Target::Gfx950, inst(Target::Gfx950, Op::Lane(op), &V), exec);
        (a, b)
    };
    let (a, b) = swap(Lane::VSwapB32, u64::MAX);
    assert_eq!((a[5], b[5]), (105, 5));
    // The odd rows of the first register meet the even rows of the second.
    let (a, b) = swap(Lane::VPermlane16SwapB32, u64::MAX);
    assert_eq!((a[3], a[19], a[35], a[51]), (3, 103, 35, 135));
    assert_eq!((b[3], b[19], b[35], b[51]), (19, 119, 51, 151));
    let (a, b) = swap(Lane::VPermlane32SwapB32, u64::MAX);
    assert_eq!((a[3], a[35], b[3], b[35]), (3, 103, 35, 135));
    // Inactive lanes neither give nor take.
    let (a, b) = swap(Lane::VPermlane32SwapB32, 0xffff_ffff);
    assert_eq!((a[35], b[3]), (35, 103));
}

#[test]
fn permutations_of_rows() {
    let target = Target::Gfx1100;
    let permute = |op: Lane, op_sel: u8, exec: u64| {
        let operands = [Operand::Vgpr(B), Operand::Vgpr(A), Operand::Sgpr(S), Operand::Sgpr(S + 1)];
        let mut inst = inst(target, Op::Lane(op), &operands);
        inst.mods.op_sel = op_sel;
        run(target, inst, exec).1
    };
    // Lanes 0–7 keep their place, lanes 8–15 read 7, 6, … 0.
    let result = permute(Lane::VPermlane16B32, 0, u64::MAX);
    assert_eq!((result[3], result[8], result[15], result[24]), (3, 7, 0, 23));
    let result = permute(Lane::VPermlanex16B32, 0, u64::MAX);
    assert_eq!((result[3], result[8], result[24]), (19, 23, 7));
    // An inactive source: kept, fetched with FI (bit 0), zero with BOUND_CTRL (bit 1).
    let without_lane_7 = !(1 << 7);
    assert_eq!(permute(Lane::VPermlane16B32, 0, without_lane_7)[8], 108);
    assert_eq!(permute(Lane::VPermlane16B32, 1, without_lane_7)[8], 7);
    assert_eq!(permute(Lane::VPermlane16B32, 2, without_lane_7)[8], 0);
}

#[test]
fn reading_and_writing_one_lane() {
    let read = |op: Lane, select: Option<i32>, exec: u64| {
        let mut operands = vec![Operand::Sgpr(8), Operand::Vgpr(A)];
        operands.extend(select.map(Operand::Int));
        run(Target::Gfx1100, inst(Target::Gfx1100, Op::Lane(op), &operands), exec).2.scalars.get(8)
    };
    assert_eq!(read(Lane::VReadlaneB32, Some(5), 1), 5);
    assert_eq!(read(Lane::VReadlaneB32, Some(37), 1), 5, "modulo the width of the wave");
    assert_eq!(read(Lane::VReadfirstlaneB32, None, 0b1100), 2);
    assert_eq!(read(Lane::VReadfirstlaneB32, None, 0), 0);
    let operands = [Operand::Vgpr(A), Operand::Int(-1), Operand::Int(9)];
    let written =
        run(Target::Gfx1100, inst(Target::Gfx1100, Op::Lane(Lane::VWritelaneB32), &operands), 1).0;
    assert_eq!((written[8], written[9]), (8, u32::MAX));
}

#[test]
fn counting_lanes_below() {
    let count = |op: Lane| {
        let operands = [Operand::Vgpr(A), Operand::Int(-1), Operand::Int(5)];
        run(Target::Gfx950, inst(Target::Gfx950, Op::Lane(op), &operands), u64::MAX).0
    };
    let low = count(Lane::VMbcntLoU32B32);
    assert_eq!((low[0], low[31], low[32], low[63]), (5, 36, 37, 37));
    let high = count(Lane::VMbcntHiU32B32);
    assert_eq!((high[31], high[32], high[33], high[63]), (5, 5, 6, 36));
}

#[test]
fn accumulation_registers_hold_their_own_values() {
    let target = Target::Gfx950;
    let (_, _, wave) = run(
        target,
        inst(target, Op::Lane(Lane::VAccvgprWriteB32), &[Operand::Acc(A), Operand::Vgpr(B)]),
        u64::MAX,
    );
    assert_eq!(wave.vectors.lane(FIRST_ACC + u16::from(A), 7), 107);
    assert_eq!(wave.vectors.lane(A.into(), 7), 7);
}

#[test]
fn moving_lanes_in_place_reads_before_it_writes() {
    for target in Target::ALL {
        let mut inst = inst(target, Op::Int(Int::VMovB32), &[Operand::Vgpr(A), Operand::Vgpr(A)]);
        let ctrl = DppCtrl::RowShr(1);
        inst.mods.dpp = Some(Dpp {
            ctrl,
            row_mask: 0xf,
            bank_mask: 0xf,
            bound_ctrl: false,
            fetch_inactive: false,
        });
        let result = run(target, inst, u64::MAX).0;
        assert_eq!(
            (result[0], result[1], result[15], result[16], result[17]),
            (0, 0, 14, 16, 16),
            "{target}"
        );
    }
}

#[test]
fn lane_moves_respect_masks_and_inactive_sources() {
    let target = Target::Gfx950;
    let moved = |row_mask: u8, bank_mask: u8, bound_ctrl: bool, exec: u64| {
        let mut inst = inst(target, Op::Int(Int::VMovB32), &[Operand::Vgpr(B), Operand::Vgpr(A)]);
        let ctrl = DppCtrl::QuadPerm([1, 0, 3, 2]);
        inst.mods.dpp = Some(Dpp { ctrl, row_mask, bank_mask, bound_ctrl, fetch_inactive: false });
        run(target, inst, exec).1
    };
    let result = moved(0b0010, 0b0001, false, u64::MAX);
    assert_eq!((result[0], result[16], result[20], result[32]), (100, 17, 120, 132));
    let result = moved(0xf, 0xf, false, 0b1101);
    assert_eq!((result[0], result[1], result[2]), (100, 101, 3), "lane 1 is inactive");
    assert_eq!(moved(0xf, 0xf, true, 0b1101)[0], 0);
}

#[test]
fn parts_of_registers() {
    let target = Target::Gfx950;
    let add = |dst_sel: SdwaSel, dst_unused: SdwaUnused| {
        let mut inst = inst(
            target,
            Op::Int(Int::VAddNcU32),
            &[Operand::Vgpr(8), Operand::Vgpr(A), Operand::Vgpr(B)],
        );
        inst.mods.sdwa = Some(Sdwa {
            dst_sel,
            dst_unused,
            src0_sel: SdwaSel::Byte1,
            src1_sel: SdwaSel::Word1,
            sext: 0b01,
        });
        let wave = Lab { inst, ..Lab::on(target, inst.op) }.run_on(u64::MAX, |wave| {
            for lane in 0..64 {
                // −2 in byte 1, 7 in word 1.
                wave.vectors.write_lane(A.into(), lane, u32::MAX, 0x1234_fe56, 0);
                wave.vectors.write_lane(B.into(), lane, u32::MAX, 0x0007_5555, 0);
                wave.vectors.write_lane(8, lane, u32::MAX, 0xaaaa_aaaa, 0);
            }
        });
        wave.vectors.lane(8, 40)
    };
    assert_eq!(add(SdwaSel::Dword, SdwaUnused::Pad), 5);
    assert_eq!(add(SdwaSel::Word1, SdwaUnused::Pad), 0x0005_0000);
    assert_eq!(add(SdwaSel::Byte2, SdwaUnused::Preserve), 0xaa05_aaaa);
    assert_eq!(add(SdwaSel::Byte0, SdwaUnused::Sext), 5);
}

#[test]
fn both_halves_of_a_pair_read_before_either_writes() {
    let target = Target::Gfx1100;
    let mut pair = inst(target, Op::Int(Int::VMovB32), &[Operand::Vgpr(A), Operand::Vgpr(B)]);
    pair.encoding = Encoding::Vopd;
    let mut operands = [Operand::None; MAX_OPERANDS];
    operands[..2].copy_from_slice(&[Operand::Vgpr(B), Operand::Vgpr(A)]);
    pair.dual = Some(Dual { op: Op::Int(Int::VMovB32), operands });
    let (a, b, _) = run(target, pair, 0xffff);
    assert_eq!((a[3], b[3], a[20], b[20]), (103, 3, 20, 120));
    // An accumulating half adds to what its destination held before.
    let mut operands = [Operand::None; MAX_OPERANDS];
    operands[..3].copy_from_slice(&[Operand::Vgpr(B), Operand::Int(0), Operand::Vgpr(A)]);
    pair.dual = Some(Dual { op: Op::Float(Float::VFmacF32), operands });
    assert_eq!(run(target, pair, u64::MAX).1[3], 103);
}
