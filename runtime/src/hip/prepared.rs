//! Launches as engines need them: made once, launched often, on the caller's stream, with the caller's pointers,
//! strides and workspace. A launch allocates nothing and waits for nothing, so it can be captured into a graph.

use std::collections::BTreeMap;

use codeobj::{KernelArg, KernelMetadata, ValueKind};
use isa::Target;
use specs::plan::{ArgValue, LaunchPlan};

use crate::device::Device;
use crate::error::{DeviceError, LaunchProblem, LaunchRefused};
use crate::hip::device::HipDevice;
use crate::hip::error::{HipError, PrepareError};
use crate::hip::handles::{Function, LaunchSize};
use crate::hip::streams::Stream;
use crate::launch::{LaunchDims, check_dims};
use crate::module::{Kernel, Module};

/// An address in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePointer(pub u64);

/// One argument of a prepared launch, found once by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentId(usize);

/// An argument that a launch has room for.
#[derive(Clone, Debug)]
struct Slot {
    name: String,
    kind: ValueKind,
    offset: usize,
    size: usize,
    align: u64,
    bound: bool,
}

/// A launch whose sizes are checked and whose arguments have their places.
#[derive(Debug)]
pub struct PreparedLaunch {
    function: Function,
    size: LaunchSize,
    slots: Vec<Slot>,
    kernarg: Vec<u8>,
    offsets: Vec<u32>,
    addresses: Vec<usize>,
}

impl PreparedLaunch {
    /// Prepares launches of a kernel; `pointer_align` is what every pointer must be a multiple of, in bytes.
    ///
    /// # Errors
    /// Sizes that do not fit the kernel or the target, arguments that cannot be passed, a kernel of another device.
    pub fn new(
        device: &mut HipDevice,
        kernel: &Kernel,
        dims: LaunchDims,
        dynamic_lds_bytes: u32,
        pointer_align: u64,
    ) -> Result<PreparedLaunch, DeviceError> {
        let target = device.target();
        let metadata = kernel.metadata();
        check_size(target, kernel.name(), metadata, dims)?;
        check_lds(target, kernel.name(), metadata, dynamic_lds_bytes)?;
        let slots: Vec<Slot> = metadata
            .explicit_args()
            .enumerate()
            .map(|(i, arg)| slot(i, arg, pointer_align))
            .collect();
        check_kinds(kernel.name(), &slots)?;
        let end = slots.iter().map(|slot| slot.offset + slot.size).max().unwrap_or(0);
        let function = device.function(kernel)?;
        let LaunchDims { grid, workgroup } = dims;
        Ok(PreparedLaunch {
            function,
            size: LaunchSize { grid, workgroup, dynamic_lds_bytes },
            offsets: metadata.explicit_args().map(|arg| arg.offset).collect(),
            addresses: vec![0; slots.len()],
            kernarg: vec![0; end],
            slots,
        })
    }

    /// The argument of a name; unnamed ones are `#0`, `#1` and so on.
    ///
    /// # Errors
    /// [`PrepareError::UnknownArgument`] with the names there are.
    pub fn argument(&self, name: &str) -> Result<ArgumentId, PrepareError> {
        let found = self.slots.iter().position(|slot| slot.name == name);
        found.map(ArgumentId).ok_or_else(|| PrepareError::UnknownArgument {
            kernel: self.function.name().to_owned(),
            got: name.to_owned(),
            names: self.slots.iter().map(|slot| slot.name.clone()).collect(),
        })
    }

    /// Binds an address.
    ///
    /// # Errors
    /// The argument is no pointer, or the address is null or misaligned.
    pub fn set_pointer(
        &mut self,
        argument: ArgumentId,
        pointer: DevicePointer,
    ) -> Result<(), PrepareError> {
        let (slot, DevicePointer(address)) = (self.slot(argument)?, pointer);
        let (kernel, argument_name) = (self.function.name(), &slot.name);
        if slot.kind != ValueKind::GlobalBuffer {
            return Err(self.wrong_kind(slot, "a pointer".to_owned()));
        }
        if address == 0 {
            let (kernel, argument) = (kernel.to_owned(), argument_name.clone());
            return Err(PrepareError::Null { kernel, argument });
        }
        if !address.is_multiple_of(slot.align) {
            let (kernel, argument) = (kernel.to_owned(), argument_name.clone());
            return Err(PrepareError::Misaligned {
                kernel,
                argument,
                got: address,
                align: slot.align,
            });
        }
        self.put(argument, &address.to_le_bytes());
        Ok(())
    }

