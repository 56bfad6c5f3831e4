//! Which buffer each pointer argument means, over all launches of a call.
//!
//! A reference is `NAME`, or `N/NAME` with the number of a launch from 1. It must mean one buffer: what could
//! mean two is refused with both, nothing is guessed by the order of launches.

use std::collections::BTreeSet;

use crate::emulate::bind::Supplied;
use crate::emulate::value::Value;

/// A place on the command line: a launch and an argument of it, both from 0.
type Spot = (usize, usize);

/// A buffer and the argument that makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// What reports call it: the argument's name, as `N/NAME` where several launches make one of that name.
    pub name: String,
    /// The launch whose argument makes it, from 0.
    pub launch: usize,
    /// The argument, from 0.
    pub arg: usize,
}

/// The buffers of a call and who means which.
#[derive(Debug, Default)]
pub struct Sharing {
    /// Every buffer once, in the order of the arguments that make them.
    pub buffers: Vec<Made>,
    /// By launch and argument: the number of the buffer that it points to.
    pub of: Vec<Vec<Option<usize>>>,
}

/// A reference that means no buffer, or more than one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum ShareError {
    #[error("'{reference}' names no argument with a buffer; there are {}", .known.join(", "))]
    Nothing { reference: String, known: Vec<String> },
    #[error("'{reference}' may mean {}: say which", .candidates.join(" or "))]
    Ambiguous { reference: String, candidates: Vec<String> },
    #[error("'{reference}' leads back to itself: one argument has to make the buffer")]
    Cycle { reference: String },
    #[error("'{reference}' is of launch {launch}, which comes later than launch {of}")]
    Later { reference: String, launch: usize, of: usize },
}

/// A reference that cannot be followed, and the argument that has it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("argument '{key}': {error}")]
pub struct UnresolvedArgument {
    /// The launch, from 0.
    pub launch: usize,
    /// The argument's name.
    pub key: String,
    /// What is wrong with its value.
    pub error: ShareError,
}

impl Sharing {
    /// Finds the buffer of every pointer argument.
    ///
    /// # Errors
    /// [`UnresolvedArgument`] for the first reference that means no buffer, or more than one.
    pub fn new(launches: &[Vec<Supplied>]) -> Result<Sharing, UnresolvedArgument> {
        let mut sharing = Sharing { buffers: name_buffers(launches), of: Vec::new() };
        for (launch, args) in launches.iter().enumerate() {
            let mut of = Vec::new();
            for (arg, supplied) in args.iter().enumerate() {
                let found = sharing.follow(launches, (launch, arg), &mut BTreeSet::new());
                let key = supplied.key.clone();
                of.push(found.map_err(|error| UnresolvedArgument { launch, key, error })?);
            }
            sharing.of.push(of);
        }
        Ok(sharing)
    }

    /// The buffer that a reference means when all launches are over.
    ///
    /// # Errors
    /// [`ShareError`] when it means none or more than one.
    pub fn find(&self, launches: &[Vec<Supplied>], reference: &str) -> Result<usize, ShareError> {
        if let Some(exact) = self.buffers.iter().position(|buffer| buffer.name == reference) {
            return Ok(exact);
        }
        self.resolve(launches, reference, (launches.len() - 1, usize::MAX), &mut BTreeSet::new())
    }

    fn follow(
        &self,
        launches: &[Vec<Supplied>],
        spot: Spot,
        visited: &mut BTreeSet<Spot>,
    ) -> Result<Option<usize>, ShareError> {
        match &launches[spot.0][spot.1].value {
            Value::Scalar(_) | Value::Null => Ok(None),
            Value::Buffer(_) => {
                let is_here = |made: &Made| (made.launch, made.arg) == spot;
                Ok(self.buffers.iter().position(is_here))
            }
            Value::Same(reference) if !visited.insert(spot) => {
                Err(ShareError::Cycle { reference: reference.clone() })
            }
            Value::Same(reference) => {
                let found = self.resolve(launches, reference, spot, visited).map(Some);
                // Others may come here on a way of their own.
                visited.remove(&spot);
                found
            }
        }
    }

    /// The one buffer of the arguments that a reference names, up to the launch that uses it.
    fn resolve(
        &self,
        launches: &[Vec<Supplied>],
        reference: &str,
        from: Spot,
        visited: &mut BTreeSet<Spot>,
    ) -> Result<usize, ShareError> {
        let (only, name) = parts(reference);
        if let Some(number) = only.filter(|number| *number > from.0 + 1) {
            let (reference, of) = (reference.to_owned(), from.0 + 1);
            return Err(ShareError::Later { reference, launch: number, of });
        }
        let mut found = BTreeSet::new();
        for (launch, args) in launches.iter().enumerate().take(from.0 + 1) {
            if only.is_some_and(|number| number != launch + 1) {
                continue;
            }
            let named = args.iter().position(|arg| arg.key == name);
            let Some(spot) = named.map(|arg| (launch, arg)).filter(|spot| *spot != from) else {
                continue;
            };
            found.extend(self.follow(launches, spot, visited)?.map(|buffer| (buffer, launch)));
        }
        let buffers: BTreeSet<usize> = found.iter().map(|(buffer, _)| *buffer).collect();
        match (buffers.first(), buffers.len()) {
            (Some(buffer), 1) => Ok(*buffer),
            (None, _) => Err(ShareError::Nothing {
                reference: reference.to_owned(),
                known: self.names_up_to(from.0),
            }),
            _ => Err(ShareError::Ambiguous {
                reference: reference.to_owned(),
                candidates: found
                    .iter()
                    .map(|(_, launch)| format!("{}/{name}", launch + 1))
                    .collect(),
            }),
        }
    }

