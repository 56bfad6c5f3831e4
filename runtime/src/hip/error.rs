//! What can go wrong between this runtime and a GPU.

use std::fmt;
use std::path::PathBuf;

use codeobj::{AbiVersion, FeatureSetting};
use hip_abi::{Code, Version};
use isa::Target;
use thiserror::Error;

use crate::hip::library::Attempt;

/// HIP, or the way to it, failed.
#[derive(Debug, Error)]
pub enum HipError {
    /// No HIP library could be opened.
    #[error("no HIP library could be opened; tried in this order:{}\n  remedy: install ROCm's HIP runtime, or name its library in WAVESMITH_HIP; everything but --device hip works without", attempts(.tried))]
    NoLibrary {
        /// Every place, with what it answered.
        tried: Vec<Attempt>,
    },
    /// A library without a function that this runtime cannot do without.
    #[error("{} (HIP {}) has no function '{symbol}': it is too old or not HIP", library.display(), version.map_or("of an unknown version".to_owned(), |version| version.to_string()))]
    MissingSymbol {
        /// The function.
        symbol: &'static str,
        /// The library.
        library: PathBuf,
        /// Its version, as far as it could be asked.
        version: Option<Version>,
    },
    /// A function that this version of HIP does not have.
    #[error("{call} is not in this HIP library (version {version}): it needs HIP {since} or newer")]
    TooOld {
        /// The function.
        call: &'static str,
        /// Version of the library.
        version: Version,
        /// First version that has it.
        since: Version,
    },
    /// No device.
    #[error("no AMD GPU: {} (HIP {version}) answers {call} with {code}", library.display())]
    NoDevice {
        /// The library.
        library: PathBuf,
        /// Its version.
        version: Version,
        /// What was called.
        call: &'static str,
        /// What it returned.
        code: Code,
    },
    /// A device number that does not exist.
    #[error("device {got} does not exist: there are {count}, numbered from 0")]
    NoSuchDevice {
        /// The number.
        got: i32,
        /// How many there are.
        count: i32,
    },
    /// A device that no kernel of this project is for.
    #[error("device {number} ('{name}') is {got}, supported are gfx950 and gfx1100")]
    UnknownProcessor {
        /// Its number.
        number: i32,
        /// Its name.
        name: String,
        /// Its target id.
        got: String,
    },
    /// A device of another target than what is to run on it.
    #[error(
        "device {number} ('{name}') is {got}, but {expected} is asked for: choose another device or build for {got}"
    )]
    OtherTarget {
        /// Its number.
        number: i32,
        /// Its name.
        name: String,
        /// Its target.
        got: Target,
        /// The target that is needed.
        expected: Target,
    },
    /// More memory than there is.
    #[error(
        "buffer '{label}' of {size_bytes} bytes: {free_bytes} of {total_bytes} bytes are free on the device"
    )]
    OutOfMemory {
        /// Name of the buffer.
        label: String,
        /// Bytes asked for.
        size_bytes: u64,
        /// Bytes that are free.
        free_bytes: u64,
        /// Bytes that the device has.
        total_bytes: u64,
    },
    /// A code object that the device cannot load.
    #[error(transparent)]
    LoadRefused(#[from] LoadRefused),
    /// A prepared launch that cannot be made or is not complete.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// A call failed.
    #[error("{call} failed ({doing}): {}", code_words(*.number))]
    Call {
        /// The function.
        call: &'static str,
        /// What it was called for.
        doing: String,
        /// What it returned.
        number: u32,
    },
}

impl HipError {
    /// Whether something is missing rather than wrong: the library, or a device of the target.
    pub fn is_unavailable(&self) -> bool {
        matches!(
            self,
            HipError::NoLibrary { .. }
                | HipError::NoDevice { .. }
                | HipError::NoSuchDevice { .. }
                | HipError::MissingSymbol { .. }
                | HipError::UnknownProcessor { .. }
                | HipError::OtherTarget { .. }
        )
    }

    /// The code of a call that failed.
    pub fn code(&self) -> Option<Code> {
        match self {
            HipError::Call { number, .. } => Code::from_number(*number),
            HipError::NoDevice { code, .. } => Some(*code),
            _ => None,
        }
    }
}

