//! Counts of a dispatch: by class, of each wave, and of what was moved.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::Class;
use crate::traffic::Traffic;

/// Waves that are listed one by one; further ones only count in the summary.
const MAX_LISTED: usize = 4096;

/// Counts by class, in the order of [`Class::ALL`].
pub(crate) type ByClass = [u64; Class::ALL.len()];

/// Counts of a dispatch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Workgroups that ran.
    pub workgroups: u64,
    /// Waves that ran.
    pub waves: u64,
    /// Wave instructions by class; classes that did not occur are absent.
    pub instructions: BTreeMap<Class, u64>,
    /// What only [`Options::stats`](crate::Options::stats) asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

/// Counts that cost time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Detail {
    /// Waves apart.
    pub waves: WaveStats,
    /// What was moved.
    pub traffic: Traffic,
    /// By address of a wait that was executed: outstanding operations that it proved complete, in all waves.
    pub waits: BTreeMap<u64, u64>,
}

/// Wave instructions of single waves, by class; classes that did not occur are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WaveStats {
    /// The fewest of any wave.
    pub min: BTreeMap<Class, u64>,
    /// The most of any wave.
    pub max: BTreeMap<Class, u64>,
    /// Waves in the order of their workgroups, the first 4096.
    pub listed: Vec<WaveCounts>,
    /// Waves beyond those.
    pub not_listed: u64,
}

/// One wave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaveCounts {
    /// Workgroup id in x, y, z.
    pub workgroup: [u32; 3],
    /// Number of the wave in its workgroup.
    pub wave: u32,
    /// Wave instructions by class.
    pub instructions: BTreeMap<Class, u64>,
}

/// The counts that are not zero, by class.
pub(crate) fn by_class(counts: &ByClass) -> BTreeMap<Class, u64> {
    Class::ALL.into_iter().zip(*counts).filter(|(_, count)| *count != 0).collect()
}

/// Counts waves while they run.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaveLog {
    /// Waves of the workgroups that run now.
    running: Vec<([u32; 3], u32, ByClass)>,
    /// Counts of all waves when the current slice started.
    at_start: ByClass,
    min: Option<ByClass>,
    max: ByClass,
    listed: Vec<WaveCounts>,
    not_listed: u64,
}

impl WaveLog {
    pub(crate) fn start_workgroup(&mut self, workgroup: [u32; 3], n_waves: u32) {
        let waves = (0..n_waves).map(|wave| (workgroup, wave, ByClass::default()));
        self.running.extend(waves);
    }

    /// A wave gets its turn, with all counts as they are.
    pub(crate) fn start_slice(&mut self, counts: &ByClass) {
        self.at_start = *counts;
    }

    /// Its turn is over.
    pub(crate) fn end_slice(&mut self, workgroup: [u32; 3], wave: u32, counts: &ByClass) {
        let at_start = self.at_start;
        let is_it = |entry: &&mut ([u32; 3], u32, ByClass)| entry.0 == workgroup && entry.1 == wave;
        if let Some((.., of_wave)) = self.running.iter_mut().find(is_it) {
            for (sum, (now, before)) in of_wave.iter_mut().zip(counts.iter().zip(at_start)) {
                *sum += now - before;
            }
        }
    }

    /// A workgroup has ended, or the dispatch has.
    pub(crate) fn end_workgroup(&mut self, workgroup: [u32; 3]) {
        let (ended, running) =
            std::mem::take(&mut self.running).into_iter().partition(|(of, ..)| *of == workgroup);
        self.running = running;
        self.close(ended);
    }

    fn close(&mut self, ended: Vec<([u32; 3], u32, ByClass)>) {
        for (workgroup, wave, counts) in ended {
            let min = self.min.get_or_insert(counts);
            for (class, count) in counts.into_iter().enumerate() {
                min[class] = min[class].min(count);
                self.max[class] = self.max[class].max(count);
            }
            if self.listed.len() < MAX_LISTED {
                let instructions = by_class(&counts);
                self.listed.push(WaveCounts { workgroup, wave, instructions });
            } else {
                self.not_listed += 1;
            }
        }
    }

    pub(crate) fn into_stats(mut self) -> WaveStats {
        let unfinished = std::mem::take(&mut self.running);
        self.close(unfinished);
        let occurs = |class: Class| self.max[class as usize] != 0;
        let min = self.min.unwrap_or_default();
        let min = Class::ALL.into_iter().zip(min).filter(|(class, _)| occurs(*class));
        WaveStats {
            min: min.collect(),
            max: by_class(&self.max),
            listed: self.listed,
            not_listed: self.not_listed,
        }
    }
}
