//! A kernel: its code, descriptor and metadata, checked against each other.

use std::collections::{BTreeMap, BTreeSet};

use isa::Target;
use serde::Serialize;

use crate::descriptor::{DESCRIPTOR_ALIGN, DESCRIPTOR_BYTES, ENTRY_ALIGN, KernelDescriptor};
use crate::dynamic::Symbol;
use crate::error::Problem;
use crate::metadata::{KernelMetadata, ValueKind};
use crate::near::nearest;
use crate::segment::{Segment, bytes_at};

/// Suffix of a kernel descriptor's symbol.
const DESCRIPTOR_SUFFIX: &str = ".kd";

/// One kernel of a code object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// Its symbol without `.kd`: the name by which it is launched.
    pub name: String,
    /// Address of its first instruction in the image.
    pub entry_address: u64,
    /// Size of its code in bytes (`st_size`): padding that follows is not code.
    pub code_size: u64,
    /// Address of its descriptor in the image.
    pub descriptor_address: u64,
    /// How a wave of it starts.
    pub descriptor: KernelDescriptor,
    /// What its compiler promised.
    pub metadata: KernelMetadata,
}

/// Pairs every kernel of the metadata with its symbols, in the metadata's order.
pub(crate) fn assemble(
    target: Target,
    segments: &[Segment],
    symbols: &[Symbol],
    metadata: Vec<KernelMetadata>,
    problems: &mut Vec<Problem>,
) -> Vec<Kernel> {
    let by_name: BTreeMap<&str, &Symbol> =
        symbols.iter().map(|symbol| (symbol.name.as_str(), symbol)).collect();
    let described: BTreeSet<&str> = metadata.iter().map(|kernel| kernel.symbol.as_str()).collect();
    let orphans = by_name
        .keys()
        .filter(|name| name.ends_with(DESCRIPTOR_SUFFIX) && !described.contains(*name));
    problems.extend(
        orphans.map(|symbol| Problem::NoMetadataForDescriptor { symbol: (*symbol).to_owned() }),
    );
    let assembler = Assembler { target, segments, symbols: by_name };
    let mut kernels: Vec<Kernel> = Vec::new();
    for kernel in metadata {
        check_metadata(target, &kernel, problems);
        match assembler.kernel(kernel, problems) {
            Ok(kernel) => kernels.push(kernel),
            Err(problem) => problems.push(problem),
        }
    }
    kernels
}

struct Assembler<'c> {
    target: Target,
    segments: &'c [Segment],
    symbols: BTreeMap<&'c str, &'c Symbol>,
}

impl Assembler<'_> {
    fn kernel(
        &self,
        metadata: KernelMetadata,
        problems: &mut Vec<Problem>,
    ) -> Result<Kernel, Problem> {
        let symbol = metadata.symbol.as_str();
        let name = symbol.strip_suffix(DESCRIPTOR_SUFFIX).ok_or_else(|| Problem::KeyValue {
            path: format!("kernel '{}' .symbol", metadata.name),
            got: symbol.to_owned(),
            rule: "which does not end in .kd".to_owned(),
        })?;
        let (descriptor_address, descriptor) = self.descriptor(name, symbol, problems)?;
        descriptor.check(name, self.target, problems);
        check_agreement(name, &descriptor, &metadata, problems);
        let entry_address = descriptor_address.wrapping_add_signed(descriptor.entry_byte_offset);
        let code_size = self.code_size(name, entry_address)?;
        let name = name.to_owned();
        Ok(Kernel { name, entry_address, code_size, descriptor_address, descriptor, metadata })
    }

    fn symbol(&self, kernel: &str, symbol: &str) -> Result<&Symbol, Problem> {
        self.symbols.get(symbol).copied().ok_or_else(|| Problem::KernelSymbol {
            kernel: kernel.to_owned(),
            symbol: symbol.to_owned(),
            nearest: nearest(symbol, self.symbols.keys().copied()),
        })
    }

    fn descriptor(
        &self,
        kernel: &str,
        symbol: &str,
        problems: &mut Vec<Problem>,
    ) -> Result<(u64, KernelDescriptor), Problem> {
        let symbol = self.symbol(kernel, symbol)?;
        let address = symbol.address;
        if symbol.size != DESCRIPTOR_BYTES {
            return Err(refusal(
                kernel,
                "size of the descriptor symbol in bytes",
                symbol.size,
                "not 64".to_owned(),
            ));
        }
        if !address.is_multiple_of(DESCRIPTOR_ALIGN) {
            return Err(refusal(
                kernel,
                "descriptor address",
                address,
                "not a multiple of 64 bytes".to_owned(),
            ));
        }
        let bytes = bytes_at(self.segments, address, DESCRIPTOR_BYTES)
            .and_then(|bytes| bytes.try_into().ok());
        let what = format!("descriptor of kernel '{kernel}'");
        let bytes = bytes.ok_or(Problem::NotLoaded { what, address, size: DESCRIPTOR_BYTES })?;
        Ok((address, KernelDescriptor::decode(kernel, self.target, bytes, problems)))
    }

    /// The extent of the kernel's code, from the function symbol at its entry.
    fn code_size(&self, kernel: &str, entry: u64) -> Result<u64, Problem> {
        let symbol = self.symbol(kernel, kernel)?;
        if symbol.address != entry {
            let rule = format!("but the descriptor's entry point is {entry}");
            return Err(refusal(kernel, "address of the function symbol", symbol.address, rule));
        }
        if !entry.is_multiple_of(ENTRY_ALIGN) {
            return Err(refusal(
                kernel,
                "entry address",
                entry,
                "not a multiple of 256 bytes".to_owned(),
            ));
        }
        if symbol.size == 0 || !symbol.size.is_multiple_of(4) {
            let rule =
                "not a positive multiple of 4: the function needs a .size directive".to_owned();
            return Err(refusal(kernel, "code size in bytes", symbol.size, rule));
        }
        let code = format!("code of kernel '{kernel}' (an executable segment)");
        let executable = self.segments.iter().find(|segment| segment.contains(entry, symbol.size));
        let loaded = executable.is_some_and(|segment| segment.flags.execute);
        let backed = bytes_at(self.segments, entry, symbol.size).is_some();
        if loaded && backed {
            Ok(symbol.size)
        } else {
            Err(Problem::NotLoaded { what: code, address: entry, size: symbol.size })
        }
    }
}

