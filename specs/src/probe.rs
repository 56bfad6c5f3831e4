//! Probes: a kernel of chunked prefill with one part taken away, or with room taken up, for a timing beside the untouched
//! kernel's. A probe that fits a spec is data; `kernels` builds it, and whoever times it wants a proof from the code
//! object that the rest is still there.

use isa::occupancy::{allocated_lds_bytes, workgroups_by_lds_granules};
use serde::{Serialize, Serializer};

use crate::choice::{Choice, choice};
use crate::chunk::ChunkSpec;
use crate::chunk::signature::sequence_table;
use crate::job::Job;
use crate::lds_map::LDS_ALIGN_BYTES;
use crate::plan::{LaunchPlan, PlanError};
use crate::problem::Problem;
use crate::rule::is_valid_spec;
use crate::signature::Signature;
use crate::spec::{KernelKind, Spec};
use crate::suggest::{nearest, shown};
use crate::{KdaChunkFusedSpec, KdaTileSpec};

choice! {
    /// The kinds of [`Probe`].
    pub enum ProbeKind {
        /// [`Probe::DropScan`].
        DropScan = "drop_scan",
        /// [`Probe::DropTile`].
        DropTile = "drop_tile",
        /// [`Probe::TileLoop`].
        TileLoop = "tile_loop",
        /// [`Probe::LdsBallast`].
        LdsBallast = "lds_ballast",
        /// [`Probe::OneGroupPerCu`].
        OneGroupPerCu = "one_group_per_cu",
    }
}

/// What a probe does to a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The products that carry the state are gone. Stage tensors, values, states and outputs move as before.
    DropScan,
    /// The arithmetic that makes stage tensors is gone. Inputs are loaded and stage tensors written as before.
    DropTile,
    /// The tile phase alone, chunk after chunk of a sequence in one workgroup, its stage tensors to global memory.
    TileLoop,
    /// So many bytes of LDS more, which nothing uses: a multiple of 4, at least 16.
    LdsBallast {
        /// The bytes.
        bytes: u32,
    },
    /// As much more LDS as leaves room for one workgroup on a CU.
    OneGroupPerCu,
}

/// The least ballast in bytes: behind it starts no other buffer.
const LEAST_BALLAST_BYTES: u32 = LDS_ALIGN_BYTES as u32;

/// Why there is no such probe, or not of that kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant names its fields, with their units")]
pub enum ProbeError {
    #[error("unknown probe '{got}': {}the probes are {}", did_you_mean(meant), ProbeKind::NAMES.join(", "))]
    Unknown { got: String, meant: Option<&'static str> },
    #[error(
        "probe lds_ballast: got {got}, expected a whole number of bytes, a multiple of 4, at least {LEAST_BALLAST_BYTES}; \
         write lds_ballast=8192"
    )]
    Ballast { got: String },
    #[error("probe {probe} takes no value, got '{got}': write {probe}")]
    Value { probe: ProbeKind, got: String },
    #[error("probe {probe} does not fit {kernels}: it fits {}", kinds(probe.kernels()))]
    DoesNotFit { probe: ProbeKind, kernels: String },
    #[error(
        "{kernel}: {lds_bytes} bytes of LDS and a ballast of {ballast_bytes} are more than the {limit_bytes} bytes that a \
         workgroup may have; take a ballast of at most {} bytes", limit_bytes.saturating_sub(*lds_bytes) / 4 * 4
    )]
    TooLarge { kernel: String, lds_bytes: u32, ballast_bytes: u32, limit_bytes: u32 },
    #[error(
        "{kernel}: its {lds_bytes} bytes of LDS leave room for one workgroup on a CU as they are, so one_group_per_cu \
         would change nothing; probe a spec of which two fit, up to {most_bytes} bytes"
    )]
    AlreadyOne { kernel: String, lds_bytes: u32, most_bytes: u32 },
}

impl ProbeError {
    /// Whether no such probe exists, for any kernel.
    pub fn is_about_its_text(&self) -> bool {
        match self {
            ProbeError::Unknown { .. } | ProbeError::Ballast { .. } | ProbeError::Value { .. } => {
                true
            }
            ProbeError::DoesNotFit { .. }
            | ProbeError::TooLarge { .. }
            | ProbeError::AlreadyOne { .. } => false,
        }
    }
}

