//! The launches that a call asks for: groups of flags between `--then`, or a launch file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command, FromArgMatches};
use serde::Deserialize;

use crate::error::CliError;
use crate::files;

/// Bytes that a launch file may have.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// One launch, as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The code object, where it is not the one of the whole call.
    pub object: Option<PathBuf>,
    /// The kernel.
    pub kernel: String,
    /// Workgroups in x, y, z.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    pub block: [u32; 3],
    /// LDS beyond what the kernel's descriptor asks for, in bytes.
    pub dynamic_lds_bytes: u32,
    /// Arguments: name or position, and value.
    pub args: Vec<(String, String)>,
}

/// One to three sizes.
#[derive(Clone, Copy, Debug)]
struct Sizes([u32; 3]);

/// What describes a launch on the command line; all may be repeated, a group has each once.
#[derive(Debug, clap::Args)]
struct Flags {
    /// Kernel to run
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Workgroups (not work-items) in each dimension, 1 to 3 numbers
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes)]
    grid: Vec<Sizes>,
    /// Work-items of a workgroup in each dimension, 1 to 3 numbers
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes)]
    block: Vec<Sizes>,
    /// An argument by its name, or by its position (from 0) where the kernel's metadata has no name
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    arg: Vec<String>,
    /// LDS of a workgroup beyond what the kernel itself declares
    #[arg(long, value_name = "BYTES")]
    dynamic_lds: Vec<u32>,
    /// Code object of this launch, where it is not FILE.hsaco; for the same target
    #[arg(long, value_name = "FILE")]
    object: Vec<PathBuf>,
    /// Another launch follows, over the same memory: --kernel, --grid, --block and --arg of the next one
    #[arg(long, num_args = 0, default_missing_value = "true")]
    then: Vec<bool>,
}

/// The flags of one launch, in the order in which they were given.
#[derive(Debug, Default)]
struct Group {
    kernel: Vec<String>,
    grid: Vec<Sizes>,
    block: Vec<Sizes>,
    arg: Vec<String>,
    dynamic_lds: Vec<u32>,
    object: Vec<PathBuf>,
}

/// Launches on the command line: clap knows the flags, their places make the groups.
#[derive(Debug, Default)]
pub struct Groups(Vec<Group>);

impl clap::Args for Groups {
    fn augment_args(command: Command) -> Command {
        Flags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args_for_update(command)
    }
}

impl FromArgMatches for Groups {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Groups, clap::Error> {
        let thens: Vec<usize> = matches.indices_of("then").into_iter().flatten().collect();
        let mut groups: Vec<Group> = (0..=thens.len()).map(|_| Group::default()).collect();
        let group_of = |place: usize| thens.iter().filter(|then| **then < place).count();
        take(matches, "kernel", |place, kernel| groups[group_of(place)].kernel.push(kernel));
        take(matches, "grid", |place, grid| groups[group_of(place)].grid.push(grid));
        take(matches, "block", |place, block| groups[group_of(place)].block.push(block));
        take(matches, "arg", |place, arg| groups[group_of(place)].arg.push(arg));
        take(matches, "object", |place, object| groups[group_of(place)].object.push(object));
        take(matches, "dynamic_lds", |place, lds| groups[group_of(place)].dynamic_lds.push(lds));
        Ok(Groups(groups))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Groups::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Every value of a flag with its place on the command line.
fn take<T: Clone + Send + Sync + 'static>(
    matches: &ArgMatches,
    flag: &str,
    mut put: impl FnMut(usize, T),
) {
    let places = matches.indices_of(flag).into_iter().flatten();
    let values = matches.get_many::<T>(flag).into_iter().flatten();
    places.zip(values).for_each(|(place, value)| put(place, value.clone()));
}

fn sizes(text: &str) -> Result<Sizes, String> {
    let numbers = text.split(',').map(|part| match part.trim().parse() {
        Ok(number) => Ok(number),
        Err(_) => Err(format!("'{part}' is no number from 1 to {}", u32::MAX)),
    });
    dimensions(&numbers.collect::<Result<Vec<u32>, _>>()?).map(Sizes)
}

/// One to three numbers; missing ones are 1.
fn dimensions(numbers: &[u32]) -> Result<[u32; 3], String> {
    let mut sizes = [1; 3];
    if numbers.is_empty() || numbers.len() > sizes.len() {
        return Err(format!("{} numbers, the limit is 3 and the least is 1", numbers.len()));
    }
    if numbers.contains(&0) {
        return Err("a dimension of 0 runs nothing: it is at least 1".to_owned());
    }
    sizes[..numbers.len()].copy_from_slice(numbers);
    Ok(sizes)
}

impl Groups {
    fn is_empty(&self) -> bool {
        self.0.len() == 1 && self.0.iter().all(Group::is_empty)
    }

