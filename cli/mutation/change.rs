//! The mutants of a code object: which instructions are changed, and how.
//!
//! What is deleted is replaced by no-ops of the same size, so that nothing else moves. A no-op itself
//! cannot be replaced by one, which would keep a wait state: it changes places with the instruction behind it, which
//! so moves towards everything before. Where that one may not move, the no-op goes to the beginning of its basic block,
//! and what stood between moves towards what follows.

mod pitch;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use codeobj::{CodeObject, CodeObjectError, UnknownKernel};
use isa::table::{Buffer, Control, Lane};
use isa::waits::{DEP_COUNTS, WaitCounts};
use isa::{Inst, Op, Operand, Target};

/// S_NOP 0 on both targets: one wait state.
const NOP: [u8; 4] = 0xbf80_0000_u32.to_le_bytes();

/// No mutants can be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MutationError {
    /// The bytes are no code object.
    #[error(transparent)]
    Object(#[from] CodeObjectError),
    /// It has no such kernel.
    #[error(transparent)]
    Kernel(#[from] UnknownKernel),
    /// The kernel's code is not in the file.
    #[error("the code of kernel '{0}' is not in one segment of the file: link it anew")]
    NotInFile(String),
    /// The kernel itself does not run clean, so its mutants prove nothing.
    #[error("the unchanged kernel does not run clean: {0}")]
    Original(String),
}

/// What a mutant does less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A wait lets more operations of a counter be outstanding: `to` instead of `from`.
    Wait {
        /// The counter, as assembly names it.
        counter: &'static str,
        /// Its count in the kernel.
        from: u32,
        /// Its count in the mutant.
        to: u32,
    },
    /// A wait for results of vector instructions (`s_waitcnt_depctr`) lets more of them be outstanding.
    Dependency {
        /// The count, as assembly names it.
        counter: &'static str,
        /// Its value in the kernel.
        from: u32,
        /// Its value in the mutant; the largest one waits for nothing.
        to: u32,
    },
    /// A barrier is gone.
    Barrier,
    /// A write-back or an invalidation of a cache is gone.
    Cache,
    /// Rows of LDS lie nearer to each other, or farther.
    Pitch {
        /// What an address grows by in the kernel.
        from: u32,
        /// In the mutant.
        to: u32,
    },
    /// A no-op waits for fewer states.
    Nop {
        /// States that it waits for in the kernel.
        from: u32,
        /// States in the mutant.
        to: u32,
    },
}

/// A code object with one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The instruction by kind and number among its kind, and the change: no address, so that the name
    /// stays when other code moves.
    pub name: String,
    /// Where the instruction is in the image.
    pub address: u64,
    /// What was changed.
    pub change: Change,
    /// Mnemonics of the instructions before and after, empty at the ends of the code.
    pub neighbours: [String; 2],
    /// Whether only no-ops stand from here to the first instruction of a loop, at the start of a line of 64 bytes.
    pub aligns: bool,
    /// Whether it stands between two SGPRs that go to lanes of one VGPR.
    pub splits_spill: bool,
    /// The changed file.
    pub code_object: Vec<u8>,
}

/// An instruction of the kernel.
struct Place {
    inst: Inst,
    /// In the kernel's code.
    bytes: Range<usize>,
}

/// The kernel whose mutants are made.
struct Original<'f> {
    file: &'f [u8],
    target: Target,
    /// Of the code: in the image and in the file.
    address: u64,
    offset: usize,
    places: Vec<Place>,
    /// Where branches lead, in the code.
    targets: BTreeSet<usize>,
}

