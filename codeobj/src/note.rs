//! The metadata note: a MessagePack document in a `PT_NOTE` segment.
//!
//! Source: AMDGPUUsage (LLVM 22), sections *Note Records* and *Code Object Metadata*. Several notes may
//! be present (an assembler can add one of its own beside the author's); their kernels are merged.

use std::collections::BTreeMap;

use object::LittleEndian as LE;
use object::elf::{FileHeader64, PT_NOTE, ProgramHeader64};
use object::read::elf::NoteIterator;
use rmpv::ValueRef;

use crate::error::Problem;
use crate::identity::Identity;
use crate::metadata::{Access, AddressSpace, KernelArg, KernelMetadata, ValueKind};
use crate::near::{hint, nearest};
use crate::segment::{Segment, bytes_at};

/// `NT_AMDGPU_METADATA`.
const METADATA_TYPE: u32 = 32;
/// `amdhsa.version` of code objects v5 and v6.
const METADATA_VERSION: [u32; 2] = [1, 2];
/// Documents nest three deep; the limit keeps damaged ones off the stack.
const MAX_DEPTH: usize = 32;

/// Reads the kernels' metadata and checks the document's version and target.
pub(crate) fn read_notes(
    headers: &[ProgramHeader64<LE>],
    segments: &[Segment],
    identity: &Identity,
    problems: &mut Vec<Problem>,
) -> Vec<KernelMetadata> {
    let documents = metadata_documents(headers, segments, problems);
    if documents.is_empty() && problems.is_empty() {
        problems.push(Problem::NoMetadata);
    }
    let mut kernels = Vec::new();
    for bytes in documents {
        match decode(bytes) {
            Ok(document) => kernels.extend(Reader { problems }.document(&document, identity)),
            Err(reason) => problems.push(Problem::MessagePack { size: bytes.len(), reason }),
        }
    }
    kernels
}

/// The bodies of all AMDGPU metadata notes.
fn metadata_documents<'f>(
    headers: &[ProgramHeader64<LE>],
    segments: &'f [Segment],
    problems: &mut Vec<Problem>,
) -> Vec<&'f [u8]> {
    let mut documents = Vec::new();
    for (index, header) in
        headers.iter().enumerate().filter(|(_, header)| header.p_type.get(LE) == PT_NOTE)
    {
        let (address, size) = (header.p_vaddr.get(LE), header.p_filesz.get(LE));
        let Some(data) = bytes_at(segments, address, size) else {
            problems.push(Problem::NotLoaded { what: "PT_NOTE segment".to_owned(), address, size });
            continue;
        };
        match metadata_in(data, header.p_align.get(LE)) {
            Ok(found) => documents.extend(found),
            Err(reason) => problems.push(Problem::Notes { index, reason: reason.to_string() }),
        }
    }
    documents
}

fn metadata_in(data: &[u8], align: u64) -> object::read::Result<Vec<&[u8]>> {
    let mut documents = Vec::new();
    for note in NoteIterator::<FileHeader64<LE>>::new(LE, align, data)? {
        let note = note?;
        if note.name() == b"AMDGPU" && note.n_type(LE).0 == METADATA_TYPE {
            documents.push(note.desc());
        }
    }
    Ok(documents)
}

fn decode(bytes: &[u8]) -> Result<ValueRef<'_>, String> {
    let mut rest = bytes;
    let value = rmpv::decode::read_value_ref_with_max_depth(&mut rest, MAX_DEPTH)
        .map_err(|error| error.to_string())?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(format!("{} bytes follow the document", rest.len()))
    }
}

/// A map of the document with the path that leads to it.
struct Map<'v> {
    path: String,
    entries: BTreeMap<&'v str, &'v ValueRef<'v>>,
}

impl Map<'_> {
    fn at(&self, key: &str) -> String {
        format!("{}{key}", self.path)
    }
}