    fn names_up_to(&self, launch: usize) -> Vec<String> {
        let known = self.buffers.iter().filter(|buffer| buffer.launch <= launch);
        let names: Vec<String> = known.map(|buffer| buffer.name.clone()).collect();
        if names.is_empty() { vec!["none".to_owned()] } else { names }
    }
}

/// The number of a launch, where there is one, and the name.
fn parts(reference: &str) -> (Option<usize>, &str) {
    let split = reference.split_once('/').and_then(|(number, name)| {
        let number = number.parse().ok().filter(|number| *number > 0)?;
        Some((Some(number), name))
    });
    split.unwrap_or((None, reference))
}

fn name_buffers(launches: &[Vec<Supplied>]) -> Vec<Made> {
    let makers: Vec<(usize, usize, &str)> = launches
        .iter()
        .enumerate()
        .flat_map(|(launch, args)| {
            let makes = args.iter().enumerate();
            makes
                .filter(|(_, arg)| matches!(arg.value, Value::Buffer(_)))
                .map(move |(at, arg)| (launch, at, arg.key.as_str()))
        })
        .collect();
    let is_shared = |key: &str| makers.iter().filter(|(.., other)| *other == key).count() > 1;
    let name = |&(launch, arg, key): &(usize, usize, &str)| {
        let name = if is_shared(key) { format!("{}/{key}", launch + 1) } else { key.to_owned() };
        Made { name, launch, arg }
    };
    makers.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulate::value::parse;
    use codeobj::{KernelArg, ValueKind};

    fn launches(texts: &[&[&str]]) -> Vec<Vec<Supplied>> {
        let supplied = |text: &&str| {
            let (key, text) = text.split_once('=').expect("NAME=VALUE");
            let arg = KernelArg { value_kind: ValueKind::GlobalBuffer, ..arg() };
            let value = parse(text).expect("a value");
            Supplied { key: key.to_owned(), arg, value, text: text.to_owned() }
        };
        texts.iter().map(|args| args.iter().map(supplied).collect()).collect()
    }

    fn arg() -> KernelArg {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/emulator/tests/fixtures/vector_add.gfx950.hsaco");
        let object = codeobj::CodeObject::parse(&std::fs::read(path).unwrap()).unwrap();
        object.kernels[0].metadata.args[0].clone()
    }

    #[test]
    fn references_cross_launches_and_follow_each_other() {
        let launches = launches(&[
            &["out=zeros:f32:4", "n=i32:4", "in=same:out"],
            &["x=same:1/out", "out=same:x", "y=zeros:i8:1"],
            &["x=same:1/out", "out=zeros:i8:2", "y=same:2/y", "p=null"],
        ]);
        let sharing = Sharing::new(&launches).unwrap();
        let names: Vec<_> = sharing.buffers.iter().map(|made| made.name.as_str()).collect();
        assert_eq!(names, ["1/out", "y", "3/out"]);
        assert_eq!(sharing.of[0], [Some(0), None, Some(0)]);
        assert_eq!(sharing.of[1], [Some(0), Some(0), Some(1)]);
        assert_eq!(sharing.of[2], [Some(0), Some(2), Some(1), None]);
        assert_eq!(sharing.find(&launches, "x"), Ok(0));
        assert_eq!(sharing.find(&launches, "2/out"), Ok(0));
        assert_eq!(sharing.find(&launches, "3/out"), Ok(2));
        let error = sharing.find(&launches, "out").unwrap_err();
        let candidates = ["1/out", "2/out", "3/out"].map(str::to_owned).to_vec();
        assert_eq!(error, ShareError::Ambiguous { reference: "out".to_owned(), candidates });
    }

    #[test]
    fn what_means_no_buffer_is_refused() {
        let cases: [(&[&[&str]], &str); 6] = [
            (&[&["a=same:b", "b=zeros:i8:1"], &["a=same:c"]], "'c' names no argument"),
            (&[&["a=same:a"]], "there are none"),
            (&[&["a=same:b", "b=same:a"]], "leads back to itself"),
            (&[&["a=same:2/b"], &["b=zeros:i8:1"]], "launch 2, which comes later than launch 1"),
            (&[&["a=same:n", "n=i32:1"]], "'n' names no argument with a buffer"),
            (&[&["a=zeros:i8:1"], &["a=zeros:i8:1", "b=same:a"]], "may mean 1/a or 2/a"),
        ];
        for (texts, message) in cases {
            let error = Sharing::new(&launches(texts)).unwrap_err().to_string();
            assert!(error.contains(message), "{texts:?}: {error}");
        }
    }
}
