//! What the waves of a workgroup know of releases (`visibility.rs`): flags they read, caches they invalidated,
//! stores they wrote back, what barriers told them.

use super::shadow::Stamp;
use super::visibility::Releases;
use super::waits::{ORDERS, Order};

/// Accesses of one wave, by their serial numbers: those with lower ones …
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Covered {
    /// … were issued,
    pub issued: u32,
    /// … by order, are complete,
    pub complete: [u32; ORDERS],
    /// … are written back as far as the other workgroups' caches go (gfx950).
    pub written_back: u32,
}

impl Covered {
    pub(super) fn join(&mut self, other: &Covered) {
        self.issued = self.issued.max(other.issued);
        self.written_back = self.written_back.max(other.written_back);
        for (mine, theirs) in self.complete.iter_mut().zip(other.complete) {
            *mine = (*mine).max(theirs);
        }
    }
}

/// Up to which clock a wave knows of releases.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct View {
    /// Values of flags were asked for.
    pub asked: u32,
    /// … and have returned.
    pub seen: u32,
    /// … and the caches that its workgroup may not share were invalidated afterwards.
    pub group: u32,
    /// … and those that other workgroups do not share either.
    pub device: u32,
    /// Values that had not returned when caches were invalidated.
    pub early: u32,
}

/// What a wave has done of releases and acquires.
#[derive(Clone, Debug, Default)]
struct WaveSync {
    /// Order, serial number and clock of flags whose values may not have returned.
    asked: Vec<(Order, u32, u32)>,
    seen: u32,
    near: u32,
    far: u32,
    early: u32,
    /// Serial numbers of write-backs under way, and what they cover of the other waves.
    writing_back: Vec<(u32, Vec<u32>)>,
    written_back: u32,
    /// Written back of the other waves.
    others: Vec<u32>,
    /// Its last release told all that it knows of the other waves.
    has_told: bool,
}

impl WaveSync {
    /// Takes in what has completed.
    fn settle(&mut self, complete: &[u32; ORDERS]) {
        let seen = &mut self.seen;
        self.asked.retain(|(order, serial, clock)| {
            let has_returned = *serial < complete[*order as usize];
            if has_returned {
                *seen = (*seen).max(*clock);
            }
            !has_returned
        });
        while let Some((serial, _)) = self.writing_back.first()
            && *serial < complete[Order::Vector as usize]
        {
            let (serial, others) = self.writing_back.remove(0);
            self.written_back = self.written_back.max(serial);
            self.others.resize(others.len(), 0);
            for (mine, theirs) in self.others.iter_mut().zip(others) {
                *mine = (*mine).max(theirs);
            }
        }
    }

    /// Gets to know what others of its workgroup know.
    fn learn(&mut self, (seen, near, far): (u32, u32, u32), shares_cache: bool) {
        (self.seen, self.far) = (self.seen.max(seen), self.far.max(far));
        self.has_told = false;
        if shares_cache {
            self.near = self.near.max(near);
        }
    }

    fn asked(&self) -> u32 {
        self.asked.iter().fold(self.seen, |clock, asked| clock.max(asked.2))
    }
}

/// Caches that an instruction invalidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caches {
    /// Of the CU (gfx1100).
    Near,
    /// That CUs share (gfx1100).
    Far,
    /// Both (gfx950).
    All,
}

/// What the waves of one workgroup have done of releases and acquires.
#[derive(Debug, Default)]
pub(super) struct GroupSync {
    waves: Vec<WaveSync>,
    /// What the last barrier said of each wave.
    at_barrier: Vec<Covered>,
    /// By wave: those whose atomics on LDS it may have seen, one bit each.
    through_lds: Vec<u32>,
}

impl GroupSync {
    pub(super) fn new(n_waves: usize) -> GroupSync {
        GroupSync {
            waves: vec![WaveSync::default(); n_waves],
            at_barrier: vec![Covered::default(); n_waves],
            through_lds: vec![0; n_waves],
        }
    }

    /// A wave gets a value from LDS that these waves may have written by atomics: it knows what they know.
    pub(super) fn learn(&mut self, wave: u32, released: u32, shares_cache: bool) {
        let (seen, near, far) = self.newest();
        let Some(sync) = self.waves.get_mut(wave as usize) else { return };
        sync.learn((seen, near, far), shares_cache);
        self.through_lds[wave as usize] |= released;
    }

    pub(super) fn n_waves(&self) -> usize {
        self.waves.len()
    }

    /// The latest clocks of all waves.
    fn newest(&self) -> (u32, u32, u32) {
        let newest =
            |clock: fn(&WaveSync) -> u32| self.waves.iter().map(clock).max().unwrap_or_default();
        (newest(|sync| sync.seen), newest(|sync| sync.near), newest(|sync| sync.far))
    }

