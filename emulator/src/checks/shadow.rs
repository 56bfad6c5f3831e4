//! Who touched a byte last: the memory of the race checks.
//!
//! Pages are made when they are first touched and start with one cell a word. The first access to a part
//! of a word refines its page to cells of halves or bytes, so that neighbours never share a cell.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::wave::ROW_LANES;

const PAGE_BYTES: u64 = 4096;
/// Largest cell: 4 bytes.
const WORD_SHIFT: u32 = 2;

/// One memory instruction of one wave, packed; zero where there is none.
///
/// | bits | field |
/// |---|---|
/// | 23:0 | number of the instruction among the counted ones of its wave |
/// | 36:24 | site, from 1 on |
/// | 41:37 | wave of the workgroup |
/// | 63:42 | number of the workgroup |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp(u64);

impl Stamp {
    /// Most sites that stamps can tell apart.
    pub(super) const MAX_SITES: usize = (1 << 13) - 1;
    /// Largest number of an instruction.
    pub(super) const MAX_SERIAL: u32 = (1 << 24) - 1;
    /// Workgroups are numbered modulo this.
    pub(super) const WORKGROUPS: u32 = 1 << 22;

    pub(super) fn new(workgroup: u32, wave: u32, site: usize, serial: u32) -> Stamp {
        let workgroup = u64::from(workgroup % Stamp::WORKGROUPS);
        Stamp(
            workgroup << 42 | u64::from(wave & 31) << 37 | (site as u64) << 24 | u64::from(serial),
        )
    }

    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(super) fn serial(self) -> u32 {
        (self.0 & u64::from(Stamp::MAX_SERIAL)) as u32
    }

    pub(super) fn site(self) -> usize {
        (self.0 >> 24) as usize & Stamp::MAX_SITES
    }

    pub(super) fn wave(self) -> u32 {
        (self.0 >> 37 & 31) as u32
    }

    pub(super) fn workgroup(self) -> u32 {
        (self.0 >> 42) as u32
    }

    /// Whether both are of one wave.
    pub(super) fn is_same_wave(self, other: Stamp) -> bool {
        self.0 >> 37 == other.0 >> 37
    }
}

/// What is remembered of one word, half or byte.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    /// The last write.
    pub writer: Stamp,
    /// The last read since.
    pub reader: Stamp,
    /// A read of another wave since, preferably of another workgroup.
    pub other_reader: Stamp,
}

impl Cell {
    pub(super) fn write(&mut self, stamp: Stamp) {
        *self = Cell { writer: stamp, ..Cell::default() };
    }

    pub(super) fn read(&mut self, stamp: Stamp) {
        if !self.reader.is_same_wave(stamp) {
            let is_foreign =
                |reader: Stamp| !reader.is_none() && reader.workgroup() != stamp.workgroup();
            if is_foreign(self.reader) || !is_foreign(self.other_reader) {
                self.other_reader = self.reader;
            }
        }
        self.reader = stamp;
    }
}

/// The stamps of a [`Cell`], by number.
pub(super) const WRITER: usize = 0;
pub(super) const READER: usize = 1;
pub(super) const OTHER_READER: usize = 2;

/// The cells of [`PAGE_BYTES`] bytes, of 2 to the power of `shift` bytes each.
#[derive(Debug)]
struct Page {
    shift: u32,
    /// The stamps of all cells, by their number in one; no list where no cell has any.
    stamps: [Vec<Stamp>; 3],
}

impl Page {
    fn new() -> Page {
        Page { shift: WORD_SHIFT, stamps: [const { Vec::new() }; 3] }
    }

    /// Makes cells small enough for an access that starts or ends at a multiple of 2 to the power of `shift`.
    #[inline]
    fn refine(&mut self, shift: u32) {
        if shift < self.shift {
            self.divide(shift);
        }
    }

    #[cold]
    fn divide(&mut self, shift: u32) {
        let copies = 1 << (self.shift - shift);
        for stamps in &mut self.stamps {
            let cells = stamps.iter().flat_map(|stamp| std::iter::repeat_n(*stamp, copies));
            *stamps = cells.collect();
        }
        self.shift = shift;
    }

    fn cell(&self, index: usize) -> Cell {
        let stamp = |k: usize| self.stamps[k].get(index).copied().unwrap_or_default();
        Cell { writer: stamp(WRITER), reader: stamp(READER), other_reader: stamp(OTHER_READER) }
    }

    fn set(&mut self, index: usize, cell: Cell) {
        for (k, stamp) in [cell.writer, cell.reader, cell.other_reader].into_iter().enumerate() {
            if !stamp.is_none() {
                self.list(k);
            }
            if let Some(known) = self.stamps[k].get_mut(index) {
                *known = stamp;
            }
        }
    }

    /// The list of one kind of stamps, made where there is none.
    #[inline]
    fn list(&mut self, k: usize) -> &mut [Stamp] {
        if self.stamps[k].is_empty() {
            self.stamps[k] = vec![Stamp::default(); (PAGE_BYTES >> self.shift) as usize];
        }
        &mut self.stamps[k]
    }

