//! Matching a problem against the candidates.

use isa::Target;

use super::candidate::{CANDIDATES, Candidate, Kernels, OptIn};
use super::request::{AccuracyChoice, PathChoice, PrefillRequest};
use super::{Choice, Reason, Refusal, Rejection};
use crate::chunk::problem::PrefillProblem;
use crate::chunk::{
    Accuracy, AccuracyKind, ChunkCommon, ChunkGate, ChunkGateKind, ChunkSpec, DecayForm,
    KdaChunkFusedSpec, KdaChunkScanSpec, KdaTileSpec, ScanPart, Split, TilePart, TokenLayout,
};
use crate::job::Job;
use crate::rule::Violation;
use crate::rules;
use crate::spec::Spec;

/// Rows of a matrix operation that every candidate takes.
const ATOM: u32 = 16;

/// Compute units of a target: workgroups that can run at once on a CU of their own. Source: CDNA4 white paper
/// (256 on MI350X and MI355X); AMD's product page of the RX 7900 XTX (96).
fn compute_units(target: Target) -> u32 {
    match target {
        Target::Gfx950 => 256,
        Target::Gfx1100 => 96,
    }
}

impl PrefillRequest {
    /// Everything of the problem that no kernel could make right.
    pub fn check(&self) -> Vec<Violation> {
        let mut violations =
            rules::PREFILL_PROBLEM.iter().flat_map(|rule| rule.check(self)).collect::<Vec<_>>();
        // Rules of specs that are about the problem alone, on specs that hold nothing but the problem.
        let common = self.common(self.any_accuracy(), ATOM, 4);
        let tile = KdaTileSpec { common, tile: self.tile_part(DecayForm::SubChunks) };
        let scan = KdaChunkScanSpec { common, scan: self.scan_part(1, false) };
        let of_tile = rules::OF_PROBLEM_TILES.iter().flat_map(|rule| rule.check(&tile));
        let of_scan = rules::OF_PROBLEM_SCANS.iter().flat_map(|rule| rule.check(&scan));
        violations.extend(of_tile);
        violations.extend(of_scan.filter(|violation| violation.field == "head_v"));
        violations
    }

    fn any_accuracy(&self) -> Accuracy {
        self.value_bound.map_or(Accuracy::Bf16, |value_bound| Accuracy::F16 { value_bound })
    }

    /// The accuracy form that the problem gets.
    fn accuracy(&self) -> AccuracyKind {
        match self.accuracy {
            AccuracyChoice::Bf16 => AccuracyKind::Bf16,
            AccuracyChoice::F16 => AccuracyKind::F16,
            AccuracyChoice::Auto | AccuracyChoice::Bf16Split => AccuracyKind::Bf16Split,
        }
    }

    fn common(&self, accuracy: Accuracy, chunk: u32, waves: u32) -> ChunkCommon {
        ChunkCommon {
            family: self.family,
            target: self.target,
            accuracy,
            value_heads: self.value_heads,
            head_k: self.head_k,
            dtype: self.dtype,
            chunk,
            layout: self.layout,
            varlen: self.varlen,
            checked: matches!(accuracy, Accuracy::F16 { .. }),
            pad_dk: 8,
            // Rows of 16 elements and 8 more would start at the same banks every fourth row.
            pad_cb: if chunk == 16 { 16 } else { 8 },
            min_groups_per_cu: 1,
            waves,
            wave_width: self.target.wave_width(),
        }
    }

    fn gate(&self) -> ChunkGate {
        // A missing bound has a reason of its own before any spec is made.
        let lower_bound_nats = self.gate_lower_bound_nats.unwrap_or(-1.0);
        match self.gate {
            ChunkGateKind::LogDecayPerChannel => ChunkGate::LogDecayPerChannel { lower_bound_nats },
            ChunkGateKind::LogDecayPerHead => ChunkGate::LogDecayPerHead,
            ChunkGateKind::BoundedSigmoid => {
                ChunkGate::BoundedSigmoid { lower_bound_nats, dt_bias: self.dt_bias }
            }
            ChunkGateKind::Softplus => ChunkGate::Softplus { dt_bias: self.dt_bias },
        }
    }

    fn tile_part(&self, decay: DecayForm) -> TilePart {
        TilePart {
            gate: self.gate(),
            decay,
            key_heads: self.key_heads,
            head_map: self.head_map,
            qk_l2norm: self.qk_l2norm,
            beta: self.beta,
            beta_dtype: self.beta_dtype,
            pad_c: 4,
            solve_block: 16,
            tile_atom_m: ATOM,
            lds_overlay: false,
        }
    }

