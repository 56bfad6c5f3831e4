//! Finding the HIP library.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hip_abi::Version;

use crate::hip::binding::{Api, Missing};
use crate::hip::error::HipError;
use crate::hip::whole;

/// Names a HIP library, or the directory that has one; then nothing else is tried. The only way to the emulated one.
pub const LIBRARY_VARIABLE: &str = "WAVESMITH_HIP";

/// What every report must say of the emulated library.
pub const EMULATED_LABEL: &str = "emulated";

/// Directories given when this was built, separated by colons: for packages that know where ROCm is.
const BUILT_IN: Option<&str> = option_env!("WAVESMITH_HIP_RPATH");

/// Names that the dynamic loader is asked for, in this order.
const NAMES: [&str; 4] =
    ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];

/// One place that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What was opened.
    pub name: String,
    /// Which step of the search it belongs to.
    pub step: &'static str,
    /// What came of it.
    pub answer: String,
}

/// A library that could be opened.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// Its version.
    pub version: Version,
    /// What the emulated library says of itself; `None` for a real one.
    pub emulated: Option<String>,
    /// Devices, or what it answers instead.
    pub devices: Result<i32, String>,
}

/// A search and its end.
#[derive(Debug)]
pub struct Search {
    /// Every place, in order; the last one is where the search ended.
    pub tried: Vec<Attempt>,
    /// The library.
    pub library: Option<Library>,
}

/// An opened HIP library.
#[derive(Clone, Debug)]
pub struct Library {
    pub(crate) api: Arc<Api>,
    path: PathBuf,
    version: Version,
    emulated: Option<String>,
}

/// Where to look: name and step.
fn places() -> Vec<(OsString, &'static str)> {
    if let Some(chosen) = variable(LIBRARY_VARIABLE) {
        return vec![(file_in(Path::new(&chosen)), LIBRARY_VARIABLE)];
    }
    let mut places = Vec::new();
    for name in ["HIP_PATH", "ROCM_PATH"] {
        if let Some(root) = variable(name) {
            places.push((Path::new(&root).join("lib/libamdhip64.so").into(), name));
        }
    }
    for directory in BUILT_IN.into_iter().flat_map(|list| list.split(':')) {
        places.push((Path::new(directory).join("libamdhip64.so").into(), "rpath"));
    }
    places.extend(NAMES.map(|name| (name.into(), "dynamic loader")));
    places
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The library in a directory, or the file itself.
fn file_in(place: &Path) -> OsString {
    match place.is_dir() {
        true => place.join("libamdhip64.so").into(),
        false => place.into(),
    }
}

impl Search {
    /// Opens the first library of the search order that is HIP.
    pub fn run() -> Search {
        let mut tried = Vec::new();
        for (name, step) in places() {
            let outcome = open(&name, step);
            let answer = match &outcome {
                Ok(library) => format!("found {}, HIP {}", library.path.display(), library.version),
                Err(why) => why.clone(),
            };
            tried.push(Attempt { name: name.to_string_lossy().into_owned(), step, answer });
            if let Ok(library) = outcome {
                return Search { tried, library: Some(library) };
            }
        }
        Search { tried, library: None }
    }
}

fn open(name: &OsStr, step: &'static str) -> Result<Library, String> {
    // A name without a folder is the loader's to find.
    if Path::new(name).components().count() > 1 {
        whole::check(Path::new(name))?;
    }
    let api = match Api::open(name) {
        Ok(Ok(api)) => api,
        Ok(Err(Missing(symbol))) => {
            return Err(format!("it has no function '{symbol}', so it is not HIP"));
        }
        Err(error) => return Err(words(&error)),
    };
    let emulated = api.emulated_identity();
    if emulated.is_some() && step != LIBRARY_VARIABLE {
        return Err(format!(
            "it is the emulated library, which only {LIBRARY_VARIABLE} can choose"
        ));
    }
    let version = Library::ask_version(&api);
    let path = mapped_path().unwrap_or_else(|| PathBuf::from(name));
    Ok(Library { api: Arc::new(api), path, version, emulated })
}

/// An error of the loader with its causes, on one line.
fn words(error: &libloading::Error) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        words.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    words.replace('\n', " ")
}

/// The file that was mapped under HIP's name, where the system tells.
fn mapped_path() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut files = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    files.find(|file| file.contains("libamdhip64")).map(PathBuf::from)
}

impl Library {
    /// The first library of the search order.
    ///
    /// # Errors
    /// [`HipError::NoLibrary`] with every place that was tried.
    pub fn find() -> Result<Library, HipError> {
        let Search { tried, library } = Search::run();
        library.ok_or(HipError::NoLibrary { tried })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// What the emulated library says of itself; `None` for a real one.
    pub fn emulated(&self) -> Option<&str> {
        self.emulated.as_deref()
    }

    /// Findings that the emulated library had in all launches of this process; `None` for a real one.
    pub fn emulated_findings(&self) -> Option<u64> {
        self.api.emulated_findings()
    }

    /// What there is to say of it.
    pub fn describe(&self) -> Found {
        Found {
            path: self.path.clone(),
            version: self.version,
            emulated: self.emulated.clone(),
            devices: self.device_count().map_err(|error| error.to_string()),
        }
    }
}