/// Reads typed values; what is missing or wrong is reported and replaced by a default, so that one pass
/// finds everything. The result counts only if nothing was reported.
struct Reader<'p> {
    problems: &'p mut Vec<Problem>,
}

impl Reader<'_> {
    fn document(&mut self, document: &ValueRef<'_>, identity: &Identity) -> Vec<KernelMetadata> {
        let Some(root) = self.map(document, String::new()) else {
            return Vec::new();
        };
        self.version(&root);
        let Identity { target, features, .. } = *identity;
        let named = self.optional_string(&root, "amdhsa.target");
        if let Some(got) = named.filter(|got| !features.is_named_by(target, got)) {
            let target_id = features.target_id(target);
            let rule = format!(
                "but the ELF header says {target_id}: the parts of the object were built for different targets"
            );
            self.problems.push(Problem::KeyValue { path: root.at("amdhsa.target"), got, rule });
        }
        let kernels = self.list(&root, "amdhsa.kernels");
        kernels.into_iter().filter_map(|(path, kernel)| self.kernel(kernel, path)).collect()
    }

    fn version(&mut self, root: &Map<'_>) {
        let path = root.at("amdhsa.version");
        match self.numbers(root, "amdhsa.version") {
            None if root.entries.contains_key("amdhsa.version") => {}
            None => self.problems.push(Problem::KeyMissing { path }),
            Some(got) if got == METADATA_VERSION => {}
            Some(got) => {
                let rule = format!("supported is {METADATA_VERSION:?} (code objects v5 and v6)");
                self.problems.push(Problem::KeyValue { path, got: format!("{got:?}"), rule });
            }
        }
    }

    fn kernel(&mut self, value: &ValueRef<'_>, path: String) -> Option<KernelMetadata> {
        let map = &self.map(value, path)?;
        let mut unknown_keys = unknown(map, KERNEL_KEYS);
        let args = self.list(map, ".args");
        let mut args: Vec<KernelArg> = args
            .into_iter()
            .filter_map(|(path, arg)| self.arg(arg, path, &mut unknown_keys))
            .collect();
        args.sort_by_key(|arg| arg.offset);
        Some(KernelMetadata {
            name: self.string(map, ".name"),
            symbol: self.string(map, ".symbol"),
            kernarg_segment_size: self.number(map, ".kernarg_segment_size"),
            kernarg_segment_align: self.number(map, ".kernarg_segment_align"),
            group_segment_fixed_size: self.number(map, ".group_segment_fixed_size"),
            private_segment_fixed_size: self.number(map, ".private_segment_fixed_size"),
            wavefront_size: self.number(map, ".wavefront_size"),
            sgpr_count: self.number(map, ".sgpr_count"),
            vgpr_count: self.number(map, ".vgpr_count"),
            agpr_count: self.optional_number(map, ".agpr_count"),
            sgpr_spill_count: self.optional_number(map, ".sgpr_spill_count").unwrap_or(0),
            vgpr_spill_count: self.optional_number(map, ".vgpr_spill_count").unwrap_or(0),
            max_flat_workgroup_size: self.number(map, ".max_flat_workgroup_size"),
            reqd_workgroup_size: self.numbers(map, ".reqd_workgroup_size"),
            workgroup_size_hint: self.numbers(map, ".workgroup_size_hint"),
            uniform_work_group_size: self.truth(map, ".uniform_work_group_size").unwrap_or(false),
            uses_dynamic_stack: self.truth(map, ".uses_dynamic_stack").unwrap_or(false),
            workgroup_processor_mode: self.truth(map, ".workgroup_processor_mode"),
            kind: self.optional_string(map, ".kind").unwrap_or_else(|| "normal".to_owned()),
            args,
            unknown_keys,
        })
    }

    fn arg(
        &mut self,
        value: &ValueRef<'_>,
        path: String,
        unknown_keys: &mut Vec<String>,
    ) -> Option<KernelArg> {
        let map = &self.map(value, path)?;
        unknown_keys.extend(unknown(map, ARG_KEYS));
        Some(KernelArg {
            name: self.optional_string(map, ".name"),
            type_name: self.optional_string(map, ".type_name"),
            offset: self.number(map, ".offset"),
            size: self.number(map, ".size"),
            value_kind: self.value_kind(map)?,
            address_space: self.word(
                map,
                ".address_space",
                AddressSpace::WORDS,
                AddressSpace::from_word,
            ),
            access: self.word(map, ".access", Access::WORDS, Access::from_word),
            actual_access: self.word(map, ".actual_access", Access::WORDS, Access::from_word),
            pointee_align: self.optional_number(map, ".pointee_align"),
            is_const: self.truth(map, ".is_const").unwrap_or(false),
            is_restrict: self.truth(map, ".is_restrict").unwrap_or(false),
            is_volatile: self.truth(map, ".is_volatile").unwrap_or(false),
            is_pipe: self.truth(map, ".is_pipe").unwrap_or(false),
        })
    }

    fn value_kind(&mut self, map: &Map<'_>) -> Option<ValueKind> {
        let words: Vec<&str> = ValueKind::words().collect();
        let kind = self.word(map, ".value_kind", &words, ValueKind::from_word);
        if kind.is_none() && !map.entries.contains_key(".value_kind") {
            self.problems.push(Problem::KeyMissing { path: map.at(".value_kind") });
        }
        kind
    }

    fn map<'v>(&mut self, value: &'v ValueRef<'v>, path: String) -> Option<Map<'v>> {
        let ValueRef::Map(pairs) = value else {
            let path = if path.is_empty() { "the document".to_owned() } else { path };
            return self.wrong_type(path, value, "a map");
        };
        let mut map = Map { path, entries: BTreeMap::new() };
        for (key, value) in pairs {
            let Some(key) = as_str(key) else {
                let _: Option<()> =
                    self.wrong_type(format!("a key of {}", map.path), key, "a string");
                continue;
            };
            if map.entries.insert(key, value).is_some() {
                self.problems.push(Problem::KeyTwice { path: map.at(key) });
            }
        }
        Some(map)
    }

    /// The elements of a list with their paths; an absent list is empty.
    fn list<'v>(&mut self, map: &Map<'v>, key: &str) -> Vec<(String, &'v ValueRef<'v>)> {
        let path = map.at(key);
        match map.entries.get(key) {
            None => Vec::new(),
            Some(ValueRef::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(index, item)| (format!("{path}[{index}]"), item))
                .collect(),
            Some(other) => self.wrong_type(path, other, "a list").unwrap_or_default(),
        }
    }

    fn string(&mut self, map: &Map<'_>, key: &str) -> String {
        self.required(map, key);
        self.optional_string(map, key).unwrap_or_default()
    }

    fn optional_string(&mut self, map: &Map<'_>, key: &str) -> Option<String> {
        let value = map.entries.get(key)?;
        match as_str(value) {
            Some(text) => Some(text.to_owned()),
            None => self.wrong_type(map.at(key), value, "a string"),
        }
    }

    fn number(&mut self, map: &Map<'_>, key: &str) -> u32 {
        self.required(map, key);
        self.optional_number(map, key).unwrap_or_default()
    }

    fn optional_number(&mut self, map: &Map<'_>, key: &str) -> Option<u32> {
        let value = map.entries.get(key)?;
        as_u32(value).or_else(|| self.wrong_type(map.at(key), value, "an unsigned 32-bit integer"))
    }

    /// A list of exactly `N` numbers.
    fn numbers<const N: usize>(&mut self, map: &Map<'_>, key: &str) -> Option<[u32; N]> {
        let value = map.entries.get(key)?;
        let numbers = match value {
            ValueRef::Array(items) => items.iter().map(as_u32).collect::<Option<Vec<u32>>>(),
            _ => None,
        };
        let array = numbers.and_then(|numbers| <[u32; N]>::try_from(numbers).ok());
        array.or_else(|| {
            self.wrong_type(
                map.at(key),
                value,
                "a list of two or three unsigned 32-bit integers, as the key demands",
            )
        })
    }

    /// A truth value, which compilers write as a Boolean or as 0 and 1.
    fn truth(&mut self, map: &Map<'_>, key: &str) -> Option<bool> {
        let value = map.entries.get(key)?;
        match value {
            ValueRef::Boolean(truth) => Some(*truth),
            other if matches!(as_u32(other), Some(0 | 1)) => Some(as_u32(other) == Some(1)),
            other => self.wrong_type(map.at(key), other, "a truth value"),
        }
    }

    fn word<T>(
        &mut self,
        map: &Map<'_>,
        key: &str,
        words: &[&str],
        from: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let got = self.optional_string(map, key)?;
        let known = from(&got);
        if known.is_none() {
            let near = nearest(&got, words.iter().copied());
            let rule = format!("which is not one of {}{}", words.join(", "), hint(&near));
            self.problems.push(Problem::KeyValue { path: map.at(key), got, rule });
        }
        known
    }

    fn required(&mut self, map: &Map<'_>, key: &str) {
        if !map.entries.contains_key(key) {
            self.problems.push(Problem::KeyMissing { path: map.at(key) });
        }
    }

    fn wrong_type<T>(
        &mut self,
        path: String,
        value: &ValueRef<'_>,
        expected: &'static str,
    ) -> Option<T> {
        self.problems.push(Problem::KeyType { path, got: describe(value), expected });
        None
    }
}

