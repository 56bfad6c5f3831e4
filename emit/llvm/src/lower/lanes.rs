//! Launch values and the exchange of values among the lanes of a wave.

use dsl::ir::{Special, Value};
use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, InstructionOpcode, IntValue};
use isa::Target;

use super::{Lowering, as_int, malformed};
use crate::error::CompileError;

/// DPP controls, as the `dpp_ctrl` field spells them ("AMD Instinct MI300" and "RDNA3" ISA manuals).
mod dpp {
    /// Any permutation of the four lanes of a quad, two bits a lane (both targets).
    pub fn quad_xor(mask: u32) -> u32 {
        (0..4).map(|lane| (lane ^ mask) << (2 * lane)).sum()
    }
    /// Rotation of a row of 16 lanes by 8: lane XOR 8 (CDNA).
    pub const ROW_ROTATE_8: u32 = 0x128;
    /// A row of 16 lanes reversed: lane XOR 15 (CDNA).
    pub const ROW_MIRROR: u32 = 0x140;
    /// Each half of a row reversed: lane XOR 7 (CDNA).
    pub const ROW_HALF_MIRROR: u32 = 0x141;
    /// Lane XOR 0…15 within a row of 16 lanes (RDNA); the mask is added.
    pub const ROW_XMASK: u32 = 0x160;
}

/// Lanes of a DPP row.
const ROW_LANES: u32 = 16;

