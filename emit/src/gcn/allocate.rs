//! Gives every bundle its registers: the lowest tuple in which nothing else is alive at the same time.
//!
//! There are no spills to memory. What finds no VGPR on gfx950 and may lie in accumulation registers (see
//! [`files`]) goes there. Two orders are tried, by where a bundle's life begins and by its size, and the one that needs
//! fewer registers is kept.

use isa::Target;

use super::Phases;
use super::coalesce::{Bundle, Bundles};
use super::error::Cause;
use super::files::{self, FIRST_ACC};
use super::liveness::{Liveness, Ranges, overlap, unite};
use super::mir::{Class, Function, Part, Reg};

/// Where every virtual register is.
#[derive(Default)]
pub struct Allocation {
    /// The number of the first register of each.
    pub numbers: Vec<u32>,
    /// VGPRs used.
    pub vgprs: u32,
    /// Accumulation registers used; their numbers start at [`FIRST_ACC`].
    pub agprs: u32,
    /// SGPRs used, special ones apart.
    pub sgprs: u32,
}

impl Allocation {
    /// The number of the first register of a part.
    pub fn number(&self, part: Part) -> u32 {
        self.numbers[part.reg.0 as usize] + u32::from(part.first)
    }
}

/// Registers that a class may use, in its first file and in the accumulation registers.
fn limits(target: Target, class: Class, max_vgprs: Option<u32>) -> [u32; 2] {
    let limits = target.limits();
    match class {
        Class::Scalar => [limits.addressable_sgprs.into(), 0],
        Class::Vector => {
            let all = limits.vector_registers_per_wave.min(max_vgprs.unwrap_or(u32::MAX));
            let first = all.min(limits.addressable_vgprs.into());
            let granule = limits.accum_offset_granule.max(1);
            let left = all - first.next_multiple_of(granule).min(all);
            [first, left.min(limits.addressable_agprs.into())]
        }
    }
}

/// A class that has too few registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The class.
    pub class: Class,
    /// Registers that would be needed.
    pub needed: u32,
    /// Registers that there are.
    pub limit: u32,
    /// A register that found no place.
    pub reg: Option<Reg>,
}

impl Shortage {
    /// The refusal.
    pub fn cause(self, function: &Function, liveness: &Liveness, phases: &Phases) -> Cause {
        let (value, phase) = describe(function, liveness, phases, self.reg);
        let file = if self.class == Class::Vector { "VGPRs" } else { "SGPRs" };
        let (needed, limit) = (self.needed, self.limit);
        Cause::Registers { file, needed, limit, value, phase, target: function.target }
    }
}

/// Allocates all bundles.
///
/// # Errors
/// [`Shortage`] when a class has too few.
pub fn allocate(
    function: &Function,
    bundles: &Bundles,
    max_vgprs: Option<u32>,
) -> Result<Allocation, Shortage> {
    let mut numbers = vec![None; bundles.bundles.len()];
    let may_be_acc = accumulators(function, bundles);
    let mut used = [[0, 0]; 2];
    for (index, class) in [Class::Scalar, Class::Vector].into_iter().enumerate() {
        let limits = limits(function.target, class, max_vgprs);
        let tries = ORDERS.map(|order| assign(bundles, (class, order), limits, &may_be_acc));
        let best = tries.into_iter().min_by_key(|assigned| assigned.total());
        let Some(Assigned { places, ends }) = best else { continue };
        if ends[0] > limits[0] || ends[1] > limits[1] {
            return Err(shortage(bundles, &places, (ends, limits), class));
        }
        places.into_iter().for_each(|(bundle, number)| numbers[bundle] = Some(number));
        used[index] = ends;
    }
    let numbers = bundles
        .places
        .iter()
        .map(|(bundle, offset)| numbers[*bundle as usize].unwrap_or(0) + offset);
    let [[sgprs, _], [vgprs, agprs]] = used;
    Ok(Allocation { numbers: numbers.collect(), sgprs, vgprs, agprs })
}

