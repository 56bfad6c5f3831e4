//! What is read, against an independent reader and against the sources of the fixtures.

use goblin::elf::Elf;
use goblin::elf::program_header::PT_LOAD;
use isa::Target;
use wavesmith_codeobj::{
    AbiVersion, Access, AddressSpace, CodeObject, FeatureSetting, HiddenArg, Relocation,
    RelocationKind, SymbolKind, ValueKind,
};

use crate::fixture::{
    KERNELS_GFX950_V5, KERNELS_GFX1100_V5, KERNELS_GFX1100_V6, REGISTERS, RELOCATIONS, VALID,
    parse, patched,
};

#[test]
fn goblin_sees_the_same_segments_symbols_and_relocations() {
    for bytes in VALID {
        let (ours, theirs) = (parse(bytes), Elf::parse(bytes).expect("goblin reads the fixture"));
        let loads = theirs.program_headers.iter().filter(|header| header.p_type == PT_LOAD);
        let loads: Vec<_> = loads
            .map(|header| {
                (header.p_vaddr, header.p_memsz, &bytes[header.file_range()], header.p_flags)
            })
            .collect();
        let segments = ours.segments.iter().map(|segment| {
            let flags = segment.flags;
            let bits =
                u32::from(flags.execute) + 2 * u32::from(flags.write) + 4 * u32::from(flags.read);
            (segment.address, segment.memory_size, segment.bytes.as_slice(), bits)
        });
        assert_eq!(segments.collect::<Vec<_>>(), loads);

        let named = theirs.dynsyms.iter().skip(1).map(|symbol| {
            let name =
                theirs.dynstrtab.get_at(symbol.st_name).expect("the name is in the string table");
            (name.to_owned(), symbol.st_value, symbol.st_size, symbol.is_function())
        });
        let symbols = ours.symbols.iter().map(|symbol| {
            (symbol.name.clone(), symbol.address, symbol.size, symbol.kind == SymbolKind::Function)
        });
        assert_eq!(symbols.collect::<Vec<_>>(), named.collect::<Vec<_>>());
        let places: Vec<u64> =
            theirs.dynrelas.iter().map(|relocation| relocation.r_offset).collect();
        assert_eq!(
            ours.relocations.iter().map(|relocation| relocation.address).collect::<Vec<_>>(),
            places
        );
    }
}

#[test]
fn goblin_finds_each_kernel_where_we_do() {
    for bytes in VALID {
        let (ours, theirs) = (parse(bytes), Elf::parse(bytes).expect("goblin reads the fixture"));
        let symbol = |name: &str| {
            let found = theirs
                .dynsyms
                .iter()
                .find(|symbol| theirs.dynstrtab.get_at(symbol.st_name) == Some(name));
            found.expect("the kernel's symbols are dynamic")
        };
        assert!(!ours.kernels.is_empty());
        for kernel in &ours.kernels {
            let function = symbol(&kernel.name);
            assert_eq!(
                (kernel.entry_address, kernel.code_size),
                (function.st_value, function.st_size)
            );
            assert_eq!(kernel.descriptor_address, symbol(&format!("{}.kd", kernel.name)).st_value);
            let code = ours.code(kernel).expect("code is loaded");
            assert_eq!(code.len() as u64, kernel.code_size);
            assert_eq!(
                code[code.len() - 4..],
                [0, 0, if ours.target == Target::Gfx950 { 0x81 } else { 0xb0 }, 0xbf],
                "s_endpgm"
            );
        }
    }
}

#[test]
fn identity_comes_from_the_header() {
    let expect = |bytes, target, abi_version, feature| {
        let object = parse(bytes);
        assert_eq!((object.target, object.abi_version), (target, abi_version));
        assert_eq!((object.features.xnack, object.features.sramecc), (feature, feature));
    };
    expect(KERNELS_GFX950_V5, Target::Gfx950, AbiVersion::V5, FeatureSetting::Any);
    expect(KERNELS_GFX1100_V6, Target::Gfx1100, AbiVersion::V6, FeatureSetting::Unsupported);
}

#[test]
fn narrowed_features_need_metadata_that_says_so() {
    let narrowed = patched(REGISTERS, 0x30, &0xe4f_u32.to_le_bytes());
    let error = CodeObject::parse(&narrowed).expect_err("the metadata's target has no features");
    assert_eq!(
        error.to_string(),
        "not a loadable code object: metadata: amdhsa.target is amdgcn-amd-amdhsa--gfx950, but the ELF header says \
         amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-: the parts of the object were built for different targets"
    );
}