fn did_you_mean(meant: &Option<&str>) -> String {
    meant.map(|meant| format!("did you mean '{meant}'? ")).unwrap_or_default()
}

fn kinds(kernels: &[KernelKind]) -> String {
    kernels.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl ProbeKind {
    /// What it is, for listings.
    pub fn meaning(self) -> &'static str {
        match self {
            ProbeKind::DropScan => {
                "no products with the state; stage tensors, v, o and states still move"
            }
            ProbeKind::DropTile => {
                "no arithmetic of tiles; inputs are still loaded, stage tensors still written"
            }
            ProbeKind::TileLoop => {
                "tiles alone, a sequence's chunks one after the other in a workgroup, to global memory"
            }
            ProbeKind::LdsBallast => "so many bytes of LDS more, which nothing uses",
            ProbeKind::OneGroupPerCu => "as much more LDS as leaves room for one workgroup on a CU",
        }
    }

    /// How it is written.
    pub fn usage(self) -> String {
        let value = if self == ProbeKind::LdsBallast { "=BYTES" } else { "" };
        format!("{self}{value}")
    }

    /// The kernels that it fits.
    pub fn kernels(self) -> &'static [KernelKind] {
        match self {
            ProbeKind::DropScan => &[KernelKind::ChunkScan, KernelKind::ChunkFused],
            ProbeKind::DropTile | ProbeKind::TileLoop => {
                &[KernelKind::ChunkTile, KernelKind::ChunkFused]
            }
            ProbeKind::LdsBallast | ProbeKind::OneGroupPerCu => {
                &[KernelKind::ChunkTile, KernelKind::ChunkScan, KernelKind::ChunkFused]
            }
        }
    }
}

impl Serialize for Probe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// As [`Probe::parse`] reads it.
impl std::fmt::Display for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Probe::LdsBallast { bytes } => write!(f, "{}={bytes}", self.kind()),
            _ => write!(f, "{}", self.kind()),
        }
    }
}

impl Probe {
    /// Which kind it is.
    pub fn kind(self) -> ProbeKind {
        match self {
            Probe::DropScan => ProbeKind::DropScan,
            Probe::DropTile => ProbeKind::DropTile,
            Probe::TileLoop => ProbeKind::TileLoop,
            Probe::LdsBallast { .. } => ProbeKind::LdsBallast,
            Probe::OneGroupPerCu => ProbeKind::OneGroupPerCu,
        }
    }

    /// The probe of a text: a name, of a ballast with its bytes.
    ///
    /// # Errors
    /// An unknown name, with the nearest known one, or bytes that make no ballast.
    pub fn parse(text: &str) -> Result<Probe, ProbeError> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let kind = ProbeKind::from_name(name).ok_or_else(|| ProbeError::Unknown {
            got: shown(name),
            meant: nearest(name, ProbeKind::NAMES.iter().copied()),
        })?;
        if let (Some(value), true) = (value, kind != ProbeKind::LdsBallast) {
            return Err(ProbeError::Value { probe: kind, got: shown(value) });
        }
        Ok(match kind {
            ProbeKind::DropScan => Probe::DropScan,
            ProbeKind::DropTile => Probe::DropTile,
            ProbeKind::TileLoop => Probe::TileLoop,
            ProbeKind::LdsBallast => Probe::LdsBallast { bytes: ballast(value)? },
            ProbeKind::OneGroupPerCu => Probe::OneGroupPerCu,
        })
    }

    /// The probes of a job's kernels: of each that it fits.
    ///
    /// # Errors
    /// It fits none of them, or would change nothing or too much of one.
    pub fn of(self, job: &Job) -> Result<Vec<Probed>, ProbeError> {
        let specs = job.specs();
        let fits = |spec: &&Spec| self.kind().kernels().contains(&spec.kernel());
        let fitting = specs.iter().filter(fits).filter_map(|spec| match spec {
            Spec::Chunk(spec) => Some(Probed::new(*spec, self)),
            _ => None,
        });
        let probed = fitting.collect::<Result<Vec<_>, _>>()?;
        if probed.is_empty() {
            let kernels: Vec<_> = specs.iter().map(Spec::kernel).collect();
            return Err(ProbeError::DoesNotFit { probe: self.kind(), kernels: kinds(&kernels) });
        }
        Ok(probed)
    }
}

