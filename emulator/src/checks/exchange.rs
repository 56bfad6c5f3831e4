//! Plain loads among atomics that a compare-and-swap proves harmless.
//!
//! A loop around a compare-and-swap may start with a plain load: compilers write operations that the hardware
//! lacks in this way (LLVM's `AtomicExpand`). Whatever it loads, the swap only succeeds on what memory
//! holds by then. So a plain load of up to 64 bits that conflicts with an atomic alone is a finding only
//! if its wave does not try such a swap of the same place before the next barrier.

use std::collections::BTreeMap;
use std::ops::Range;

use isa::Op;
use isa::table::{FlatAtomic, LdsAtomic};

use crate::finding::{Finding, Findings, Rule};
use crate::prepare::Prepared;

/// Bytes of the widest compare-and-swap.
pub(super) const MAX_BYTES: u64 = 8;

pub(super) fn is_compare_and_swap(inst: &Prepared) -> bool {
    use LdsAtomic::{DsCmpstoreB32, DsCmpstoreB64, DsCmpstoreRtnB32, DsCmpstoreRtnB64};
    matches!(
        inst.inst.op,
        Op::FlatAtomic(FlatAtomic::AtomicCmpswapB32 | FlatAtomic::AtomicCmpswapB64)
            | Op::LdsAtomic(DsCmpstoreB32 | DsCmpstoreB64 | DsCmpstoreRtnB32 | DsCmpstoreRtnB64)
    )
}

/// A conflict that is not a finding yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub rule: Rule,
    pub site: u64,
    pub producer: u64,
    pub finding: Finding,
}

/// Conflicts of a workgroup's loads, by wave, memory (global or LDS) and address.
#[derive(Debug, Default)]
pub(super) struct Unproven {
    pending: BTreeMap<(u32, bool, u64), Pending>,
}

impl Unproven {
    pub(super) fn add(&mut self, wave: u32, is_global: bool, address: u64, pending: Pending) {
        self.pending.entry((wave, is_global, address)).or_insert(pending);
    }

    /// The wave tries a compare-and-swap of these bytes.
    pub(super) fn prove(&mut self, wave: u32, is_global: bool, bytes: Range<u64>) {
        if !self.pending.is_empty() {
            let range = (wave, is_global, bytes.start)..(wave, is_global, bytes.end);
            self.pending.extract_if(range, |_, _| true).for_each(drop);
        }
    }

    /// What nothing proved harmless is a finding.
    pub(super) fn settle(&mut self, findings: &mut Findings) {
        for pending in std::mem::take(&mut self.pending).into_values() {
            let Pending { rule, site, producer, finding } = pending;
            findings.add(rule, site, Some(producer), || finding);
        }
    }
}
