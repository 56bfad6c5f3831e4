//! The LLVM module around a kernel: target, flags, signature, attributes, metadata.
//!
//! Attribute and metadata names are those of LLVM's AMDGPUUsage document and of LLVM 22's AMDGPU back end.

use std::collections::BTreeSet;

use dsl::ir::{Access, Block, Kernel, Op, Param, ParamKind, Scalar, Special};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::{FlagBehavior, Linkage, Module};
use inkwell::targets::TargetMachine;
use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum};
use inkwell::values::{BasicMetadataValueEnum, FunctionValue, IntValue};
use inkwell::{AddressSpace, GlobalVisibility};

use crate::binding::attach_numbers;
use crate::lower::types::basic_type;

/// Global memory.
pub const GLOBAL: u16 = 1;
/// LDS.
pub const LDS: u16 = 3;

/// `CallingConv::AMDGPU_KERNEL`.
const AMDGPU_KERNEL: u32 = 91;

/// Code object version 5 as the module flag spells it: the version that the widest range of ROCm loads.
const CODE_OBJECT_VERSION: u64 = 500;

/// Inputs that no kernel of this project uses. Each promise removes user SGPRs, and together they remove
/// the 256 bytes of hidden kernel arguments.
const UNUSED_INPUTS: &[&str] = &[
    "amdgpu-no-cluster-id-x",
    "amdgpu-no-cluster-id-y",
    "amdgpu-no-cluster-id-z",
    "amdgpu-no-completion-action",
    "amdgpu-no-default-queue",
    "amdgpu-no-dispatch-id",
    "amdgpu-no-dispatch-ptr",
    "amdgpu-no-flat-scratch-init",
    "amdgpu-no-heap-ptr",
    "amdgpu-no-hostcall-ptr",
    "amdgpu-no-implicitarg-ptr",
    "amdgpu-no-lds-kernel-id",
    "amdgpu-no-multigrid-sync-arg",
    "amdgpu-no-queue-ptr",
    "amdgpu-no-workitem-id-y",
    "amdgpu-no-workitem-id-z",
];

/// An empty module for the kernel's target. Its name is the kernel's, so that it holds no path.
pub fn new_module<'ctx>(
    context: &'ctx Context,
    kernel: &Kernel,
    machine: &TargetMachine,
) -> Module<'ctx> {
    empty_module(context, &kernel.name, machine)
}

/// An empty module of a constant name, for a machine.
pub fn empty_module<'ctx>(
    context: &'ctx Context,
    name: &str,
    machine: &TargetMachine,
) -> Module<'ctx> {
    let module = context.create_module(name);
    module.set_source_file_name(name);
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    let version = context.i32_type().const_int(CODE_OBJECT_VERSION, false);
    module.add_basic_value_flag("amdhsa_code_object_version", FlagBehavior::Error, version);
    module
}

/// Declares the kernel's function with all that the ABI and the metadata note need.
pub fn declare_kernel<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    kernel: &Kernel,
) -> FunctionValue<'ctx> {
    let params: Vec<BasicMetadataTypeEnum> =
        kernel.params.iter().map(|param| param_type(context, param.kind).into()).collect();
    let signature = context.void_type().fn_type(&params, false);
    let function = module.add_function(&kernel.name, signature, Some(Linkage::External));
    function.set_call_conventions(AMDGPU_KERNEL);
    function.as_global_value().set_visibility(GlobalVisibility::Protected);
    add_function_attributes(context, function, kernel);
    for (index, param) in (0u32..).zip(&kernel.params) {
        add_param_attributes(context, function, index, param.kind);
    }
    for (value, param) in function.get_param_iter().zip(&kernel.params) {
        value.set_name(&param.name);
    }
    add_metadata(context, function, kernel);
    function
}

fn param_type<'ctx>(context: &'ctx Context, kind: ParamKind) -> BasicTypeEnum<'ctx> {
    match kind {
        ParamKind::Buffer { .. } => context.ptr_type(AddressSpace::from(GLOBAL)).into(),
        ParamKind::Scalar(scalar) => basic_type(context, dsl::ir::Type::Scalar(scalar)),
    }
}

fn add_function_attributes(context: &Context, function: FunctionValue<'_>, kernel: &Kernel) {
    let size = kernel.workgroup_size;
    let set = |key: &str, value: &str| {
        function.add_attribute(AttributeLoc::Function, context.create_string_attribute(key, value));
    };
    set("target-cpu", kernel.target.name());
    set("amdgpu-flat-work-group-size", &format!("{size},{size}"));
    set("uniform-work-group-size", "true");
    set("denormal-fp-math", "ieee,ieee");
    for key in UNUSED_INPUTS {
        set(key, "");
    }
    for key in unused_workgroup_ids(kernel) {
        set(key, "");
    }
    function.add_attribute(AttributeLoc::Function, flag(context, "nounwind", 0));
}