    /// The launches.
    ///
    /// # Errors
    /// [`CliError::Usage`] for a group that lacks something, or has it twice.
    fn requests(&self) -> Result<Vec<Request>, CliError> {
        let numbered = (1..).zip(&self.0);
        numbered.map(|(number, group)| group.request(number, self.0.len())).collect()
    }
}

impl Group {
    fn is_empty(&self) -> bool {
        self.kernel.is_empty()
            && self.grid.is_empty()
            && self.block.is_empty()
            && self.arg.is_empty()
            && self.dynamic_lds.is_empty()
            && self.object.is_empty()
    }

    fn request(&self, number: usize, of: usize) -> Result<Request, CliError> {
        let place = if of == 1 { "the launch".to_owned() } else { format!("launch {number}") };
        let args = self.arg.iter().map(|text| assignment(text)).collect::<Result<_, _>>()?;
        let missing = |flag: &str| {
            CliError::Usage(format!(
                "{place} has no {flag}: each launch, up to the next --then, takes --kernel, --grid and --block"
            ))
        };
        let required =
            |flag: &str, sizes: Option<Sizes>| sizes.map_or_else(|| Err(missing(flag)), Ok);
        Ok(Request {
            object: once(&place, "--object", &self.object)?,
            kernel: once(&place, "--kernel", &self.kernel)?.ok_or_else(|| missing("--kernel"))?,
            grid: required("--grid", once(&place, "--grid", &self.grid)?)?.0,
            block: required("--block", once(&place, "--block", &self.block)?)?.0,
            dynamic_lds_bytes: once(&place, "--dynamic-lds", &self.dynamic_lds)?.unwrap_or(0),
            args,
        })
    }
}

fn once<T: Clone>(place: &str, flag: &str, given: &[T]) -> Result<Option<T>, CliError> {
    match given {
        [] => Ok(None),
        [value] => Ok(Some(value.clone())),
        more => {
            let times = more.len();
            let why = format!("{place} has {flag} {times} times: put --then between two launches");
            Err(CliError::Usage(why))
        }
    }
}

fn assignment(text: &str) -> Result<(String, String), CliError> {
    let parts = text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    parts.ok_or_else(|| CliError::Usage(format!("--arg {text}: is not NAME=VALUE")))
}

/// A launch file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LaunchFile {
    launch: Vec<Entry>,
}

/// A launch in a launch file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    object: Option<PathBuf>,
    kernel: String,
    grid: Vec<u32>,
    block: Vec<u32>,
    #[serde(default)]
    dynamic_lds: u32,
    #[serde(default)]
    args: BTreeMap<String, String>,
}

fn from_file(path: &Path) -> Result<Vec<Request>, CliError> {
    let text = files::read_text(path, "a launch file", MAX_FILE_BYTES)?;
    let wrong = |why: &dyn std::fmt::Display| CliError::Usage(format!("{}: {why}", path.display()));
    let file: LaunchFile = toml::from_str(&text).map_err(|error| wrong(&error))?;
    if file.launch.is_empty() {
        return Err(wrong(&"no [[launch]]: nothing to run"));
    }
    let request = |(number, entry): (usize, Entry)| {
        let sizes = |field: &str, numbers: &[u32]| {
            dimensions(numbers).map_err(|why| wrong(&format!("launch {number}, {field}: {why}")))
        };
        Ok(Request {
            grid: sizes("grid", &entry.grid)?,
            block: sizes("block", &entry.block)?,
            object: entry.object,
            kernel: entry.kernel,
            dynamic_lds_bytes: entry.dynamic_lds,
            args: entry.args.into_iter().collect(),
        })
    };
    (1..).zip(file.launch).map(request).collect()
}

