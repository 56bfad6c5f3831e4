//! What two conflicting accesses break, in words.

use isa::Target;

use super::shadow::Stamp;
use super::waits::Order;
use crate::finding::Rule;

/// What an earlier access and this one break.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflict {
    pub earlier: Stamp,
    pub address: u64,
    pub kind: Kind,
    pub is_earlier_write: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No barrier between them.
    NoBarrier,
    /// A barrier, but the earlier one was not known to be complete at it.
    NotWaitedFor,
    /// Ordered, but the reader's cache may hold the old value.
    NotInvalidated,
    /// Of different workgroups.
    Workgroups,
    /// Of one wave, in the conservative mode.
    SameWave,
    /// An atomic released it before it was known to be complete.
    ReleasedTooEarly,
    /// An atomic released it, complete, but it may still be in a cache that the reader does not share.
    NotWrittenBack,
    /// The value of the atomic that orders them had not returned when caches were invalidated.
    AcquiredTooEarly,
    /// Ordered by atomics, but caches of the reader may hold the old value.
    NotInvalidatedForDevice,
}

impl Kind {
    pub(super) fn rule(self, is_global: bool) -> Rule {
        match self {
            Kind::SameWave => Rule::LdsOrder,
            Kind::NotWaitedFor => Rule::UnfinishedAtBarrier,
            Kind::NotInvalidated | Kind::NotInvalidatedForDevice => Rule::StaleCache,
            Kind::ReleasedTooEarly => Rule::UnfinishedRelease,
            Kind::NotWrittenBack => Rule::NotWrittenBack,
            Kind::AcquiredTooEarly => Rule::UnfinishedAcquire,
            Kind::NoBarrier | Kind::Workgroups if is_global => Rule::GlobalRace,
            Kind::NoBarrier | Kind::Workgroups => Rule::LdsRace,
        }
    }

    /// Why the accesses break the rule; `release` is the text of the atomic that releases the earlier one.
    pub(super) fn because(self, release: Option<u64>) -> String {
        let at = release.map_or(String::new(), |pc| format!(" at {pc:#x}"));
        match self {
            Kind::NoBarrier => "with no barrier between them".to_owned(),
            Kind::NotWaitedFor => {
                "which its wave had not waited for when the barrier opened".to_owned()
            }
            Kind::NotInvalidated => "and the cache of this wave's CU may hold older data".to_owned(),
            Kind::Workgroups => "and nothing orders workgroups".to_owned(),
            Kind::SameWave => "which nothing proves complete (conservative LDS order)".to_owned(),
            Kind::ReleasedTooEarly => format!(
                "which its wave had not waited for when an atomic{at} released it"
            ),
            Kind::NotWrittenBack => format!(
                "which was not written back beyond its XCD's L2 when an atomic{at} released it"
            ),
            Kind::AcquiredTooEarly => {
                "but the value of the atomic that orders them had not returned when this wave \
                 went on or invalidated its caches"
                    .to_owned()
            }
            Kind::NotInvalidatedForDevice => {
                "and this wave's caches, not invalidated since it read the atomic that orders them, \
                 may hold older data"
                    .to_owned()
            }
        }
    }

    pub(super) fn remedy(self, target: Target, is_global: bool, order: Order) -> &'static str {
        match (self, order) {
            (Kind::NoBarrier, _) if is_global => {
                "put a workgroup-scope release, s_barrier and acquire between them"
            }
            (Kind::NoBarrier, _) => "put s_waitcnt lgkmcnt(0) and s_barrier between them",
            (Kind::NotWaitedFor, Order::Lds) => WAIT_FOR_LDS,
            (Kind::NotWaitedFor, Order::VectorStore) => {
                "put s_waitcnt_vscnt null, 0x0 before the barrier"
            }
            (Kind::NotWaitedFor, Order::Vector) => "put s_waitcnt vmcnt(0) before the barrier",
            (Kind::NotWaitedFor, Order::Unordered) => {
                "put s_waitcnt vmcnt(0) lgkmcnt(0) before the barrier"
            }
            (Kind::NotInvalidated, _) => {
                "put buffer_gl0_inv between what orders them, a barrier or an atomic, and the load"
            }
            (Kind::Workgroups, _) => {
                "give workgroups data of their own, use atomics of device scope, or split the kernel in two"
            }
            (Kind::SameWave, _) => "put s_waitcnt lgkmcnt(0) between them",
            (Kind::ReleasedTooEarly, Order::VectorStore) => {
                "put s_waitcnt_vscnt null, 0x0 before the atomic that releases it"
            }
            (Kind::ReleasedTooEarly, Order::Unordered) => {
                "put s_waitcnt vmcnt(0) lgkmcnt(0) before the atomic that releases it"
            }
            (Kind::ReleasedTooEarly, _) => {
                "put s_waitcnt vmcnt(0) before the atomic that releases it"
            }
            (Kind::NotWrittenBack, _) => {
                "put buffer_wbl2 sc1 and s_waitcnt vmcnt(0) before the atomic that releases it"
            }
            (Kind::AcquiredTooEarly, _) => {
                "put s_waitcnt vmcnt(0) between the atomic and the invalidation of the caches"
            }
            (Kind::NotInvalidatedForDevice, _) => match target {
                Target::Gfx950 => "put buffer_inv sc1 between the atomic and the load",
                Target::Gfx1100 => {
                    "put buffer_gl1_inv and buffer_gl0_inv between the atomic and the load"
                }
            },
        }
    }
}

/// The remedy for LDS accesses that are unfinished at a barrier.
pub(crate) const WAIT_FOR_LDS: &str = "put s_waitcnt lgkmcnt(0) before the barrier";
