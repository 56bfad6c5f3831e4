//! Matching a problem against the candidates.

use isa::Target;

use super::candidate::{CANDIDATES, Candidate, Kernels, OptIn};
use super::request::{AccuracyChoice, PathChoice, PrefillRequest};
use super::{Choice, Reason, Refusal, Rejection};
use crate::chunk::problem::PrefillProblem;
use crate::chunk::{
    Accuracy, AccuracyKind, BetaForm, ChunkCommon, ChunkGate, ChunkGateKind, ChunkSpec, DecayForm,
    KdaChunkFusedSpec, KdaChunkScanSpec, KdaTileSpec, ScanPart, Split, TilePart,
};
use crate::job::Job;
use crate::rule::Violation;
use crate::rules;
use crate::spec::Spec;

/// Rows of the matrix operations that fit every chunk and all columns.
const LEAST_ATOM: u32 = 16;

/// Waves of every tile kernel.
const TILE_WAVES: u32 = 4;

/// What counts for gates without a bound: kernels that take any take those below as this, whose decay is 0 in f32 too.
const UNBOUNDED_NATS: f32 = -128.0;

impl PrefillRequest {
    /// Everything of the problem that no kernel could make right.
    pub fn check(&self) -> Vec<Violation> {
        let mut violations =
            rules::PREFILL_PROBLEM.iter().flat_map(|rule| rule.check(self)).collect::<Vec<_>>();
        // Rules of specs that are about the problem alone, on specs that hold nothing but the problem.
        let common = self.common(self.any_accuracy(), LEAST_ATOM, LEAST_ATOM, 4);
        let tile = KdaTileSpec { common, tile: self.tile_part(DecayForm::SubChunks, LEAST_ATOM) };
        let scan = KdaChunkScanSpec { common, scan: self.scan_part(1, LEAST_ATOM, false) };
        let of_tile = rules::OF_PROBLEM_TILES.iter().flat_map(|rule| rule.check(&tile));
        let of_scan = rules::OF_PROBLEM_SCANS.iter().flat_map(|rule| rule.check(&scan));
        violations.extend(of_tile);
        violations.extend(of_scan.filter(|violation| violation.field == "head_v"));
        violations
    }

    fn any_accuracy(&self) -> Accuracy {
        self.value_bound.map_or(Accuracy::Bf16, |value_bound| Accuracy::F16 { value_bound })
    }

