//! Plans of a bundle: kernels that belong together, as one call with one workspace.

use serde::{Deserialize, Serialize};
use specs::chunk::{ChunkSpec, Split};
use specs::signature::{Access, BufferArgument};
use specs::{Job, Spec};

use crate::bundle::formula::Unit;
use crate::bundle::manifest::{self, ArgumentEntry, CountEntry, Emulated, KernelEntry};
use crate::error::CliError;

/// What the workspace and every tensor in it is aligned to, in bytes; allocations of `hipMalloc` are.
pub const WORKSPACE_ALIGN_BYTES: u32 = runtime::BUFFER_ALIGN_BYTES;

/// Kernels that are launched one after the other on one stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanEntry {
    /// The name of its functions in C and Rust.
    pub identifier: String,
    /// The processor it is for.
    pub target: String,
    /// Identifiers of its kernels, in the order of their launches. One whose grid grows with chunks is left out where
    /// there are none.
    pub kernels: Vec<String>,
    /// What the caller gives: the kernels' arguments without what one writes for another, each once.
    pub arguments: Vec<ArgumentEntry>,
    /// Memory between the kernels.
    pub workspace: WorkspaceEntry,
    /// One run of the whole plan on the emulator; absent where that was not done.
    pub emulated: Option<Emulated>,
}

/// The tensors that one kernel of a plan writes and a later one reads, one behind the other in one piece of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceEntry {
    /// What its address, and where each tensor starts, is a multiple of, in bytes.
    pub align_bytes: u32,
    /// What its tensors grow with; one of it has its place even where there are none.
    pub unit: Unit,
    /// The tensors, in order.
    pub tensors: Vec<WorkspaceTensor>,
}

/// A tensor of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceTensor {
    /// Its name, by which kernels take it.
    pub name: String,
    /// The type of an element.
    pub element: String,
    /// Its axes, slowest first.
    pub shape: Vec<String>,
    /// Bytes of each of what it grows with.
    pub bytes_per_unit: u64,
}

impl WorkspaceEntry {
    /// Bytes for so many, as the generated functions compute them.
    pub fn bytes(&self, count: u32) -> u64 {
        let of = |tensor: &WorkspaceTensor| {
            let bytes = tensor.bytes_per_unit.saturating_mul(count.max(1).into());
            bytes.checked_next_multiple_of(self.align_bytes.into()).unwrap_or(u64::MAX)
        };
        self.tensors.iter().map(of).fold(0, u64::saturating_add)
    }

    fn of(split: &Split) -> WorkspaceEntry {
        let [tile, _] = split.specs();
        let signature = tile.signature();
        let written = signature.buffers().filter(|(_, buffer)| buffer.access == Access::WriteOnly);
        let tensor = |(name, buffer): (&str, &BufferArgument)| WorkspaceTensor {
            name: name.to_owned(),
            element: buffer.element.to_string(),
            shape: buffer.shape.iter().map(ToString::to_string).collect(),
            bytes_per_unit: buffer.row_bytes().unwrap_or(0),
        };
        WorkspaceEntry {
            align_bytes: WORKSPACE_ALIGN_BYTES,
            unit: Unit::Chunks,
            tensors: written.map(tensor).collect(),
        }
    }

    /// Whether a tensor lies in it.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.iter().any(|tensor| tensor.name == name)
    }
}

impl PlanEntry {
    /// The kernels' entries, in the order of their launches, where a manifest has all of them.
    pub fn entries<'m>(&self, kernels: &'m [KernelEntry]) -> Option<Vec<&'m KernelEntry>> {
        let entry =
            |identifier: &String| kernels.iter().find(|kernel| kernel.identifier == *identifier);
        self.kernels.iter().map(entry).collect()
    }

    /// The numbers that its call takes: those of its kernels, each once, with the smallest limit.
    pub fn counts(&self, kernels: &[&KernelEntry]) -> Vec<CountEntry> {
        let of_unit = |unit: Unit| {
            let all = kernels.iter().flat_map(|kernel| &kernel.launch.counts);
            all.filter(|count| count.unit == unit).min_by_key(|count| count.max).cloned()
        };
        Unit::ALL.into_iter().filter_map(of_unit).collect()
    }

    /// What is wrong between a plan and the kernels of its manifest: both come from outside.
    pub fn problem(&self, kernels: &[KernelEntry]) -> Option<String> {
        let Some(entries) = self.entries(kernels) else {
            return Some(format!("of kernels {}, not all are there", self.kernels.join(", ")));
        };
        if let Some(other) = entries.iter().find(|kernel| kernel.target != self.target) {
            return Some(format!(
                "is for {}, its kernel '{}' for {}",
                self.target, other.identifier, other.target
            ));
        }
        let wanted: Vec<&ArgumentEntry> =
            entries.iter().flat_map(|kernel| &kernel.arguments).collect();
        if let Some(missing) = wanted.iter().find(|argument| !self.gives(argument)) {
            return Some(format!("gives no '{}' as a kernel of it takes it", missing.name));
        }
        let is_wanted = |name: &str| wanted.iter().any(|argument| argument.name == name);
        let given = self.arguments.iter().map(|argument| argument.name.as_str());
        let all = given.chain(self.workspace.tensors.iter().map(|tensor| tensor.name.as_str()));
        let idle = all.into_iter().find(|name| !is_wanted(name))?;
        Some(format!("has '{idle}', which no kernel of it takes"))
    }

    /// Whether a kernel's argument is what the plan has under its name.
    fn gives(&self, argument: &ArgumentEntry) -> bool {
        let of_caller = ArgumentEntry { offset: None, ..argument.clone() };
        let in_workspace = |tensor: &WorkspaceTensor| {
            tensor.name == argument.name
                && argument.element.as_ref() == Some(&tensor.element)
                && argument.shape.as_ref() == Some(&tensor.shape)
        };
        self.arguments.contains(&of_caller) || self.workspace.tensors.iter().any(in_workspace)
    }
}

