//! What must hold of a probe, with where it is read and what it is held against.

use std::fmt;

use emulator::Class;
use serde::{Serialize, Serializer};
use specs::chunk::tables::chunk_count;
use specs::signature::Extent;
use specs::{Probe, Probed, Problem, Spec};

use super::observed::Observed;
use crate::report::grouped;

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The code object.
    Compiled,
    /// A run on the emulator.
    Emulated,
    /// A model of the hardware, from what the code object says.
    Modelled,
}

/// What a number has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// This.
    Exactly(u64),
    /// This or more.
    AtLeast(u64),
    /// Less than this.
    Below(u64),
}

/// One thing that must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// What is counted, with its unit.
    pub what: &'static str,
    /// Where it is read.
    pub evidence: Evidence,
    /// Of the untouched kernel.
    pub untouched: u64,
    /// What it has to be.
    pub wanted: Wanted,
    /// What it is.
    pub found: u64,
}

impl Claim {
    /// Whether it does.
    pub fn holds(&self) -> bool {
        match self.wanted {
            Wanted::Exactly(number) => self.found == number,
            Wanted::AtLeast(least) => self.found >= least,
            Wanted::Below(limit) => self.found < limit,
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Exactly(number) => f.write_str(&grouped(*number)),
            Wanted::AtLeast(least) => write!(f, "at least {}", grouped(*least)),
            Wanted::Below(limit) => write!(f, "below {}", grouped(*limit)),
        }
    }
}

impl Serialize for Wanted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (relation, number) = match self {
            Wanted::Exactly(number) => ("exactly", number),
            Wanted::AtLeast(number) => ("at_least", number),
            Wanted::Below(number) => ("below", number),
        };
        serializer.collect_map([(relation, number)])
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Evidence::Compiled => "compiled",
            Evidence::Emulated => "emulated",
            Evidence::Modelled => "modelled",
        })
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Claim { what, evidence, untouched, wanted, found } = self;
        if *wanted == Wanted::Below(1) {
            return write!(
                f,
                "{what} ({evidence}): the untouched kernel has {untouched} already, and none has fewer than one"
            );
        }
        let (found, untouched) = (grouped(*found), grouped(*untouched));
        write!(
            f,
            "{what} ({evidence}): expected {wanted}, found {found}; the untouched kernel has {untouched}"
        )
    }
}

/// Something that can be counted of a kernel.
struct Measure {
    what: &'static str,
    evidence: Evidence,
    of: fn(&Observed) -> u64,
}

const fn measure(what: &'static str, evidence: Evidence, of: fn(&Observed) -> u64) -> Measure {
    Measure { what, evidence, of }
}

use Evidence::{Compiled, Emulated, Modelled};

const MATRIX: Measure = measure("matrix instructions in the code", Compiled, |kernel| {
    kernel.in_code("instructions_matrix")
});
const TRANSCENDENTAL: Measure =
    measure("transcendental instructions in the code", Compiled, |kernel| {
        kernel.in_code("transcendentals")
    });
const LDS: Measure =
    measure("LDS instructions in the code", Compiled, |kernel| kernel.in_code("instructions_lds"));
const VMEM: Measure = measure("global memory instructions in the code", Compiled, |kernel| {
    kernel.in_code("instructions_vmem")
});
const SEGMENT: Measure =
    measure("bytes of LDS in the descriptor", Compiled, |kernel| kernel.figures.lds_bytes.into());
const RESIDENT: Measure =
    measure("workgroups a CU", Modelled, |kernel| kernel.figures.workgroups_per_cu.into());
const RUN_MATRIX: Measure =
    measure("matrix instructions executed", Emulated, |kernel| kernel.executed(Class::Matrix));
const RUN_TRANSCENDENTAL: Measure =
    measure("transcendental instructions executed", Emulated, |kernel| {
        kernel.executed(Class::Transcendental)
    });
const LDS_READ: Measure =
    measure("bytes read from LDS", Emulated, |kernel| kernel.moved().lds_read);
const LDS_WRITTEN: Measure =
    measure("bytes written to LDS", Emulated, |kernel| kernel.moved().lds_written);
const LOADED: Measure =
    measure("bytes loaded from global memory", Emulated, |kernel| kernel.moved().loaded);
const STORED: Measure =
    measure("bytes stored to global memory", Emulated, |kernel| kernel.moved().stored);
const WORKGROUPS: Measure = measure("workgroups", Emulated, |kernel| kernel.workgroups());
const RAN: Measure = measure("launches that ran", Emulated, |kernel| kernel.ran());
const FINDINGS: Measure = measure("findings of the checks", Emulated, |kernel| kernel.findings());

/// A probe beside what it is held against.
struct Held<'o> {
    untouched: &'o Observed,
    touched: &'o Observed,
    claims: Vec<Claim>,
}

