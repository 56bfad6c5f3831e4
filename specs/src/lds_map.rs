//! LDS of a workgroup as a named map: which buffers there are, when each is live and where each lies.
//!
//! A map is computed from a spec before any code exists. Kernels take offsets and pitches from it, and its
//! total is what a code object declares. Between buffers that are live in no common [`Phase`] there is a barrier of the
//! workgroup, so that they may share bytes.

use serde::Serialize;

use crate::choice::{Choice, choice};
use crate::element::Element;

/// Buffers start at multiples of this many bytes, for 128-bit accesses.
pub const LDS_ALIGN_BYTES: u64 = 16;

choice! {
    /// The phases of a chunk in the prefill kernels, in order. A tile kernel ends with `solve`; a scan kernel has `stage`
    /// and `scan`; a fused kernel has all.
    pub enum Phase {
        /// Inputs (or, in a scan kernel, tiles) arrive; gates are summed over the rows.
        Stage = "stage",
        /// One elementwise pass: decay factors, decayed keys and queries.
        Sweep = "sweep",
        /// Products of keys with keys and with queries.
        Products = "products",
        /// The triangular system.
        Solve = "solve",
        /// R = V − GK·S, Ṽ = A·R, O = GQ·S + Aqk·Ṽ, S ← diag(dec)·S + Kt·Ṽ.
        Scan = "scan",
    }
}

/// The phases in which a buffer's content is needed, from its write to its last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Lifetime {
    /// The phase that writes it first.
    pub first: Phase,
    /// The last phase that reads it.
    pub last: Phase,
}

impl Lifetime {
    /// From `first` to `last`, both included.
    pub const fn new(first: Phase, last: Phase) -> Lifetime {
        Lifetime { first, last }
    }

    /// How many phases it covers.
    fn phases(self) -> usize {
        Phase::ALL.iter().filter(|phase| (self.first..=self.last).contains(phase)).count()
    }

    /// Whether some phase belongs to both.
    pub fn meets(self, other: Lifetime) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// A matrix in LDS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LdsBuffer {
    /// Unique name.
    pub name: &'static str,
    /// What it holds, in the order of time.
    pub holds: &'static str,
    /// Type of one element.
    pub element: Element,
    /// Rows.
    pub rows: u32,
    /// Elements from one row to the next, padding included.
    pub pitch: u32,
    /// When it is live.
    pub live: Lifetime,
}

impl LdsBuffer {
    /// Bytes from one row to the next.
    pub fn pitch_bytes(&self) -> u64 {
        u64::from(self.pitch) * self.element.size_bytes()
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.rows).saturating_mul(self.pitch_bytes())
    }
}

/// How buffers are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Every buffer has bytes of its own.
    Disjoint,
    /// Buffers without a common phase may share bytes.
    ByLifetime,
}

/// A buffer with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PlacedBuffer {
    /// The buffer.
    #[serde(flatten)]
    pub buffer: LdsBuffer,
    /// First byte.
    pub offset: u64,
}

impl PlacedBuffer {
    /// First byte after the buffer.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.buffer.bytes())
    }

    fn shares_bytes_with(&self, other: &PlacedBuffer) -> bool {
        self.offset < other.end() && other.offset < self.end()
    }
}

/// The LDS of a workgroup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LdsMap {
    buffers: Vec<PlacedBuffer>,
}

impl LdsMap {
    /// Places buffers; empty ones are left out. By lifetime, each goes to the lowest offset at which it meets
    /// no buffer that is live in one of its phases, in the better of two orders: the largest first, or the
    /// longest-lived first.
    pub fn place(mut buffers: Vec<LdsBuffer>, placement: Placement) -> LdsMap {
        buffers.retain(|buffer| buffer.bytes() > 0);
        if placement == Placement::Disjoint {
            return LdsMap::in_order(&buffers, |map, _| aligned(map.total_bytes()));
        }
        let lowest = |map: &LdsMap, buffer: &LdsBuffer| map.lowest_offset(buffer);
        buffers.sort_by_key(|buffer| std::cmp::Reverse(buffer.bytes()));
        let by_size = LdsMap::in_order(&buffers, lowest);
        buffers.sort_by_key(|buffer| std::cmp::Reverse(buffer.live.phases()));
        let by_life = LdsMap::in_order(&buffers, lowest);
        if by_life.total_bytes() < by_size.total_bytes() { by_life } else { by_size }
    }

    fn in_order(buffers: &[LdsBuffer], offset: impl Fn(&LdsMap, &LdsBuffer) -> u64) -> LdsMap {
        buffers.iter().fold(LdsMap { buffers: Vec::new() }, |mut map, buffer| {
            let offset = offset(&map, buffer);
            map.buffers.push(PlacedBuffer { buffer: *buffer, offset });
            map
        })
    }

    /// The lowest free offset: 0, or the end of a buffer that is in the way.
    fn lowest_offset(&self, buffer: &LdsBuffer) -> u64 {
        let rivals = || self.buffers.iter().filter(|placed| placed.buffer.live.meets(buffer.live));
        let mut candidates: Vec<u64> = rivals().map(|rival| aligned(rival.end())).collect();
        candidates.push(0);
        candidates.sort_unstable();
        let is_free = |offset: &u64| {
            let here = PlacedBuffer { buffer: *buffer, offset: *offset };
            !rivals().any(|rival| rival.shares_bytes_with(&here))
        };
        // After the last rival nothing is in the way.
        candidates.iter().copied().find(is_free).unwrap_or(aligned(self.total_bytes()))
    }

