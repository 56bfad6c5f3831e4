//! The order of instructions.
//!
//! A block is cut into regions at barriers, branches and changes of EXEC. Every region is ordered on its own: first
//! with as few registers as it can do with, which tells how many the whole kernel needs, then so that memory and matrix
//! latency are hidden by what lies between, with no more registers than that. Ties fall to the order in which the code
//! was selected, which is the author's.

mod distance;
mod graph;
mod list;

use isa::{Op, Target};

use super::coalesce::{self, Bundles};
use super::liveness::{Liveness, Set};
use super::mir::{Class, Function, Inst};
use graph::{Graph, Names, Scratch};
use list::{Order, Pressure};

/// A region of a block.
struct Region {
    block: usize,
    first: usize,
    graph: Graph,
    at_end: Pressure,
    order: Order,
}

/// Orders all instructions.
pub fn schedule(function: &mut Function, liveness: &Liveness) {
    let bundles = coalesce::coalesce(function, liveness);
    let mut regions = regions(function, liveness, &bundles);
    let needed = regions.iter().map(|region| region.order.peak);
    let limit = roomy(function.target, needed.fold(Pressure::default(), Pressure::max));
    for region in &mut regions {
        let order = list::within(&region.graph, region.at_end, limit);
        if order.peak.beyond(limit) == 0 {
            region.order = order;
        }
        let insts = &mut function.blocks[region.block].insts;
        let all = region.first..region.first + region.order.nodes.len();
        let own: Vec<Inst> = insts[all.clone()].to_vec();
        for (to, from) in insts[all].iter_mut().zip(&region.order.nodes) {
            *to = own[*from as usize];
        }
    }
}

/// A few VGPRs more than what is needed, where they let no fewer waves be resident, and nearly all SGPRs, which never
/// limit waves.
fn roomy(target: Target, needed: Pressure) -> Pressure {
    let vector = needed.vector.max(0) as u32;
    let waves = |vector: u32| isa::occupancy::waves_by_registers(target, vector, 0);
    let more = (vector..=vector + ROOM).rev().find(|more| waves(*more) == waves(vector));
    let scalar = needed.scalar.max(SCALARS);
    Pressure { vector: more.unwrap_or(vector) as i32, scalar }
}

/// VGPRs that hiding latency may take beyond what the kernel needs anyway.
const ROOM: u32 = 4;

/// SGPRs that an order may use without counting them.
const SCALARS: i32 = 88;

/// Whether an instruction stays where it is, and everything on its side of it.
fn is_fence(inst: &Inst) -> bool {
    matches!(inst.op(), Some(Op::Control(_))) || inst.writes_exec()
}

/// All regions with the order that needs the fewest registers.
fn regions(function: &Function, liveness: &Liveness, bundles: &Bundles) -> Vec<Region> {
    let names = Names::of(bundles);
    let mut scratch = Scratch::new(&names);
    let mut regions = Vec::new();
    for block in 0..function.blocks.len() {
        let mut alive = Alive::at_end(function, liveness, bundles, &names, block);
        let insts = &function.blocks[block].insts;
        let mut end = insts.len();
        while end > 0 {
            let fence = insts[..end].iter().rposition(is_fence);
            let first = fence.map_or(0, |fence| fence + 1);
            if first < end {
                let run = &insts[first..end];
                let context = (&names, bundles, &mut scratch);
                let graph = graph::build(function, run, context, |name| alive.set.contains(name));
                let at_end = alive.pressure;
                let order = leanest(&graph, at_end);
                run.iter().rev().for_each(|inst| alive.pass(inst, bundles, &names));
                regions.push(Region { block, first, graph, at_end, order });
            }
            if let Some(fence) = fence {
                alive.pass(&insts[fence], bundles, &names);
            }
            end = first.saturating_sub(1);
        }
    }
    regions
}

/// The order with the fewest registers: that of the code, or one made for it.
fn leanest(graph: &Graph, at_end: Pressure) -> Order {
    let own = list::own(graph, at_end);
    let lean = list::within(graph, at_end, Pressure { vector: 0, scalar: SCALARS });
    let cost = |order: &Order| ((order.peak.scalar - SCALARS).max(0), order.peak.vector);
    if cost(&lean) < cost(&own) { lean } else { own }
}

/// What is alive at a place of a block.
struct Alive {
    set: Set,
    pressure: Pressure,
}

