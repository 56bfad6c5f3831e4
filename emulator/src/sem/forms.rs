//! Forms that change where an instruction reads and writes: DPP, SDWA, dual issue.
//!
//! Sources are staged in registers of the emulator's own, the plain meaning runs on them, and a staged
//! result is moved where it belongs. So no meaning knows these forms, and an instruction that moves
//! lanes in place has read all of them before it writes any.

use isa::inst::{Dpp, DppCtrl, Sdwa, SdwaSel, SdwaUnused};

use crate::exec::{Exec, Outcome};
use crate::operand::{Dest, Source};
use crate::prepare::Prepared;
use crate::sem::integer::sign_extend;
use crate::taint::Bits;
use crate::wave::{FIRST_STAGE, ROW_LANES};

/// Stages source 0.
pub(crate) const SOURCE_STAGE: u16 = FIRST_STAGE;
/// Stages source 1.
pub(crate) const SECOND_STAGE: u16 = FIRST_STAGE + 1;
/// Stages a result that SDWA places.
pub(crate) const RESULT_STAGE: u16 = FIRST_STAGE + 2;
/// Stages the result of the X half of a dual-issue pair.
pub(crate) const DUAL_STAGE: u16 = FIRST_STAGE + 4;

/// A dual-issue pair: both halves read their sources before either result is visible. So the first result is
/// staged where the second half reads its register.
pub(crate) fn run_dual(exec: &mut Exec<'_>, inst: &Prepared) -> Outcome {
    (inst.inner)(exec, inst)?;
    if let Some(second) = &inst.dual {
        (second.run)(exec, second)?;
    }
    if inst.final_dst != Dest::None {
        exec.move_staged(inst, DUAL_STAGE);
    }
    Ok(())
}

/// Data-parallel primitives: source 0 comes from other lanes.
pub(crate) fn run_dpp(exec: &mut Exec<'_>, inst: &Prepared) -> Outcome {
    let Some(dpp) = inst.inst.mods.dpp else {
        return exec.refuse(inst, "the DPP controls are missing");
    };
    let readable = if dpp.fetch_inactive { u64::MAX } else { exec.wave.exec() };
    let mut written = 0;
    for lane in 0..exec.wave.width {
        let source =
            source_lane(&dpp, lane, exec.wave.width).filter(|from| readable >> from & 1 == 1);
        let is_selected =
            dpp.row_mask >> (lane / 16) & 1 == 1 && dpp.bank_mask >> (lane % 16 / 4) & 1 == 1;
        let is_written = is_selected && (source.is_some() || dpp.bound_ctrl);
        written |= u64::from(is_written) << lane;
        let bits = source.map_or(Bits::default(), |from| exec.lane_source(inst.unstaged[0], from));
        exec.stage(SOURCE_STAGE, lane, bits);
    }
    let active = exec.wave.active;
    exec.wave.active &= written;
    let outcome = (inst.inner)(exec, inst);
    exec.wave.active = active;
    outcome
}

/// The lane that a lane reads, if there is one.
///
/// Source: CDNA3 ISA manual, "DPP"; RDNA3 ISA manual, "DPP". `row_bcast` takes the last lane of the row
/// or rows before.
fn source_lane(dpp: &Dpp, lane: u32, width: u32) -> Option<u32> {
    let (row, place) = (lane & !15, lane & 15);
    let in_row =
        |place: i64| u32::try_from(place).ok().filter(|place| *place < 16).map(|place| row + place);
    let signed = i64::from(place);
    match dpp.ctrl {
        DppCtrl::QuadPerm(selects) => Some(lane & !3 | u32::from(selects[(lane & 3) as usize] & 3)),
        DppCtrl::RowShl(by) => in_row(signed + i64::from(by)),
        DppCtrl::RowShr(by) => in_row(signed - i64::from(by)),
        DppCtrl::RowRor(by) => Some(row + (place + 16 - u32::from(by & 15)) % 16),
        DppCtrl::WaveShl => Some(lane + 1).filter(|from| *from < width),
        DppCtrl::WaveRol => Some((lane + 1) % width),
        DppCtrl::WaveShr => lane.checked_sub(1),
        DppCtrl::WaveRor => Some((lane + width - 1) % width),
        DppCtrl::RowMirror => Some(row + 15 - place),
        DppCtrl::RowHalfMirror => Some(lane ^ 7),
        DppCtrl::RowBcast15 => row.checked_sub(1),
        DppCtrl::RowBcast31 => (lane >= 32).then_some(31),
        DppCtrl::RowNewbcast(from) | DppCtrl::RowShare(from) => Some(row + u32::from(from & 15)),
        DppCtrl::RowXmask(mask) => Some(row + (place ^ u32::from(mask & 15))),
        DppCtrl::Dpp8(selects) => Some(lane & !7 | u32::from(selects[(lane & 7) as usize] & 7)),
    }
}

