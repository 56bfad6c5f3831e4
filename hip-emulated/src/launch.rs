//! Launches.

use codeobj::KernelMetadata;
use emulator::{Dispatch, Fault, LaunchError};
use hip_abi::Code;
use isa::occupancy::{self, Demand};

use crate::failure::{Done, Failure, fail, say};
use crate::modules::Function;
use crate::runtime::Runtime;

/// A launch with its arguments packed.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub function: usize,
    pub workgroups: [u32; 3],
    pub workgroup_size: [u32; 3],
    pub dynamic_lds_bytes: u32,
    pub kernarg: Vec<u8>,
}

impl Runtime {
    /// Whether a launch could start; asked when it is submitted, as HIP does.
    pub(crate) fn check(&self, launch: &Launch) -> Done<()> {
        let function = self.function(launch.function)?;
        self.machine.check(&dispatch(&function, launch)).map_err(refusal)
    }

    /// Runs a kernel to its end. A fault is kept for the next call that waits.
    pub(crate) fn run(&mut self, launch: &Launch) -> Done<()> {
        let function = self.function(launch.function)?;
        match self.machine.dispatch(&dispatch(&function, launch)) {
            Ok(report) => self.tell(&report),
            Err(Fault::Launch(error)) => return Err(refusal(error)),
            Err(Fault::Execution(fault)) => {
                self.tell(&fault.report);
                let code = match &fault.cause {
                    emulator::Cause::Memory { .. } => Code::IllegalAddress,
                    _ => Code::LaunchFailure,
                };
                say(format_args!("fault: {fault}"));
                self.fault = Some(Failure::new(
                    code,
                    format!(
                        "kernel '{}' failed in an earlier launch: {}",
                        fault.kernel, fault.cause
                    ),
                ));
            }
        }
        Ok(())
    }

    fn tell(&mut self, report: &emulator::Report) {
        self.findings += report.findings.len() as u64;
        for finding in &report.findings {
            say(format_args!("finding: {finding}"));
        }
    }

    /// Workgroups of a kernel that a compute unit (a workgroup processor on gfx1100) has room for.
    pub(crate) fn occupancy(&self, function: usize, items: u32, dynamic_lds: u64) -> Done<u32> {
        let function = self.function(function)?;
        let descriptor = &function.kernel.descriptor;
        let lds = u64::from(descriptor.group_segment_bytes).saturating_add(dynamic_lds);
        let demand = Demand {
            vgprs: descriptor.arch_vgprs.min(descriptor.vgprs),
            agprs: descriptor.vgprs.saturating_sub(descriptor.arch_vgprs),
            lds_bytes: u32::try_from(lds).unwrap_or(u32::MAX),
            workgroup_work_items: items,
        };
        let fits = occupancy::occupancy(self.settings.target, demand);
        Ok(fits.map_or(0, |occupancy| occupancy.workgroups_per_unit))
    }
}

fn dispatch<'d>(function: &'d Function, launch: &'d Launch) -> Dispatch<'d> {
    Dispatch {
        object: function.loaded,
        kernel: &function.kernel.name,
        workgroups: launch.workgroups,
        workgroup_size: launch.workgroup_size,
        kernarg: &launch.kernarg,
        dynamic_lds_bytes: launch.dynamic_lds_bytes,
    }
}

/// Packs arguments that the caller holds apart: `bytes(index, size)` gives those of one.
pub(crate) fn pack(
    metadata: &KernelMetadata,
    mut bytes: impl FnMut(usize, usize) -> Done<Vec<u8>>,
) -> Done<Vec<u8>> {
    let mut kernarg = Vec::new();
    for (index, arg) in metadata.explicit_args().enumerate() {
        let value = bytes(index, arg.size as usize)?;
        kernarg.resize(arg.offset as usize, 0);
        kernarg.extend(value);
    }
    Ok(kernarg)
}

/// Refuses arguments packed by the caller that are not as long as the kernel's explicit ones.
pub(crate) fn check_packed(metadata: &KernelMetadata, got: usize) -> Done<()> {
    let end = metadata.explicit_args().map(|arg| arg.offset + arg.size).max().unwrap_or(0);
    let limit = metadata.kernarg_segment_size;
    if got < end as usize || got > limit as usize {
        return fail(
            Code::InvalidValue,
            format!(
                "kernel '{}' takes {end} bytes of arguments (its segment has {limit}), the launch gives {got}",
                metadata.name
            ),
        );
    }
    Ok(())
}

fn refusal(error: LaunchError) -> Failure {
    let code = match &error {
        LaunchError::Memory(_) => Code::OutOfMemory,
        LaunchError::Limit { what: "kernel arguments", .. } => Code::InvalidValue,
        LaunchError::Limit { .. } | LaunchError::WorkgroupSize { .. } => Code::InvalidConfiguration,
        LaunchError::Descriptor { .. } => Code::NotSupported,
        // Also of a module that was unloaded.
        _ => Code::InvalidDeviceFunction,
    };
    Failure::new(code, error)
}
