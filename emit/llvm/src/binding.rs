//! The few calls into LLVM's C interface that inkwell does not offer: the only unsafe code beside the emulator's vectors.
#![expect(
    unsafe_code,
    reason = "LLVM's C interface is unsafe; inkwell has no safe form of these calls"
)]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::OnceLock;

use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::types::{AsTypeRef, IntType};
use inkwell::values::{AsValueRef, FunctionValue, InstructionValue, IntValue, PointerValue};
use llvm_sys::core::{
    LLVMBuildAtomicRMWSyncScope, LLVMBuildFenceSyncScope, LLVMBuildGEPWithNoWrapFlags,
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription,
    LLVMGetDiagInfoSeverity, LLVMGetSyncScopeID, LLVMGetVersion, LLVMGlobalSetMetadata,
    LLVMMDNodeInContext2, LLVMValueAsMetadata,
};
use llvm_sys::disassembler::{
    LLVMCreateDisasmCPUFeatures, LLVMDisasmContextRef, LLVMDisasmDispose, LLVMDisasmInstruction,
    LLVMDisassembler_Option_PrintImmHex, LLVMSetDisasmOptions,
};
use llvm_sys::error_handling::LLVMInstallFatalErrorHandler;
use llvm_sys::prelude::LLVMDiagnosticInfoRef;
use llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMDiagnosticSeverity, LLVMGEPFlagInBounds,
    LLVMGEPFlagNUW,
};

/// Collects LLVM's errors on a context for as long as it lives.
///
/// Without a handler LLVM prints the error and ends the process; with one, code generation goes on and
/// its output is garbage, so a caller must look at [`Diagnostics::errors`] after every step.
pub struct Diagnostics<'ctx> {
    context: &'ctx Context,
    errors: Box<RefCell<Vec<String>>>,
}

impl<'ctx> Diagnostics<'ctx> {
    /// Starts collecting.
    pub fn attach(context: &'ctx Context) -> Diagnostics<'ctx> {
        let errors = Box::new(RefCell::new(Vec::new()));
        let sink = std::ptr::from_ref::<RefCell<Vec<String>>>(&errors).cast_mut().cast::<c_void>();
        // SAFETY: the context outlives `self` by its lifetime; the sink is boxed, so it does not move,
        // and `drop` takes the handler away before the box is freed.
        unsafe { LLVMContextSetDiagnosticHandler(context.raw(), Some(collect), sink) };
        Diagnostics { context, errors }
    }

    /// The errors so far, in LLVM's order.
    pub fn errors(&self) -> Vec<String> {
        self.errors.borrow().clone()
    }
}

impl Drop for Diagnostics<'_> {
    fn drop(&mut self) {
        // SAFETY: the context is alive, and no handler is a legal value.
        unsafe { LLVMContextSetDiagnosticHandler(self.context.raw(), None, std::ptr::null_mut()) };
    }
}

/// LLVM's callback: keeps errors, drops remarks and warnings.
extern "C" fn collect(info: LLVMDiagnosticInfoRef, sink: *mut c_void) {
    // SAFETY: LLVM passes a valid diagnostic; the message is a C string that we own and give back.
    let (severity, message) = unsafe {
        let text = LLVMGetDiagInfoDescription(info);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        (LLVMGetDiagInfoSeverity(info), message)
    };
    if matches!(severity, LLVMDiagnosticSeverity::LLVMDSError) {
        // SAFETY: the pointer is the one given in `attach`, alive until the handler is taken away.
        let errors = unsafe { &*sink.cast::<RefCell<Vec<String>>>() };
        errors.borrow_mut().push(message);
    }
}

/// What is called when LLVM cannot go on; it must end the process.
static ON_FATAL: OnceLock<fn(&str) -> !> = OnceLock::new();

