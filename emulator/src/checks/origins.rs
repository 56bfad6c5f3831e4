//! Where undefined bits came to be: kept for each register that has some, and only while it does.
//!
//! A register is undefined from the start of its wave, or since a load found bytes that nothing had written (or
//! that undefined bits were stored to). What an instruction computes from it has the same origin; of several
//! undefined sources the first one counts.

use std::collections::BTreeMap;

use isa::slots;
use isa::table::Effect;

use crate::exec::Exec;
use crate::prepare::Prepared;
use crate::wave::{Wave, scalar};

/// The slot of the scalar condition code, behind all registers.
pub(crate) const SCC: u16 = 1023;

/// What made a register undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Nothing has written this register; an instruction at this address read it first.
    Never { slot: u16, reader: u64 },
    /// An instruction at this address loaded undefined bytes.
    Loaded { pc: u64 },
}

/// Origins by register slot. What a defined register has here is old and not looked at.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    by_slot: BTreeMap<u16, Origin>,
}

impl Origins {
    pub(crate) fn clear(&mut self) {
        self.by_slot.clear();
    }
}

impl Wave {
    /// Whether a register has undefined bits.
    fn is_slot_undefined(&self, slot: u16) -> bool {
        match slot {
            SCC => self.is_scc_undefined,
            0..slots::VGPRS => self.scalars.undefined(slot as u8) != 0,
            _ => self.vectors.is_any_tainted(&[slot - slots::VGPRS]),
        }
    }
}

/// The first undefined register that an instruction reads. What it also writes comes last: it may have been
/// defined before.
fn undefined_source(wave: &Wave, inst: &Prepared) -> Option<u16> {
    let slots = |is_destination: bool| {
        let spans = inst.spans().filter(move |span| span.is_destination == is_destination);
        spans.flat_map(|span| span.first..span.first + u16::from(span.count))
    };
    let is_undefined = |slot: &u16| wave.is_slot_undefined(*slot);
    let is_written = |slot: u16| slots(true).any(|written| written == slot);
    let row = inst.inst.row();
    let vcc = (row.has(Effect::ReadsVcc) && wave.mask_undefined(scalar::VCC) != 0)
        .then_some(scalar::VCC.into());
    let scc = (row.has(Effect::ReadsScc) && wave.is_scc_undefined).then_some(SCC);
    let only_read = slots(false).filter(is_undefined).find(|slot| !is_written(*slot));
    only_read.or(vcc).or(scc).or_else(|| slots(false).find(is_undefined))
}

impl Exec<'_> {
    /// An instruction has written undefined bits to its vector results.
    #[cold]
    pub(crate) fn note_undefined(&mut self, inst: &Prepared) {
        let results = inst.spans().filter(|span| span.is_destination);
        for slot in results.flat_map(|span| span.first..span.first + u16::from(span.count)) {
            self.note_undefined_at(inst, slot);
        }
    }

    /// An instruction has loaded undefined bytes.
    #[cold]
    pub(crate) fn note_loaded(&mut self, inst: &Prepared) {
        let span = inst.result_span();
        for slot in span.first..span.first + u16::from(span.count) {
            self.wave.origins.by_slot.insert(slot, Origin::Loaded { pc: inst.pc });
        }
    }

    /// An instruction has written undefined bits to a register.
    #[cold]
    pub(crate) fn note_undefined_at(&mut self, inst: &Prepared, slot: u16) {
        let origin = match undefined_source(self.wave, inst) {
            Some(source) => self.origin(source, inst.pc),
            None => Origin::Loaded { pc: inst.pc },
        };
        self.wave.origins.by_slot.insert(slot, origin);
    }

    fn origin(&self, slot: u16, reader: u64) -> Origin {
        let known = self.wave.origins.by_slot.get(&slot).copied();
        known.unwrap_or(Origin::Never { slot, reader })
    }

    /// The register that makes a use of an instruction undefined, and where its bits came to be: words, and
    /// the other instruction if there is one. `among` are slots to prefer.
    pub(crate) fn explain_undefined(
        &self,
        inst: &Prepared,
        among: &[u16],
    ) -> (String, Option<u64>) {
        let preferred = among.iter().copied().find(|slot| self.wave.is_slot_undefined(*slot));
        let Some(slot) = preferred.or_else(|| undefined_source(self.wave, inst)) else {
            return (String::new(), None);
        };
        let name = if slot == SCC { "SCC".to_owned() } else { slots::name(slot) };
        match self.origin(slot, inst.pc) {
            Origin::Loaded { pc } => (
                format!(": {name} holds what was loaded from memory that nothing had written"),
                Some(pc),
            ),
            Origin::Never { slot: first, reader } if reader == inst.pc => {
                (format!(": nothing has written {}", slots::name(first)), None)
            }
            Origin::Never { slot: first, reader } => {
                let first = if first == SCC { "SCC".to_owned() } else { slots::name(first) };
                (
                    format!(
                        ": {name} comes from {first}, which nothing had written when it was read"
                    ),
                    Some(reader),
                )
            }
        }
    }
}
