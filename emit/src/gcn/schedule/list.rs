//! Orders of one region, made from its end to its start, so that the registers that are alive are known: an instruction
//! placed ends the lives of its results and begins those of its sources.

use std::cmp::Reverse;

use super::graph::Graph;
use crate::gcn::mir::Class;

/// Registers alive, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    pub scalar: i32,
    pub vector: i32,
}

impl Pressure {
    fn add(&mut self, class: Class, by: i32) {
        match class {
            Class::Scalar => self.scalar += by,
            Class::Vector => self.vector += by,
        }
    }

    /// The larger of each.
    pub fn max(self, other: Pressure) -> Pressure {
        Pressure { scalar: self.scalar.max(other.scalar), vector: self.vector.max(other.vector) }
    }

    fn plus(self, other: Pressure) -> Pressure {
        Pressure { scalar: self.scalar + other.scalar, vector: self.vector + other.vector }
    }

    /// Registers beyond a limit.
    pub fn beyond(self, limit: Pressure) -> i32 {
        (self.vector - limit.vector).max(0) + (self.scalar - limit.scalar).max(0)
    }
}

/// What is alive, from the end of a region upwards.
struct Lives<'g> {
    graph: &'g Graph,
    alive: Vec<bool>,
    now: Pressure,
    peak: Pressure,
}

impl<'g> Lives<'g> {
    fn new(graph: &'g Graph, at_end: Pressure) -> Lives<'g> {
        let alive = graph.versions.iter().map(|version| version.live_out).collect();
        Lives { graph, alive, now: at_end, peak: at_end }
    }

    /// What placing an instruction changes.
    fn change(&self, node: u32) -> Pressure {
        let node = &self.graph.nodes[node as usize];
        let mut change = Pressure::default();
        for version in node.writes.iter().filter(|version| self.alive[**version as usize]) {
            change.add(self.graph.versions[*version as usize].class, -1);
        }
        for version in node.reads.iter().filter(|version| !self.alive[**version as usize]) {
            change.add(self.graph.versions[*version as usize].class, 1);
        }
        change
    }

    fn place(&mut self, node: u32) {
        let graph = self.graph;
        let node = &graph.nodes[node as usize];
        let class = |version: &u32| graph.versions[*version as usize].class;
        let mut during = self.now;
        for version in &node.writes {
            // A result that nobody reads has a register all the same.
            let was_alive = std::mem::replace(&mut self.alive[*version as usize], false);
            if was_alive {
                self.now.add(class(version), -1);
            } else {
                during.add(class(version), 1);
            }
        }
        self.peak = self.peak.max(during);
        for version in &node.reads {
            if !std::mem::replace(&mut self.alive[*version as usize], true) {
                self.now.add(class(version), 1);
                if node.early {
                    during.add(class(version), 1);
                }
            }
        }
        self.peak = self.peak.max(self.now).max(during);
    }
}

/// An order and the most registers that are alive in it.
#[derive(Clone)]
pub struct Order {
    /// Instructions by their places in the region's own order.
    pub nodes: Vec<u32>,
    /// The most registers alive.
    pub peak: Pressure,
}

/// The region's own order.
pub fn own(graph: &Graph, at_end: Pressure) -> Order {
    let nodes: Vec<u32> = (0..graph.nodes.len() as u32).collect();
    let mut lives = Lives::new(graph, at_end);
    nodes.iter().rev().for_each(|node| lives.place(*node));
    Order { nodes, peak: lives.peak }
}

/// An order that hides latencies as long as no more registers than the limit are alive, and beyond it frees registers.
pub fn within(graph: &Graph, at_end: Pressure, limit: Pressure) -> Order {
    let count = graph.nodes.len();
    let mut lives = Lives::new(graph, at_end);
    let mut waiting: Vec<u32> = graph.nodes.iter().map(|node| node.later.len() as u32).collect();
    // Slots from the end of the region, at the least, and where each instruction stands.
    let mut wanted = vec![0u32; count];
    let mut ready: Vec<u32> = (0..count as u32).filter(|i| waiting[*i as usize] == 0).collect();
    let mut nodes = Vec::with_capacity(count);
    let mut now = 0;
    while let Some(at) = pick(&lives, &ready, &wanted, now, limit) {
        let node = ready.swap_remove(at);
        lives.place(node);
        nodes.push(node);
        now = now.max(wanted[node as usize]) + 1;
        for (earlier, slots) in &graph.nodes[node as usize].earlier {
            let earlier = *earlier as usize;
            wanted[earlier] = wanted[earlier].max(now - 1 + slots);
            waiting[earlier] -= 1;
            if waiting[earlier] == 0 {
                ready.push(earlier as u32);
            }
        }
    }
    nodes.reverse();
    Order { nodes, peak: lives.peak }
}

/// The place of the best instruction among the ready ones. The later one in the region's own order wins a tie.
fn pick(
    lives: &Lives<'_>,
    ready: &[u32],
    wanted: &[u32],
    now: u32,
    limit: Pressure,
) -> Option<usize> {
    let key = |node: u32| {
        let change = lives.change(node);
        let beyond = lives.now.plus(change).beyond(limit);
        let freed = if beyond > 0 { change.vector + change.scalar } else { 0 };
        let stall = wanted[node as usize].saturating_sub(now);
        (beyond > 0, freed, stall, Reverse(node))
    };
    (0..ready.len()).min_by_key(|at| key(ready[*at]))
}
