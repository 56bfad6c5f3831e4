//! Dispatch: from a problem file to the kernels that solve it and their launches, or to a refusal that says why
//! every candidate lost and what would work.
//!
//! [`request`] is what a problem file says, [`candidate`] what there is to choose from, as data; choosing is
//! matching the one against the other, then the specs' own rules. `docs/dispatch.md` is the manual.

pub mod candidate;
mod choose;
pub mod request;

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::job::Job;
use crate::rule::Violation;

pub use candidate::{CANDIDATES, Candidate};
pub use choose::{choose, ways_out};
pub use request::{AccuracyChoice, PathChoice, PrefillRequest, parse_request, read_request};

/// Why a candidate does not solve a problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Reason {
    /// It is not made for what the problem says.
    Capability {
        /// The problem's field.
        field: &'static str,
        /// What the problem has.
        got: String,
        /// What the candidate takes.
        takes: String,
    },
    /// It is only taken where a problem asks for it.
    OptIn {
        /// What the problem would say.
        ask: &'static str,
        /// Why that is not the default.
        reason: &'static str,
    },
    /// Its specs break a rule.
    Rule(Violation),
    /// Another one that fits goes before it.
    Priority {
        /// The one.
        winner: &'static str,
        /// Its priority.
        winners: u32,
        /// This one's priority.
        own: u32,
    },
}

/// A candidate that lost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rejection {
    /// Its name.
    pub candidate: &'static str,
    /// Every reason, or the one that it comes after the winner.
    pub reasons: Vec<Reason>,
}

/// What solves a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The winner.
    pub candidate: &'static Candidate,
    /// Its kernels, for this problem.
    pub job: Job,
    /// Why so many workgroups share a value head.
    pub splits: String,
    /// Every other candidate.
    pub rejected: Vec<Rejection>,
}

/// No candidate solves a problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// Every candidate for the problem's family.
    pub rejected: Vec<Rejection>,
    /// Changes of the problem under which one does, tried one by one.
    pub would_work: Vec<String>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Capability { field, got, takes } => {
                write!(f, "{field}: got {got}, takes {takes}")
            }
            Reason::OptIn { ask, reason } => write!(f, "only with {ask}: {reason}"),
            Reason::Rule(violation) => violation.fmt(f),
            Reason::Priority { winner, winners, own } => {
                write!(f, "fits, but {winner} has priority {winners}, this one {own}")
            }
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<_> = self.reasons.iter().map(ToString::to_string).collect();
        write!(f, "{}: {}", self.candidate, reasons.join("; "))
    }
}

/// A line for the candidates that lost for the same reasons; why something is no default is told once.
pub fn lines(rejected: &[Rejection]) -> Vec<String> {
    let mut told = BTreeSet::new();
    let mut words = |reason: &Reason| match reason {
        Reason::OptIn { ask, .. } if !told.insert(*ask) => format!("only with {ask}"),
        _ => reason.to_string(),
    };
    let mut groups: Vec<(Vec<&str>, &[Reason])> = Vec::new();
    for Rejection { candidate, reasons } in rejected {
        match groups.iter_mut().find(|(_, of_group)| of_group == reasons) {
            Some((names, _)) => names.push(candidate),
            None => groups.push((vec![candidate], reasons)),
        }
    }
    let mut line = |(names, reasons): &(Vec<&str>, &[Reason])| {
        let reasons: Vec<_> = reasons.iter().map(&mut words).collect();
        format!("{}: {}", names.join(", "), reasons.join("; "))
    };
    groups.iter().map(&mut line).collect()
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = lines(&self.rejected).into_iter().map(|line| format!("  {line}"));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))?;
        match self.would_work[..] {
            [] => write!(f, "\nno single change of the problem helps"),
            _ => write!(f, "\nwhat would work: {}", self.would_work.join("; or ")),
        }
    }
}

impl std::error::Error for Refusal {}

impl Choice {
    /// `target:abi:spec hashes`, the first 16 digits of each: what caches of compiled kernels may use as their key.
    pub fn key(&self) -> String {
        let hashes = self.job.specs().into_iter().map(|spec| spec.spec_hash()[..16].to_owned());
        let hashes: Vec<_> = hashes.collect();
        format!("{}:{}:{}", self.job.target(), self.candidate.abi_version, hashes.join("+"))
    }
}