impl<'ctx> Lowering<'ctx, '_> {
    pub(super) fn special(&self, special: Special) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let width = self.kernel.target.wave_width();
        match special {
            Special::WorkgroupIdX => self.call("llvm.amdgcn.workgroup.id.x", &[], &[]),
            Special::WorkgroupIdY => self.call("llvm.amdgcn.workgroup.id.y", &[], &[]),
            Special::WorkgroupIdZ => self.call("llvm.amdgcn.workgroup.id.z", &[], &[]),
            Special::ThreadId => self.thread_id(),
            Special::LaneId => self.integer(InstructionOpcode::And, self.thread_id()?, width - 1),
            // The quotient is the same in a whole wave, which LLVM cannot know.
            Special::WaveId => {
                let wave =
                    self.integer(InstructionOpcode::LShr, self.thread_id()?, width.ilog2())?;
                self.first_lane(wave)
            }
        }
    }

    fn thread_id(&self) -> Result<BasicValueEnum<'ctx>, CompileError> {
        self.call("llvm.amdgcn.workitem.id.x", &[], &[])
    }

    /// One instruction on an i32 and a constant.
    fn integer(
        &self,
        opcode: InstructionOpcode,
        left: BasicValueEnum<'ctx>,
        right: u32,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        Ok(self.builder.build_binop(opcode, left, self.word(right).into(), "")?)
    }

    fn word(&self, value: u32) -> IntValue<'ctx> {
        self.context.i32_type().const_int(u64::from(value), false)
    }

    fn i32_type(&self) -> BasicTypeEnum<'ctx> {
        self.context.i32_type().into()
    }

    pub(super) fn read_first_lane(
        &self,
        value: Value,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        self.on_bits(self.value(value)?, |bits| self.first_lane(bits))
    }

    fn first_lane(&self, bits: BasicValueEnum<'ctx>) -> Result<BasicValueEnum<'ctx>, CompileError> {
        self.call("llvm.amdgcn.readfirstlane", &[self.i32_type()], &[bits])
    }

    /// The exchange by the cheapest route of the target: DPP within a row, then across rows.
    pub(super) fn lane_xor(
        &self,
        value: Value,
        mask: u32,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        if mask == 0 || mask >= self.kernel.target.wave_width() {
            return Err(malformed(format!("a lane exchange with mask {mask}")));
        }
        self.on_bits(self.value(value)?, |bits| match self.kernel.target {
            Target::Gfx1100 => self.lane_xor_rdna(bits, mask),
            Target::Gfx950 => self.lane_xor_cdna(bits, mask),
        })
    }

    /// Applies a function of 32 bits to a 32-bit value of any type.
    fn on_bits(
        &self,
        value: BasicValueEnum<'ctx>,
        apply: impl FnOnce(BasicValueEnum<'ctx>) -> Result<BasicValueEnum<'ctx>, CompileError>,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let bits = self.builder.build_bit_cast(value, self.i32_type(), "")?;
        Ok(self.builder.build_bit_cast(apply(bits)?, value.get_type(), "")?)
    }

    /// `row_xmask` within a row; `v_permlanex16`, which picks lanes of the other row, across the two rows.
    /// The old values are irrelevant, here and in the other moves: every source lane exists and is active, by
    /// the contract of the operation.
    fn lane_xor_rdna(
        &self,
        bits: BasicValueEnum<'ctx>,
        mask: u32,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        if mask < ROW_LANES {
            return self.move_dpp(bits, dpp::ROW_XMASK + mask);
        }
        let within = mask - ROW_LANES;
        let selector = |lanes: std::ops::Range<u32>| {
            lanes.enumerate().map(|(nibble, lane)| (lane ^ within) << (4 * nibble)).sum()
        };
        let (low, high) = (self.word(selector(0..8)), self.word(selector(8..16)));
        let old = self.context.i32_type().get_poison();
        let off = self.context.bool_type().const_zero();
        let args = [old.into(), bits, low.into(), high.into(), off.into(), off.into()];
        self.call("llvm.amdgcn.permlanex16", &[self.i32_type()], &args)
    }

    /// Halves by `v_permlane32_swap`, rows of a half by `ds_swizzle`, lanes of a row by DPP.
    fn lane_xor_cdna(
        &self,
        bits: BasicValueEnum<'ctx>,
        mask: u32,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let half = ROW_LANES * 2;
        let bits = if mask & half != 0 { self.swap_halves(bits)? } else { bits };
        match mask % half {
            0 => Ok(bits),
            within_row if within_row < ROW_LANES => self.row_xor_cdna(bits, within_row),
            across_rows => self.swizzle(bits, across_rows),
        }
    }

    /// At most two moves: one to the right quad, one within the quad.
    fn row_xor_cdna(
        &self,
        bits: BasicValueEnum<'ctx>,
        mask: u32,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let (control, done) = match mask / 4 {
            0 => return self.move_dpp(bits, dpp::quad_xor(mask)),
            1 => (dpp::ROW_HALF_MIRROR, 7),
            2 => (dpp::ROW_ROTATE_8, 8),
            _ => (dpp::ROW_MIRROR, 15),
        };
        let moved = self.move_dpp(bits, control)?;
        match mask ^ done {
            0 => Ok(moved),
            rest => self.move_dpp(moved, dpp::quad_xor(rest)),
        }
    }

    /// `v_mov_b32` with DPP on all rows and banks.
    fn move_dpp(
        &self,
        bits: BasicValueEnum<'ctx>,
        control: u32,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        const ALL: u32 = 0xf;
        let old = self.context.i32_type().get_poison();
        let bound_control = self.context.bool_type().const_all_ones();
        let args = [
            old.into(),
            bits,
            self.word(control).into(),
            self.word(ALL).into(),
            self.word(ALL).into(),
            bound_control.into(),
        ];
        self.call("llvm.amdgcn.update.dpp", &[self.i32_type()], &args)
    }

    /// `ds_swizzle_b32` in its bit-mask mode: within 32 lanes, lane XOR mask.
    fn swizzle(
        &self,
        bits: BasicValueEnum<'ctx>,
        mask: u32,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        const KEEP_ALL: u32 = 0x1f;
        let pattern = self.word(mask << 10 | KEEP_ALL);
        self.call("llvm.amdgcn.ds.swizzle", &[], &[bits, pattern.into()])
    }

    /// Lane XOR 32. With the value in both operands, the swap leaves the low half's values in both halves
    /// of the first result and the high half's in both halves of the second.
    fn swap_halves(
        &self,
        bits: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        const SWAP: &str = "llvm.amdgcn.permlane32.swap";
        let off = self.context.bool_type().const_zero();
        let swapped = match self.call(SWAP, &[], &[bits, bits, off.into(), off.into()])? {
            BasicValueEnum::StructValue(pair) => pair,
            _ => return Err(malformed(format!("{SWAP} returns no pair"))),
        };
        let from_low = self.builder.build_extract_value(swapped, 0, "")?;
        let from_high = self.builder.build_extract_value(swapped, 1, "")?;
        let half_bit =
            as_int(self.integer(InstructionOpcode::And, self.thread_id()?, ROW_LANES * 2)?)
                .ok_or_else(|| malformed("a lane index that is no integer".to_owned()))?;
        let in_low =
            self.builder.build_int_compare(IntPredicate::EQ, half_bit, self.word(0), "")?;
        Ok(self.builder.build_select(in_low, from_high, from_low, "")?)
    }
}