    /// The stamp of this kind that `N` cells hold, where they hold the same.
    #[inline(always)]
    fn shared<const N: usize>(&self, k: usize, first: usize) -> Option<Stamp> {
        if self.stamps[k].is_empty() {
            return Some(Stamp::default());
        }
        let cells = self.stamps[k].get(first..)?.first_chunk::<N>()?;
        let different = cells.iter().fold(0, |bits, stamp| bits | (stamp.0 ^ cells[0].0));
        (different == 0).then_some(cells[0])
    }

    #[inline(always)]
    fn replace<const N: usize>(&mut self, k: usize, first: usize, old: Stamp, new: Stamp) {
        if old != new
            && let Some(cells) = self.list(k).get_mut(first..)
            && let Some(cells) = cells.first_chunk_mut::<N>()
        {
            *cells = [new; N];
        }
    }

    /// What `N` cells hold, where they hold the same.
    #[inline(always)]
    fn alike<const N: usize>(&self, first: usize) -> Option<Cell> {
        Some(Cell {
            writer: self.shared::<N>(WRITER, first)?,
            reader: self.shared::<N>(READER, first)?,
            other_reader: self.shared::<N>(OTHER_READER, first)?,
        })
    }

    /// Makes `N` cells that hold `old` hold `new`.
    #[inline(always)]
    fn replace_alike<const N: usize>(&mut self, first: usize, old: Cell, new: Cell) {
        self.replace::<N>(WRITER, first, old.writer, new.writer);
        self.replace::<N>(READER, first, old.reader, new.reader);
        self.replace::<N>(OTHER_READER, first, old.other_reader, new.other_reader);
    }

    /// Visits `N` cells as one.
    #[inline(always)]
    fn visit_alike<const N: usize>(
        &mut self,
        first: usize,
        visit: impl FnOnce(&mut Cell) -> bool,
    ) -> bool {
        let Some(old) = self.alike::<N>(first) else { return false };
        let mut new = old;
        let is_content = visit(&mut new);
        if is_content {
            self.replace_alike::<N>(first, old, new);
        }
        is_content
    }

    /// Whether some cells hold no stamp of this kind but one.
    #[inline]
    fn are_known(&self, k: usize, cells: &Range<usize>, known: Stamp) -> bool {
        let Some(stamps) = self.stamps[k].get(cells.clone()) else { return true };
        let mut is_any_other = false;
        for stamp in stamps {
            is_any_other |= (stamp.0 != 0) & (stamp.0 != known.0);
        }
        !is_any_other
    }

    /// Whether some cells were read by no wave, or by one only.
    #[inline]
    fn are_read_by(&self, cells: &Range<usize>, reader: Stamp) -> bool {
        let Some(stamps) = self.stamps[READER].get(cells.clone()) else { return true };
        let mut is_any_other = false;
        for stamp in stamps {
            is_any_other |= (stamp.0 != 0) & !stamp.is_same_wave(reader);
        }
        !is_any_other
    }
}

/// Where two neighbouring pages lie among those of their shadow, or twice the same one.
#[derive(Clone, Copy, Debug)]
pub(super) struct NearPages {
    places: [usize; 2],
    /// The number of the first.
    low: u64,
}

impl NearPages {
    /// The place of the page of an address, and the number of its word.
    #[inline(always)]
    fn find(&self, address: u64) -> (usize, usize) {
        let place = self.places[usize::from(address / PAGE_BYTES != self.low)];
        (place, ((address % PAGE_BYTES) >> WORD_SHIFT) as usize)
    }
}

/// Cells of all bytes that were touched.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    pages: Vec<Page>,
    /// From the number of a page to its place.
    places: BTreeMap<u64, usize>,
    /// Number and place of the page that was last looked up.
    last: Option<(u64, usize)>,
}

impl Shadow {
    #[inline]
    fn page(&mut self, number: u64) -> &mut Page {
        let place = match self.last {
            Some((last, place)) if last == number => place,
            _ => self.look_up(number),
        };
        &mut self.pages[place]
    }

    #[inline(never)]
    fn look_up(&mut self, number: u64) -> usize {
        let n_pages = self.pages.len();
        let place = *self.places.entry(number).or_insert(n_pages);
        if place == n_pages {
            self.pages.push(Page::new());
        }
        self.last = Some((number, place));
        place
    }

    /// The cells of `n_bytes` bytes from `address` on, if they lie in one page.
    #[inline]
    fn in_one_page(&mut self, address: u64, n_bytes: u64) -> Option<(&mut Page, Range<usize>)> {
        let (start, end) = (address % PAGE_BYTES, address % PAGE_BYTES + n_bytes);
        if end > PAGE_BYTES {
            return None;
        }
        let page = self.page(address / PAGE_BYTES);
        page.refine((start | end).trailing_zeros());
        let cells = (start >> page.shift) as usize..(end >> page.shift) as usize;
        Some((page, cells))
    }