#[test]
fn metadata_of_a_kernel_and_its_arguments() {
    let object = parse(KERNELS_GFX1100_V5);
    let metadata = &object.kernel("scale_rows").expect("in the fixture").metadata;
    assert_eq!((metadata.name.as_str(), metadata.symbol.as_str()), ("scale_rows", "scale_rows.kd"));
    assert_eq!((metadata.kernarg_segment_size, metadata.kernarg_segment_align), (32, 8));
    assert_eq!((metadata.group_segment_fixed_size, metadata.private_segment_fixed_size), (512, 0));
    assert_eq!((metadata.wavefront_size, metadata.max_flat_workgroup_size), (32, 128));
    assert_eq!((metadata.sgpr_count, metadata.vgpr_count, metadata.agpr_count), (17, 6, None));
    assert_eq!(metadata.reqd_workgroup_size, Some([64, 2, 1]));
    assert!(metadata.uniform_work_group_size && !metadata.uses_dynamic_stack);
    assert_eq!(metadata.workgroup_processor_mode, Some(true));
    assert_eq!(metadata.unknown_keys, Vec::<String>::new());

    let args: Vec<_> = metadata
        .explicit_args()
        .map(|arg| (arg.name.as_deref(), arg.offset, arg.size, arg.value_kind))
        .collect();
    assert_eq!(
        args,
        [
            (Some("x"), 0, 8, ValueKind::GlobalBuffer),
            (Some("y"), 8, 8, ValueKind::GlobalBuffer),
            (Some("count"), 16, 4, ValueKind::ByValue),
            (Some("factor"), 20, 4, ValueKind::ByValue),
            (Some("row_stride"), 24, 8, ValueKind::ByValue),
        ]
    );
    assert_eq!(metadata.args[0].known_access(), Some(Access::ReadOnly));
    assert_eq!(metadata.args[1].known_access(), Some(Access::WriteOnly));
    assert_eq!(metadata.args[0].address_space, Some(AddressSpace::Global));
}

#[test]
fn hidden_arguments_are_told_from_explicit_ones() {
    let object = parse(KERNELS_GFX950_V5);
    let metadata = &object.kernel("modes").expect("in the fixture").metadata;
    assert_eq!(metadata.explicit_args().count(), 3);
    assert_eq!(metadata.args[3].value_kind, ValueKind::Hidden(HiddenArg::BlockCountX));
    assert_eq!(
        metadata.args.last().map(|arg| (arg.offset, arg.value_kind)),
        Some((232, ValueKind::Hidden(HiddenArg::QueuePtr)))
    );
    assert_eq!(object.kernel("modes").expect("in the fixture").descriptor.kernarg_bytes, 288);
}

#[test]
fn relocations_name_the_address_that_is_stored() {
    let object = parse(RELOCATIONS);
    let address = |name: &str| {
        object.symbols.iter().find(|symbol| symbol.name == name).expect("in the fixture").address
    };
    let (table, public, shared) = (address("table"), address("public"), address("shared"));
    let relocation = |slot: u64, kind, target, symbol: Option<&str>| Relocation {
        address: table + 8 * slot,
        kind,
        target,
        symbol: symbol.map(str::to_owned),
    };
    assert_eq!(
        object.relocations,
        [
            relocation(0, RelocationKind::Relative64, public + 4, None),
            relocation(1, RelocationKind::Relative64, shared + 4, None),
            relocation(2, RelocationKind::Abs64, shared + 16, Some("shared")),
        ]
    );
}

#[test]
fn everything_but_the_bytes_can_be_printed_as_json() {
    let json = serde_json::to_value(parse(KERNELS_GFX950_V5)).expect("every field serialises");
    assert_eq!(json["target"], "gfx950");
    assert_eq!(json["abi_version"], "V5");
    assert_eq!(json["features"]["xnack"], "Any");
    assert_eq!(json["kernels"][0]["name"], "scale_rows");
    assert_eq!(json["kernels"][0]["descriptor"]["denorm_mode_f32"], "Keep");
    assert_eq!(json["kernels"][0]["metadata"]["args"][0]["actual_access"], "ReadOnly");
    assert!(json["segments"][0].get("bytes").is_none());
}
