//! Gives the two sides of a copy the same registers, so that the copy vanishes, wherever both are never alive at once.
//!
//! Registers that have become one form a bundle: a tuple in which each of them has an offset. Liveness stays a matter
//! of single registers, so that a scalar may become an element of the vector it is packed into.

use super::liveness::{Liveness, Ranges, overlap, unite};
use super::mir::{Class, Function, Inst, Kind, Part, Reg, Slot};

/// The largest tuple that any instruction takes.
const MAX_TUPLE: u32 = 32;

/// Registers that are allocated together.
pub struct Bundle {
    /// Their file.
    pub class: Class,
    /// What the first register's number must be a multiple of.
    pub align: u32,
    /// The number of the first register, if the hardware fixes it.
    pub fixed: Option<u32>,
    /// Where each register of the bundle is alive.
    pub ranges: Vec<Ranges>,
    /// Whether its members are to stay in accumulation registers.
    pub parked: bool,
    /// Members, for messages.
    pub members: Vec<Reg>,
}

/// All bundles, and where each virtual register lies in one.
pub struct Bundles {
    /// The bundles; those that were merged into others are `None`.
    pub bundles: Vec<Option<Bundle>>,
    /// Bundle and offset of every virtual register.
    pub places: Vec<(u32, u32)>,
    /// Copies that remain, as wishes for the allocation: bundles that would like a distance.
    pub wishes: Vec<(u32, u32, i64)>,
}

/// Merges what can be merged, the copies of inner loops first.
pub fn coalesce(function: &Function, liveness: &Liveness) -> Bundles {
    let mut bundles = Bundles::singles(function, liveness);
    let uses = places_of_uses(function, liveness);
    let mut copies: Vec<(u32, &Inst)> = Vec::new();
    for (block, first) in function.blocks.iter().zip(&liveness.firsts) {
        let copied = block.insts.iter().zip(*first..).filter(|(inst, _)| inst.kind == Kind::Copy);
        copies.extend(copied.map(|(inst, at)| (at, inst)));
    }
    let depth = |at: u32| {
        let block = liveness.firsts.partition_point(|first| *first <= at) - 1;
        function.blocks[block].depth
    };
    copies.sort_by_key(|(at, _)| (std::cmp::Reverse(depth(*at)), *at));
    for (at, inst) in copies {
        let (Slot::Part(to), Slot::Part(from)) = (inst.slots[0], inst.slots[1]) else { continue };
        let arm = inst.keeps.map(|block| (2 * liveness.firsts[block as usize], 2 * at));
        if !bundles.merge(to, from, arm, &uses) {
            bundles.wish(to, from);
        }
    }
    bundles
}

/// For every virtual register the places where it is read or written in earnest, not only kept.
fn places_of_uses(function: &Function, liveness: &Liveness) -> Vec<Vec<u32>> {
    let mut places = vec![Vec::new(); function.regs.len()];
    for (block, first) in function.blocks.iter().zip(&liveness.firsts) {
        for (inst, at) in block.insts.iter().zip(*first..) {
            for (_, part) in inst.parts() {
                places[part.reg.0 as usize].push(2 * at);
            }
        }
    }
    places
}

impl Bundles {
    fn singles(function: &Function, liveness: &Liveness) -> Bundles {
        let mut bundles = Vec::new();
        for (index, info) in function.regs.iter().enumerate() {
            let start = liveness.starts[index] as usize;
            let ranges = liveness.ranges[start..start + usize::from(info.count)].to_vec();
            bundles.push(Some(Bundle {
                class: info.class,
                align: info.align.into(),
                fixed: info.fixed.map(u32::from),
                ranges,
                parked: info.parked,
                members: vec![Reg(index as u32)],
            }));
        }
        let places = (0..bundles.len() as u32).map(|index| (index, 0)).collect();
        Bundles { bundles, places, wishes: Vec::new() }
    }

    fn place(&self, part: Part) -> (u32, i64) {
        let (bundle, offset) = self.places[part.reg.0 as usize];
        (bundle, i64::from(offset) + i64::from(part.first))
    }