    /// Visits the cells of one, two or four words as one cell, where they are alike and `visit` says that it is content.
    /// `false`, with nothing done, otherwise.
    #[inline(always)]
    pub(super) fn visit_alike(
        &mut self,
        address: u64,
        n_bytes: u64,
        visit: impl FnOnce(&mut Cell) -> bool,
    ) -> bool {
        let Some((page, cells)) = self.in_one_page(address, n_bytes) else { return false };
        match cells.len() {
            1 => page.visit_alike::<1>(cells.start, visit),
            2 => page.visit_alike::<2>(cells.start, visit),
            4 => page.visit_alike::<4>(cells.start, visit),
            _ => false,
        }
    }

    /// The places of the pages that hold what lanes access, where these are two neighbours at most, no lane accesses both
    /// of them, and they have cells of words.
    #[inline(always)]
    pub(super) fn pages_of_lanes(
        &mut self,
        at: &[u64; ROW_LANES],
        n_bytes: u64,
    ) -> Option<NearPages> {
        let (mut low, mut high, mut low_bits, mut crossed) = (u64::MAX, 0, n_bytes, 0);
        for address in at {
            let page = address / PAGE_BYTES;
            (low, high) = (low.min(page), high.max(page));
            low_bits |= address;
            let last = address.wrapping_add(n_bytes - 1) / PAGE_BYTES;
            crossed |= last ^ page;
        }
        if crossed != 0 || high - low > 1 {
            return None;
        }
        let shift = low_bits.trailing_zeros();
        let mut places = [0; 2];
        for (number, place) in [low, high].into_iter().zip(&mut places) {
            let page = self.page(number);
            page.refine(shift);
            if page.shift != WORD_SHIFT {
                return None;
            }
            *place = self.last?.1;
        }
        Some(NearPages { places, low })
    }

    /// What `N` words hold, where they hold the same.
    #[inline(always)]
    pub(super) fn alike<const N: usize>(&self, pages: &NearPages, address: u64) -> Option<Cell> {
        let (place, first) = pages.find(address);
        self.pages.get(place)?.alike::<N>(first)
    }

    /// Makes `N` words that hold `old` hold `new`.
    #[inline(always)]
    pub(super) fn replace_alike<const N: usize>(
        &mut self,
        pages: &NearPages,
        address: u64,
        old: Cell,
        new: Cell,
    ) {
        let (place, first) = pages.find(address);
        if let Some(page) = self.pages.get_mut(place) {
            page.replace_alike::<N>(first, old, new);
        }
    }

    /// Reads bytes that at most `writer` wrote and at most the reading wave read. `None`, with nothing done, where
    /// others did.
    #[inline]
    pub(super) fn read_alone(
        &mut self,
        address: u64,
        n_bytes: u64,
        stamp: Stamp,
        writer: Stamp,
    ) -> Option<()> {
        let (page, cells) = self.in_one_page(address, n_bytes)?;
        let is_alone = page.are_known(WRITER, &cells, writer)
            && page.are_read_by(&cells, stamp)
            && page.are_known(OTHER_READER, &cells, Stamp::default());
        is_alone.then(|| page.list(READER)[cells].fill(stamp))
    }

    /// Writes bytes that none but these stamps, by their numbers, wrote and read. `None`, with nothing done, where
    /// others did.
    #[inline]
    pub(super) fn write_alone(
        &mut self,
        address: u64,
        n_bytes: u64,
        stamp: Stamp,
        known: [Stamp; 3],
    ) -> Option<()> {
        let (page, cells) = self.in_one_page(address, n_bytes)?;
        let is_alone = (0..3).all(|k| page.are_known(k, &cells, known[k]));
        is_alone.then(|| {
            page.list(WRITER)[cells.clone()].fill(stamp);
            for k in [READER, OTHER_READER] {
                if let Some(readers) = page.stamps[k].get_mut(cells.clone()) {
                    readers.fill(Stamp::default());
                }
            }
        })
    }

    /// Visits the cells of `n_bytes` bytes from `address` on; the range does not wrap.
    #[inline]
    pub(super) fn visit(
        &mut self,
        address: u64,
        n_bytes: u64,
        mut visit: impl FnMut(u64, &mut Cell),
    ) {
        let end = address + n_bytes;
        let mut at = address;
        while at < end {
            let start = at & !(PAGE_BYTES - 1);
            let stop = end.min(start + PAGE_BYTES);
            let page = self.page(at / PAGE_BYTES);
            page.refine((at | stop).trailing_zeros());
            let shift = page.shift;
            for index in (at - start) >> shift..(stop - start) >> shift {
                let mut cell = page.cell(index as usize);
                visit(start + (index << shift), &mut cell);
                page.set(index as usize, cell);
            }
            at = stop;
        }
    }
}

#[cfg(test)]
mod tests;