/// Sub-dword addressing: parts of sources and of the result.
pub(crate) fn run_sdwa(exec: &mut Exec<'_>, inst: &Prepared) -> Outcome {
    let Some(sdwa) = inst.inst.mods.sdwa else {
        return exec.refuse(inst, "the SDWA controls are missing");
    };
    for lane in 0..exec.wave.width {
        let part = |source: Source, sel: SdwaSel, k: u8| {
            select(exec.lane_source(source, lane), sel, sdwa.sext >> k & 1 == 1)
        };
        let first = part(inst.unstaged[0], sdwa.src0_sel, 0);
        let second = part(inst.unstaged[1], sdwa.src1_sel, 1);
        exec.stage(SOURCE_STAGE, lane, first);
        exec.stage(SECOND_STAGE, lane, second);
    }
    (inst.inner)(exec, inst)?;
    if inst.dst[0] == Dest::Vector(RESULT_STAGE) {
        exec.place_sdwa(inst, sdwa);
    }
    Ok(())
}

/// First bit and width of a part.
fn extent(sel: SdwaSel) -> (u32, u32) {
    match sel {
        SdwaSel::Byte0 => (0, 8),
        SdwaSel::Byte1 => (8, 8),
        SdwaSel::Byte2 => (16, 8),
        SdwaSel::Byte3 => (24, 8),
        SdwaSel::Word0 => (0, 16),
        SdwaSel::Word1 => (16, 16),
        SdwaSel::Dword => (0, 32),
    }
}

fn part_mask(width: u32) -> u32 {
    u32::MAX >> (32 - width)
}

fn select(bits: Bits, sel: SdwaSel, is_signed: bool) -> Bits {
    let (first, width) = extent(sel);
    let cut = |bits: u64| {
        let part = (bits >> first) as u32 & part_mask(width);
        u64::from(if is_signed { sign_extend(part, width) } else { part })
    };
    Bits { value: cut(bits.value), undefined: cut(bits.undefined) }
}

