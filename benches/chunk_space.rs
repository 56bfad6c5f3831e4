//! The walk of `tests/chunk_space/` through the specs of chunked prefill, farther: every legal spec goes through the GCN
//! back end. Takes minutes; the first argument is another number of combinations, the second another seed.

#[path = "../tests/instances/random.rs"]
#[allow(dead_code, reason = "tests use all of it")]
mod random;
#[path = "../tests/chunk_space/walk.rs"]
#[allow(dead_code, reason = "the test uses all of it")]
mod walk;

use std::collections::BTreeMap;
use std::time::Instant;

use walk::{Fate, fits_the_map, tally, walk};

/// Combinations unless said otherwise.
const COMBINATIONS: u64 = 20_000;

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let count = numbers.next().unwrap_or(COMBINATIONS) as usize;
    let seed = numbers.next().unwrap_or(1);
    let (start, mut rules, mut emitted, mut without) = (Instant::now(), BTreeMap::new(), 0, 0);
    let seen = walk(seed, count, |fate| match fate {
        Fate::Refused(violations) => tally(violations, &mut rules),
        Fate::Built(spec, kernel) if fits_the_map(spec, kernel) => emitted += 1,
        Fate::Built(..) => without += 1,
    });
    println!("{count} combinations, seed {seed}, {:.0} s", start.elapsed().as_secs_f64());
    println!(
        "{} legal: {emitted} emitted with their map's LDS, {without} need more registers",
        seen.built
    );
    rules.iter().for_each(|(rule, count)| println!("{count:>8} times refused by {rule}"));
}
