//! The metadata note.

use isa::Target;
use rmpv::Value;

use super::WriteError;
use crate::identity::{FeatureSetting, TargetFeatures};
use crate::metadata::{KernelArg, KernelMetadata};

/// `NT_AMDGPU_METADATA`.
const METADATA_TYPE: u32 = 32;
/// The note's owner, with its terminator.
const OWNER: &[u8] = b"AMDGPU\0";

/// The whole note: header, owner, document, each padded to 4 bytes.
pub fn note(target: Target, kernel: &KernelMetadata) -> Result<Vec<u8>, WriteError> {
    let mut document = Vec::new();
    rmpv::encode::write_value(&mut document, &root(target, kernel))
        .map_err(|error| WriteError::Metadata { reason: error.to_string() })?;
    let mut note = Vec::with_capacity(document.len() + 24);
    for word in [OWNER.len() as u32, document.len() as u32, METADATA_TYPE] {
        note.extend(word.to_le_bytes());
    }
    for part in [OWNER, &document] {
        note.extend(part);
        note.resize(note.len().next_multiple_of(4), 0);
    }
    Ok(note)
}

/// The document as YAML, which assemblers take between `.amdgpu_metadata` and `.end_amdgpu_metadata`: in flow style, that
/// is as JSON writes it.
pub fn yaml(target: Target, kernel: &KernelMetadata) -> String {
    let mut text = String::new();
    flow(&root(target, kernel), &mut text);
    text
}

fn flow(value: &Value, text: &mut String) {
    match value {
        Value::Map(entries) => {
            text.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                flow(key, text);
                text.push_str(": ");
                flow(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                flow(item, text);
            }
            text.push(']');
        }
        // Strings are symbols and type names; `Debug` quotes and escapes as YAML's double quotes do.
        Value::String(string) => text.push_str(&format!("{:?}", string.as_str().unwrap_or(""))),
        other => text.push_str(&other.to_string()),
    }
}

/// A map in the order of its keys, which readers do not need but diffs like.
fn map(mut entries: Vec<(&str, Value)>) -> Value {
    entries.sort_by_key(|(key, _)| *key);
    Value::Map(entries.into_iter().map(|(key, value)| (Value::from(key), value)).collect())
}

fn root(target: Target, kernel: &KernelMetadata) -> Value {
    let features = TargetFeatures { xnack: FeatureSetting::Any, sramecc: FeatureSetting::Any };
    map(vec![
        ("amdhsa.kernels", Value::Array(vec![kernel_map(kernel)])),
        ("amdhsa.target", Value::from(features.target_id(target))),
        ("amdhsa.version", Value::Array(vec![Value::from(1), Value::from(2)])),
    ])
}

fn kernel_map(kernel: &KernelMetadata) -> Value {
    let mut entries = vec![
        (".name", Value::from(kernel.name.as_str())),
        (".symbol", Value::from(kernel.symbol.as_str())),
        (".kernarg_segment_size", Value::from(kernel.kernarg_segment_size)),
        (".kernarg_segment_align", Value::from(kernel.kernarg_segment_align)),
        (".group_segment_fixed_size", Value::from(kernel.group_segment_fixed_size)),
        (".private_segment_fixed_size", Value::from(kernel.private_segment_fixed_size)),
        (".wavefront_size", Value::from(kernel.wavefront_size)),
        (".sgpr_count", Value::from(kernel.sgpr_count)),
        (".vgpr_count", Value::from(kernel.vgpr_count)),
        (".sgpr_spill_count", Value::from(kernel.sgpr_spill_count)),
        (".vgpr_spill_count", Value::from(kernel.vgpr_spill_count)),
        (".max_flat_workgroup_size", Value::from(kernel.max_flat_workgroup_size)),
        (".uniform_work_group_size", Value::from(u32::from(kernel.uniform_work_group_size))),
        (".uses_dynamic_stack", Value::from(kernel.uses_dynamic_stack)),
        (".args", Value::Array(kernel.args.iter().map(argument).collect())),
    ];
    entries.extend(kernel.agpr_count.map(|count| (".agpr_count", Value::from(count))));
    let mode = kernel.workgroup_processor_mode;
    entries.extend(mode.map(|on| (".workgroup_processor_mode", Value::from(u32::from(on)))));
    for (key, size) in [
        (".reqd_workgroup_size", kernel.reqd_workgroup_size),
        (".workgroup_size_hint", kernel.workgroup_size_hint),
    ] {
        entries.extend(size.map(|size| (key, Value::Array(size.map(Value::from).to_vec()))));
    }
    if kernel.kind != "normal" {
        entries.push((".kind", Value::from(kernel.kind.as_str())));
    }
    map(entries)
}

fn argument(arg: &KernelArg) -> Value {
    let mut entries = vec![
        (".offset", Value::from(arg.offset)),
        (".size", Value::from(arg.size)),
        (".value_kind", Value::from(arg.value_kind.word())),
    ];
    let texts = [(".name", &arg.name), (".type_name", &arg.type_name)];
    for (key, text) in texts {
        entries.extend(text.as_deref().map(|text| (key, Value::from(text))));
    }
    entries.extend(arg.address_space.map(|space| (".address_space", Value::from(space.word()))));
    entries.extend(arg.access.map(|access| (".access", Value::from(access.word()))));
    entries.extend(arg.actual_access.map(|access| (".actual_access", Value::from(access.word()))));
    entries.extend(arg.pointee_align.map(|align| (".pointee_align", Value::from(align))));
    let flags = [
        (".is_const", arg.is_const),
        (".is_restrict", arg.is_restrict),
        (".is_volatile", arg.is_volatile),
        (".is_pipe", arg.is_pipe),
    ];
    entries.extend(flags.into_iter().filter(|(_, on)| *on).map(|(k, on)| (k, Value::from(on))));
    map(entries)
}