fn as_str<'v>(value: &'v ValueRef<'v>) -> Option<&'v str> {
    match value {
        ValueRef::String(text) => text.as_str(),
        _ => None,
    }
}

fn as_u32(value: &ValueRef<'_>) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

/// The value in a message: numbers as they are, containers by their size.
fn describe(value: &ValueRef<'_>) -> String {
    match value {
        ValueRef::Map(pairs) => format!("a map of {} entries", pairs.len()),
        ValueRef::Array(items) => format!("a list of {} elements", items.len()),
        ValueRef::Binary(bytes) | ValueRef::Ext(_, bytes) => format!("{} bytes", bytes.len()),
        ValueRef::String(text) => text
            .as_str()
            .map_or_else(|| "a string that is not UTF-8".to_owned(), |text| format!("{text:?}")),
        other => other.to_string(),
    }
}

fn unknown(map: &Map<'_>, known: &[&str]) -> Vec<String> {
    map.entries.keys().filter(|key| !known.contains(key)).map(|key| map.at(key)).collect()
}

/// Keys of a kernel's map; those that only inform are accepted unread.
const KERNEL_KEYS: &[&str] = &[
    ".name",
    ".symbol",
    ".kernarg_segment_size",
    ".kernarg_segment_align",
    ".group_segment_fixed_size",
    ".private_segment_fixed_size",
    ".wavefront_size",
    ".sgpr_count",
    ".vgpr_count",
    ".agpr_count",
    ".sgpr_spill_count",
    ".vgpr_spill_count",
    ".max_flat_workgroup_size",
    ".reqd_workgroup_size",
    ".workgroup_size_hint",
    ".uniform_work_group_size",
    ".uses_dynamic_stack",
    ".workgroup_processor_mode",
    ".kind",
    ".args",
    ".language",
    ".language_version",
    ".vec_type_hint",
    ".device_enqueue_symbol",
    ".cluster_dims",
];

/// Keys of an argument's map.
const ARG_KEYS: &[&str] = &[
    ".name",
    ".type_name",
    ".offset",
    ".size",
    ".value_kind",
    ".value_type",
    ".address_space",
    ".access",
    ".actual_access",
    ".pointee_align",
    ".is_const",
    ".is_restrict",
    ".is_volatile",
    ".is_pipe",
];
