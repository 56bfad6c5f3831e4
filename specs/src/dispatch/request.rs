//! Problem files: what is to be solved, without saying by what.

use std::path::Path;
use std::sync::LazyLock;

use isa::Target;

use crate::choice::{Choice, choice};
use crate::chunk::problem::{
    DEFAULT_SIZES, PrefillProblem, default_scale, parameters, read as read_problem,
};
use crate::chunk::{BetaForm, ChunkGateKind, TokenLayout, fields as chunk_fields};
use crate::decode_step::{Family, HeadMap, StateLayout};
use crate::element::Dtype;
use crate::field::{Field, FieldKind, InName, Presence, SCHEMA, Settings, Value};
use crate::problem::{InvalidProblem, Parameters};
use crate::spec_file::{UnreadableSpec, parse_with, read_with};

choice! {
    /// Which accuracy form a problem wants.
    pub enum AccuracyChoice {
        /// `f16` where a value bound is declared, else `bf16_split`.
        Auto = "auto",
        /// One bf16 an operand.
        Bf16 = "bf16",
        /// Pairs of bf16.
        Bf16Split = "bf16_split",
        /// f16 tiles; needs a value bound.
        F16 = "f16",
    }
}

choice! {
    /// Whether a problem wants one kernel or two.
    pub enum PathChoice {
        /// The default path.
        Any = "any",
        /// A tile and a scan kernel.
        Split = "split",
        /// One kernel.
        Fused = "fused",
    }
}

choice! {
    /// The stages of inference that problem files describe.
    pub enum Stage {
        /// Tokens of a prompt.
        Prefill = "prefill",
    }
}

/// What a problem file of prefill says.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is the spec field of its name, whose table has the meaning")]
pub struct PrefillRequest {
    pub family: Family,
    pub target: Target,
    pub gate: ChunkGateKind,
    pub gate_lower_bound_nats: Option<f32>,
    pub dt_bias: bool,
    pub key_heads: u32,
    pub value_heads: u32,
    pub head_map: HeadMap,
    pub head_k: u32,
    pub head_v: u32,
    pub dtype: Dtype,
    pub qk_l2norm: bool,
    pub beta: BetaForm,
    pub beta_dtype: Dtype,
    pub layout: TokenLayout,
    pub varlen: bool,
    pub checked: bool,
    pub state_layout: StateLayout,
    pub initial_state: bool,
    pub final_state: bool,
    pub accuracy: AccuracyChoice,
    pub value_bound: Option<f32>,
    pub path: PathChoice,
    pub chunk: Option<u32>,
    pub value_splits: Option<u32>,
    pub batch_invariant: bool,
    pub batch: u32,
    pub tokens: u32,
}

/// The keys that every problem file starts with.
pub const HEADER: &[Field] = &[
    row("schema", "number of the file format", FieldKind::Constant(SCHEMA), Presence::Required),
    row("kind", "what the file describes", FieldKind::Choice(&["problem"]), Presence::Required),
    row("stage", "stage of inference", FieldKind::Choice(Stage::NAMES), Presence::Required),
];

/// Fields of specs that problems have too, as they are.
const SHARED: [&str; 19] = [
    "family",
    "target",
    "gate",
    "dt_bias",
    "key_heads",
    "value_heads",
    "head_map",
    "head_k",
    "head_v",
    "dtype",
    "qk_l2norm",
    "beta",
    "beta_dtype",
    "layout",
    "varlen",
    "checked",
    "state_layout",
    "initial_state",
    "final_state",
];

const OWN: &[Field] = &[
    row(
        "gate_lower_bound_nats",
        "what the problem promises that every log decay is at least, in nats a token",
        FieldKind::Number,
        Presence::Optional,
    ),
    row(
        "accuracy",
        "what operands of matrix products are rounded to; auto takes f16 with a value bound, else bf16_split",
        FieldKind::Choice(AccuracyChoice::NAMES),
        Presence::Default(Value::Name("auto")),
    ),
    row(
        "value_bound",
        "what the problem promises that |v|, |S|, |R| and |V~| stay below, at most 65504",
        FieldKind::Number,
        Presence::Optional,
    ),
    row(
        "path",
        "one kernel, two, or the default path",
        FieldKind::Choice(PathChoice::NAMES),
        Presence::Default(Value::Name("any")),
    ),
    row(
        "chunk",
        "rows of a chunk, where the problem asks for some: 16, 32 or 64",
        FieldKind::Count,
        Presence::Optional,
    ),
    row(
        "value_splits",
        "workgroups that share a value head, where the problem asks for some: 1, 2, 4 or 8",
        FieldKind::Count,
        Presence::Optional,
    ),
    row(
        "batch_invariant",
        "whether a sequence must be treated the same in every batch",
        FieldKind::Flag,
        Presence::Default(Value::Flag(false)),
    ),
    row("batch", "sequences", FieldKind::Count, Presence::Default(Value::Count(DEFAULT_SIZES.0))),
    row(
        "tokens",
        "tokens of each sequence",
        FieldKind::Count,
        Presence::Default(Value::Count(DEFAULT_SIZES.1)),
    ),
];

