//! Lanes working together: groups of lanes, and all lanes of a workgroup.

use crate::ir::Scalar;

use super::{Expr, KernelBuilder};

/// The workgroup's lanes in groups of equal size, each a run of neighbours inside one wave.
#[derive(Clone, Copy)]
pub struct LaneGroups<'k> {
    k: &'k KernelBuilder,
    lanes: u32,
}

impl KernelBuilder {
    /// Groups of `lanes` lanes: a power of two, at most the wave width.
    #[track_caller]
    pub fn lane_groups(&self, lanes: u32) -> LaneGroups<'_> {
        let wave = self.target().wave_width();
        if lanes.is_power_of_two() && lanes <= wave {
            return LaneGroups { k: self, lanes };
        }
        self.mistake(
            "a group of lanes",
            format!("{lanes} lanes"),
            format!("a power of two, at most {wave}"),
        );
        LaneGroups { k: self, lanes: 1 }
    }

    /// The sum of every work-item's `x`, in every work-item: a butterfly in each wave, then the waves in order,
    /// through LDS. All lanes must be active, and all waves must come here together.
    #[track_caller]
    pub fn workgroup_sum<'k>(&'k self, x: Expr<'k>) -> Expr<'k> {
        self.on_behalf(self.here(), || self.sum_waves(x))
    }

    fn sum_waves<'k>(&'k self, x: Expr<'k>) -> Expr<'k> {
        let sum = self.lane_groups(self.target().wave_width()).sum(x);
        if self.waves() <= 1 {
            return sum;
        }
        let sums = self.lds(&self.fresh_lds_name("wave_sums"), Scalar::F32, &[self.waves()]);
        let wave = self.wave_id();
        self.if_(self.lane_id().eq(0), || sums.store(wave, sum));
        self.barrier();
        let mut total = sums.load(0);
        for wave in 1..self.waves() {
            total = total + sums.load(wave);
        }
        if self.in_loop() {
            // The next round's stores wait for this round's loads.
            self.barrier();
        }
        total
    }
}

impl<'k> LaneGroups<'k> {
    /// Lanes in a group.
    pub fn lanes(self) -> u32 {
        self.lanes
    }

    /// Groups in the workgroup.
    pub fn count(self) -> u32 {
        self.k.workgroup_size() / self.lanes
    }

    /// The lane's index in its group.
    #[track_caller]
    pub fn lane(self) -> Expr<'k> {
        self.k.thread_id() & (self.lanes - 1)
    }

    /// The group's index in the workgroup.
    #[track_caller]
    pub fn group(self) -> Expr<'k> {
        self.k.thread_id().shr_u(self.lanes.trailing_zeros())
    }

    /// The sum of the group's `x`, in each of its lanes: for masks 1, 2, 4, … every lane adds the value of lane
    /// `lane XOR mask` to its own. All lanes of the wave must be active.
    #[track_caller]
    pub fn sum(self, x: Expr<'k>) -> Expr<'k> {
        let mut sum = x;
        for step in 0..self.lanes.trailing_zeros() {
            sum = sum + sum.lane_xor(1 << step);
        }
        sum
    }

    /// The largest of the group's `x` as unsigned numbers, in each of its lanes. All lanes of the wave must be active.
    #[track_caller]
    pub fn max_u(self, x: Expr<'k>) -> Expr<'k> {
        (0..self.lanes.trailing_zeros()).fold(x, |most, step| most.max_u(most.lane_xor(1 << step)))
    }
}
