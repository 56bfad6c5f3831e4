//! Moves between lanes, to scalar registers, and to accumulation registers.

use isa::table::Lane;

use crate::checks::undefined;
use crate::exec::{Exec, Outcome};
use crate::operand::{Dest, Source};
use crate::prepare::Prepared;
use crate::sem::Meaning::{self, Exact};
use crate::sem::relative;
use crate::taint::{self, Bits};

#[rustfmt::skip]
pub(crate) fn meaning(op: Lane) -> Meaning {
    match op {
        Lane::VNop => Exact(|_, _| Ok(())),
        Lane::VReadfirstlaneB32 => Exact(|x, i| {
            let active = x.wave.active;
            x.read_lane(i, if active == 0 { 0 } else { active.trailing_zeros() })
        }),
        Lane::VReadlaneB32 => Exact(|x, i| { let lane = x.lane_select(i); x.read_lane(i, lane) }),
        Lane::VMovreldB32 => Exact(|x, i| x.move_relative(i, |m0| (0, m0))),
        Lane::VMovrelsB32 => Exact(|x, i| x.move_relative(i, |m0| (m0, 0))),
        Lane::VMovrelsdB32 => Exact(|x, i| x.move_relative(i, |m0| (m0, m0))),
        Lane::VMovrelsd2B32 => Exact(|x, i| x.move_relative(i, relative::pair)),
        Lane::VWritelaneB32 => Exact(|x, i| x.write_lane(i)),
        Lane::VMbcntLoU32B32 => Exact(|x, i| x.count_lanes_below(i, 0)),
        Lane::VMbcntHiU32B32 => Exact(|x, i| x.count_lanes_below(i, 32)),
        Lane::VSwapB32 => Exact(|x, i| x.swap(i, |lane| lane, |_| true)),
        Lane::VPermlane16SwapB32 => Exact(|x, i| x.swap(i, |lane| lane ^ 16, |lane| lane & 16 != 0)),
        Lane::VPermlane32SwapB32 => Exact(|x, i| x.swap(i, |lane| lane ^ 32, |lane| lane & 32 != 0)),
        Lane::VPermlane16B32 => Exact(|x, i| x.permute_rows(i, 0)),
        Lane::VPermlanex16B32 => Exact(|x, i| x.permute_rows(i, 16)),
        // A wave32 has no other half to exchange with (RDNA3 ISA manual, V_PERMLANE64_B32).
        Lane::VPermlane64B32 => Exact(|_, _| Ok(())),
        Lane::VAccvgprReadB32 | Lane::VAccvgprWriteB32 | Lane::VAccvgprMovB32 => Exact(|x, i| x.int1(i, |a| a, taint::each)),
    }
}

