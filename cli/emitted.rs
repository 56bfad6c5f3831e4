//! What a spec promises of its code object, checked on the object: its LDS, and the workgroups that fit on a CU
//! once registers are known.

use codeobj::{CodeObject, Kernel};
use isa::Target;
use isa::occupancy::{Demand, DoesNotFit, Occupancy, occupancy};
use specs::Spec;

/// A code object that is not what its spec says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant names its fields, with their units")]
pub enum BrokenPromise {
    #[error("{kernel}: its own code object cannot be read: {problem}; a defect of the back end")]
    Unreadable { kernel: String, problem: String },
    #[error(
        "{kernel}: the code object declares {got} bytes of LDS, the spec's map has {want}; a defect of the kernel family"
    )]
    Lds { kernel: String, got: u64, want: u64 },
    #[error("{kernel}: {problem}")]
    DoesNotFit { kernel: String, problem: DoesNotFit },
    #[error(
        "{kernel}: {got} workgroups fit on a CU with {vgprs} registers a wave and {lds_bytes} bytes of LDS of the emitted code, the spec wants min_groups_per_cu = {want}; take min_groups_per_cu = {got}, or fewer waves"
    )]
    GroupsPerCu { kernel: String, got: u32, want: u32, vgprs: u32, lds_bytes: u32 },
}

/// How many waves of a kernel are resident, from the descriptor's registers and LDS.
///
/// # Errors
/// When not even one workgroup fits.
pub fn resident(target: Target, kernel: &Kernel) -> Result<Occupancy, DoesNotFit> {
    occupancy(target, demand(target, kernel))
}

/// What a workgroup of a kernel occupies, from the descriptor's registers and LDS.
pub fn demand(target: Target, kernel: &Kernel) -> Demand {
    let metadata = &kernel.metadata;
    let required =
        metadata.reqd_workgroup_size.and_then(|[x, y, z]| x.checked_mul(y)?.checked_mul(z));
    // The descriptor's count covers AGPRs too, in whole granules.
    let agprs = metadata.agpr_count.unwrap_or(0);
    let vgprs = kernel.descriptor.vgprs.saturating_sub(agprs);
    Demand {
        vgprs: vgprs.min(target.limits().addressable_vgprs.into()),
        agprs,
        lds_bytes: kernel.descriptor.group_segment_bytes,
        workgroup_work_items: required.unwrap_or(metadata.max_flat_workgroup_size),
    }
}

/// Checks the code object of a spec's kernel; specs without an LDS map promise nothing.
///
/// # Errors
/// [`BrokenPromise`] with both numbers.
pub fn check(spec: &Spec, code_object: &[u8]) -> Result<(), BrokenPromise> {
    let (Spec::Chunk(chunk), Some(map)) = (spec, spec.lds_map()) else { return Ok(()) };
    let kernel = spec.name();
    let unreadable =
        |problem: String| BrokenPromise::Unreadable { kernel: kernel.clone(), problem };
    let object = CodeObject::parse(code_object).map_err(|error| unreadable(error.to_string()))?;
    let found = object.kernel(&kernel).map_err(|error| unreadable(error.to_string()))?;
    let lds_bytes = found.descriptor.group_segment_bytes;
    let (got, want) = (u64::from(lds_bytes), map.total_bytes());
    if got != want {
        return Err(BrokenPromise::Lds { kernel, got, want });
    }
    let groups = resident(spec.target(), found);
    let groups =
        groups.map_err(|problem| BrokenPromise::DoesNotFit { kernel: kernel.clone(), problem })?;
    let (got, want) = (groups.workgroups_per_unit, chunk.common().min_groups_per_cu);
    if got < want {
        let vgprs = found.descriptor.vgprs;
        return Err(BrokenPromise::GroupsPerCu { kernel, got, want, vgprs, lds_bytes });
    }
    Ok(())
}
