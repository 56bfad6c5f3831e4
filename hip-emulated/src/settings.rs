//! What the environment decides, read once by the first call.

use std::str::FromStr;

use hip_abi::{Code, Version};
use isa::Target;

use crate::failure::{Done, fail};

/// Names the target that the device is: `gfx950` or `gfx1100`. Without it there is no device.
pub const TARGET_VARIABLE: &str = "WAVESMITH_HIP_TARGET";
/// Bytes of device memory; 8 GiB without it.
pub const MEMORY_VARIABLE: &str = "WAVESMITH_HIP_MEMORY";
/// The version of HIP that the library says it has, as one number; 7.1 without it.
pub const VERSION_VARIABLE: &str = "WAVESMITH_HIP_VERSION";

/// The version whose interface this library follows.
pub(crate) const DEFAULT_VERSION: Version = Version::new(7, 1);

/// The device as the environment describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub target: Target,
    pub memory_bytes: u64,
    pub version: Version,
}

impl Settings {
    /// # Errors
    /// No target, which is no device, or a value that cannot be read.
    pub(crate) fn from_environment() -> Done<Settings> {
        let Some(name) = variable(TARGET_VARIABLE) else {
            return fail(
                Code::NoDevice,
                format!("no device: set {TARGET_VARIABLE} to gfx950 or gfx1100"),
            );
        };
        let target = match Target::from_str(&name) {
            Ok(target) => target,
            Err(unknown) => return fail(Code::NoDevice, format!("{TARGET_VARIABLE}: {unknown}")),
        };
        let memory_bytes = match variable(MEMORY_VARIABLE).map(|text| (text.parse(), text)) {
            None => 1 << 33,
            Some((Ok(bytes), _)) => bytes,
            Some((Err(_), text)) => {
                return fail(
                    Code::NoDevice,
                    format!("{MEMORY_VARIABLE} is '{text}', not a number of bytes"),
                );
            }
        };
        let version = version()?;
        Ok(Settings { target, memory_bytes, version })
    }
}

/// The version that the library says it has.
///
/// # Errors
/// The environment names none that HIP could have.
pub(crate) fn version() -> Done<Version> {
    let Some(text) = variable(VERSION_VARIABLE) else { return Ok(DEFAULT_VERSION) };
    match text.parse().map(Version) {
        Ok(version) if version.major() > 0 => Ok(version),
        _ => fail(
            Code::NoDevice,
            format!(
                "{VERSION_VARIABLE} is '{text}', not a version as HIP writes it, such as {}",
                DEFAULT_VERSION.0
            ),
        ),
    }
}

/// A variable that is set and not empty, as text; bytes that are none become question marks, which no value has.
fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(|value| value.to_string_lossy().into_owned())
}