/// Everything that must hold of a probe: `left` is the kernel that does alone what is left.
pub(super) fn of(
    probed: &Probed,
    problem: &Problem,
    untouched: &Observed,
    left: Option<&Observed>,
    touched: &Observed,
) -> Vec<Claim> {
    let mut held = Held { untouched, touched, claims: Vec::new() };
    // Every workgroup of a fused kernel makes the tiles anew for its columns of V.
    let times = probed.left().scan().map_or(1, |scan| scan.value_splits.into());
    match probed.probe() {
        Probe::DropScan => held.without_scan(left, times),
        Probe::DropTile => held.without_tile(left),
        Probe::TileLoop => held.loops(probed, problem, left.unwrap_or(untouched)),
        Probe::LdsBallast { .. } | Probe::OneGroupPerCu => held.occupies(probed),
    }
    held.wants(&RAN, Wanted::Exactly(1));
    held.wants(&FINDINGS, Wanted::Exactly(0));
    held.claims
}

impl Held<'_> {
    fn wants(&mut self, measure: &Measure, wanted: Wanted) {
        let (untouched, found) = ((measure.of)(self.untouched), (measure.of)(self.touched));
        let (what, evidence) = (measure.what, measure.evidence);
        self.claims.push(Claim { what, evidence, untouched, wanted, found });
    }

    fn unchanged(&mut self, measures: &[&Measure]) {
        for measure in measures {
            self.wants(measure, Wanted::Exactly((measure.of)(self.untouched)));
        }
    }

    /// Instructions are those of the kernel that does alone what is left, none where nothing is.
    fn as_left(&mut self, left: Option<&Observed>, measures: &[&Measure]) {
        for measure in measures {
            self.wants(measure, Wanted::Exactly(left.map_or(0, measure.of)));
        }
    }

    /// The tile phase is left, which every workgroup goes through: so many times what `tile` does alone. What moves through
    /// memory is as it was, and so is what LDS gets, for the scan keeps its state in registers.
    fn without_scan(&mut self, tile: Option<&Observed>, times: u64) {
        let of_tile = |measure: &Measure| tile.map_or(0, measure.of) * times;
        self.as_left(tile, &[&MATRIX, &TRANSCENDENTAL]);
        self.unchanged(&[&SEGMENT, &RUN_TRANSCENDENTAL]);
        self.wants(&RUN_MATRIX, Wanted::Exactly(of_tile(&RUN_MATRIX)));
        self.wants(&LDS_READ, Wanted::AtLeast(of_tile(&LDS_READ)));
        self.unchanged(&[&LDS_WRITTEN, &LOADED, &STORED]);
    }

    /// The scan phase is left, with what it reads of LDS; what moves through memory is as it was.
    fn without_tile(&mut self, scan: Option<&Observed>) {
        self.as_left(scan, &[&MATRIX, &TRANSCENDENTAL, &RUN_MATRIX, &RUN_TRANSCENDENTAL]);
        self.as_left(scan, &[&LDS_READ, &LDS_WRITTEN]);
        self.unchanged(&[&SEGMENT, &LOADED, &STORED]);
    }

    /// The tile kernel's work in fewer workgroups, with the same results.
    fn loops(&mut self, probed: &Probed, problem: &Problem, tile: &Observed) {
        self.as_left(Some(tile), &[&MATRIX, &TRANSCENDENTAL, &SEGMENT, &RUN_MATRIX, &LDS_WRITTEN]);
        self.wants(&STORED, Wanted::Exactly(stage_bytes(probed, problem)));
        let heads = u64::from(probed.left().common().value_heads);
        self.wants(&WORKGROUPS, Wanted::Exactly(heads * u64::from(problem.batch())));
        self.same_results("stage tensors unlike the tile kernel's", tile);
    }

    /// The same kernel with more LDS.
    fn occupies(&mut self, probed: &Probed) {
        let target = probed.untouched().target();
        self.wants(&SEGMENT, Wanted::Exactly(probed.lds_bytes()));
        let predicted = self.untouched.workgroups_with(target, probed.lds_bytes());
        let predicted = if probed.probe() == Probe::OneGroupPerCu { 1 } else { predicted };
        self.wants(&RESIDENT, Wanted::Exactly(predicted));
        self.wants(&RESIDENT, Wanted::Below((RESIDENT.of)(self.untouched)));
        self.unchanged(&[&MATRIX, &TRANSCENDENTAL, &LDS, &VMEM]);
        self.unchanged(&[&RUN_MATRIX, &LDS_READ, &LDS_WRITTEN, &LOADED, &STORED]);
        self.same_results("results unlike the untouched kernel's", self.untouched);
    }

    fn same_results(&mut self, what: &'static str, reference: &Observed) {
        let differs = |(name, bytes): &(&String, &Vec<u8>)| {
            self.touched.run().outputs.get(*name) != Some(bytes)
        };
        let found = reference.run().outputs.iter().filter(differs).count() as u64;
        let (evidence, wanted) = (Evidence::Emulated, Wanted::Exactly(0));
        self.claims.push(Claim { what, evidence, untouched: 0, wanted, found });
    }
}

/// Bytes of the stage tensors of a problem's chunks.
fn stage_bytes(probed: &Probed, problem: &Problem) -> u64 {
    let left = Spec::Chunk(probed.left());
    let chunks = chunk_count(problem.lengths().unwrap_or_default(), probed.left().common().chunk);
    let signature = left.signature();
    let written = signature.buffers().filter(|(_, buffer)| {
        buffer.shape[0].extent == Extent::Chunks && buffer.access.is_written()
    });
    chunks * written.filter_map(|(_, buffer)| buffer.row_bytes()).sum::<u64>()
}
