//! Addresses, loads, stores, the LDS segment and the barrier.

use dsl::ir::{Address, Base, Kernel, LdsId, Type, Value};
use inkwell::AddressSpace;
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::values::{BasicValue, BasicValueEnum, InstructionValue, IntValue, PointerValue};

use super::{Lowering, malformed};
use crate::binding::{FenceOrder, Wrapping, agent_atomic_or, byte_offset, workgroup_fence};
use crate::error::CompileError;
use crate::module::LDS;

/// Alignment of the LDS segment in bytes: that of the widest LDS access, `ds_read_b128`.
const LDS_ALIGN_BYTES: u32 = 16;

/// All LDS buffers as one object, so that their layout is the kernel's and not LLVM's choice.
pub struct LdsSegment<'ctx> {
    start: PointerValue<'ctx>,
    offsets: Vec<u32>,
}

impl<'ctx> LdsSegment<'ctx> {
    /// Adds the segment to the module, if the kernel has LDS buffers. Its contents start undefined.
    pub fn declare(
        context: &'ctx Context,
        module: &Module<'ctx>,
        kernel: &Kernel,
    ) -> Result<Option<LdsSegment<'ctx>>, CompileError> {
        if kernel.lds.is_empty() {
            return Ok(None);
        }
        let (offsets, size_bytes) = kernel.lds_layout();
        let bytes = context.i8_type().array_type(size_bytes);
        let segment = module.add_global(bytes, Some(AddressSpace::from(LDS)), "lds");
        segment.set_linkage(Linkage::Internal);
        segment.set_initializer(&bytes.get_poison());
        let widest = kernel.lds.iter().map(|buffer| buffer.align_bytes).max().unwrap_or(0);
        segment.set_alignment(widest.max(LDS_ALIGN_BYTES));
        Ok(Some(LdsSegment { start: segment.as_pointer_value(), offsets }))
    }
}

impl<'ctx> Lowering<'ctx, '_> {
    pub(super) fn load(
        &self,
        address: &Address,
        ty: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let pointer = self.address(address)?;
        let value = self.builder.build_load(self.basic_type(ty), pointer, "")?;
        let load = value
            .as_instruction_value()
            .ok_or_else(|| malformed("a load that is a constant".to_owned()))?;
        set_alignment(load, address.align_bytes)?;
        Ok(value)
    }

    pub(super) fn store(&self, address: &Address, value: Value) -> Result<(), CompileError> {
        let pointer = self.address(address)?;
        let store = self.builder.build_store(pointer, self.value(value)?)?;
        set_alignment(store, address.align_bytes)
    }

    /// Monotonic at agent scope. At system scope LLVM would expand it to a loop of exchanges, as memory behind PCIe
    /// needs ("AMDGPUUsage", atomic metadata). An atomic's alignment is its natural one.
    pub(super) fn atomic_or(&self, address: &Address, value: Value) -> Result<(), CompileError> {
        let (pointer, value) = (self.address(address)?, self.int(value)?);
        Ok(agent_atomic_or(self.context, &self.builder, pointer, value)?)
    }

    pub(super) fn pointer_add(
        &self,
        pointer: Value,
        offset: Value,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let sum = self.add_bytes(self.pointer(pointer)?, self.int(offset)?, Wrapping::Allowed)?;
        Ok(sum.into())
    }

    /// Base, plus the zero-extended offset, plus the constant, in three steps: the shape from which LLVM
    /// selects a scalar base, a 32-bit vector offset and an immediate.
    fn address(&self, address: &Address) -> Result<PointerValue<'ctx>, CompileError> {
        let (mut pointer, wrapping) = self.base(address.base)?;
        let offset_type = match address.base {
            Base::Global(_) => self.context.i64_type(),
            Base::Lds(_) => self.context.i32_type(),
        };
        if let Some(offset) = address.offset {
            let offset =
                self.builder.build_int_z_extend_or_bit_cast(self.int(offset)?, offset_type, "")?;
            pointer = self.add_bytes(pointer, offset, wrapping)?;
        }
        if address.constant != 0 {
            let constant = offset_type.const_int(u64::from(address.constant), false);
            pointer = self.add_bytes(pointer, constant, wrapping)?;
        }
        Ok(pointer)
    }

    /// A buffer's start bounds what can be accessed from it, so offsets from it stay in one object; a
    /// computed pointer may lie anywhere, so nothing is promised about it.
    fn base(&self, base: Base) -> Result<(PointerValue<'ctx>, Wrapping), CompileError> {
        match base {
            Base::Global(pointer) => {
                let is_param = self.kernel.params.iter().any(|param| param.value == pointer);
                let wrapping = if is_param { Wrapping::InBounds } else { Wrapping::Allowed };
                Ok((self.pointer(pointer)?, wrapping))
            }
            Base::Lds(id) => Ok((self.lds_buffer(id)?, Wrapping::InBounds)),
        }
    }

    fn lds_buffer(&self, id: LdsId) -> Result<PointerValue<'ctx>, CompileError> {
        let unknown = || malformed(format!("LDS buffer {} does not exist", id.0));
        let segment = self.lds.as_ref().ok_or_else(unknown)?;
        let offset = *segment.offsets.get(id.0 as usize).ok_or_else(unknown)?;
        let offset = self.context.i32_type().const_int(u64::from(offset), false);
        self.add_bytes(segment.start, offset, Wrapping::InBounds)
    }

    fn add_bytes(
        &self,
        base: PointerValue<'ctx>,
        offset: IntValue<'ctx>,
        wrapping: Wrapping,
    ) -> Result<PointerValue<'ctx>, CompileError> {
        Ok(byte_offset(&self.builder, self.context.i8_type(), base, offset, wrapping)?)
    }

    /// Release, barrier, acquire at workgroup scope: the barrier alone orders nothing for LLVM. Restricted
    /// to LDS ("AMDGPUUsage", memory model relaxation annotations), which is all that the operation
    /// promises and keeps loads from global memory in flight across it. LLVM deletes the barrier, not the
    /// order, when the workgroup is a single wave.
    pub(super) fn barrier(&self) -> Result<(), CompileError> {
        self.lds_fence(FenceOrder::Release)?;
        let barrier = self.declaration("llvm.amdgcn.s.barrier", &[])?;
        self.builder.build_call(barrier, &[], "")?;
        self.lds_fence(FenceOrder::Acquire)
    }

    fn lds_fence(&self, order: FenceOrder) -> Result<(), CompileError> {
        let fence = workgroup_fence(self.context, &self.builder, order)?;
        let tag = ["amdgpu-synchronize-as", "local"]
            .map(|text| self.context.metadata_string(text).into());
        let set =
            fence.set_metadata(self.context.metadata_node(&tag), self.context.get_kind_id("mmra"));
        set.map_err(|error| malformed(format!("a fence without annotation: {error}")))
    }
}

fn set_alignment(access: InstructionValue<'_>, align_bytes: u32) -> Result<(), CompileError> {
    let set = access.set_alignment(align_bytes);
    set.map_err(|error| malformed(format!("an access aligned to {align_bytes} bytes: {error}")))
}