    fn wish(&mut self, to: Part, from: Part) {
        let ((a, i), (b, j)) = (self.place(to), self.place(from));
        if a != b {
            self.wishes.push((a, b, i - j));
        }
    }

    /// Makes the two sides of a copy the same registers, if they can be. `arm` is where the lanes that the copy does
    /// not write are inactive: what is written there, in vector registers, cannot disturb them.
    fn merge(&mut self, to: Part, from: Part, arm: Option<(u32, u32)>, uses: &[Vec<u32>]) -> bool {
        let ((a, i), (b, j)) = (self.place(to), self.place(from));
        if a == b {
            return i == j;
        }
        let (Some(first), Some(second)) = (&self.bundles[a as usize], &self.bundles[b as usize])
        else {
            return false;
        };
        // The second bundle's first register lies at this distance from the first's.
        let distance = i - j;
        let base = distance.min(0);
        let end = (first.ranges.len() as i64).max(distance + second.ranges.len() as i64);
        let size = (end - base) as u32;
        let grows = size as usize > first.ranges.len().max(second.ranges.len());
        let align = first.align.max(second.align);
        let fits = [(-base, first.align), (distance - base, second.align)]
            .iter()
            .all(|(offset, align)| offset % i64::from(*align) == 0);
        if first.class != second.class
            || first.parked != second.parked
            || first.fixed.is_some()
            || second.fixed.is_some()
            || grows
            || size > MAX_TUPLE
            || !fits
        {
            return false;
        }
        let is_masked = arm.is_some_and(|arm| {
            first.class == Class::Vector && is_within(second, arm) && is_idle(first, arm, uses)
        });
        let meets = (0..second.ranges.len() as i64).any(|unit| {
            let other = unit + distance;
            let own = usize::try_from(other).ok().and_then(|other| first.ranges.get(other));
            own.is_some_and(|own| overlap(own, &second.ranges[unit as usize]))
        });
        if meets && !is_masked {
            return false;
        }
        self.unite((a, -base), (b, distance - base), size, align);
        true
    }

    fn unite(&mut self, into: (u32, i64), other: (u32, i64), size: u32, align: u32) {
        let (Some(first), Some(second)) =
            (self.bundles[into.0 as usize].take(), self.bundles[other.0 as usize].take())
        else {
            return;
        };
        let mut ranges = vec![Ranges::new(); size as usize];
        let mut members = Vec::new();
        for (bundle, offset) in [(first, into.1), (second, other.1)] {
            for (unit, own) in bundle.ranges.iter().enumerate() {
                let at = unit + offset as usize;
                unite(&mut ranges[at], own);
            }
            for member in bundle.members {
                let (place, own) = self.places[member.0 as usize];
                let _ = place;
                self.places[member.0 as usize] = (into.0, own + offset as u32);
                members.push(member);
            }
            self.bundles[into.0 as usize] = Some(Bundle {
                class: bundle.class,
                align,
                fixed: None,
                parked: bundle.parked,
                ranges: Vec::new(),
                members: Vec::new(),
            });
        }
        if let Some(bundle) = &mut self.bundles[into.0 as usize] {
            bundle.ranges = ranges;
            bundle.members = members;
        }
        self.wishes.iter_mut().for_each(|(a, b, distance)| {
            if *a == other.0 {
                (*a, *distance) = (into.0, *distance + other.1);
            } else if *a == into.0 {
                *distance += into.1;
            }
            if *b == other.0 {
                (*b, *distance) = (into.0, *distance - other.1);
            } else if *b == into.0 {
                *distance -= into.1;
            }
        });
    }
}

/// Whether a bundle is alive inside an arm only.
fn is_within(bundle: &Bundle, (start, end): (u32, u32)) -> bool {
    bundle.ranges.iter().flatten().all(|(from, to)| *from >= start && *to <= end + 1)
}

/// Whether nothing in an arm reads or writes a bundle, the copy at its end apart.
fn is_idle(bundle: &Bundle, (start, end): (u32, u32), uses: &[Vec<u32>]) -> bool {
    let places = bundle.members.iter().flat_map(|member| &uses[member.0 as usize]);
    !places.into_iter().any(|at| (start..end).contains(at))
}