fn ballast(value: Option<&str>) -> Result<u32, ProbeError> {
    let refused = || ProbeError::Ballast {
        got: value.map_or("nothing".to_owned(), |v| format!("'{}'", shown(v))),
    };
    let bytes: u32 = value.and_then(|value| value.parse().ok()).ok_or_else(refused)?;
    let is_ballast = bytes >= LEAST_BALLAST_BYTES && bytes.is_multiple_of(4);
    if is_ballast { Ok(bytes) } else { Err(refused()) }
}

/// A kernel with a probe that fits it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probed {
    untouched: ChunkSpec,
    probe: Probe,
    ballast_bytes: u32,
}

impl Probed {
    fn new(untouched: ChunkSpec, probe: Probe) -> Result<Probed, ProbeError> {
        let limits = untouched.common().target.limits();
        let kernel = Spec::Chunk(untouched).name();
        // Beyond 32 bits no rule lets a spec go.
        let lds_bytes = u32::try_from(untouched.lds_map().total_bytes()).unwrap_or(u32::MAX);
        let limit_bytes = limits.lds_bytes_per_workgroup;
        let ballast_bytes = match probe {
            Probe::DropScan | Probe::DropTile | Probe::TileLoop => 0,
            Probe::LdsBallast { bytes } => bytes,
            Probe::OneGroupPerCu => {
                let most_bytes = limits.lds_bytes_per_unit / 2;
                if workgroups_by_lds_granules(untouched.common().target, lds_bytes) <= 1 {
                    return Err(ProbeError::AlreadyOne { kernel, lds_bytes, most_bytes });
                }
                let one = allocated_lds_bytes(untouched.common().target, most_bytes + 1);
                (one.saturating_sub(lds_bytes) / 4 * 4).max(LEAST_BALLAST_BYTES)
            }
        };
        if lds_bytes.checked_add(ballast_bytes).is_none_or(|total| total > limit_bytes) {
            return Err(ProbeError::TooLarge { kernel, lds_bytes, ballast_bytes, limit_bytes });
        }
        Ok(Probed { untouched, probe, ballast_bytes })
    }

    /// The spec of the kernel as it was.
    pub fn untouched(&self) -> Spec {
        Spec::Chunk(self.untouched)
    }

    /// What is done to it.
    pub fn probe(&self) -> Probe {
        self.probe
    }

    /// Bytes of LDS that nothing uses.
    pub fn ballast_bytes(&self) -> u32 {
        self.ballast_bytes
    }

    /// The spec that says what is left: of a loop of tiles that of a tile kernel, else the untouched one.
    pub fn left(&self) -> ChunkSpec {
        match (self.probe, self.untouched) {
            (Probe::TileLoop, ChunkSpec::Fused(fused)) => ChunkSpec::Tile(tile_of(&fused)),
            (_, spec) => spec,
        }
    }

    /// Bytes of LDS a workgroup.
    pub fn lds_bytes(&self) -> u64 {
        self.left().lds_map().total_bytes().saturating_add(self.ballast_bytes.into())
    }

    /// The kernel's symbol: the untouched kernel's, then the probe.
    pub fn name(&self) -> String {
        format!("{}__{}", self.untouched().name(), self.probe).replace('=', "_")
    }

    /// The kernel's arguments: those of what is left; a loop of tiles reads the table of sequences too.
    pub fn signature(&self) -> Signature {
        let mut signature = self.left().signature();
        if self.probe == Probe::TileLoop {
            signature.arguments.insert(1, sequence_table());
        }
        signature
    }

    /// The tensors and the launch of a problem.
    ///
    /// # Errors
    /// As [`Spec::plan`].
    pub fn plan(&self, problem: &Problem) -> Result<LaunchPlan, PlanError> {
        let left = Spec::Chunk(self.left());
        is_valid_spec(&left).map_err(PlanError::BreaksRules)?;
        left.check_problem(problem)?;
        let grid = match self.probe {
            Probe::TileLoop => [1, self.left().common().value_heads, problem.batch()],
            _ => left.grid(problem),
        };
        left.plan_of(&self.signature(), self.name(), grid, problem)
    }
}

/// The tile kernel that makes what a fused kernel's tile phase makes.
pub fn tile_of(fused: &KdaChunkFusedSpec) -> KdaTileSpec {
    KdaTileSpec { common: fused.common, tile: fused.tile }
}