    /// Every buffer, in the order of placement.
    pub fn buffers(&self) -> &[PlacedBuffer] {
        &self.buffers
    }

    /// The buffer of a name.
    pub fn buffer(&self, name: &str) -> Option<&PlacedBuffer> {
        self.buffers.iter().find(|placed| placed.buffer.name == name)
    }

    /// Bytes that the workgroup declares.
    pub fn total_bytes(&self) -> u64 {
        self.buffers.iter().map(PlacedBuffer::end).max().unwrap_or(0)
    }

    /// The most bytes that are live in one phase: no placement needs fewer.
    pub fn peak_bytes(&self) -> u64 {
        let live_in = |phase: &Phase| {
            let now = Lifetime::new(*phase, *phase);
            let live = self.buffers.iter().filter(|placed| placed.buffer.live.meets(now));
            live.fold(0u64, |sum, placed| sum.saturating_add(placed.buffer.bytes()))
        };
        Phase::ALL.iter().map(live_in).max().unwrap_or(0)
    }

    /// Pairs of buffers that share bytes, the one that is live first first. Between its last phase and the
    /// other's first one there must be a barrier.
    pub fn handovers(&self) -> Vec<(&PlacedBuffer, &PlacedBuffer)> {
        let pairs = self.buffers.iter().flat_map(|a| self.buffers.iter().map(move |b| (a, b)));
        pairs
            .filter(|(a, b)| a.buffer.live.last < b.buffer.live.first && a.shares_bytes_with(b))
            .collect()
    }
}

fn aligned(offset: u64) -> u64 {
    offset.checked_next_multiple_of(LDS_ALIGN_BYTES).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(name: &'static str, bytes: u32, first: Phase, last: Phase) -> LdsBuffer {
        let live = Lifetime::new(first, last);
        LdsBuffer {
            name,
            holds: "numbers",
            element: Element::Bf16,
            rows: 1,
            pitch: bytes / 2,
            live,
        }
    }

    fn three() -> Vec<LdsBuffer> {
        vec![
            buffer("inputs", 100, Phase::Stage, Phase::Sweep),
            buffer("factors", 64, Phase::Sweep, Phase::Products),
            buffer("tiles", 80, Phase::Products, Phase::Solve),
        ]
    }

    fn offsets(map: &LdsMap) -> Vec<(&str, u64)> {
        map.buffers().iter().map(|placed| (placed.buffer.name, placed.offset)).collect()
    }

    #[test]
    fn disjoint_buffers_lie_one_after_the_other() {
        let map = LdsMap::place(three(), Placement::Disjoint);
        assert_eq!(offsets(&map), [("inputs", 0), ("factors", 112), ("tiles", 176)]);
        assert_eq!((map.total_bytes(), map.peak_bytes()), (256, 164));
        assert_eq!(map.handovers(), []);
    }

    #[test]
    fn buffers_without_a_common_phase_share_bytes() {
        let map = LdsMap::place(three(), Placement::ByLifetime);
        assert_eq!(offsets(&map), [("inputs", 0), ("tiles", 0), ("factors", 112)]);
        assert_eq!(map.total_bytes(), 176);
        let [(first, then)] = map.handovers()[..] else { panic!("{:?}", map.handovers()) };
        assert_eq!((first.buffer.name, then.buffer.name), ("inputs", "tiles"));
    }

    #[test]
    fn a_gap_is_filled_by_what_fits() {
        let mut buffers = three();
        buffers.push(buffer("late", 48, Phase::Solve, Phase::Solve));
        buffers.push(buffer("early", 16, Phase::Stage, Phase::Stage));
        let map = LdsMap::place(buffers, Placement::ByLifetime);
        assert_eq!(map.buffer("late").map(|late| late.offset), Some(80));
        assert_eq!(map.buffer("early").map(|early| early.offset), Some(112));
        assert_eq!(map.total_bytes(), 176);
    }

    #[test]
    fn nothing_that_lives_together_overlaps() {
        for placement in [Placement::Disjoint, Placement::ByLifetime] {
            let map = LdsMap::place(three(), placement);
            for (index, a) in map.buffers().iter().enumerate() {
                for b in &map.buffers()[..index] {
                    let together = a.buffer.live.meets(b.buffer.live);
                    assert!(!(together && a.shares_bytes_with(b)), "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn empty_maps_and_buffers() {
        let none =
            LdsMap::place(vec![buffer("none", 0, Phase::Stage, Phase::Solve)], Placement::Disjoint);
        assert_eq!((none.total_bytes(), none.peak_bytes(), none.buffers().len()), (0, 0, 0));
    }

    #[test]
    fn huge_sizes_do_not_wrap() {
        let huge = LdsBuffer { rows: u32::MAX, pitch: u32::MAX, ..three()[0] };
        let map =
            LdsMap::place(vec![huge, LdsBuffer { name: "more", ..huge }], Placement::Disjoint);
        assert!(map.total_bytes() > u64::from(u32::MAX));
    }
}
