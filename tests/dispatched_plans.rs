//! Dispatched plans of every accuracy form, path, gate and layout against both float64 references: the token-serial one
//! and the one that works in chunks (which judges the stage tensors of split plans too). Outputs start as NaN, checks
//! are on, the modes of numerics of gfx950 take turns.

use emulator::Numerics;
use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use oracle::prefill::tile;
use runtime::EmulatedDevice;
use specs::dispatch::{Choice, PrefillRequest, choose, parse_request};
use specs::{Problem, Target};
use wavesmith::{harness, pipeline};

/// Two value heads of one key head, K ≠ V.
const SHAPES: &str = "
schema = 1
kind = \"problem\"
stage = \"prefill\"
target = \"gfx950\"
key_heads = 1
value_heads = 2
head_map = \"grouped\"
head_k = 128
head_v = 64
dtype = \"bf16\"
state_layout = \"v_first\"
";
const KDA: &str = "
family = \"kda\"
gate = \"log_decay_per_channel\"
gate_lower_bound_nats = -5.0
";
const KDA_UNBOUNDED: &str = "
family = \"kda\"
gate = \"log_decay_per_channel\"
";
const KDA_RAW: &str = "
family = \"kda\"
gate = \"bounded_sigmoid\"
gate_lower_bound_nats = -5.0
qk_l2norm = true
beta = \"sigmoid\"
";
const GDN: &str = "
family = \"gdn\"
gate = \"log_decay_per_head\"
";
const GDN_RAW: &str = "
family = \"gdn\"
gate = \"softplus\"
qk_l2norm = true
beta = \"twice_sigmoid\"
";
const BOUND: &str = "value_bound = 1000.0\n";
const FUSED: &str = "path = \"fused\"\n";
const PACKED: &str = "varlen = true\n";
const NO_STATE: &str = "initial_state = false\n";

/// Tokens of one sequence, and of two as long.
const EQUAL: [&str; 7] =
    ["tokens=0", "tokens=1", "tokens=5", "tokens=31", "tokens=32", "tokens=33", "tokens=100"];
/// Packed sequences, empty ones first, last, between, next to each other and alone.
const LENGTHS: [&str; 6] = [
    "lengths=0,33,0,5,0",
    "lengths=31,0,1",
    "lengths=32",
    "lengths=0,0",
    "lengths=0,0,100",
    "lengths=5,0,0",
];

struct Plan {
    request: PrefillRequest,
    choice: Choice,
    objects: Vec<Vec<u8>>,
}

