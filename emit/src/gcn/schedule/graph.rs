//! What must stay in which order inside a region.
//!
//! Registers count as the bundles that copies have made of them, so that an order never takes back what coalescing has
//! won: registers that have become one keep the order of all their accesses.

use isa::table::Effect;
use isa::{Op, Operand};

use super::distance::distance;
use crate::gcn::coalesce::Bundles;
use crate::gcn::mir::{Class, Function, Inst, Part, Slot};

/// Registers of all bundles in one numbering, and SCC and other special ones after them.
pub struct Names {
    starts: Vec<u32>,
    classes: Vec<Class>,
    /// The first special one.
    special: u32,
}

/// Special registers that are told apart: SCC, VCC, M0 and the rest.
const SPECIALS: u32 = 4;

impl Names {
    pub fn of(bundles: &Bundles) -> Names {
        let mut starts = Vec::with_capacity(bundles.bundles.len());
        let mut classes = Vec::new();
        for bundle in &bundles.bundles {
            starts.push(classes.len() as u32);
            if let Some(bundle) = bundle {
                classes.extend(bundle.ranges.iter().map(|_| bundle.class));
            }
        }
        let special = classes.len() as u32;
        Names { starts, classes, special }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        (self.special + SPECIALS) as usize
    }

    /// The file of a name; none for special registers.
    pub fn class(&self, name: u32) -> Option<Class> {
        self.classes.get(name as usize).copied()
    }

    /// The names of the registers of an operand.
    pub fn part(&self, bundles: &Bundles, part: Part) -> impl Iterator<Item = u32> {
        let (bundle, offset) = bundles.places[part.reg.0 as usize];
        let start = self.starts[bundle as usize] + offset;
        part.units().map(move |unit| start + u32::from(unit))
    }

    /// What an instruction reads and writes, each name once.
    pub fn accesses(&self, bundles: &Bundles, inst: &Inst) -> Accesses {
        let mut reads: Vec<u32> = inst.uses().flat_map(|part| self.part(bundles, part)).collect();
        let mut writes: Vec<u32> = inst.defs().flat_map(|part| self.part(bundles, part)).collect();
        let [scc, vcc, m0] = [0, 1, 2].map(|special| self.special + special);
        for (index, slot) in inst.slots.iter().enumerate() {
            if let Slot::Fixed(Operand::Special(register)) = slot {
                let name = self.special(*register);
                if inst.is_dst(index) { writes.push(name) } else { reads.push(name) }
            }
        }
        reads.extend(inst.has(Effect::ReadsScc).then_some(scc));
        writes.extend(inst.has(Effect::WritesScc).then_some(scc));
        reads.extend(inst.has(Effect::ReadsVcc).then_some(vcc));
        reads.extend(inst.has(Effect::ReadsM0).then_some(m0));
        for names in [&mut reads, &mut writes] {
            names.sort_unstable();
            names.dedup();
        }
        Accesses { reads, writes }
    }

    fn special(&self, register: isa::reg::SpecialReg) -> u32 {
        use isa::reg::SpecialReg;
        self.special
            + match register {
                SpecialReg::SrcScc => 0,
                SpecialReg::VccLo | SpecialReg::VccHi => 1,
                SpecialReg::M0 => 2,
                _ => 3,
            }
    }
}

/// Names that an instruction reads and writes.
pub struct Accesses {
    pub reads: Vec<u32>,
    pub writes: Vec<u32>,
}

/// An instruction among those of its region.
#[derive(Default)]
pub struct Node {
    /// Versions of registers that it reads.
    pub reads: Vec<u32>,
    /// Versions that it makes.
    pub writes: Vec<u32>,
    /// Instructions that must come later, and after how many slots.
    pub later: Vec<(u32, u32)>,
    /// Instructions that must come earlier, and how many slots.
    pub earlier: Vec<(u32, u32)>,
    /// Its results are written while its sources are read.
    pub early: bool,
}

/// What a register holds between two writes.
pub struct Version {
    pub class: Class,
    /// Something after the region reads it.
    pub live_out: bool,
}

/// A region: what stays in which order.
pub struct Graph {
    pub nodes: Vec<Node>,
    pub versions: Vec<Version>,
}

/// What is known of each name while a region is read.
pub struct Scratch {
    stamp: u32,
    names: Vec<Known>,
}

#[derive(Clone, Default)]
struct Known {
    stamp: u32,
    writer: Option<u32>,
    readers: Vec<u32>,
    version: Option<u32>,
}

impl Scratch {
    pub fn new(names: &Names) -> Scratch {
        Scratch { stamp: 0, names: vec![Known::default(); names.len()] }
    }

    fn known(&mut self, name: u32) -> &mut Known {
        let stamp = self.stamp;
        let known = &mut self.names[name as usize];
        if known.stamp != stamp {
            known.stamp = stamp;
            known.writer = None;
            known.readers.clear();
            known.version = None;
        }
        known
    }
}