impl Alive {
    fn at_end(
        function: &Function,
        liveness: &Liveness,
        bundles: &Bundles,
        names: &Names,
        block: usize,
    ) -> Alive {
        let mut alive = Alive { set: Set::new(names.len() as u32), pressure: Pressure::default() };
        for successor in function.successors(block) {
            for (reg, unit) in liveness.at_start_of(successor) {
                let part = super::mir::Part::new(reg, unit, 1);
                names.part(bundles, part).for_each(|name| alive.insert(name, names));
            }
        }
        alive
    }

    fn insert(&mut self, name: u32, names: &Names) {
        if !self.set.contains(name) {
            self.set.insert(name);
            self.count(names.class(name), 1);
        }
    }

    fn remove(&mut self, name: u32, names: &Names) {
        if self.set.contains(name) {
            self.set.remove(name);
            self.count(names.class(name), -1);
        }
    }

    fn count(&mut self, class: Option<Class>, by: i32) {
        match class {
            Some(Class::Scalar) => self.pressure.scalar += by,
            Some(Class::Vector) => self.pressure.vector += by,
            None => {}
        }
    }

    /// Goes above an instruction.
    fn pass(&mut self, inst: &Inst, bundles: &Bundles, names: &Names) {
        let accesses = names.accesses(bundles, inst);
        accesses.writes.iter().for_each(|name| self.remove(*name, names));
        accesses.reads.iter().for_each(|name| self.insert(*name, names));
    }
}

#[cfg(test)]
mod tests {
    use isa::table::{Flat, Float};
    use isa::{Op, Target};

    use super::*;
    use crate::gcn::mir::{Block, Kind, Part, Reg, Slot};

    fn whole(reg: Reg) -> Slot {
        Slot::Part(Part::new(reg, 0, 1))
    }

    /// Four words are loaded and added up one after the other, each right where it is needed; the sum is stored.
    fn chain(target: Target) -> Function {
        let mut function = Function { target, regs: Vec::new(), blocks: vec![Block::default()] };
        let mut vector = || function.reg(Class::Vector, 1, None);
        let (address, mut sum) = (vector(), vector());
        let mut insts = Vec::new();
        for _ in 0..4 {
            let (word, next) = (vector(), vector());
            let load = Kind::Machine(Op::Flat(Flat::LoadB32));
            insts.push(Inst::new(load, &[whole(word), whole(address), Slot::None], 0));
            let add = Kind::Machine(Op::Float(Float::VAddF32));
            insts.push(Inst::new(add, &[whole(next), whole(sum), whole(word)], 0));
            sum = next;
        }
        let store = Kind::Machine(Op::Flat(Flat::StoreB32));
        insts.push(Inst::new(store, &[whole(address), whole(sum), Slot::None], 0));
        function.blocks[0].insts = insts;
        function
    }

    fn is_load(inst: &Inst) -> bool {
        inst.op() == Some(Op::Flat(Flat::LoadB32))
    }

    #[test]
    fn loads_go_ahead_of_what_waits_for_them_and_sums_keep_their_order() {
        for target in Target::ALL {
            let mut function = chain(target);
            let own = function.blocks[0].insts.clone();
            let liveness = Liveness::of(&function);
            schedule(&mut function, &liveness);
            let insts = &function.blocks[0].insts;
            assert!(insts[..4].iter().all(is_load), "{target}: {insts:?}");
            let rest = |insts: &[Inst]| -> Vec<Inst> {
                insts.iter().filter(|inst| !is_load(inst)).copied().collect()
            };
            assert_eq!(rest(insts), rest(&own), "{target}");
        }
    }

    #[test]
    fn an_order_within_few_registers_loads_one_word_at_a_time() {
        let function = chain(Target::Gfx950);
        let liveness = Liveness::of(&function);
        let bundles = coalesce::coalesce(&function, &liveness);
        let regions = regions(&function, &liveness, &bundles);
        let [region] = &regions[..] else { panic!("{} regions", regions.len()) };
        let peak = |vector| {
            let limit = Pressure { vector, scalar: 0 };
            list::within(&region.graph, region.at_end, limit).peak.vector
        };
        assert_eq!(region.order.peak.vector, 3);
        assert_eq!((peak(3), peak(4), peak(100)), (3, 4, 6));
    }
}
