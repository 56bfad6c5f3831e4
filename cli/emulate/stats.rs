//! Counts of a launch as text: by class, wave by wave, by memory.

use std::collections::BTreeMap;

use emulator::{Class, Detail, GlobalTraffic, LdsTraffic, PlainTraffic, Stats, Traffic, WaveStats};
use serde::Serialize;

use crate::report;

/// Waves that the text lists one by one; the JSON document has all that the emulator kept.
const LISTED_WAVES: usize = 32;

/// Counts of all launches of a call together.
#[derive(Debug, Default, Serialize)]
pub struct Totals {
    /// Workgroups that ran.
    workgroups: u64,
    /// Waves that ran.
    waves: u64,
    /// Wave instructions by class; classes that did not occur are absent.
    instructions: BTreeMap<Class, u64>,
    /// What was moved, where it was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic: Option<Traffic>,
}

impl Totals {
    /// The sums of these counts.
    pub fn of<'c>(launches: impl Iterator<Item = &'c Counts>) -> Totals {
        let mut totals = Totals::default();
        for Counts { total, .. } in launches {
            totals.workgroups += total.workgroups;
            totals.waves += total.waves;
            for (class, count) in &total.instructions {
                *totals.instructions.entry(*class).or_default() += count;
            }
            if let Some(detail) = &total.detail {
                *totals.traffic.get_or_insert_default() += detail.traffic;
            }
        }
        totals
    }

    /// As aligned tables.
    pub fn text(&self) -> String {
        let [workgroups, waves] = [self.workgroups, self.waves].map(report::grouped);
        let head = ["  wave instructions", "total"].map(str::to_owned).to_vec();
        let classes = self.instructions.iter();
        let rows = classes
            .map(|(class, count)| vec![format!("  {}", class.name()), report::grouped(*count)]);
        let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
        let mut out = format!("all launches: {workgroups} workgroups, {waves} waves\n");
        out.push_str(&report::columns(&rows));
        if let Some(traffic) = &self.traffic {
            out.push_str(&memory_table(traffic));
            out.push_str(&lds_table(traffic));
        }
        out
    }
}

/// Counts of a launch.
#[derive(Debug, Serialize)]
pub struct Counts {
    #[serde(flatten)]
    total: Stats,
    /// Wave instructions of the average wave, by class.
    mean_per_wave: BTreeMap<Class, f64>,
}

impl Counts {
    /// With the mean of each class.
    pub fn new(total: Stats) -> Counts {
        let waves = total.waves.max(1) as f64;
        let mean = total.instructions.iter().map(|(class, count)| (*class, *count as f64 / waves));
        Counts { mean_per_wave: mean.collect(), total }
    }

    /// As aligned tables.
    pub fn text(&self) -> String {
        let Stats { workgroups, waves, .. } = &self.total;
        let [workgroups, waves] = [workgroups, waves].map(|count| report::grouped(*count));
        let mut out = format!("stats: {workgroups} workgroups, {waves} waves\n");
        out.push_str(&report::columns(&self.class_rows()));
        if let Some(Detail { waves, traffic, .. }) = &self.total.detail {
            out.push_str(&wave_table(waves));
            out.push_str(&memory_table(traffic));
            out.push_str(&lds_table(traffic));
        }
        out
    }

    fn class_rows(&self) -> Vec<Vec<String>> {
        let waves = self.total.detail.as_ref().map(|detail| &detail.waves);
        let mut head = vec!["  wave instructions", "total", "a wave: mean"];
        head.extend(waves.map_or(&[][..], |_| &["min", "max"]));
        let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
        for (class, count) in &self.total.instructions {
            let mean = self.mean_per_wave.get(class).copied().unwrap_or_default();
            let mut row =
                vec![format!("  {}", class.name()), report::grouped(*count), format!("{mean:.1}")];
            if let Some(WaveStats { min, max, .. }) = waves {
                let of = |counts: &BTreeMap<Class, u64>| counts.get(class).copied().unwrap_or(0);
                row.extend([of(min), of(max)].map(report::grouped));
            }
            rows.push(row);
        }
        rows
    }
}

fn wave_table(waves: &WaveStats) -> String {
    let classes: Vec<Class> = waves.max.keys().copied().collect();
    let head = ["  workgroup", "wave", "all"].map(str::to_owned).into_iter();
    let mut rows = vec![head.chain(classes.iter().map(|class| class.name().to_owned())).collect()];
    for wave in waves.listed.iter().take(LISTED_WAVES) {
        let [x, y, z] = wave.workgroup;
        let of = |class: &Class| wave.instructions.get(class).copied().unwrap_or(0);
        let mut row: Vec<String> = vec![format!("  ({x}, {y}, {z})"), wave.wave.to_string()];
        row.push(report::grouped(wave.instructions.values().sum()));
        row.extend(classes.iter().map(|class| report::grouped(of(class))));
        rows.push(row);
    }
    let all = waves.listed.len() as u64 + waves.not_listed;
    let more = all.saturating_sub(LISTED_WAVES as u64);
    let note = if more == 0 {
        String::new()
    } else {
        format!("  … {} more waves; --json lists up to 4,096\n", report::grouped(more))
    };
    format!("wave by wave\n{}{note}", report::columns(&rows))
}

fn memory_table(traffic: &Traffic) -> String {
    let mut rows = vec![
        ["  memory", "instructions", "bytes", "64 B lines", "128 B lines"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let global = [
        ("  global loads", traffic.global_loads),
        ("  global stores", traffic.global_stores),
        ("  global atomics", traffic.global_atomics),
    ];
    for (name, GlobalTraffic { instructions, bytes, lines_64, lines_128 }) in global {
        push(&mut rows, name, &[instructions, bytes, lines_64, lines_128]);
    }
    let plain = [
        ("  scalar loads", traffic.scalar_loads),
        ("  scratch loads", traffic.scratch_loads),
        ("  scratch stores", traffic.scratch_stores),
    ];
    for (name, PlainTraffic { instructions, bytes }) in plain {
        push(&mut rows, name, &[instructions, bytes]);
    }
    titled("bytes that lanes asked for; lines are counted anew for each instruction", &rows)
}

fn lds_table(traffic: &Traffic) -> String {
    let head = ["  LDS", "instructions", "bytes", "clocks", "conflict clocks", "of all, assumed"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let kinds = [
        ("  reads", traffic.lds_reads),
        ("  writes", traffic.lds_writes),
        ("  atomics", traffic.lds_atomics),
        ("  lane moves", traffic.lds_lane_moves),
    ];
    let mut sum = [0; 5];
    for (name, kind) in kinds {
        let LdsTraffic { instructions, bytes, clocks, conflict_clocks, assumed_clocks } = kind;
        let counts = [instructions, bytes, clocks, conflict_clocks, assumed_clocks];
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        push(&mut rows, name, &counts);
    }
    if rows.len() > 2 {
        push(&mut rows, "  together", &sum);
    }
    titled("LDS clocks of a CU, modelled (docs/emulate.md has the rules)", &rows)
}

/// A row of counts, unless there was none of its kind.
fn push(rows: &mut Vec<Vec<String>>, name: &str, counts: &[u64]) {
    if counts.iter().any(|count| *count != 0) {
        let counts = counts.iter().map(|count| report::grouped(*count));
        rows.push(std::iter::once(name.to_owned()).chain(counts).collect());
    }
}

/// A table under its title; nothing where it has only its head.
fn titled(title: &str, rows: &[Vec<String>]) -> String {
    if rows.len() < 2 { String::new() } else { format!("{title}\n{}", report::columns(rows)) }
}