/// For every bundle whether all its members may be accumulation registers.
fn accumulators(function: &Function, bundles: &Bundles) -> Vec<bool> {
    let of_reg = files::may_be_acc(function);
    let may = |bundle: &Option<Bundle>| {
        let members = bundle.iter().flat_map(|bundle| &bundle.members);
        members.into_iter().all(|member| of_reg[member.0 as usize])
    };
    bundles.bundles.iter().map(may).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Start,
    Size,
}

const ORDERS: [Order; 2] = [Order::Start, Order::Size];

/// First register of each bundle of a class, and the ends of both files.
struct Assigned {
    places: Vec<(usize, u32)>,
    ends: [u32; 2],
}

impl Assigned {
    /// Registers of a wave; a first file that is too large counts most.
    fn total(&self) -> (u32, u32) {
        (self.ends[0].saturating_sub(FIRST_ACC), self.ends[0].next_multiple_of(4) + self.ends[1])
    }
}

/// Registers already taken, file by file.
struct Taken {
    files: [Vec<Ranges>; 2],
    ends: [u32; 2],
}

impl Taken {
    fn is_free(&self, bundle: &Bundle, (file, number): (usize, u32)) -> bool {
        bundle.ranges.iter().enumerate().all(|(unit, ranges)| {
            let taken = self.files[file].get(number as usize + unit);
            taken.is_none_or(|taken| !overlap(taken, ranges))
        })
    }

    /// The lowest place in a file.
    fn lowest(&self, bundle: &Bundle, file: usize) -> u32 {
        let mut number = 0;
        while !self.is_free(bundle, (file, number)) {
            number += bundle.align;
        }
        number
    }

    fn take(&mut self, bundle: &Bundle, (file, number): (usize, u32)) {
        for (unit, ranges) in bundle.ranges.iter().enumerate() {
            let at = number as usize + unit;
            if self.files[file].len() <= at {
                self.files[file].resize(at + 1, Ranges::new());
            }
            unite(&mut self.files[file][at], ranges);
            if !ranges.is_empty() {
                self.ends[file] = self.ends[file].max(at as u32 + 1);
            }
        }
    }
}

/// The bundles of a class in the order in which they get their places.
fn queue<'b>(
    bundles: &'b Bundles,
    (class, order): (Class, Order),
    may_be_acc: &[bool],
) -> Vec<(usize, &'b Bundle)> {
    let of_class = |bundle: &&Bundle| bundle.class == class;
    let mut queue: Vec<(usize, &Bundle)> = bundles
        .bundles
        .iter()
        .enumerate()
        .filter_map(|(index, bundle)| Some((index, bundle.as_ref().filter(of_class)?)))
        .filter(|(_, bundle)| bundle.ranges.iter().any(|ranges| !ranges.is_empty()))
        .collect();
    queue.sort_by_cached_key(|(index, bundle)| {
        let start = bundle.ranges.iter().filter_map(|ranges| ranges.first()).map(|range| range.0);
        let start = start.min().unwrap_or(0);
        let size = std::cmp::Reverse(bundle.ranges.len());
        let is_free = (bundle.fixed.is_none(), may_be_acc[*index]);
        match order {
            Order::Start => (is_free, start, size, std::cmp::Reverse(0), *index),
            Order::Size => {
                let length = bundle.ranges.iter().flatten().map(|(from, to)| to - from).sum();
                (is_free, 0, size, std::cmp::Reverse(length), *index)
            }
        }
    });
    queue
}

fn assign(
    bundles: &Bundles,
    kind: (Class, Order),
    limits: [u32; 2],
    may_be_acc: &[bool],
) -> Assigned {
    // Without a need for accumulation registers, what may lie there has no order of its own.
    let none = vec![false; may_be_acc.len()];
    let plain = place_all(bundles, kind, limits, &none);
    if plain.ends[0] <= limits[0] || limits[1] == 0 {
        return plain;
    }
    place_all(bundles, kind, limits, may_be_acc)
}