    /// Binds a value: a stride, a length, a scale; little-endian, as wide as the kernel takes it.
    ///
    /// # Errors
    /// The argument is a pointer, or of another width.
    pub fn set_value(&mut self, argument: ArgumentId, bytes: &[u8]) -> Result<(), PrepareError> {
        let slot = self.slot(argument)?;
        if slot.kind != ValueKind::ByValue || slot.size != bytes.len() {
            return Err(self.wrong_kind(slot, format!("a value of {} bytes", bytes.len())));
        }
        self.put(argument, bytes);
        Ok(())
    }

    /// The place of an argument, which may have been looked up in a launch of another kernel.
    fn slot(&self, argument: ArgumentId) -> Result<&Slot, PrepareError> {
        self.slots.get(argument.0).ok_or_else(|| PrepareError::ForeignArgument {
            kernel: self.function.name().to_owned(),
            got: argument.0,
            expected: self.slots.len(),
        })
    }

    fn put(&mut self, argument: ArgumentId, bytes: &[u8]) {
        let slot = &mut self.slots[argument.0];
        slot.bound = true;
        self.kernarg[slot.offset..slot.offset + slot.size].copy_from_slice(bytes);
    }

    fn wrong_kind(&self, slot: &Slot, got: String) -> PrepareError {
        let expected = match slot.kind {
            ValueKind::GlobalBuffer => "a pointer".to_owned(),
            _ => format!("a value of {} bytes", slot.size),
        };
        let (kernel, argument) = (self.function.name().to_owned(), slot.name.clone());
        PrepareError::Kind { kernel, argument, got, expected }
    }

    /// Changes the grid, as a batch of another size needs; the workgroup stays.
    ///
    /// # Errors
    /// A grid that cannot be launched.
    pub fn set_grid(&mut self, grid: [u32; 3]) -> Result<(), LaunchRefused> {
        let problems = crate::launch::check_grid(grid, self.size.workgroup);
        if problems.is_empty() {
            self.size.grid = grid;
            return Ok(());
        }
        Err(LaunchRefused { kernel: self.function.name().to_owned(), problems })
    }

    /// Launches on the caller's stream. Nothing is allocated, nothing is waited for, and the arguments may be bound anew
    /// as soon as this returns.
    ///
    /// # Errors
    /// [`PrepareError::Unbound`] with the missing arguments, or what HIP says.
    pub fn launch(&mut self, stream: &Stream) -> Result<(), HipError> {
        if self.slots.iter().any(|slot| !slot.bound) {
            return Err(self.unbound().into());
        }
        self.function.launch(self.size, stream, &self.kernarg, &self.offsets, &mut self.addresses)
    }

    fn unbound(&self) -> PrepareError {
        let missing: Vec<String> =
            self.slots.iter().filter(|slot| !slot.bound).map(|slot| slot.name.clone()).collect();
        let expected = self.slots.len();
        let kernel = self.function.name().to_owned();
        PrepareError::Unbound { kernel, got: expected - missing.len(), expected, missing }
    }
}

fn slot(index: usize, arg: &KernelArg, pointer_align: u64) -> Slot {
    Slot {
        name: arg.name.clone().unwrap_or_else(|| format!("#{index}")),
        kind: arg.value_kind,
        offset: arg.offset as usize,
        size: arg.size as usize,
        align: u64::from(arg.pointee_align.unwrap_or(1)).max(pointer_align).max(1),
        bound: false,
    }
}

fn check_size(
    target: Target,
    kernel: &str,
    metadata: &KernelMetadata,
    dims: LaunchDims,
) -> Result<(), LaunchRefused> {
    let problems = check_dims(target, metadata, dims);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(LaunchRefused { kernel: kernel.to_owned(), problems })
    }
}