/// The workgroup index of x always arrives; those of y and z cost an SGPR each, when they are asked for.
fn unused_workgroup_ids(kernel: &Kernel) -> impl Iterator<Item = &'static str> {
    let mut used = BTreeSet::new();
    collect_workgroup_ids(&kernel.body, &mut used);
    ["amdgpu-no-workgroup-id-y", "amdgpu-no-workgroup-id-z"]
        .into_iter()
        .filter(move |key| !used.contains(key))
}

fn collect_workgroup_ids(block: &Block, used: &mut BTreeSet<&'static str>) {
    for stmt in &block.stmts {
        match &stmt.op {
            Op::Special(Special::WorkgroupIdY) => {
                used.insert("amdgpu-no-workgroup-id-y");
            }
            Op::Special(Special::WorkgroupIdZ) => {
                used.insert("amdgpu-no-workgroup-id-z");
            }
            Op::For { body, .. } => collect_workgroup_ids(body, used),
            Op::If { then, otherwise, .. } => {
                collect_workgroup_ids(then, used);
                collect_workgroup_ids(otherwise, used);
            }
            _ => {}
        }
    }
}

fn add_param_attributes(
    context: &Context,
    function: FunctionValue<'_>,
    index: u32,
    kind: ParamKind,
) {
    let ParamKind::Buffer { access, align_bytes, .. } = kind else { return };
    let set = |name, value| {
        function.add_attribute(AttributeLoc::Param(index), flag(context, name, value))
    };
    set("noalias", 0);
    // `captures(none)`: the pointer does not outlive the kernel.
    set("captures", 0);
    set("align", u64::from(align_bytes));
    match access {
        Access::ReadOnly => set("readonly", 0),
        Access::WriteOnly => set("writeonly", 0),
        Access::ReadWrite => {}
    }
}

/// An attribute that LLVM knows by name, with its number (0 where it has none).
fn flag(context: &Context, name: &str, value: u64) -> Attribute {
    context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value)
}

/// The nodes from which LLVM writes the metadata note: workgroup size and one entry an argument in each list.
fn add_metadata<'ctx>(context: &'ctx Context, function: FunctionValue<'ctx>, kernel: &Kernel) {
    let number = |value: u32| context.i32_type().const_int(u64::from(value), false);
    let text = |value: &str| BasicMetadataValueEnum::from(context.metadata_string(value));
    let numbers = |name: &str, values: &[IntValue<'ctx>]| {
        attach_numbers(context, function, context.get_kind_id(name), values);
    };
    numbers("reqd_work_group_size", &[number(kernel.workgroup_size), number(1), number(1)]);
    let spaces =
        kernel.params.iter().map(|param| number(if is_buffer(param) { GLOBAL.into() } else { 0 }));
    numbers("kernel_arg_addr_space", &spaces.collect::<Vec<_>>());
    let list = |name: &str, entry: &dyn Fn(&Param) -> BasicMetadataValueEnum<'ctx>| {
        let entries: Vec<_> = kernel.params.iter().map(entry).collect();
        let node = context.metadata_node(&entries);
        function.as_global_value().set_metadata(node, context.get_kind_id(name));
    };
    list("kernel_arg_access_qual", &|_| text("none"));
    list("kernel_arg_type", &|param| text(&source_type(param.kind)));
    list("kernel_arg_base_type", &|param| text(&source_type(param.kind)));
    list("kernel_arg_type_qual", &|param| text(qualifiers(param.kind)));
    list("kernel_arg_name", &|param| text(&param.name));
}

fn is_buffer(param: &Param) -> bool {
    matches!(param.kind, ParamKind::Buffer { .. })
}

/// The argument's type as a C programmer would write it; readers of the note expect that.
fn source_type(kind: ParamKind) -> String {
    let name = |scalar: Scalar| match scalar {
        Scalar::I1 => "bool",
        Scalar::I16 => "short",
        Scalar::I32 => "int",
        Scalar::I64 => "long",
        Scalar::F16 => "half",
        Scalar::Bf16 => "__bf16",
        Scalar::F32 => "float",
    };
    match kind {
        ParamKind::Buffer { elem, .. } => format!("{}*", name(elem)),
        ParamKind::Scalar(scalar) => name(scalar).to_owned(),
    }
}

fn qualifiers(kind: ParamKind) -> &'static str {
    match kind {
        ParamKind::Buffer { access: Access::ReadOnly, .. } => "const restrict",
        ParamKind::Buffer { .. } => "restrict",
        ParamKind::Scalar(_) => "",
    }
}