fn place_all(
    bundles: &Bundles,
    kind: (Class, Order),
    limits: [u32; 2],
    may_be_acc: &[bool],
) -> Assigned {
    let mut taken = Taken { files: [Vec::new(), Vec::new()], ends: [0, 0] };
    let mut places: Vec<(usize, u32)> = Vec::new();
    let mut number_of = vec![None; bundles.bundles.len()];
    let wishes = wishes_of_each(bundles);
    for (index, bundle) in queue(bundles, kind, may_be_acc) {
        let size = bundle.ranges.len() as u32;
        let wished = wished_numbers(&wishes[index], &number_of).find(|number| {
            number.is_multiple_of(bundle.align)
                && number + size <= taken.ends[0]
                && taken.is_free(bundle, (0, *number))
        });
        let number = bundle.fixed.or(wished).unwrap_or_else(|| taken.lowest(bundle, 0));
        let goes_over = may_be_acc[index] && number + size > limits[0];
        let place = if goes_over { (1, taken.lowest(bundle, 1)) } else { (0, number) };
        taken.take(bundle, place);
        let number = place.1 + if goes_over { FIRST_ACC } else { 0 };
        number_of[index] = Some(number);
        places.push((index, number));
    }
    Assigned { places, ends: taken.ends }
}

/// For every bundle the other bundles that it would like to lie at a distance from.
fn wishes_of_each(bundles: &Bundles) -> Vec<Vec<(u32, i64)>> {
    let mut wishes = vec![Vec::new(); bundles.bundles.len()];
    for (a, b, distance) in bundles.wishes.iter().filter(|(a, b, _)| a != b) {
        // Register `a + n + distance` is the same as `b + n`, counted from the bundles' starts.
        wishes[*a as usize].push((*b, -distance));
        wishes[*b as usize].push((*a, *distance));
    }
    wishes
}

/// Numbers at which a copy from or to a bundle with these wishes would vanish.
fn wished_numbers(wishes: &[(u32, i64)], known: &[Option<u32>]) -> impl Iterator<Item = u32> {
    wishes.iter().filter_map(|(other, shift)| {
        let number = i64::from(known[*other as usize]?) + shift;
        u32::try_from(number).ok()
    })
}

/// What is missing, with a register that has a place beyond the limit.
fn shortage(
    bundles: &Bundles,
    places: &[(usize, u32)],
    (ends, limits): ([u32; 2], [u32; 2]),
    class: Class,
) -> Shortage {
    let beyond = places.iter().find(|(index, number)| {
        let size = bundles.bundles[*index].as_ref().map_or(0, |bundle| bundle.ranges.len());
        number + size as u32 > limits[0]
    });
    let reg = beyond
        .and_then(|(index, _)| bundles.bundles[*index].as_ref())
        .and_then(|bundle| bundle.members.first().copied());
    let file = usize::from(ends[0] <= limits[0]);
    Shortage { class, needed: ends[file], limit: limits[file], reg }
}

fn describe(
    function: &Function,
    liveness: &Liveness,
    phases: &Phases,
    member: Option<Reg>,
) -> (String, String) {
    let temporary = || "a temporary".to_owned();
    let Some(member) = member else { return (temporary(), "an unknown place".to_owned()) };
    let value = function.info(member).value.map_or_else(temporary, |v| format!("%{}", v.0));
    let start = liveness.ranges[liveness.starts[member.0 as usize] as usize].first();
    let at = start.map_or(0, |range| range.0 / 2);
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    let stmt = insts.into_iter().nth(at as usize).map_or(0, |inst| inst.stmt);
    let phase = phases.get(stmt as usize).map(|phase| phase.text.clone()).unwrap_or_default();
    (value, phase)
}
