//! Gives every bundle its registers: the lowest tuple in which nothing else is alive at the same time.
//!
//! There are no spills. A kernel that needs more registers than there are is refused with their number and the value
//! that found no place. Two orders are tried, by where a bundle's life begins and by its size, and the one that needs
//! fewer registers is kept.

use isa::Target;

use super::Phases;
use super::coalesce::{Bundle, Bundles};
use super::error::Cause;
use super::liveness::{Liveness, Ranges, overlap, union};
use super::mir::{Class, Function, Part, Reg};

/// Where every virtual register is.
pub struct Allocation {
    /// The number of the first register of each.
    pub numbers: Vec<u32>,
    /// VGPRs used.
    pub vgprs: u32,
    /// SGPRs used, special ones apart.
    pub sgprs: u32,
}

impl Allocation {
    /// The number of the first register of a part.
    pub fn number(&self, part: Part) -> u32 {
        self.numbers[part.reg.0 as usize] + u32::from(part.first)
    }
}

/// Registers that a class may use.
fn limit(target: Target, class: Class, max_vgprs: Option<u32>) -> u32 {
    let limits = target.limits();
    match class {
        Class::Scalar => limits.addressable_sgprs.into(),
        Class::Vector => {
            let all = u32::from(limits.addressable_vgprs);
            max_vgprs.map_or(all, |wanted| wanted.min(all))
        }
    }
}

/// Allocates all bundles.
///
/// # Errors
/// [`Cause::Registers`] when a class has too few.
pub fn allocate(
    function: &Function,
    liveness: &Liveness,
    bundles: &Bundles,
    phases: &Phases,
    max_vgprs: Option<u32>,
) -> Result<Allocation, Cause> {
    let mut numbers = vec![None; bundles.bundles.len()];
    let mut used = [0, 0];
    for (index, class) in [Class::Scalar, Class::Vector].into_iter().enumerate() {
        let orders = [Order::Start, Order::Size];
        let tries = orders.map(|order| assign(bundles, class, order));
        let best = tries.into_iter().min_by_key(|(_, end)| *end);
        let Some((places, end)) = best else { continue };
        let limit = limit(function.target, class, max_vgprs);
        if end > limit {
            return Err(too_many(
                function,
                bundles,
                &places,
                liveness,
                phases,
                (end, limit, class),
            ));
        }
        places.into_iter().for_each(|(bundle, number)| numbers[bundle] = Some(number));
        used[index] = end;
    }
    let numbers = bundles
        .places
        .iter()
        .map(|(bundle, offset)| numbers[*bundle as usize].unwrap_or(0) + offset);
    Ok(Allocation { numbers: numbers.collect(), sgprs: used[0], vgprs: used[1] })
}

#[derive(Clone, Copy)]
enum Order {
    Start,
    Size,
}

/// First register of each bundle of a class, and the end of all.
fn assign(bundles: &Bundles, class: Class, order: Order) -> (Vec<(usize, u32)>, u32) {
    let of_class = |bundle: &&Bundle| bundle.class == class;
    let mut queue: Vec<(usize, &Bundle)> = bundles
        .bundles
        .iter()
        .enumerate()
        .filter_map(|(index, bundle)| Some((index, bundle.as_ref().filter(of_class)?)))
        .filter(|(_, bundle)| bundle.ranges.iter().any(|ranges| !ranges.is_empty()))
        .collect();
    queue.sort_by_key(|(index, bundle)| {
        let start = bundle.ranges.iter().filter_map(|ranges| ranges.first()).map(|range| range.0);
        let start = start.min().unwrap_or(0);
        let size = std::cmp::Reverse(bundle.ranges.len());
        let is_free = bundle.fixed.is_none();
        match order {
            Order::Start => (is_free, start, size, std::cmp::Reverse(0), *index),
            Order::Size => {
                let length = bundle.ranges.iter().flatten().map(|(from, to)| to - from).sum();
                (is_free, 0, size, std::cmp::Reverse(length), *index)
            }
        }
    });
    let mut file: Vec<Ranges> = Vec::new();
    let mut places: Vec<(usize, u32)> = Vec::new();
    let mut number_of = vec![None; bundles.bundles.len()];
    let mut end = 0;
    for (index, bundle) in queue {
        let wished = wished_numbers(bundles, index, &number_of);
        let number = bundle.fixed.unwrap_or_else(|| {
            let wished = wished.into_iter().find(|number| {
                number.is_multiple_of(bundle.align)
                    && number + bundle.ranges.len() as u32 <= end
                    && is_free(&file, bundle, *number)
            });
            wished.unwrap_or_else(|| {
                let mut number = 0;
                while !is_free(&file, bundle, number) {
                    number += bundle.align;
                }
                number
            })
        });
        for (unit, ranges) in bundle.ranges.iter().enumerate() {
            let at = number as usize + unit;
            if file.len() <= at {
                file.resize(at + 1, Ranges::new());
            }
            file[at] = union(&file[at], ranges);
            if !ranges.is_empty() {
                end = end.max(at as u32 + 1);
            }
        }
        number_of[index] = Some(number);
        places.push((index, number));
    }
    (places, end)
}

/// Numbers at which a copy from or to a bundle would vanish.
fn wished_numbers(bundles: &Bundles, index: usize, known: &[Option<u32>]) -> Vec<u32> {
    let index = index as u32;
    let wishes = bundles.wishes.iter().filter_map(|(a, b, distance)| {
        // Register `a + n + distance` is the same as `b + n`, counted from the bundles' starts.
        let (other, shift) = match (*a == index, *b == index) {
            (true, false) => (*b, -distance),
            (false, true) => (*a, *distance),
            _ => return None,
        };
        let number = i64::from(known[other as usize]?) + shift;
        u32::try_from(number).ok()
    });
    wishes.collect()
}

fn is_free(file: &[Ranges], bundle: &Bundle, number: u32) -> bool {
    bundle.ranges.iter().enumerate().all(|(unit, ranges)| {
        let taken = file.get(number as usize + unit);
        taken.is_none_or(|taken| !overlap(taken, ranges))
    })
}

/// The refusal, with a value that has a place beyond the limit.
fn too_many(
    function: &Function,
    bundles: &Bundles,
    places: &[(usize, u32)],
    liveness: &Liveness,
    phases: &Phases,
    (needed, limit, class): (u32, u32, Class),
) -> Cause {
    let beyond = places.iter().find(|(index, number)| {
        let size = bundles.bundles[*index].as_ref().map_or(0, |bundle| bundle.ranges.len());
        number + size as u32 > limit
    });
    let member = beyond
        .and_then(|(index, _)| bundles.bundles[*index].as_ref())
        .and_then(|bundle| bundle.members.first().copied());
    let (value, phase) = describe(function, liveness, phases, member);
    let file = if class == Class::Vector { "VGPRs" } else { "SGPRs" };
    Cause::Registers { file, needed, limit, value, phase, target: function.target }
}

fn describe(
    function: &Function,
    liveness: &Liveness,
    phases: &Phases,
    member: Option<Reg>,
) -> (String, String) {
    let Some(member) = member else { return ("?".to_owned(), "an unknown place".to_owned()) };
    let value = function.info(member).value.map_or("a temporary".to_owned(), |v| v.0.to_string());
    let start = liveness.ranges[liveness.starts[member.0 as usize] as usize].first();
    let at = start.map_or(0, |range| range.0 / 2);
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    let stmt = insts.into_iter().nth(at as usize).map_or(0, |inst| inst.stmt);
    let phase = phases.get(stmt as usize).map(|phase| phase.text.clone()).unwrap_or_default();
    (value, phase)
}