fn attempts(tried: &[Attempt]) -> String {
    tried.iter().map(|attempt| format!("\n  {attempt}")).collect()
}

fn code_words(number: u32) -> String {
    Code::from_number(number).map_or_else(
        || format!("code {number}, which HIP does not document"),
        |code| code.to_string(),
    )
}

/// A code object that its header says the device cannot load. Nothing was given to the driver.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadRefused {
    /// Built for another processor.
    #[error(
        "the code object is for {got}, the device '{device}' is {expected}: build it for {expected}"
    )]
    Target {
        /// Target of the object.
        got: Target,
        /// Target of the device.
        expected: Target,
        /// The device's target id.
        device: String,
    },
    /// Built for another setting of an optional feature.
    #[error("the code object is for {feature} {}, the device '{device}' has it {}: build it for any {feature}", setting(*.got), setting(*.expected))]
    Feature {
        /// The feature.
        feature: &'static str,
        /// What the object demands.
        got: FeatureSetting,
        /// What the device has.
        expected: FeatureSetting,
        /// The device's target id.
        device: String,
    },
    /// Of a version that the runtime does not know.
    #[error(
        "the code object is {got} and needs HIP {needs} or newer, this is HIP {runtime}: build it as v5"
    )]
    Version {
        /// Version of the object.
        got: AbiVersion,
        /// First HIP that loads it.
        needs: Version,
        /// The HIP there is.
        runtime: Version,
    },
}

fn setting(setting: FeatureSetting) -> &'static str {
    match setting {
        FeatureSetting::Unsupported => "unsupported",
        FeatureSetting::Any => "any",
        FeatureSetting::Off => "off",
        FeatureSetting::On => "on",
    }
}

/// A launch that cannot be prepared, or is not complete.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrepareError {
    /// The kernel has no argument of that name.
    #[error("kernel '{kernel}' has no argument '{got}', it takes {}", .names.join(", "))]
    UnknownArgument {
        /// The kernel.
        kernel: String,
        /// The name asked for.
        got: String,
        /// The arguments there are.
        names: Vec<String>,
    },
    /// An argument that was looked up in a launch of another kernel.
    #[error(
        "kernel '{kernel}' has {expected} arguments, none of number {got}: look arguments up in the launch they are for"
    )]
    ForeignArgument {
        /// The kernel.
        kernel: String,
        /// The argument's number, from 0.
        got: usize,
        /// Arguments that the kernel has.
        expected: usize,
    },
    /// A pointer for a value, or a value for a pointer.
    #[error("kernel '{kernel}', argument '{argument}' takes {expected}, got {got}")]
    Kind {
        /// The kernel.
        kernel: String,
        /// The argument.
        argument: String,
        /// What was given.
        got: String,
        /// What it takes.
        expected: String,
    },
    /// A null pointer.
    #[error(
        "kernel '{kernel}', argument '{argument}' got a null pointer: bind an allocated buffer"
    )]
    Null {
        /// The kernel.
        kernel: String,
        /// The argument.
        argument: String,
    },
    /// A pointer that is not aligned.
    #[error(
        "kernel '{kernel}', argument '{argument}' got address {got:#x}, not a multiple of {align} bytes"
    )]
    Misaligned {
        /// The kernel.
        kernel: String,
        /// The argument.
        argument: String,
        /// The address.
        got: u64,
        /// What it must be a multiple of, in bytes.
        align: u64,
    },
    /// Arguments that were never bound.
    #[error("kernel '{kernel}': {got} of {expected} arguments are bound, missing: {}", .missing.join(", "))]
    Unbound {
        /// The kernel.
        kernel: String,
        /// Arguments that are bound.
        got: usize,
        /// Arguments that it takes.
        expected: usize,
        /// The names of the others.
        missing: Vec<String>,
    },
    /// More LDS than a workgroup can have.
    #[error(
        "kernel '{kernel}': {fixed} bytes of LDS and {dynamic} bytes at launch, the limit on {target} is {limit} bytes a workgroup"
    )]
    Lds {
        /// The kernel.
        kernel: String,
        /// Bytes that the kernel has of its own.
        fixed: u32,
        /// Bytes asked for at launch.
        dynamic: u32,
        /// The limit in bytes.
        limit: u32,
        /// The target.
        target: Target,
    },
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name, self.step, self.answer)
    }
}