/// Has LLVM's fatal errors reported by `report`, which ends the process: LLVM cannot continue, and
/// unwinding through its frames is undefined. The first call counts.
pub fn on_fatal_error(report: fn(&str) -> !) {
    if ON_FATAL.set(report).is_ok() {
        // SAFETY: the handler is a plain function, valid for the whole process; LLVM aborts when a
        // second one is installed, which the guard above excludes.
        unsafe { LLVMInstallFatalErrorHandler(Some(fatal)) };
    }
}

extern "C" fn fatal(reason: *const c_char) {
    // SAFETY: LLVM passes a C string that is valid during the call.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
    if let Some(report) = ON_FATAL.get() {
        report(&reason);
    }
}

/// Attaches a node of numbers to a function under a kind of metadata.
///
/// Not through a metadata *value*, as inkwell does it: as such, LLVM takes a node of one constant for the constant
/// itself, and then crashes where it looks for a node.
pub fn attach_numbers(
    context: &Context,
    function: FunctionValue<'_>,
    kind: u32,
    numbers: &[IntValue<'_>],
) {
    // SAFETY: the values belong to the live context; LLVM copies the list.
    unsafe {
        let mut parts: Vec<_> =
            numbers.iter().map(|number| LLVMValueAsMetadata(number.as_value_ref())).collect();
        let node = LLVMMDNodeInContext2(context.raw(), parts.as_mut_ptr(), parts.len());
        LLVMGlobalSetMetadata(function.as_value_ref(), kind, node);
    }
}

/// The exact version of the loaded LLVM, such as `22.1.2`.
pub fn llvm_version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three valid out-pointers to integers.
    unsafe { LLVMGetVersion(&raw mut major, &raw mut minor, &raw mut patch) };
    format!("{major}.{minor}.{patch}")
}

unsafe extern "C" {
    /// Makes the disassembler known; llvm-sys does not declare it. The rest of the target is initialised
    /// by inkwell.
    safe fn LLVMInitializeAMDGPUDisassembler();
}

/// Longest text of one instruction in bytes, with its final zero; LLVM cuts longer ones off.
const MAX_TEXT_BYTES: usize = 1024;

/// LLVM's disassembler for one processor.
pub struct Disassembler {
    context: LLVMDisasmContextRef,
}

impl Disassembler {
    /// The disassembler of a processor with default features, if LLVM has one. The target must have been
    /// initialised.
    pub fn new(triple: &str, processor: &str) -> Option<Disassembler> {
        LLVMInitializeAMDGPUDisassembler();
        let (triple, processor) = (CString::new(triple).ok()?, CString::new(processor).ok()?);
        // SAFETY: three C strings that live through the call; no callbacks, so no data for them.
        let context = unsafe {
            let none = std::ptr::null_mut();
            let (triple, processor) = (triple.as_ptr(), processor.as_ptr());
            LLVMCreateDisasmCPUFeatures(triple, processor, c"".as_ptr(), none, 0, None, None)
        };
        if context.is_null() {
            return None;
        }
        // SAFETY: the context is the one just made.
        unsafe { LLVMSetDisasmOptions(context, LLVMDisassembler_Option_PrintImmHex) };
        Some(Disassembler { context })
    }

    /// Size and text of the instruction at the start of `code`, if there is one.
    pub fn instruction(&mut self, code: &[u8]) -> Option<(usize, String)> {
        let mut text: [c_char; MAX_TEXT_BYTES] = [0; MAX_TEXT_BYTES];
        let (bytes, length) = (code.as_ptr().cast_mut(), code.len() as u64);
        // SAFETY: the context is alive; LLVM only reads the bytes, whose number is given; the text has the
        // stated room and ends with a zero.
        let (size, text) = unsafe {
            let out = text.as_mut_ptr();
            let size = LLVMDisasmInstruction(self.context, bytes, length, 0, out, MAX_TEXT_BYTES);
            (size, CStr::from_ptr(out))
        };
        (size > 0).then(|| (size, text.to_string_lossy().trim().to_owned()))
    }
}