/// Every mutant of a kernel, in the order of addresses.
///
/// # Errors
/// The object cannot be read, or lacks the kernel.
pub fn mutants(code_object: &[u8], kernel: &str) -> Result<Vec<Mutant>, MutationError> {
    let original = Original::read(code_object, kernel)?;
    let pitches = original.pitches();
    let mut seen = BTreeMap::new();
    let mut all = Vec::new();
    for index in 0..original.places.len() {
        let mnemonic = original.mnemonic(Some(index));
        let number: &mut usize = seen.entry(mnemonic.clone()).or_default();
        *number += 1;
        let of_pitch = pitches.iter().filter(|constant| constant.place == index);
        let pitches = of_pitch.flat_map(|constant| original.other_pitches(*constant));
        for (change, file) in original.changes(index).into_iter().chain(pitches) {
            let name = format!("{mnemonic} #{number}: {}", describe(change));
            let address = original.address + original.places[index].bytes.start as u64;
            let neighbours = [index.checked_sub(1), Some(index + 1)];
            let neighbours = neighbours.map(|index| original.mnemonic(index));
            all.push(Mutant {
                name,
                address,
                change,
                neighbours,
                aligns: original.aligns(index),
                splits_spill: original.splits_spill(index),
                code_object: file,
            });
        }
    }
    Ok(all)
}

fn describe(change: Change) -> String {
    match change {
        Change::Wait { counter, from, to } | Change::Dependency { counter, from, to } => {
            format!("{counter} {from} to {to}")
        }
        Change::Barrier | Change::Cache => "deleted".to_owned(),
        Change::Pitch { from, to } => format!("pitch {from} to {to}"),
        Change::Nop { from, to } => format!("{from} to {to} wait states"),
    }
}