impl Plan {
    /// What a problem file gets, which must be this candidate.
    fn of(parts: &[&str], candidate: &str) -> Plan {
        let text = [&[SHAPES], parts].concat().concat();
        let request = parse_request("a.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(request.check(), []);
        let problem = request.problem::<&str>(&[]).expect("its own sizes");
        let choice = choose(&request, &problem).unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(choice.candidate.name, candidate);
        let compile = |spec| pipeline::compile(spec).unwrap_or_else(|e| panic!("{e}")).code_object;
        let objects = choice.job.specs().iter().map(compile).collect();
        Plan { request, choice, objects }
    }

    /// Runs one problem and judges it by both references.
    fn judge(&self, sizes: &[&str], gates: GateRange, numerics: Numerics) {
        let what = format!("{} {sizes:?} {numerics}", self.choice.candidate.name);
        let problem = self.request.problem(sizes).expect("sizes");
        let again = choose(&self.request, &problem).unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(again.job, self.choice.job, "{what}");
        let (job, problem) = (self.choice.job, Problem::Prefill(problem));
        let case = Case::generate(job, &problem, &Sample { gates, seed: 3 }).expect("a case");
        let options = harness::options(harness::INSTRUCTION_LIMIT, numerics);
        let mut device = EmulatedDevice::new(Target::Gfx950, options);
        let objects: Vec<_> = self.objects.iter().map(Vec::as_slice).collect();
        let inputs = case.tensors().expect("tensors");
        let ran = harness::execute(&mut device, &objects, job, &problem, &inputs)
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(ran.trouble(), None, "{what}");
        for report in ran.launches.iter().filter_map(|launch| launch.emulated.as_ref()) {
            assert_eq!(report.findings, [], "{what}");
        }
        for (name, verdict) in case.judge(&ran.outputs).expect("outputs") {
            assert!(verdict.passed, "{what} {name}: {verdict:?}");
        }
        let Case::Prefill(prefill) = &case else { panic!("a prefill case") };
        let chunk = prefill.kernels.common.chunk as usize;
        let (in_chunks, _) = tile::run(&prefill.problem, chunk).expect("a problem");
        for (name, want) in [("o", &in_chunks.o), ("ht", &in_chunks.state)] {
            let verdict = case.judge_against(name, &ran.outputs, want).expect("an output");
            assert!(verdict.passed, "{what} {name} in chunks: {verdict:?}");
        }
    }

    fn judge_all(&self, gates: GateRange) {
        let modes = Numerics::of_target(Target::Gfx950);
        let mut modes = modes.iter().copied().cycle();
        let mut judge = |sizes: &[&str]| self.judge(sizes, gates, modes.next().expect("a mode"));
        if self.request.varlen {
            LENGTHS.iter().for_each(|lengths| judge(&[lengths]));
            return;
        }
        EQUAL.iter().for_each(|tokens| judge(&[tokens]));
        judge(&["batch=2", "tokens=33"]);
    }
}

#[test]
fn kda_in_pairs() {
    Plan::of(&[KDA, NO_STATE], "kda_split").judge_all(GateRange::Mixed);
    Plan::of(&[KDA_RAW, PACKED], "kda_split").judge_all(GateRange::Trained);
    Plan::of(&[KDA, FUSED, PACKED, NO_STATE], "kda_fused").judge_all(GateRange::Mixed);
    Plan::of(&[KDA_RAW, FUSED], "kda_fused").judge_all(GateRange::Weak);
}

#[test]
fn kda_in_halves() {
    Plan::of(&[KDA, BOUND], "kda_split_f16").judge_all(GateRange::Mixed);
    Plan::of(&[KDA, BOUND, PACKED, NO_STATE], "kda_split_f16").judge_all(GateRange::Weak);
    Plan::of(&[KDA_RAW, BOUND, FUSED, PACKED], "kda_fused_f16").judge_all(GateRange::Trained);
}

#[test]
fn kda_with_gates_of_any_size() {
    let split = Plan::of(&[KDA_UNBOUNDED, PACKED], "kda_split_sub_chunks");
    split.judge_all(GateRange::Strong);
    let fused = Plan::of(&[KDA_UNBOUNDED, BOUND, FUSED], "kda_fused_sub_chunks_f16");
    fused.judge_all(GateRange::Mixed);
    Plan::of(&[KDA, "chunk = 64\n", PACKED], "kda_split_c64").judge_all(GateRange::Mixed);
}

#[test]
fn gdn_in_pairs() {
    Plan::of(&[GDN, PACKED], "gdn_split").judge_all(GateRange::Mixed);
    Plan::of(&[GDN_RAW, FUSED, NO_STATE], "gdn_fused").judge_all(GateRange::Trained);
    Plan::of(&[GDN_RAW, "chunk = 64\n"], "gdn_split_c64").judge_all(GateRange::Trained);
}

#[test]
fn gdn_in_halves() {
    Plan::of(&[GDN_RAW, BOUND], "gdn_split_f16").judge_all(GateRange::Trained);
    Plan::of(&[GDN, BOUND, FUSED, PACKED, NO_STATE], "gdn_fused_f16").judge_all(GateRange::Mixed);
}

#[test]
fn rows_in_every_order() {
    let head_major = "layout = \"head_major\"\n";
    let strided = "layout = \"strided\"\n";
    Plan::of(&[KDA, BOUND, head_major], "kda_split_f16").judge_all(GateRange::Mixed);
    Plan::of(&[GDN, head_major, FUSED, PACKED], "gdn_fused").judge_all(GateRange::Mixed);
    Plan::of(&[KDA_RAW, strided, PACKED, "checked = true\n"], "kda_split")
        .judge_all(GateRange::Weak);
    Plan::of(&[GDN_RAW, strided, BOUND, FUSED], "gdn_fused_f16").judge_all(GateRange::Trained);
}