impl Exec<'_> {
    fn read_lane(&mut self, inst: &Prepared, lane: u32) -> Outcome {
        let bits = self.lane_source(inst.src[0], lane);
        self.set_scalar32(inst, inst.dst[0], bits);
        Ok(())
    }

    /// The lane that a scalar source selects, modulo the width of the wave.
    fn lane_select(&mut self, inst: &Prepared) -> u32 {
        if self.uniform_undefined(inst.src[1]) & u64::from(self.wave.width - 1) != 0 {
            undefined::address(self, inst, None, &undefined::slots_of(inst, 1));
        }
        self.uniform(inst.src[1]) as u32 & (self.wave.width - 1)
    }

    fn write_lane(&mut self, inst: &Prepared) -> Outcome {
        let lane = self.lane_select(inst);
        let bits = self.lane_source(inst.src[0], lane);
        if let Dest::Vector(register) = inst.dst[0] {
            let (value, undefined) = (bits.value as u32, bits.undefined as u32);
            self.wave.vectors.write_lane(register, lane as usize, u32::MAX, value, undefined);
            if undefined != 0 {
                self.note_undefined(inst);
            }
        }
        Ok(())
    }

    /// Bits of source 0 that belong to lanes below this one, of the 32 lanes from `first` on, plus source 1.
    fn count_lanes_below(&mut self, inst: &Prepared, first: u32) -> Outcome {
        let count = |lane: u32, bits: u32, base: u32| {
            let n_below = lane.saturating_sub(first).min(32);
            let below = if n_below == 32 { u32::MAX } else { (1 << n_below) - 1 };
            (bits & below).count_ones().wrapping_add(base)
        };
        self.numbered(inst, count, taint::any)
    }

    /// Exchanges lanes of two registers: where `moves` holds, lane `l` of the first with lane `other(l)` of
    /// the second. A lane is written only when it is active and, unless fetching inactive lanes is on, so
    /// is its source (else zero with BOUND_CTRL).
    fn swap(
        &mut self,
        inst: &Prepared,
        other: impl Fn(usize) -> usize,
        moves: impl Fn(usize) -> bool,
    ) -> Outcome {
        let [Dest::Vector(first), Dest::Vector(second)] = inst.dst else { return Ok(()) };
        let active = self.wave.active;
        let readable = if inst.inst.mods.op_sel & 1 != 0 { u64::MAX } else { active };
        let fetch = |exec: &Self, register: u16, from: usize| match readable >> from & 1 {
            1 => Some(exec.wave.vectors.lane_bits(register, from)),
            _ => (inst.inst.mods.op_sel & 2 != 0).then(Bits::default),
        };
        for lane in (0..self.wave.width as usize).filter(|lane| moves(*lane)) {
            let partner = other(lane);
            let pair = (fetch(self, first, lane), fetch(self, second, partner));
            for (register, to, bits) in [(second, partner, pair.0), (first, lane, pair.1)] {
                if let Some(bits) = bits.filter(|_| active >> to & 1 == 1) {
                    self.wave.vectors.write_lane(
                        register,
                        to,
                        u32::MAX,
                        bits.value as u32,
                        bits.undefined as u32,
                    );
                    if bits.undefined != 0 {
                        self.note_undefined(inst);
                    }
                }
            }
        }
        Ok(())
    }

    /// Each lane reads the lane of its row, or of the other row of the pair, that four bits select.
    fn permute_rows(&mut self, inst: &Prepared, other_row: u32) -> Outcome {
        let Dest::Vector(register) = inst.dst[0] else { return Ok(()) };
        if self.uniform_undefined(inst.src[1]) & 0xffff_ffff
            | self.uniform_undefined(inst.src[2]) & 0xffff_ffff
            != 0
        {
            undefined::address(
                self,
                inst,
                None,
                &[undefined::slots_of(inst, 1), undefined::slots_of(inst, 2)].concat(),
            );
        }
        let low = |source: Source| self.uniform(source) & 0xffff_ffff;
        let selects = low(inst.src[1]) | low(inst.src[2]) << 32;
        let (fetch_inactive, bound_ctrl) =
            (inst.inst.mods.op_sel & 1 != 0, inst.inst.mods.op_sel & 2 != 0);
        let active = self.wave.active;
        let source =
            |lane: u32| (lane & !15 ^ other_row) + (selects >> (4 * (lane & 15)) & 15) as u32;
        let lanes = (0..self.wave.width).filter(|lane| active >> lane & 1 == 1);
        let fetched: Vec<(u32, Bits)> = lanes
            .filter_map(|lane| {
                let from = source(lane);
                let is_readable = fetch_inactive || active >> from & 1 == 1;
                match (is_readable, bound_ctrl) {
                    (true, _) => Some((lane, self.lane_source(inst.src[0], from))),
                    (false, true) => Some((lane, Bits::default())),
                    (false, false) => None,
                }
            })
            .collect();
        for (lane, bits) in fetched {
            self.wave.vectors.write_lane(
                register,
                lane as usize,
                u32::MAX,
                bits.value as u32,
                bits.undefined as u32,
            );
            if bits.undefined != 0 {
                self.note_undefined(inst);
            }
        }
        Ok(())
    }

    /// Exchanges two 16-bit registers.
    pub(crate) fn swap_halves(&mut self, inst: &Prepared) -> Outcome {
        let [Dest::Vector(first), Dest::Vector(second)] = inst.dst else { return Ok(()) };
        // OP_SEL bit 3 is the destination's half, bit 0 source 0's.
        let shift = |bit: u8| if inst.inst.mods.op_sel & bit != 0 { 16 } else { 0 };
        let (first_shift, second_shift) = (shift(8), shift(1));
        let active = self.wave.active;
        for lane in (0..self.wave.width as usize).filter(|lane| active >> lane & 1 == 1) {
            let (a, b) = (
                self.wave.vectors.lane_bits(first, lane),
                self.wave.vectors.lane_bits(second, lane),
            );
            let move_half = |bits: u64, from: u32, to: u32| ((bits >> from & 0xffff) << to) as u32;
            for (register, from, to, bits) in
                [(first, second_shift, first_shift, b), (second, first_shift, second_shift, a)]
            {
                let (value, undefined) =
                    (move_half(bits.value, from, to), move_half(bits.undefined, from, to));
                self.wave.vectors.write_lane(register, lane, 0xffff << to, value, undefined);
                if undefined != 0 {
                    self.note_undefined(inst);
                }
            }
        }
        Ok(())
    }
}