impl<'f> Original<'f> {
    fn read(file: &'f [u8], kernel: &str) -> Result<Original<'f>, MutationError> {
        let object = CodeObject::parse(file)?;
        let found = object.kernel(kernel)?;
        let absent = || MutationError::NotInFile(kernel.to_owned());
        let code = object.code(found).ok_or_else(absent)?;
        let holds = |segment: &&codeobj::Segment| segment.contains(found.entry_address, 1);
        let segment = object.segments.iter().find(holds).ok_or_else(absent)?;
        let offset = segment.file_offset + (found.entry_address - segment.address);
        let decoded = isa::decode::decode_all(object.target, code);
        let places: Vec<Place> = decoded
            .filter_map(|(at, inst)| {
                let inst = inst.ok()?;
                Some(Place { inst, bytes: at..at + usize::from(inst.size_bytes) })
            })
            .collect();
        Ok(Original {
            file,
            target: object.target,
            address: found.entry_address,
            offset: offset as usize,
            targets: places.iter().filter_map(branch_target).collect(),
            places,
        })
    }

    /// The mnemonic of an instruction, empty where there is none.
    fn mnemonic(&self, index: Option<usize>) -> String {
        let place = index.and_then(|index| self.places.get(index));
        let text = place.map(|place| isa::disassemble(self.target, &place.inst));
        text.unwrap_or_default().split(' ').next().unwrap_or_default().to_owned()
    }

    /// Whether only no-ops stand from `index` to where a branch leads, at the start of a line of 64 bytes.
    fn aligns(&self, index: usize) -> bool {
        let no_ops =
            (index..self.places.len()).take_while(|index| self.mnemonic(Some(*index)) == "s_nop");
        let Some(last) = no_ops.last() else { return false };
        let end = self.places[last].bytes.end;
        self.targets.contains(&end) && (self.address + end as u64).is_multiple_of(64)
    }

    /// Whether an SGPR goes to a lane behind the no-op at `index`, and another one to a lane of the same VGPR went less
    /// than two wait states before it, as in spills of several registers.
    fn splits_spill(&self, index: usize) -> bool {
        let spill = |index: usize| {
            let inst = &self.places.get(index)?.inst;
            (inst.op == Op::Lane(Lane::VWritelaneB32)).then_some(inst.operands)
        };
        let Some([to, from, ..]) = spill(index + 1) else { return false };
        let before = (1..=2).filter_map(|back| spill(index.checked_sub(back)?));
        before.into_iter().any(|[first_to, first_from, ..]| first_to == to && first_from != from)
    }

    fn changes(&self, index: usize) -> Vec<(Change, Vec<u8>)> {
        let place = &self.places[index];
        match place.inst.op {
            Op::Control(Control::SWaitcnt) => self.weaker_counts(place),
            Op::Control(Control::SWaitcntVscnt) => {
                let max = self.target.limits().vscnt_max;
                let from = u32::from(self.immediate(place));
                let weaker = weaker(from, max);
                weaker.map(|to| self.with_wait(place, "vscnt", from, to, to as u16)).collect()
            }
            Op::Control(Control::SWaitcntDepctr) => self.weaker_dependencies(place),
            Op::Control(Control::SBarrier) => vec![(Change::Barrier, self.without(place))],
            Op::Buffer(
                Buffer::BufferWbl2
                | Buffer::BufferInv
                | Buffer::BufferGl0Inv
                | Buffer::BufferGl1Inv,
            ) => vec![(Change::Cache, self.without(place))],
            Op::Control(Control::SNop) => self.shorter_nop(index),
            _ => Vec::new(),
        }
    }

    /// The immediate of an instruction of the formats SOPP and SOPK: its low 16 bits.
    fn immediate(&self, place: &Place) -> u16 {
        let at = self.offset + place.bytes.start;
        u16::from_le_bytes([self.file[at], self.file[at + 1]])
    }

    fn with_immediate(&self, place: &Place, immediate: u16) -> Vec<u8> {
        self.with_bytes(place, &immediate.to_le_bytes())
    }

    /// The file with other bytes at the beginning of an instruction.
    fn with_bytes(&self, place: &Place, bytes: &[u8]) -> Vec<u8> {
        let mut file = self.file.to_vec();
        let at = self.offset + place.bytes.start;
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    }

    fn with_wait(
        &self,
        place: &Place,
        counter: &'static str,
        from: u32,
        to: u32,
        immediate: u16,
    ) -> (Change, Vec<u8>) {
        (Change::Wait { counter, from, to }, self.with_immediate(place, immediate))
    }

    /// Each count of a wait for vector results one higher, and at its maximum.
    fn weaker_dependencies(&self, place: &Place) -> Vec<(Change, Vec<u8>)> {
        let immediate = self.immediate(place);
        let waiting = DEP_COUNTS
            .iter()
            .filter_map(|count| Some((count.name, count.bits, count.in_imm(immediate)?)));
        let changes = waiting.flat_map(|(counter, bits, from)| {
            let max = (1 << bits.width) - 1;
            weaker(from, max).map(move |to| {
                let changed = immediate & !(bits.mask() as u16) | bits.put(to) as u16;
                let change = Change::Dependency { counter, from, to };
                (change, self.with_immediate(place, changed))
            })
        });
        changes.collect()
    }

    /// Each count of a wait one higher, and at its maximum, which waits for nothing.
    fn weaker_counts(&self, place: &Place) -> Vec<(Change, Vec<u8>)> {
        let (counts, none) = (
            WaitCounts::from_imm(self.target, self.immediate(place)),
            WaitCounts::none(self.target),
        );
        let vm = weaker(counts.vm, none.vm).map(|to| {
            let weaker = WaitCounts { vm: to, ..counts }.to_imm(self.target);
            self.with_wait(place, "vmcnt", counts.vm, to, weaker)
        });
        let lgkm = weaker(counts.lgkm, none.lgkm).map(|to| {
            let weaker = WaitCounts { lgkm: to, ..counts }.to_imm(self.target);
            self.with_wait(place, "lgkmcnt", counts.lgkm, to, weaker)
        });
        vm.chain(lgkm).collect()
    }

    fn without(&self, place: &Place) -> Vec<u8> {
        let mut file = self.file.to_vec();
        let bytes = self.offset + place.bytes.start..self.offset + place.bytes.end;
        file[bytes].chunks_mut(NOP.len()).for_each(|word| word.copy_from_slice(&NOP));
        file
    }

    /// The first instruction of the basic block of another.
    fn block_start(&self, index: usize) -> usize {
        let is_inside = |index: usize| {
            let place = &self.places[index];
            !self.targets.contains(&place.bytes.start) && !ends_block(&self.places[index - 1])
        };
        (1..=index).rev().find(|index| !is_inside(*index)).unwrap_or(0)
    }

    /// One state less, and none at all.
    fn shorter_nop(&self, index: usize) -> Vec<(Change, Vec<u8>)> {
        let place = &self.places[index];
        let from = u32::from(self.immediate(place)) + 1;
        let mut changes = Vec::new();
        if from > 1 {
            let immediate = (from - 2) as u16;
            changes
                .push((Change::Nop { from, to: from - 1 }, self.with_immediate(place, immediate)));
        }
        let moved = self.nop_behind_next(index).or_else(|| self.nop_at_block_start(index));
        changes.extend(moved.map(|file| (Change::Nop { from, to: 0 }, file)));
        changes
    }

    /// The file with a no-op behind the instruction for which it waits, of which it keeps one state. None where that
    /// instruction cannot move: no branch may lead to it, and it may not end the block. What made it wait may stand in an
    /// earlier block.
    fn nop_behind_next(&self, index: usize) -> Option<Vec<u8>> {
        let behind = self.places.get(index + 1..)?.iter();
        let no_ops = behind.take_while(|place| place.inst.op == Op::Control(Control::SNop));
        let next = index + 1 + no_ops.count();
        let is_fixed = |index: usize| self.targets.contains(&self.places[index].bytes.start);
        let last = self.places.get(next)?;
        if ends_block(last) || (index + 1..=next).any(is_fixed) {
            return None;
        }
        let of_nop = &self.places[index].bytes;
        Some(self.with_nop_moved(
            of_nop.end..last.bytes.end,
            of_nop.start,
            last.bytes.end - NOP.len(),
        ))
    }

    /// The file with a no-op at the beginning of its block, unless it stands there.
    fn nop_at_block_start(&self, index: usize) -> Option<Vec<u8>> {
        let start = self.places[self.block_start(index)].bytes.start;
        let end = self.places[index].bytes.start;
        (start < end).then(|| self.with_nop_moved(start..end, start + NOP.len(), start))
    }

    /// The file with `moved` bytes of the code at another place, and a no-op of one state.
    fn with_nop_moved(&self, moved: Range<usize>, to: usize, nop: usize) -> Vec<u8> {
        let mut file = self.file.to_vec();
        let length = moved.len();
        let moved = &self.file[self.offset + moved.start..self.offset + moved.end];
        file[self.offset + to..self.offset + to + length].copy_from_slice(moved);
        file[self.offset + nop..self.offset + nop + NOP.len()].copy_from_slice(&NOP);
        file
    }
}

/// Whether something else than the next instruction may follow, or the instruction knows where it stands.
fn ends_block(place: &Place) -> bool {
    let Op::Control(op) = place.inst.op else { return false };
    let stays = matches!(
        op,
        Control::SWaitcnt
            | Control::SWaitcntVscnt
            | Control::SWaitcntDepctr
            | Control::SBarrier
            | Control::SNop
            | Control::SDelayAlu
            | Control::SClause
    );
    !stays
}

/// Counts that wait for less: one more, and as many as there can be.
fn weaker(count: u32, max: u32) -> impl Iterator<Item = u32> {
    let weaker: BTreeSet<u32> =
        [count + 1, max].into_iter().filter(|to| *to > count && *to <= max).collect();
    weaker.into_iter()
}

/// Where a branch leads, in bytes of the code: its immediate counts dwords from the next instruction.
fn branch_target(place: &Place) -> Option<usize> {
    let Op::Control(op) = place.inst.op else { return None };
    let mnemonic_is_branch = matches!(
        op,
        Control::SBranch
            | Control::SCbranchScc0
            | Control::SCbranchScc1
            | Control::SCbranchVccz
            | Control::SCbranchVccnz
            | Control::SCbranchExecz
            | Control::SCbranchExecnz
            | Control::SCallB64
    );
    if !mnemonic_is_branch {
        return None;
    }
    let immediate = place.inst.operands.iter().find_map(|operand| match operand {
        Operand::Imm(value) => Some(*value),
        _ => None,
    })?;
    let dwords = isize::from(immediate.cast_signed());
    place.bytes.end.checked_add_signed(4 * dwords)
}
