//! Files that buffers are saved in: refused before the run where they cannot be, written after it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::emulate::launch::Plan;
use crate::emulate::report::BufferTold;
use crate::emulate::tensor::{self, Format, Tensor};
use crate::error::CliError;
use crate::files::{self, FileError};

/// A file for a buffer.
pub struct Save {
    /// The buffer's name.
    buffer: String,
    path: PathBuf,
    format: Format,
}

/// What `--save` asks for, each time that it is given.
///
/// # Errors
/// [`CliError::Usage`] for what names no buffer, a file that cannot be written (that of the trace too), one
/// file for two results, or one of `inputs`, however its path is spelled.
pub fn parse(
    texts: &[String],
    trace: Option<&Path>,
    inputs: &[PathBuf],
    plan: &Plan<'_>,
) -> Result<Vec<Save>, CliError> {
    let read = inputs.iter().filter_map(|path| path.canonicalize().ok());
    let mut claims: BTreeMap<PathBuf, String> = read.map(|path| (path, INPUT.to_owned())).collect();
    if let Some(path) = trace {
        claim(&mut claims, format!("--trace={}", path.display()), path)?;
    }
    let mut saves = Vec::new();
    for text in texts {
        let save = save(text, plan)?;
        claim(&mut claims, format!("--save {text}"), &save.path)?;
        saves.push(save);
    }
    Ok(saves)
}

/// Who claims the files that a run reads.
const INPUT: &str = "an input";

/// Takes a file for the result of a flag. Known before a long run, not after it.
fn claim(
    claims: &mut BTreeMap<PathBuf, String>,
    flag: String,
    path: &Path,
) -> Result<(), CliError> {
    let unwritable = |error: FileError| {
        let why =
            format!("{flag}: {error}; name a file in a folder that exists and can be written");
        CliError::Usage(why)
    };
    files::check_writable(path).map_err(unwritable)?;
    let place = files::destination(path).map_err(unwritable)?;
    match claims.insert(place, flag.clone()) {
        None => Ok(()),
        Some(other) if other == INPUT => {
            let why = format!("{flag}: the run reads this file; name another one");
            Err(CliError::Usage(why))
        }
        Some(other) => {
            let why = format!("{flag}: two results for one file, with {other}; give each its own");
            Err(CliError::Usage(why))
        }
    }
}

fn save(text: &str, plan: &Plan<'_>) -> Result<Save, CliError> {
    let wrong = |problem: &str| CliError::Usage(format!("--save {text}: {problem}"));
    let (key, path) = text.split_once('=').ok_or_else(|| wrong("is not NAME=FILE"))?;
    let found = plan.sharing.find(&plan.args, key).map_err(|error| wrong(&error.to_string()))?;
    let buffer = plan.sharing.buffers[found].name.clone();
    let path = PathBuf::from(path);
    let format =
        Format::of(&path).ok_or_else(|| wrong("name a .npy, .safetensors or .bin file"))?;
    Ok(Save { buffer, path, format })
}

/// Saves what is to be saved, and tells of every buffer; what could not be written is added to `unwritten`.
pub fn write(
    buffers: &BTreeMap<String, Tensor>,
    saves: &[Save],
    unwritten: &mut Vec<String>,
) -> BTreeMap<String, BufferTold> {
    let mut told = BTreeMap::new();
    for (name, tensor) in buffers {
        let mut saved = Vec::new();
        for Save { path, format, .. } in saves.iter().filter(|save| save.buffer == *name) {
            match tensor::save(path, *format, name, tensor) {
                Ok(()) => saved.push(path.display().to_string()),
                Err(error) => unwritten.push(error.to_string()),
            }
        }
        told.insert(name.clone(), BufferTold::new(tensor, saved));
    }
    told
}