/// The launches of a call, from its flags or from its launch file, in order.
///
/// # Errors
/// A file that cannot be read, or launches that lack something.
pub fn requests(groups: &Groups, file: Option<&Path>) -> Result<Vec<Request>, CliError> {
    match file {
        Some(path) if groups.is_empty() => from_file(path),
        Some(_) => Err(CliError::Usage(
            "--launches describes every launch: leave out --kernel, --grid, --block, --arg, --dynamic-lds, \
             --object and --then"
                .to_owned(),
        )),
        None => groups.requests(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args as _;

    fn parse(words: &[&str]) -> Result<Vec<Request>, CliError> {
        let command = Groups::augment_args(Command::new("test"));
        let words = std::iter::once("test").chain(words.iter().copied());
        let matches = command.try_get_matches_from(words).expect("flags that clap knows");
        requests(&Groups::from_arg_matches(&matches).expect("never refuses"), None)
    }

    #[test]
    fn then_separates_launches_wherever_flags_stand() {
        let words = [
            "--grid=2,3",
            "--arg",
            "a=null",
            "--kernel",
            "one",
            "--block",
            "64",
            "--arg=b=i32:1",
            "--then",
            "--block",
            "32,2",
            "--object",
            "x.hsaco",
            "--kernel",
            "two",
            "--grid",
            "1",
            "--dynamic-lds",
            "16",
        ];
        let requests = parse(&words).expect("well formed");
        let (first, second) = (&requests[0], &requests[1]);
        assert_eq!(
            (first.kernel.as_str(), first.grid, first.block),
            ("one", [2, 3, 1], [64, 1, 1])
        );
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(first.args, [pair("a", "null"), pair("b", "i32:1")]);
        assert_eq!((first.object.clone(), first.dynamic_lds_bytes), (None, 0));
        assert_eq!((second.kernel.as_str(), second.block), ("two", [32, 2, 1]));
        assert_eq!(second.object, Some(PathBuf::from("x.hsaco")));
        assert_eq!((second.dynamic_lds_bytes, second.args.len()), (16, 0));
    }

    #[test]
    fn a_group_has_everything_once() {
        let good = ["--kernel", "k", "--grid", "1", "--block", "64"];
        let cases: [(&[&str], &str); 5] = [
            (&[], "the launch has no --kernel"),
            (&good[..4], "the launch has no --block"),
            (&[&good[..], &["--then"]].concat(), "launch 2 has no --kernel"),
            (&[&good[..], &good[..]].concat(), "--kernel 2 times: put --then"),
            (&[&good[..], &["--arg", "x"]].concat(), "--arg x: is not NAME=VALUE"),
        ];
        for (words, message) in cases {
            let error = parse(words).expect_err("refused").to_string();
            assert!(error.contains(message), "{words:?}: {error}");
        }
    }

    #[test]
    fn a_launch_file_says_the_same_as_flags() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("launches.toml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            requests(&Groups(vec![Group::default()]), Some(&path))
        };
        let text = "[[launch]]\nkernel = 'k'\ngrid = [2]\nblock = [64, 2]\nargs = { x = 'null' }\n";
        let flags = ["--kernel", "k", "--grid", "2", "--block", "64,2", "--arg", "x=null"];
        assert_eq!(read(text).unwrap(), parse(&flags).unwrap());
        let cases = [
            ("", "missing field `launch`"),
            ("launch = []", "nothing to run"),
            ("[[launch]]\nkernl = 'k'", "unknown field `kernl`"),
            ("[[launch]]\nkernel = 'k'\ngrid = []\nblock = [1]", "launch 1, grid: 0 numbers"),
            (
                "[[launch]]\nkernel = 'k'\ngrid = [1]\nblock = [0]",
                "launch 1, block: a dimension of 0",
            ),
            ("[[launch]]\nkernel = 'k'\ngrid = [-1]\nblock = [1]", "invalid value"),
            ("[[launch", "launches.toml"),
        ];
        for (text, message) in cases {
            let error = read(text).expect_err("refused").to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