impl Drop for Disassembler {
    fn drop(&mut self) {
        // SAFETY: the context was made in `new` and is given back once.
        unsafe { LLVMDisasmDispose(self.context) };
    }
}

/// Promises that go with an address computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapping {
    /// Plain modular arithmetic.
    Allowed,
    /// Base and result lie in one object and the unsigned sum does not overflow.
    InBounds,
}

/// `base + offset` in bytes.
pub fn byte_offset<'ctx>(
    builder: &Builder<'ctx>,
    byte: IntType<'ctx>,
    base: PointerValue<'ctx>,
    offset: IntValue<'ctx>,
    wrapping: Wrapping,
) -> Result<PointerValue<'ctx>, BuilderError> {
    builder.get_insert_block().ok_or(BuilderError::UnsetPosition)?;
    let flags = match wrapping {
        Wrapping::Allowed => 0,
        Wrapping::InBounds => LLVMGEPFlagInBounds | LLVMGEPFlagNUW,
    };
    let mut index = [offset.as_value_ref()];
    // SAFETY: builder, type and values belong to one live context, the builder stands in a block, the
    // index array has the stated length, and the result of a GEP on a scalar pointer is a pointer.
    let sum = unsafe {
        PointerValue::new(LLVMBuildGEPWithNoWrapFlags(
            builder.as_mut_ptr(),
            byte.as_type_ref(),
            base.as_value_ref(),
            index.as_mut_ptr(),
            1,
            c"".as_ptr(),
            flags,
        ))
    };
    Ok(sum)
}

/// The two halves of a workgroup-scope ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceOrder {
    /// What came before is visible before what follows the barrier.
    Release,
    /// What follows sees what came before the barrier.
    Acquire,
}

/// A fence at workgroup scope: inkwell's own fences have no scope.
pub fn workgroup_fence<'ctx>(
    context: &Context,
    builder: &Builder<'ctx>,
    order: FenceOrder,
) -> Result<InstructionValue<'ctx>, BuilderError> {
    const SCOPE: &str = "workgroup";
    let ordering = match order {
        FenceOrder::Release => LLVMAtomicOrdering::LLVMAtomicOrderingRelease,
        FenceOrder::Acquire => LLVMAtomicOrdering::LLVMAtomicOrderingAcquire,
    };
    builder.get_insert_block().ok_or(BuilderError::UnsetPosition)?;
    // SAFETY: the name is passed with its length, builder and context are alive and belong together,
    // the builder stands in a block, and a fence is an instruction.
    let fence = unsafe {
        let scope = LLVMGetSyncScopeID(context.raw(), SCOPE.as_ptr().cast(), SCOPE.len());
        let fence = LLVMBuildFenceSyncScope(builder.as_mut_ptr(), ordering, scope, c"".as_ptr());
        InstructionValue::new(fence)
    };
    Ok(fence)
}

/// A monotonic OR into memory at agent scope: inkwell's own atomics have no scope.
pub fn agent_atomic_or<'ctx>(
    context: &Context,
    builder: &Builder<'ctx>,
    pointer: PointerValue<'ctx>,
    value: IntValue<'ctx>,
) -> Result<(), BuilderError> {
    const SCOPE: &str = "agent";
    builder.get_insert_block().ok_or(BuilderError::UnsetPosition)?;
    // SAFETY: the name is passed with its length; builder, context and values are alive and belong together,
    // and the builder stands in a block.
    unsafe {
        let scope = LLVMGetSyncScopeID(context.raw(), SCOPE.as_ptr().cast(), SCOPE.len());
        LLVMBuildAtomicRMWSyncScope(
            builder.as_mut_ptr(),
            LLVMAtomicRMWBinOp::LLVMAtomicRMWBinOpOr,
            pointer.as_value_ref(),
            value.as_value_ref(),
            LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic,
            scope,
        );
    }
    Ok(())
}
