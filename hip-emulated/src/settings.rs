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

/// First version of HIP whose loader takes code objects v6. Source: the loader of ROCr, which knows
/// `ELFABIVERSION_AMDGPU_HSA_V6` from ROCm 6.2 on.
pub(crate) const FIRST_WITH_V6: Version = Version::new(6, 2);

/// The device as the environment describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub target: Target,
    pub memory_bytes: u64,
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
        Ok(Settings { target, memory_bytes })
    }
}

/// The version that the library says it has.
pub(crate) fn version() -> Version {
    let set = variable(VERSION_VARIABLE).and_then(|text| text.parse().ok());
    set.map_or(DEFAULT_VERSION, Version)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
