//! The code of a loaded object, decoded once.

use std::sync::OnceLock;

use isa::Target;

use crate::block::{Block, MAX_STEPS};
use crate::fault::Cause;
use crate::finding::Site;
use crate::prepare::{Prepared, prepare, prepare_moved};
use crate::sem::relative;

type Slot = OnceLock<Result<Prepared, Box<Cause>>>;

/// One executable segment. Each dword has a slot and a block, which are filled when the dword is first executed, and
/// when a wave first comes to it from elsewhere.
#[derive(Debug)]
struct Code {
    /// Address of the first byte.
    start: u64,
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    blocks: Vec<OnceLock<Box<Block>>>,
}

/// The code of a loaded object.
#[derive(Debug)]
pub(crate) struct Program {
    target: Target,
    /// Where the image was loaded: address of a byte minus its address in the image.
    bias: u64,
    code: Vec<Code>,
}

impl Program {
    /// From executable segments: loaded address and bytes of each.
    pub(crate) fn new(
        target: Target,
        bias: u64,
        segments: impl Iterator<Item = (u64, Vec<u8>)>,
    ) -> Program {
        let code = segments.map(|(start, bytes)| {
            let n_words = bytes.len() / 4;
            let (mut slots, mut blocks) = (Vec::new(), Vec::new());
            slots.resize_with(n_words, OnceLock::new);
            blocks.resize_with(n_words, OnceLock::new);
            Code { start, bytes, slots, blocks }
        });
        Program { target, bias, code: code.collect() }
    }

    /// The target of the code.
    pub(crate) fn target(&self) -> Target {
        self.target
    }

    /// The instructions from an address on.
    #[inline]
    pub(crate) fn block(&self, pc: u64) -> Result<&Block, Box<Cause>> {
        // Nearly always made before, and in the only segment of code.
        if let Some(code) = self.code.first()
            && let offset = pc.wrapping_sub(code.start)
            && offset % 4 == 0
            && let Some(block) = code.blocks.get((offset / 4) as usize)
            && let Some(block) = block.get()
        {
            return Ok(block);
        }
        let (code, at) = self.find(pc)?;
        let first = self.fetch(pc)?;
        Ok(code.blocks[at].get_or_init(|| Box::new(self.gather(first))))
    }

    /// What executes after an instruction without a look at what surrounds it, up to one that cannot be decoded.
    #[cold]
    fn gather(&self, first: &Prepared) -> Block {
        let mut steps = vec![first.clone()];
        let mut last = first;
        while steps.len() < MAX_STEPS
            && !last.ends_block
            && let Ok(next) = self.fetch(last.next_pc())
        {
            steps.push(next.clone());
            last = next;
        }
        Block::new(steps, self.target)
    }

    /// The instruction at an address.
    pub(crate) fn fetch(&self, pc: u64) -> Result<&Prepared, Box<Cause>> {
        let (code, at) = self.find(pc)?;
        let prepared = code.slots[at].get_or_init(|| self.decode(pc, &code.bytes, at * 4));
        prepared.as_ref().map_err(Clone::clone)
    }

    /// The segment of an address and the number of its dword.
    fn find(&self, pc: u64) -> Result<(&Code, usize), Box<Cause>> {
        for code in &self.code {
            let offset = pc.wrapping_sub(code.start);
            let at = usize::try_from(offset / 4).unwrap_or(usize::MAX);
            if offset % 4 == 0 && at < code.slots.len() {
                return Ok((code, at));
            }
        }
        Err(Box::new(Cause::OutsideCode { address: pc.wrapping_sub(self.bias) }))
    }

    #[cold]
    fn decode(&self, pc: u64, code: &[u8], at: usize) -> Result<Prepared, Box<Cause>> {
        let bytes = &code[at..];
        let inst = isa::decode(self.target, bytes).map_err(|error| {
            let shown = bytes.iter().take(8).map(|byte| format!("{byte:02x}"));
            Box::new(Cause::UnknownInstruction {
                bytes: shown.collect::<Vec<_>>().join(" "),
                error: error.problem.to_string(),
                nearest: isa::decode::nearest(self.target, bytes)
                    .map_or_else(|| "none".to_owned(), |nearest| nearest.to_string()),
            })
        })?;
        if self.target == Target::Gfx950 && relative::is_in_region(&code[..at], &inst) {
            return prepare_moved(pc, inst, self.target, relative::RUN_MOVED).map_err(Box::new);
        }
        prepare(pc, inst, self.target).map_err(Box::new)
    }

    /// Where an address lies in the image.
    pub(crate) fn image_address(&self, pc: u64) -> u64 {
        pc.wrapping_sub(self.bias)
    }

    /// How reports name the instruction at an address.
    pub(crate) fn site(&self, pc: u64) -> Site {
        let code = self.code.iter().find_map(|code| {
            let offset = usize::try_from(pc.checked_sub(code.start)?).ok()?;
            code.bytes.get(offset..)
        });
        let instruction = match code.map(|bytes| isa::decode(self.target, bytes)) {
            Some(Ok(inst)) => isa::disasm::disassemble(self.target, &inst),
            Some(Err(error)) => format!("({})", error.problem),
            None => "(outside the code)".to_owned(),
        };
        Site { address: self.image_address(pc), instruction }
    }
}