impl Exec<'_> {
    /// Value and undefined bits of a 32-bit source in a lane.
    pub(crate) fn lane_source(&self, source: Source, lane: u32) -> Bits {
        match source {
            Source::Vector(register) => self.wave.vectors.lane_bits(register, lane as usize),
            uniform => {
                let low = |bits: u64| bits & 0xffff_ffff;
                Bits {
                    value: low(self.uniform(uniform)),
                    undefined: low(self.uniform_undefined(uniform)),
                }
            }
        }
    }

    fn stage(&mut self, register: u16, lane: u32, bits: Bits) {
        let (value, undefined) = (bits.value as u32, bits.undefined as u32);
        self.wave.vectors.write_lane(register, lane as usize, u32::MAX, value, undefined);
    }

    /// Moves a staged result to where it belongs.
    fn move_staged(&mut self, inst: &Prepared, stage: u16) {
        let Dest::Vector(register) = inst.final_dst else { return };
        for row in self.rows() {
            let lanes = self.wave.active_row(row);
            let values = *self.wave.vectors.row(stage, row);
            let is_tainted = self.wave.vectors.is_tainted(stage, row);
            self.wave.vectors.write_row(register, row, lanes, u32::MAX, &values);
            if is_tainted {
                let undefined = self.wave.vectors.undefined_row(stage, row);
                self.wave.vectors.taint_row(register, row, lanes, u32::MAX, &undefined);
                self.note_undefined(inst);
            }
        }
    }

    /// Puts the low bits of a staged result into a part of the destination.
    fn place_sdwa(&mut self, inst: &Prepared, sdwa: Sdwa) {
        let Dest::Vector(register) = inst.final_dst else { return };
        let (first, width) = extent(sdwa.dst_sel);
        let place = |bits: u32| match sdwa.dst_unused {
            SdwaUnused::Sext => sign_extend(bits & part_mask(width), width) << first,
            SdwaUnused::Pad | SdwaUnused::Preserve => (bits & part_mask(width)) << first,
        };
        let mask = match sdwa.dst_unused {
            SdwaUnused::Preserve => part_mask(width) << first,
            SdwaUnused::Pad | SdwaUnused::Sext => u32::MAX,
        };
        for row in self.rows() {
            let lanes = self.wave.active_row(row);
            let values = self.wave.vectors.row(RESULT_STAGE, row).map(place);
            let undefined: [u32; ROW_LANES] =
                self.wave.vectors.undefined_row(RESULT_STAGE, row).map(place);
            self.wave.vectors.write_row(register, row, lanes, mask, &values);
            if undefined.iter().any(|bits| *bits != 0) {
                self.wave.vectors.taint_row(register, row, lanes, mask, &undefined);
                self.note_undefined(inst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(ctrl: DppCtrl, width: u32) -> Vec<Option<u32>> {
        let dpp =
            Dpp { ctrl, row_mask: 0xf, bank_mask: 0xf, bound_ctrl: false, fetch_inactive: false };
        (0..width).map(|lane| source_lane(&dpp, lane, width)).collect()
    }

    #[test]
    fn rows_shift_without_crossing_their_borders() {
        let shifted = sources(DppCtrl::RowShr(1), 64);
        assert_eq!(
            (shifted[0], shifted[1], shifted[16], shifted[17]),
            (None, Some(0), None, Some(16))
        );
        let shifted = sources(DppCtrl::RowShl(4), 32);
        assert_eq!((shifted[11], shifted[12], shifted[27]), (Some(15), None, Some(31)));
    }

    #[test]
    fn broadcasts_take_the_last_lane_of_the_rows_before() {
        let last = sources(DppCtrl::RowBcast15, 64);
        assert_eq!(
            (last[0], last[15], last[16], last[31], last[32], last[63]),
            (None, None, Some(15), Some(15), Some(31), Some(47))
        );
        let last = sources(DppCtrl::RowBcast31, 64);
        assert_eq!((last[31], last[32], last[63]), (None, Some(31), Some(31)));
    }

    #[test]
    fn permutations_stay_in_their_groups() {
        assert_eq!(
            sources(DppCtrl::QuadPerm([1, 0, 3, 2]), 32)[4..8],
            [Some(5), Some(4), Some(7), Some(6)]
        );
        assert_eq!(sources(DppCtrl::RowXmask(8), 32)[17], Some(25));
        assert_eq!(sources(DppCtrl::RowHalfMirror, 32)[9], Some(14));
        assert_eq!(sources(DppCtrl::RowMirror, 32)[17], Some(30));
        assert_eq!(sources(DppCtrl::RowRor(1), 32)[16], Some(31));
        assert_eq!(sources(DppCtrl::Dpp8([7, 6, 5, 4, 3, 2, 1, 0]), 32)[8], Some(15));
    }

    #[test]
    fn parts_of_a_word() {
        let bits = Bits { value: 0x80ff_7f01, undefined: 0xff00_0000 };
        assert_eq!(select(bits, SdwaSel::Word1, false), Bits { value: 0x80ff, undefined: 0xff00 });
        assert_eq!(select(bits, SdwaSel::Byte2, true), Bits { value: 0xffff_ffff, undefined: 0 });
        assert_eq!(select(bits, SdwaSel::Byte3, true).undefined, 0xffff_ffff);
    }
}
