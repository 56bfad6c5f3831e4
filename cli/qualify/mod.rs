//! The hardware lane: everything that the emulator was asked, asked of a device, and what only a device can answer.
//!
//! Until this ran on a GPU, every line of `SUPPORT_MATRIX.md` says *hardware: none*. On the emulated HIP library it says
//! *emulated* in every place where a reader could mistake it.

mod assembly;
pub mod calibration;
mod micro;
pub mod numeric;

use runtime::hip::Library;
use runtime::{Device, HipDevice};
use serde::Serialize;

use crate::backend::{Backend, Toolchain};
use crate::error::CliError;
use calibration::Calibration;
use numeric::{NotCompiled, Numeric};

/// The whole report.
#[derive(Debug, Serialize)]
pub struct Qualification {
    /// The number of the format.
    pub schema: u32,
    /// `hardware`, or `emulated` on the emulated library: what the report is evidence of.
    pub evidence: &'static str,
    /// Whether every numeric case passed and no calibration differs.
    pub passed: bool,
    /// Who answered.
    pub identity: Identity,
    /// What made the code objects of the numeric lane.
    pub toolchain: Toolchain,
    /// Library specs of the target, one default problem each, compared with float64.
    pub numeric: Vec<Numeric>,
    /// Library specs that the back end refuses, with its words: neither passed nor failed.
    pub not_compiled: Vec<NotCompiled>,
    /// Questions about the hardware.
    pub calibration: Vec<Calibration>,
}

/// Device, driver, toolchain.
#[derive(Debug, Serialize)]
pub struct Identity {
    /// The device's name.
    pub device: String,
    /// Its target id.
    pub target_id: String,
    /// Its target.
    pub target: &'static str,
    /// The HIP library.
    pub library: String,
    /// Its version.
    pub hip_version: String,
    /// The driver's version, where the library tells.
    pub driver_version: Option<String>,
    /// What the emulated library says of itself; absent for a real one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulated: Option<String>,
    /// This program's version.
    pub wavesmith: &'static str,
}

impl Identity {
    fn of(device: &HipDevice) -> Identity {
        let (library, identity) = (device.library(), device.identity());
        Identity {
            device: identity.name.clone(),
            target_id: identity.target_id.clone(),
            target: identity.target.name(),
            library: library.path().display().to_string(),
            hip_version: library.version().to_string(),
            driver_version: library.driver_version().map(|version| version.to_string()),
            emulated: library.emulated().map(str::to_owned),
            wavesmith: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// A device to qualify: of this number, and of this target if one is named.
///
/// # Errors
/// No library, no device, or one of another target.
pub fn open(number: i32, target: Option<isa::Target>) -> Result<HipDevice, CliError> {
    let found = Library::find().and_then(|library| HipDevice::open(library, number));
    let device = found.map_err(runtime::DeviceError::from)?;
    match target {
        Some(expected) if expected != device.target() => {
            let (name, got) = (device.identity().name.clone(), device.target());
            let wrong = runtime::HipError::OtherTarget { number, name, got, expected };
            Err(runtime::DeviceError::from(wrong).into())
        }
        _ => Ok(device),
    }
}

/// Asks a device everything; `kernels` limits the numeric lane, whose code objects a back end makes, to specs whose file
/// name contains it. The small kernels of the questions are assembly text.
///
/// # Errors
/// A kernel that cannot be compiled, or a device that fails.
pub fn run(
    device: &mut HipDevice,
    backend: Backend,
    kernels: Option<&str>,
) -> Result<Qualification, CliError> {
    let toolchain = backend.toolchain("qualify")?;
    let (numeric, not_compiled) = numeric::run(device, backend, kernels)?;
    let calibration = micro::run(device)?;
    let emulated = device.library().emulated().is_some();
    let passed = numeric.iter().all(|case| case.passed)
        && calibration.iter().all(|asked| !asked.answer.differs())
        && !numeric.is_empty();
    Ok(Qualification {
        schema: 1,
        evidence: if emulated { "emulated" } else { "hardware" },
        passed,
        identity: Identity::of(device),
        toolchain,
        numeric,
        not_compiled,
        calibration,
    })
}