fn check_lds(
    target: Target,
    kernel: &str,
    metadata: &KernelMetadata,
    dynamic: u32,
) -> Result<(), HipError> {
    let (fixed, limit) =
        (metadata.group_segment_fixed_size, target.limits().lds_bytes_per_workgroup);
    if u64::from(fixed) + u64::from(dynamic) <= u64::from(limit) {
        return Ok(());
    }
    let kernel = kernel.to_owned();
    Err(PrepareError::Lds { kernel, fixed, dynamic, limit, target }.into())
}

fn check_kinds(kernel: &str, slots: &[Slot]) -> Result<(), LaunchRefused> {
    let wrong = slots
        .iter()
        .filter(|slot| !matches!(slot.kind, ValueKind::GlobalBuffer | ValueKind::ByValue));
    let problems: Vec<LaunchProblem> = wrong
        .map(|slot| LaunchProblem::Argument {
            name: slot.name.clone(),
            problem: crate::error::ArgumentProblem::Kind { kind: slot.kind },
        })
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(LaunchRefused { kernel: kernel.to_owned(), problems })
    }
}

/// The launches of a plan, with the caller's pointers: what engines launch for each step.
#[derive(Debug)]
pub struct PreparedPlan {
    launches: Vec<PreparedLaunch>,
    bindings: BTreeMap<String, Vec<(usize, ArgumentId)>>,
}

impl PreparedPlan {
    /// Prepares a plan with kernels of these modules. Tensors, workspace among them, are the caller's and are bound with
    /// [`PreparedPlan::bind`].
    ///
    /// # Errors
    /// A kernel that no module has, and whatever keeps one of its launches from being prepared.
    pub fn new(
        device: &mut HipDevice,
        modules: &[Module],
        plan: &LaunchPlan,
    ) -> Result<PreparedPlan, DeviceError> {
        let mut prepared = PreparedPlan { launches: Vec::new(), bindings: BTreeMap::new() };
        for launch in &plan.launches {
            let mut unknown = None;
            let kernel = modules.iter().find_map(|module| match module.kernel(&launch.kernel) {
                Ok(kernel) => Some(kernel),
                Err(error) => {
                    unknown.get_or_insert(error);
                    None
                }
            });
            let Some(kernel) = kernel else {
                return Err(unknown.map_or_else(
                    || DeviceError::InvalidHandle { what: format!("kernel '{}'", launch.kernel) },
                    DeviceError::from,
                ));
            };
            let dims = LaunchDims { grid: launch.grid, workgroup: launch.workgroup };
            let align = plan.tensors.iter().map(|tensor| tensor.align_bytes).max().unwrap_or(1);
            let mut made = PreparedLaunch::new(device, &kernel, dims, 0, align.into())?;
            for binding in &launch.args {
                let argument = made.argument(&binding.argument).map_err(HipError::from)?;
                match &binding.value {
                    ArgValue::Tensor(tensor) => {
                        let places = prepared.bindings.entry(tensor.clone()).or_default();
                        places.push((prepared.launches.len(), argument));
                    }
                    value => {
                        let bytes = crate::plan::value_bytes(value);
                        made.set_value(argument, &bytes).map_err(HipError::from)?;
                    }
                }
            }
            prepared.launches.push(made);
        }
        Ok(prepared)
    }

    /// Names of the tensors to bind.
    pub fn tensors(&self) -> impl Iterator<Item = &str> {
        self.bindings.keys().map(String::as_str)
    }

    /// Binds a tensor to the caller's memory, wherever a launch takes it.
    ///
    /// # Errors
    /// No launch takes a tensor of that name, or the address is null or misaligned.
    pub fn bind(&mut self, tensor: &str, pointer: DevicePointer) -> Result<(), PrepareError> {
        let Some(places) = self.bindings.get(tensor) else {
            return Err(PrepareError::UnknownArgument {
                kernel: "launch plan".to_owned(),
                got: tensor.to_owned(),
                names: self.bindings.keys().cloned().collect(),
            });
        };
        let mut places = places.iter();
        places.try_for_each(|(launch, argument)| {
            self.launches[*launch].set_pointer(*argument, pointer)
        })
    }

    /// Launches everything in order on the caller's stream, as [`PreparedLaunch::launch`].
    ///
    /// # Errors
    /// As [`PreparedLaunch::launch`].
    pub fn launch(&mut self, stream: &Stream) -> Result<(), HipError> {
        self.launches.iter_mut().try_for_each(|launch| launch.launch(stream))
    }
}