/// Reads a region. `is_live_out` tells of a name whether it is alive after the region.
pub fn build(
    function: &Function,
    insts: &[Inst],
    (names, bundles, scratch): (&Names, &Bundles, &mut Scratch),
    is_live_out: impl Fn(u32) -> bool,
) -> Graph {
    scratch.stamp += 1;
    let mut graph = Graph { nodes: Vec::with_capacity(insts.len()), versions: Vec::new() };
    let mut touched = Vec::new();
    let mut memory = Memory::default();
    for (index, inst) in (0u32..).zip(insts) {
        graph.nodes.push(Node { early: inst.early, ..Node::default() });
        let accesses = names.accesses(bundles, inst);
        for name in accesses.reads {
            let known = scratch.known(name);
            known.readers.push(index);
            let (writer, version) = (known.writer, known.version);
            if let Some(writer) = writer {
                let class = names.class(name);
                let slots = distance(&insts[writer as usize], inst, class, function.target);
                graph.order(writer, index, slots);
            }
            if let Some(class) = names.class(name) {
                let version = version.unwrap_or_else(|| graph.version(class));
                scratch.known(name).version = Some(version);
                graph.nodes[index as usize].reads.push(version);
                touched.push(name);
            }
        }
        for name in accesses.writes {
            let known = scratch.known(name);
            let readers = std::mem::take(&mut known.readers);
            if let Some(writer) = known.writer.replace(index) {
                graph.order(writer, index, 1);
            }
            readers.into_iter().for_each(|reader| graph.order(reader, index, 0));
            if let Some(class) = names.class(name) {
                let version = graph.version(class);
                scratch.known(name).version = Some(version);
                graph.nodes[index as usize].writes.push(version);
                touched.push(name);
            }
        }
        memory.order(inst, index, &mut graph);
    }
    for name in touched {
        if let Some(version) = scratch.known(name).version {
            graph.versions[version as usize].live_out = is_live_out(name);
        }
    }
    graph.tidy();
    graph
}

impl Graph {
    fn version(&mut self, class: Class) -> u32 {
        self.versions.push(Version { class, live_out: false });
        self.versions.len() as u32 - 1
    }

    fn order(&mut self, earlier: u32, later: u32, slots: u32) {
        if earlier != later {
            self.nodes[earlier as usize].later.push((later, slots));
        }
    }

    /// Each neighbour once, with the longest distance; and the same the other way round.
    fn tidy(&mut self) {
        for index in 0..self.nodes.len() {
            let mut later = std::mem::take(&mut self.nodes[index].later);
            later.sort_unstable_by_key(|(to, slots)| (*to, std::cmp::Reverse(*slots)));
            later.dedup_by_key(|(to, _)| *to);
            for (to, slots) in &later {
                self.nodes[*to as usize].earlier.push((index as u32, *slots));
            }
            self.nodes[index].later = later;
        }
    }
}

/// Accesses to memory that later ones must not pass: the last write, behind which all earlier ones are, and what has been
/// read since.
#[derive(Default)]
struct Memory {
    lds_write: Option<u32>,
    lds_reads: Vec<u32>,
    store: Option<u32>,
    loads: Vec<u32>,
}

impl Memory {
    /// Orders an access after those that it might meet. Scalar loads read what no kernel writes while it runs; loads
    /// pass each other. Lanes of one wave may hand on values through LDS without a barrier, so no write passes any
    /// other access.
    fn order(&mut self, inst: &Inst, index: u32, graph: &mut Graph) {
        match inst.op() {
            Some(Op::Lds(_) | Op::LdsAtomic(_)) if reads_lds(inst) => {
                self.lds_write.iter().for_each(|write| graph.order(*write, index, 1));
                self.lds_reads.push(index);
            }
            Some(Op::Lds(_) | Op::LdsAtomic(_)) => {
                let earlier =
                    self.lds_write.replace(index).into_iter().chain(self.lds_reads.drain(..));
                earlier.for_each(|access| graph.order(access, index, 1));
            }
            Some(Op::Flat(_)) if !inst.has(Effect::CountsStore) => {
                self.store.iter().for_each(|store| graph.order(*store, index, 1));
                self.loads.push(index);
            }
            Some(Op::Flat(_) | Op::FlatAtomic(_) | Op::Buffer(_) | Op::BufferAtomic(_)) => {
                let earlier = self.store.replace(index).into_iter().chain(self.loads.drain(..));
                earlier.for_each(|access| graph.order(access, index, 1));
            }
            _ => {}
        }
    }
}

/// Whether an LDS operation leaves LDS as it is.
fn reads_lds(inst: &Inst) -> bool {
    matches!(inst.op(), Some(Op::Lds(_))) && inst.defs().next().is_some()
}
