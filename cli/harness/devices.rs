//! The devices that verbs run kernels on.

use clap::ValueEnum;
use emulator::Options;
use isa::Target;
use runtime::{Device, EmulatedDevice, HipDevice};

use crate::error::CliError;

/// Where code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceKind {
    /// The ISA-level emulator
    Emulated,
    /// An AMD GPU, through the HIP library that `doctor` shows
    Hip,
}

/// A device of either kind.
#[derive(Debug)]
pub enum AnyDevice {
    /// The emulator.
    Emulated(Box<EmulatedDevice>),
    /// A device of the HIP library.
    Hip(Box<HipDevice>),
}

impl AnyDevice {
    /// A device of a target; the options are the emulator's.
    ///
    /// # Errors
    /// There is no HIP library, or it has no device of the target.
    pub fn open(kind: DeviceKind, target: Target, options: Options) -> Result<AnyDevice, CliError> {
        Ok(match kind {
            DeviceKind::Emulated => {
                AnyDevice::Emulated(Box::new(EmulatedDevice::new(target, options)))
            }
            DeviceKind::Hip => {
                let device = HipDevice::of_target(target).map_err(runtime::DeviceError::from)?;
                AnyDevice::Hip(Box::new(device))
            }
        })
    }

    /// The device.
    pub fn device(&mut self) -> &mut dyn Device {
        match self {
            AnyDevice::Emulated(device) => device.as_mut(),
            AnyDevice::Hip(device) => device.as_mut(),
        }
    }

    /// Findings that no launch report carries: the emulated HIP library tells them on stderr and counts them.
    pub fn findings_on_stderr(&self) -> u64 {
        match self {
            AnyDevice::Emulated(_) => 0,
            AnyDevice::Hip(device) => device.library().emulated_findings().unwrap_or(0),
        }
    }
}