    fn scan_part(&self, value_splits: u32, prefetch: bool) -> ScanPart {
        ScanPart {
            head_v: self.head_v,
            value_splits,
            state_layout: self.state_layout,
            initial_state: self.initial_state,
            final_state: self.final_state,
            scan_atom_m: ATOM,
            prefetch,
        }
    }
}

fn capability(field: &'static str, got: &dyn ToString, takes: String) -> Reason {
    Reason::Capability { field, got: got.to_string(), takes }
}

fn listed(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

impl Candidate {
    /// Every reason against it that needs no spec; of another family that alone.
    fn reasons(&self, request: &PrefillRequest) -> Vec<Reason> {
        if !self.families.contains(&request.family) {
            let takes = listed(self.families);
            return vec![capability("family", &request.family, takes)];
        }
        let path = match self.kernels {
            Kernels::Split => PathChoice::Split,
            Kernels::Fused => PathChoice::Fused,
        };
        let unbounded = request.gate == ChunkGateKind::LogDecayPerChannel
            && request.gate_lower_bound_nats.is_none();
        let explicit = request.accuracy != AccuracyChoice::Auto;
        let other_path = request.path != PathChoice::Any && request.path != path;
        let other_form = explicit && self.accuracy != request.accuracy();
        let checks = [
            (!self.gates.contains(&request.gate))
                .then(|| capability("gate", &request.gate, listed(self.gates))),
            (!self.layouts.contains(&request.layout))
                .then(|| capability("layout", &request.layout, listed(self.layouts))),
            unbounded.then(|| {
                let takes = "a bound: its decay factors need a range".to_owned();
                capability("gate_lower_bound_nats", &"none", takes)
            }),
            other_form
                .then(|| capability("accuracy", &request.accuracy, self.accuracy.to_string())),
            other_path.then(|| capability("path", &request.path, path.to_string())),
            self.missing_opt_in(request),
        ];
        checks.into_iter().flatten().collect()
    }

    fn missing_opt_in(&self, request: &PrefillRequest) -> Option<Reason> {
        let fused = request.path == PathChoice::Fused;
        let plain = request.accuracy == AccuracyChoice::Bf16;
        // What contradicts the problem outright is said as a capability.
        let is_open = request.path == PathChoice::Any || fused;
        let is_auto = request.accuracy == AccuracyChoice::Auto || plain;
        let opt_in = self.opt_in?;
        let missing = match opt_in {
            OptIn::FusedPath => !fused && is_open,
            OptIn::PlainAccuracy => !plain && is_auto,
            OptIn::FusedPathAndPlainAccuracy => !(fused && plain) && is_open && is_auto,
        };
        let (ask, reason) = opt_in.words();
        missing.then_some(Reason::OptIn { ask, reason })
    }

    /// Its kernels for a problem with so many workgroups a value head.
    fn job(&self, request: &PrefillRequest, value_splits: u32) -> Job {
        let accuracy = match (self.accuracy, request.value_bound) {
            (AccuracyKind::F16, bound) => Accuracy::F16 { value_bound: bound.unwrap_or_default() },
            (AccuracyKind::Bf16Split, _) => Accuracy::Bf16Split,
            (AccuracyKind::Bf16, _) => Accuracy::Bf16,
        };
        let columns = request.head_v / value_splits.max(1);
        let of_scan = request.common(accuracy, self.chunk, columns / ATOM);
        let tile = request.tile_part(self.decay);
        match self.kernels {
            Kernels::Split => Job::Split(Split {
                tile: KdaTileSpec { common: request.common(accuracy, self.chunk, 4), tile },
                scan: KdaChunkScanSpec {
                    common: of_scan,
                    scan: request.scan_part(value_splits, true),
                },
            }),
            Kernels::Fused => Job::One(Spec::Chunk(ChunkSpec::Fused(KdaChunkFusedSpec {
                common: of_scan,
                tile,
                scan: request.scan_part(value_splits, false),
            }))),
        }
    }

    /// The kernels of the fewest workgroups a value head that give every CU one, of the most otherwise; with the
    /// words why. Otherwise the rules that its least refused kernels break.
    fn fitted(
        &self,
        request: &PrefillRequest,
        problem: &PrefillProblem,
    ) -> Result<(Job, String), Vec<Reason>> {
        if request.batch_invariant {
            let job = self.job(request, self.pinned_splits);
            let why = format!(
                "value_splits = {} and atoms of {ATOM} rows, pinned by batch_invariant",
                self.pinned_splits
            );
            return match job.check() {
                violations if violations.is_empty() => Ok((job, why)),
                violations => Err(violations.into_iter().map(Reason::Rule).collect()),
            };
        }
        let jobs = self.value_splits.iter().map(|&splits| (splits, self.job(request, splits)));
        let (legal, broken): (Vec<_>, Vec<_>) =
            jobs.map(|(splits, job)| (splits, job, job.check())).partition(|of| of.2.is_empty());
        let heads = u64::from(problem.sequences()) * u64::from(request.value_heads);
        let units = compute_units(request.target);
        let enough = |splits: u32| heads * u64::from(splits) >= u64::from(units);
        let chosen = legal.iter().find(|of| enough(of.0)).or(legal.last());
        let Some((splits, job, _)) = chosen else {
            let least = broken.into_iter().map(|of| of.2).min_by_key(Vec::len);
            return Err(least.unwrap_or_default().into_iter().map(Reason::Rule).collect());
        };
        let word = if enough(*splits) { "the fewest that cover them" } else { "the most that fit" };
        let why = format!(
            "value_splits = {splits}: {} workgroups for {units} CUs, {word}",
            heads * u64::from(*splits)
        );
        Ok((*job, why))
    }
}

/// The candidate of the highest priority that solves a problem.
///
/// # Errors
/// [`Refusal`] says of every candidate for the target why it does not, and what would work.
pub fn choose(request: &PrefillRequest, problem: &PrefillProblem) -> Result<Choice, Refusal> {
    match decide(request, problem) {
        Ok(choice) => Ok(choice),
        Err(rejected) => Err(Refusal { rejected, would_work: ways_out(request, problem) }),
    }
}

fn decide(request: &PrefillRequest, problem: &PrefillProblem) -> Result<Choice, Vec<Rejection>> {
    let mut fitting: Vec<(&'static Candidate, Job, String)> = Vec::new();
    let mut rejected = Vec::new();
    for candidate in
        CANDIDATES.iter().filter(|candidate| candidate.targets.contains(&request.target))
    {
        let reasons = candidate.reasons(request);
        let reasons = match reasons.is_empty() {
            true => match candidate.fitted(request, problem) {
                Ok((job, splits)) => {
                    fitting.push((candidate, job, splits));
                    continue;
                }
                Err(reasons) => reasons,
            },
            false => reasons,
        };
        rejected.push(Rejection { candidate: candidate.name, reasons });
    }
    // The first of equals, as listed.
    fitting.sort_by_key(|(candidate, ..)| std::cmp::Reverse(candidate.priority));
    let mut fitting = fitting.into_iter();
    let Some((candidate, job, splits)) = fitting.next() else { return Err(rejected) };
    rejected.extend(fitting.map(|(other, ..)| {
        let reason = Reason::Priority {
            winner: candidate.name,
            winners: candidate.priority,
            own: other.priority,
        };
        Rejection { candidate: other.name, reasons: vec![reason] }
    }));
    Ok(Choice { candidate, job, splits, rejected })
}

/// Changes of one field under which the problem has a candidate, in words; each was tried.
pub fn ways_out(request: &PrefillRequest, problem: &PrefillProblem) -> Vec<String> {
    let bound = |bound: f32| PrefillRequest { gate_lower_bound_nats: Some(bound), ..*request };
    let promise = |text: &str| format!("{text}, if the problem's gates keep to it");
    let changes = [
        (PrefillRequest { target: Target::Gfx950, ..*request }, "target = \"gfx950\"".to_owned()),
        (PrefillRequest { path: PathChoice::Any, ..*request }, "path = \"any\"".to_owned()),
        (
            PrefillRequest { accuracy: AccuracyChoice::Auto, ..*request },
            "accuracy = \"auto\"".to_owned(),
        ),
        (
            PrefillRequest { accuracy: AccuracyChoice::Bf16, ..*request },
            "accuracy = \"bf16\"".to_owned(),
        ),
        (
            PrefillRequest { layout: TokenLayout::TokenMajor, ..*request },
            "layout = \"token_major\"".to_owned(),
        ),
        (
            PrefillRequest { batch_invariant: false, ..*request },
            "batch_invariant = false".to_owned(),
        ),
        (bound(-5.0), promise("gate_lower_bound_nats = -5.0")),
        (bound(-11.0), promise("gate_lower_bound_nats = -11.0")),
    ];
    let solves = |changed: &PrefillRequest| {
        *changed != *request && changed.check().is_empty() && decide(changed, problem).is_ok()
    };
    changes.into_iter().filter(|(changed, _)| solves(changed)).map(|(_, words)| words).collect()
}