/// The plans that these kernels can be put together to: every tile kernel with every scan kernel that fits it. A plan that
/// is wrong on the emulator is none.
///
/// # Errors
/// What keeps a plan from being described or, unless `emulate` is false, from passing on the emulator.
pub fn all(built: &[(Spec, Vec<u8>)], emulate: bool) -> Result<Vec<PlanEntry>, CliError> {
    let mut plans = Vec::new();
    for (first, tile_object) in built {
        for (second, scan_object) in built {
            if let Some(split) = split(first, second) {
                let job = Job::Split(split);
                let objects: [&[u8]; 2] = [tile_object, scan_object];
                let emulated = if emulate { Some(Emulated::run(job, &objects)?) } else { None };
                plans.push(entry(&split, emulated));
            }
        }
    }
    plans.sort_by(|a, b| a.identifier.cmp(&b.identifier));
    Ok(plans)
}

/// Two specs as one prefill, if they are one.
fn split(first: &Spec, second: &Spec) -> Option<Split> {
    let (Spec::Chunk(ChunkSpec::Tile(tile)), Spec::Chunk(ChunkSpec::Scan(scan))) = (first, second)
    else {
        return None;
    };
    let split = Split { tile: *tile, scan: *scan };
    split.check().is_empty().then_some(split)
}

fn entry(split: &Split, emulated: Option<Emulated>) -> PlanEntry {
    let specs = split.specs();
    let [tile, scan] = &specs;
    let signature = Job::Split(*split).signature();
    let arguments = signature.arguments.iter();
    PlanEntry {
        identifier: format!("{}_then_{}", tile.name(), manifest::identifier(scan)),
        target: scan.target().name().to_owned(),
        kernels: specs.iter().map(manifest::identifier).collect(),
        arguments: arguments
            .map(|argument| manifest::entry(argument, None, argument.kernarg_bytes()))
            .collect(),
        workspace: WorkspaceEntry::of(split),
        emulated,
    }
}

#[cfg(test)]
mod tests {
    use specs::signature::{Extent, Role};

    use super::*;

    #[test]
    fn a_workspace_holds_what_the_launch_plan_says() {
        let library: Vec<Spec> =
            specs::registry::LIBRARY.iter().map(|entry| entry.spec().unwrap()).collect();
        let mut n_plans = 0;
        for split in library.iter().flat_map(|a| library.iter().filter_map(|b| split(a, b))) {
            let workspace = WorkspaceEntry::of(&split);
            let [tile, _] = split.specs();
            for tokens in [0_u32, 1, 31, 64, 1000] {
                let problem = Job::Split(split).problem(&[format!("tokens={tokens}")]).unwrap();
                let plan = split.plan(&problem).unwrap();
                let chunks = tokens.div_ceil(split.tile.common.chunk);
                let declared = plan.tensors.iter().filter(|tensor| tensor.role == Role::Workspace);
                let declared: Vec<_> = declared.map(|t| (t.name.clone(), t.size_bytes())).collect();
                let listed = workspace.tensors.iter();
                let listed: Vec<_> = listed
                    .map(|t| (t.name.clone(), t.bytes_per_unit * u64::from(chunks)))
                    .collect();
                assert_eq!(listed, declared);
                let bytes = workspace.bytes(chunks);
                let most =
                    plan.workspace_bytes() + u64::from(WORKSPACE_ALIGN_BYTES) * listed.len() as u64;
                assert!(bytes >= plan.workspace_bytes() && (chunks == 0 || bytes <= most));
                assert!(bytes > 0, "a pointer to it is never null");
            }
            let first = tile.signature().buffers().all(|(_, buffer)| {
                buffer.access != Access::WriteOnly || buffer.shape[0].extent == Extent::Chunks
            });
            assert!(first, "every tensor of the workspace grows with chunks");
            n_plans += 1;
        }
        assert!(n_plans >= 4, "{n_plans} plans");
    }
}