fn refusal(kernel: &str, what: &'static str, got: impl Into<i128>, rule: String) -> Problem {
    Problem::Kernel { kernel: kernel.to_owned(), what, got: got.into(), rule }
}

/// Reports what the metadata says twice, differently from the descriptor.
fn check_agreement(
    kernel: &str,
    descriptor: &KernelDescriptor,
    metadata: &KernelMetadata,
    problems: &mut Vec<Problem>,
) {
    let kernarg = if descriptor.kernarg_bytes == 0 {
        metadata.kernarg_segment_size
    } else {
        descriptor.kernarg_bytes
    };
    let pairs = [
        ("kernarg segment size in bytes", kernarg, metadata.kernarg_segment_size),
        ("LDS size in bytes", descriptor.group_segment_bytes, metadata.group_segment_fixed_size),
        (
            "scratch size in bytes",
            descriptor.private_segment_bytes,
            metadata.private_segment_fixed_size,
        ),
        ("wave width in lanes", descriptor.wave_width, metadata.wavefront_size),
    ];
    for (what, descriptor, metadata) in
        pairs.into_iter().filter(|(_, descriptor, metadata)| descriptor != metadata)
    {
        let (descriptor, metadata) = (descriptor.into(), metadata.into());
        problems.push(Problem::Contradiction {
            kernel: kernel.to_owned(),
            what,
            descriptor,
            metadata,
        });
    }
}

/// Reports metadata that contradicts itself.
fn check_metadata(target: Target, kernel: &KernelMetadata, problems: &mut Vec<Problem>) {
    let name = kernel.name.as_str();
    let max = kernel.max_flat_workgroup_size;
    let limits = target.limits();
    if max == 0 || max > limits.workgroup_work_items {
        let rule = format!("not in 1 to {} work-items", limits.workgroup_work_items);
        problems.push(refusal(name, ".max_flat_workgroup_size", max, rule));
    }
    let lds = kernel.group_segment_fixed_size;
    if lds > limits.lds_bytes_per_workgroup {
        let rule = format!(
            "the limit on {target} is {} bytes a workgroup",
            limits.lds_bytes_per_workgroup
        );
        problems.push(refusal(name, ".group_segment_fixed_size", lds, rule));
    }
    if let Some(size) = kernel.reqd_workgroup_size {
        let product: u128 = size.iter().map(|&n| u128::from(n)).product();
        if product == 0 || product > u128::from(max) {
            let rule =
                format!("the product of {size:?}, not in 1 to .max_flat_workgroup_size {max}");
            problems.push(refusal(
                name,
                ".reqd_workgroup_size",
                i128::try_from(product).unwrap_or(i128::MAX),
                rule,
            ));
        }
    }
    let align = kernel.kernarg_segment_align;
    if !align.is_power_of_two() {
        problems.push(refusal(
            name,
            ".kernarg_segment_align",
            align,
            "not a power of two".to_owned(),
        ));
    }
    check_args(kernel, problems);
}

/// Bytes of a pointer to global memory (AMDGPUUsage, "Address Spaces").
const POINTER_BYTES: u32 = 8;

/// Reports arguments that overlap or leave the kernarg segment, and pointers of another size than pointers have.
fn check_args(kernel: &KernelMetadata, problems: &mut Vec<Problem>) {
    let limit = u64::from(kernel.kernarg_segment_size);
    let mut end = 0;
    for arg in &kernel.args {
        let (start, size) = (u64::from(arg.offset), u64::from(arg.size));
        if start < end {
            let rule = format!("but the argument before it ends at {end}");
            problems.push(refusal(&kernel.name, "offset of an argument in bytes", start, rule));
        }
        if arg.value_kind == ValueKind::GlobalBuffer && arg.size != POINTER_BYTES {
            let rule = format!("a global_buffer has {POINTER_BYTES}");
            problems.push(refusal(&kernel.name, "size of an argument in bytes", size, rule));
        }
        end = start + size;
        if end > limit || size == 0 {
            let rule = format!(
                "the end of an argument of {size} bytes in a kernarg segment of {limit} bytes"
            );
            problems.push(refusal(&kernel.name, "argument end in bytes", end, rule));
        }
    }
}