    /// Caches are invalidated by a wave, of which this is complete.
    pub(super) fn invalidate(&mut self, wave: u32, complete: &[u32; ORDERS], caches: Caches) {
        let Some(sync) = self.waves.get_mut(wave as usize) else { return };
        sync.settle(complete);
        sync.early = sync.early.max(sync.asked.iter().map(|asked| asked.2).max().unwrap_or(0));
        if caches != Caches::Far {
            sync.near = sync.seen;
        }
        if caches != Caches::Near {
            sync.far = sync.seen;
        }
    }

    /// A wave starts to write back what it and, as far as `others` goes, the other waves have stored.
    pub(super) fn write_back(&mut self, wave: u32, serial: u32, others: Vec<u32>) {
        if let Some(sync) = self.waves.get_mut(wave as usize) {
            sync.writing_back.push((serial, others));
        }
    }

    /// A barrier opens: what the waves know, all know; `shares_cache` says that they are on one CU.
    pub(super) fn open_barrier(&mut self, waves: Vec<Covered>, shares_cache: bool) {
        for (sync, covered) in self.waves.iter_mut().zip(&waves) {
            sync.settle(&covered.complete);
        }
        let newest = self.newest();
        for sync in &mut self.waves {
            sync.learn(newest, shares_cache);
        }
        for ((known, covered), sync) in self.at_barrier.iter_mut().zip(&waves).zip(&self.waves) {
            *known = Covered { written_back: sync.written_back, ..*covered };
            if shares_cache {
                known.complete = [covered.issued; ORDERS];
            }
        }
    }

    /// What a wave knows now.
    pub(super) fn view(&mut self, wave: u32, complete: impl Fn() -> [u32; ORDERS]) -> View {
        let Some(sync) = self.waves.get_mut(wave as usize) else { return View::default() };
        if !sync.asked.is_empty() {
            sync.settle(&complete());
        }
        View {
            asked: sync.asked(),
            seen: sync.seen,
            group: sync.seen.min(sync.near),
            device: sync.seen.min(sync.near).min(sync.far),
            early: sync.early,
        }
    }

    /// A wave asks for the value of a flag.
    pub(super) fn ask(&mut self, now: Stamp, order: Order, clock: u32) {
        let Some(sync) = self.waves.get_mut(now.wave() as usize) else { return };
        if clock <= sync.seen {
            return;
        }
        match sync.asked.last_mut() {
            Some((_, serial, known)) if *serial == now.serial() => *known = clock.max(*known),
            _ => sync.asked.push((order, now.serial(), clock)),
        }
    }

    /// What a wave knows of the others of its workgroup: from barriers, and on one CU from releases that
    /// it saw.
    fn others(
        &self,
        wave: u32,
        releases: &Releases,
        group: u32,
        shares_cache: bool,
    ) -> Vec<Covered> {
        let mut known = self.at_barrier.clone();
        let through_lds = self.through_lds[wave as usize];
        for (_, known) in (0..).zip(&mut known).filter(|(of, _)| through_lds >> of & 1 == 1) {
            (known.issued, known.complete) = (u32::MAX, [u32::MAX; ORDERS]);
        }
        if !shares_cache {
            return known;
        }
        let seen = self.waves[wave as usize].seen;
        for (of, known) in (0..).zip(&mut known) {
            if let Some(issued) = releases.issued_before(group, of, seen) {
                known.join(&Covered { issued, complete: [issued; ORDERS], written_back: 0 });
            }
        }
        known
    }

    /// A wave writes a flag, of which this is complete: up to which clock it had asked for flags, what is
    /// written back of its own, and what it knows of the other waves if that may be new.
    pub(super) fn release(
        &mut self,
        now: Stamp,
        complete: &[u32; ORDERS],
        releases: &Releases,
        shares_cache: bool,
    ) -> Option<(u32, u32, Vec<Covered>)> {
        let wave = self.waves.get_mut(now.wave() as usize)?;
        wave.settle(complete);
        let (asked, written_back) = (wave.asked(), wave.written_back);
        if std::mem::replace(&mut wave.has_told, !shares_cache) {
            return Some((asked, written_back, Vec::new()));
        }
        let mut others = self.others(now.wave(), releases, now.workgroup(), shares_cache);
        let wave = &self.waves[now.wave() as usize];
        for (known, written_back) in others.iter_mut().zip(&wave.others) {
            known.written_back = known.written_back.max(*written_back);
        }
        Some((asked, written_back, others))
    }

    /// How many accesses of the other waves a write-back of this wave covers.
    pub(super) fn stored_by_others(&self, wave: u32, releases: &Releases, group: u32) -> Vec<u32> {
        self.others(wave, releases, group, true).iter().map(|known| known.issued).collect()
    }
}