static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let shared = chunk_fields::FUSED.iter().filter(|field| SHARED.contains(&field.key));
    shared.chain(OWN).copied().collect()
});

/// The keys of a problem file, beside [`HEADER`].
pub fn fields() -> &'static [Field] {
    &FIELDS
}

const fn row(
    key: &'static str,
    meaning: &'static str,
    kind: FieldKind,
    presence: Presence,
) -> Field {
    Field { key, meaning, kind, presence, in_name: InName::Never }
}

/// Reads a problem file.
///
/// # Errors
/// Everything that keeps the file from being read, not only the first thing.
pub fn read_request(path: &Path) -> Result<PrefillRequest, UnreadableSpec> {
    read_with(path, parse_request)
}

/// Reads a problem file from its text; `file` names it in errors.
///
/// # Errors
/// Everything that keeps the text from being read, not only the first thing.
pub fn parse_request(file: &str, text: &str) -> Result<PrefillRequest, UnreadableSpec> {
    parse_with(file, text, |reader| {
        let (about_the_file, stage) = HEADER.split_at(2);
        reader.read(about_the_file);
        reader.settings().count("schema")?;
        reader.settings().name("kind")?;
        reader.read(stage);
        reader.settings().name("stage")?;
        reader.read(&FIELDS);
        reader.refuse_unknown_keys(&[HEADER, &FIELDS]);
        PrefillRequest::from_settings(reader.settings())
    })
}

impl PrefillRequest {
    fn from_settings(settings: &Settings) -> Option<PrefillRequest> {
        Some(PrefillRequest {
            family: settings.choice("family")?,
            target: settings.target()?,
            gate: settings.choice("gate")?,
            gate_lower_bound_nats: settings.number("gate_lower_bound_nats"),
            dt_bias: settings.flag("dt_bias").unwrap_or(true),
            key_heads: settings.count("key_heads")?,
            value_heads: settings.count("value_heads")?,
            head_map: settings.choice("head_map")?,
            head_k: settings.count("head_k")?,
            head_v: settings.count("head_v")?,
            dtype: settings.choice("dtype")?,
            qk_l2norm: settings.flag("qk_l2norm")?,
            beta: settings.choice("beta")?,
            beta_dtype: settings.choice("beta_dtype")?,
            layout: settings.choice("layout")?,
            varlen: settings.flag("varlen")?,
            checked: settings.flag("checked")?,
            state_layout: settings.choice("state_layout")?,
            initial_state: settings.flag("initial_state")?,
            final_state: settings.flag("final_state")?,
            accuracy: settings.choice("accuracy")?,
            value_bound: settings.number("value_bound"),
            path: settings.choice("path")?,
            chunk: settings.count("chunk"),
            value_splits: settings.count("value_splits"),
            batch_invariant: settings.flag("batch_invariant")?,
            batch: settings.count("batch")?,
            tokens: settings.count("tokens")?,
        })
    }

    /// Names of the parameters that may be said beside the file.
    pub fn problem_parameters(&self) -> &'static [&'static str] {
        parameters(self.varlen, self.layout)
    }

    /// The sequences of the problem: those of the file unless the texts say otherwise.
    ///
    /// # Errors
    /// Everything that is wrong with the texts.
    pub fn problem<T: AsRef<str>>(
        &self,
        assignments: &[T],
    ) -> Result<PrefillProblem, InvalidProblem> {
        let mut texts = Parameters::parse(assignments, self.problem_parameters());
        let scale = default_scale(self.head_k);
        let problem = read_problem(&mut texts, scale, (self.batch, self.tokens), self.layout);
        match texts.faults.is_empty() {
            true => Ok(problem),
            false => Err(InvalidProblem { faults: texts.faults }),
        }
    }
}