    fn common(&self, accuracy: Accuracy, chunk: u32, atom: u32, waves: u32) -> ChunkCommon {
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
            checked: self.checked || matches!(accuracy, Accuracy::F16 { .. }),
            // What keeps rows that are read at once in banks of their own (docs/kernels/kda.md, LDS).
            pad_dk: if atom == 16 { 16 } else { 8 },
            pad_cb: if atom == 16 && chunk > 16 { 16 } else { 8 },
            min_groups_per_cu: 1,
            waves,
            wave_width: self.target.wave_width(),
        }
    }

    fn gate(&self) -> ChunkGate {
        // Candidates that need a bound have a reason of their own against a problem without one.
        let lower_bound_nats = self.gate_lower_bound_nats.unwrap_or(UNBOUNDED_NATS);
        match self.gate {
            ChunkGateKind::LogDecayPerChannel => ChunkGate::LogDecayPerChannel { lower_bound_nats },
            ChunkGateKind::LogDecayPerHead => ChunkGate::LogDecayPerHead,
            ChunkGateKind::BoundedSigmoid => {
                ChunkGate::BoundedSigmoid { lower_bound_nats, dt_bias: self.dt_bias }
            }
            ChunkGateKind::Softplus => ChunkGate::Softplus { dt_bias: self.dt_bias },
        }
    }

    fn tile_part(&self, decay: DecayForm, tile_atom_m: u32) -> TilePart {
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
            tile_atom_m,
            lds_overlay: false,
        }
    }

    fn scan_part(&self, value_splits: u32, scan_atom_m: u32, prefetch: bool) -> ScanPart {
        ScanPart {
            head_v: self.head_v,
            value_splits,
            state_layout: self.state_layout,
            initial_state: self.initial_state,
            final_state: self.final_state,
            scan_atom_m,
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
    /// Every reason against it that needs no spec.
    fn reasons(&self, request: &PrefillRequest) -> Vec<Reason> {
        let path = match self.kernels {
            Kernels::Split => PathChoice::Split,
            Kernels::Fused => PathChoice::Fused,
        };
        let other_path = request.path != PathChoice::Any && request.path != path;
        let other_chunk = request.chunk.filter(|chunk| *chunk != self.chunk);
        let other_splits = request.value_splits.filter(|s| !self.value_splits.contains(s));
        let checks = [
            (!self.targets.contains(&request.target))
                .then(|| capability("target", &request.target, listed(self.targets))),
            (!self.gates.contains(&request.gate))
                .then(|| capability("gate", &request.gate, listed(self.gates))),
            (!self.layouts.contains(&request.layout))
                .then(|| capability("layout", &request.layout, listed(self.layouts))),
            self.missing_bound(request),
            self.other_accuracy(request),
            self.large_steps(request),
            other_path.then(|| capability("path", &request.path, path.to_string())),
            other_chunk.map(|chunk| capability("chunk", &chunk, self.chunk.to_string())),
            other_splits
                .map(|splits| capability("value_splits", &splits, listed(self.value_splits))),
        ];
        let missing = self.opt_in.iter().filter(|opt_in| opt_in.is_missing(request));
        let missing = missing.map(|opt_in| {
            let (ask, reason) = opt_in.words();
            Reason::OptIn { ask, reason }
        });
        checks.into_iter().flatten().chain(missing).collect()
    }

    /// Anchors at a fixed offset need a range of the gates.
    fn missing_bound(&self, request: &PrefillRequest) -> Option<Reason> {
        let is_given = request.gate == ChunkGateKind::LogDecayPerChannel;
        let needs_one = is_given && self.decay == DecayForm::FixedOffset;
        let takes = "a bound: its decay factors need a range";
        (needs_one && request.gate_lower_bound_nats.is_none())
            .then(|| capability("gate_lower_bound_nats", &"none", takes.to_owned()))
    }

    /// Another form than the problem wants, or one whose bound it does not promise.
    fn other_accuracy(&self, request: &PrefillRequest) -> Option<Reason> {
        let wanted = match request.accuracy {
            AccuracyChoice::Auto => self.accuracy,
            AccuracyChoice::Bf16 => AccuracyKind::Bf16,
            AccuracyChoice::Bf16Split => AccuracyKind::Bf16Split,
            AccuracyChoice::F16 => AccuracyKind::F16,
        };
        if wanted != self.accuracy {
            return Some(capability("accuracy", &request.accuracy, self.accuracy.to_string()));
        }
        let unbounded = self.accuracy == AccuracyKind::F16 && request.value_bound.is_none();
        let takes = "a bound: f16 ends at 65504";
        unbounded.then(|| capability("value_bound", &"none", takes.to_owned()))
    }

    /// One bf16 an operand, and step sizes that may be above 1 where it does not hold them.
    fn large_steps(&self, request: &PrefillRequest) -> Option<Reason> {
        if self.accuracy != AccuracyKind::Bf16 || request.beta == BetaForm::Sigmoid {
            return None;
        }
        let takes = rules::plain_limit(request.family, request.head_k, self.chunk)?;
        Some(capability("beta", &request.beta, takes))
    }

    /// Its kernels for a problem with so many workgroups a value head.
    fn job(&self, request: &PrefillRequest, value_splits: u32) -> Job {
        let accuracy = match (self.accuracy, request.value_bound) {
            (AccuracyKind::F16, bound) => Accuracy::F16 { value_bound: bound.unwrap_or_default() },
            (AccuracyKind::Bf16Split, _) => Accuracy::Bf16Split,
            (AccuracyKind::Bf16, _) => Accuracy::Bf16,
        };
        let columns = request.head_v / value_splits.max(1);
        let atom = if columns.is_multiple_of(self.atom) { self.atom } else { LEAST_ATOM };
        let of_scan = request.common(accuracy, self.chunk, atom, columns / atom);
        let tile = |atom| TilePart {
            lds_overlay: self.lds_overlay,
            ..request.tile_part(self.decay, atom)
        };
        match self.kernels {
            Kernels::Split => Job::Split(Split {
                tile: KdaTileSpec {
                    common: request.common(accuracy, self.chunk, self.atom, TILE_WAVES),
                    tile: tile(self.atom),
                },
                scan: KdaChunkScanSpec {
                    common: of_scan,
                    scan: request.scan_part(value_splits, atom, true),
                },
            }),
            Kernels::Fused => Job::One(Spec::Chunk(ChunkSpec::Fused(KdaChunkFusedSpec {
                common: of_scan,
                tile: tile(atom),
                scan: request.scan_part(value_splits, atom, false),
            }))),
        }
    }

    /// The kernels of the value splits that the problem asks for, else of the fewest whose workgroups have at most one
    /// wave a SIMD; with the words why. Otherwise the rules that its least refused kernels break.
    ///
    /// A wave owns its columns however they are shared: more workgroups a head shorten no wave's work, and each stages
    /// all tensors of a chunk by itself.
    fn fitted(
        &self,
        request: &PrefillRequest,
        problem: &PrefillProblem,
    ) -> Result<(Job, String), Vec<Reason>> {
        let asked = |splits: &&u32| request.value_splits.is_none_or(|asked| asked == **splits);
        let jobs = self.value_splits.iter().filter(asked);
        let jobs = jobs.map(|&splits| (splits, self.job(request, splits)));
        let (legal, broken): (Vec<_>, Vec<_>) =
            jobs.map(|(splits, job)| (splits, job, job.check())).partition(|of| of.2.is_empty());
        let limits = request.target.limits();
        let waves = |job: &Job| job.lead().waves();
        let alone = legal.iter().find(|(_, job, _)| waves(job) <= limits.simds_per_unit);
        let Some((splits, job, _)) = alone.or(legal.last()) else {
            let least = broken.into_iter().map(|of| of.2).min_by_key(Vec::len);
            return Err(least.unwrap_or_default().into_iter().map(Reason::Rule).collect());
        };
        let heads = u64::from(problem.sequences()) * u64::from(request.value_heads);
        let why = format!(
            "value_splits = {splits}{}: {} workgroups of {} waves on {} CUs of {} SIMDs",
            match (request.value_splits, request.batch_invariant) {
                (Some(_), _) => ", as asked for",
                (None, true) => ", pinned by batch_invariant",
                (None, false) => "",
            },
            heads * u64::from(*splits),
            waves(job),
            limits.compute_units,
            limits.simds_per_unit,
        );
        Ok((*job, why))
    }
}

impl OptIn {
    /// Whether a problem does not ask for it. What contradicts the problem outright is said as a capability.
    fn is_missing(self, request: &PrefillRequest) -> bool {
        match self {
            OptIn::FusedPath => request.path == PathChoice::Any,
            OptIn::PlainAccuracy => request.accuracy == AccuracyChoice::Auto,
            OptIn::LongChunks => request.chunk.is_none(),
        }
    }
}

/// The candidate of the highest priority that solves a problem.
///
/// # Errors
/// [`Refusal`] says of every candidate of the family why it does not, and what would work.
pub fn choose(request: &PrefillRequest, problem: &PrefillProblem) -> Result<Choice, Refusal> {
    match decide(request, problem) {
        Ok(choice) => Ok(choice),
        Err(rejected) => Err(Refusal { rejected, would_work: ways_out(request, problem) }),
    }
}

fn decide(request: &PrefillRequest, problem: &PrefillProblem) -> Result<Choice, Vec<Rejection>> {
    let mut fitting: Vec<(&'static Candidate, Job, String)> = Vec::new();
    let mut rejected = Vec::new();
    let is_for = |candidate: &&Candidate| candidate.families.contains(&request.family);
    for candidate in CANDIDATES.iter().filter(is_for) {
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
        (PrefillRequest { chunk: None, ..*request }, "no chunk asked for".to_owned()),
        (PrefillRequest { value_splits: None, ..*request }, "no value_splits asked for".to_owned()),
        (bound(-5.0), promise("gate_lower_bound_nats = -5.0")),
        (bound(-11.0), promise("gate_lower_bound_nats = -11.0")),
    ];
    let solves = |changed: &PrefillRequest| {
        *changed != *request && changed.check().is_empty() && decide(changed, problem).is_ok()
    };
    changes.into_iter().filter(|(changed, _)| solves(changed)).map(|(_, words)| words).collect()
}
