//! The ELF header: is this a linked code object of a version and target that we know?
//!
//! Source of every number: AMDGPUUsage (LLVM 22), sections *ELF Header* and *Target ID*.

use std::fmt;

use isa::Target;
use object::LittleEndian as LE;
use object::elf::FileHeader64;
use serde::{Serialize, Serializer};

use crate::error::Problem;

/// Code object version, from the ELF header's `EI_ABIVERSION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum AbiVersion {
    /// `ELFABIVERSION_AMDGPU_HSA_V5` (3).
    V5,
    /// `ELFABIVERSION_AMDGPU_HSA_V6` (4).
    V6,
}

impl AbiVersion {
    fn from_byte(byte: u8) -> Option<AbiVersion> {
        match byte {
            3 => Some(AbiVersion::V5),
            4 => Some(AbiVersion::V6),
            _ => None,
        }
    }

    /// The byte in the ELF header.
    pub const fn byte(self) -> u8 {
        match self {
            AbiVersion::V5 => 3,
            AbiVersion::V6 => 4,
        }
    }
}

impl fmt::Display for AbiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AbiVersion::V5 => "v5",
            AbiVersion::V6 => "v6",
        })
    }
}

/// What a code object demands of an optional feature of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum FeatureSetting {
    /// The target does not have the feature.
    Unsupported,
    /// Loads whatever the device's setting is.
    Any,
    /// Loads only on devices that have it switched off.
    Off,
    /// Loads only on devices that have it switched on.
    On,
}

impl FeatureSetting {
    fn from_bits(bits: u32) -> FeatureSetting {
        match bits & 3 {
            0 => FeatureSetting::Unsupported,
            1 => FeatureSetting::Any,
            2 => FeatureSetting::Off,
            _ => FeatureSetting::On,
        }
    }

    /// The feature's part of a target id: `:name+`, `:name-` or nothing.
    fn suffix(self, name: &str) -> String {
        match self {
            FeatureSetting::Unsupported | FeatureSetting::Any => String::new(),
            FeatureSetting::Off => format!(":{name}-"),
            FeatureSetting::On => format!(":{name}+"),
        }
    }
}

/// The optional target features that a code object was built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TargetFeatures {
    /// Retry of faulting memory accesses (`e_flags` bits 9:8).
    pub xnack: FeatureSetting,
    /// ECC of the register files (`e_flags` bits 11:10).
    pub sramecc: FeatureSetting,
}

impl TargetFeatures {
    fn from_flags(flags: u32) -> TargetFeatures {
        TargetFeatures {
            xnack: FeatureSetting::from_bits(flags >> 8),
            sramecc: FeatureSetting::from_bits(flags >> 10),
        }
    }

    /// The target id that metadata carries, for example `amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-`.
    pub fn target_id(self, target: Target) -> String {
        let (sramecc, xnack) = (self.sramecc.suffix("sramecc"), self.xnack.suffix("xnack"));
        format!("amdgcn-amd-amdhsa--{target}{sramecc}{xnack}")
    }

    /// Whether a target id of metadata names this target and these features. Newer releases of LLVM (of
    /// Triton 3.9, say) write `amdgpu9.50-amd-amdhsa-unknown-gfx950`: the processor's version is part of
    /// the architecture, and the environment has a name.
    pub(crate) fn is_named_by(self, target: Target, id: &str) -> bool {
        let plain = self.target_id(target);
        let numbers = target.name().trim_start_matches("gfx");
        let (major, minor) = numbers.split_at(numbers.len().saturating_sub(2));
        let newer = format!("amdgpu{major}.{minor}-amd-amdhsa-unknown-");
        id == plain || plain.strip_prefix("amdgcn-amd-amdhsa--") == id.strip_prefix(newer.as_str())
    }
}

/// What the ELF header says.
pub(crate) struct Identity {
    pub target: Target,
    pub features: TargetFeatures,
    pub abi_version: AbiVersion,
}

/// Bits of `e_flags` that mean something to a specific target: processor, xnack, sramecc.
const KNOWN_FLAGS: u32 = 0xfff;

/// A field of the ELF header that has one legal value.
struct Fixed {
    name: &'static str,
    offset: u64,
    got: u64,
    expected: u64,
    meaning: &'static str,
}

fn fixed_fields(header: &FileHeader64<LE>) -> [Fixed; 8] {
    let field =
        |name, offset, got, expected, meaning| Fixed { name, offset, got, expected, meaning };
    let ident = &header.e_ident;
    [
        field("EI_CLASS", 4, ident.class.0.into(), 2, "64-bit"),
        field("EI_DATA", 5, ident.data.0.into(), 1, "little-endian"),
        field("EI_VERSION", 6, ident.version.0.into(), 1, "the only ELF version"),
        field("EI_OSABI", 7, ident.os_abi.0.into(), 64, "ELFOSABI_AMDGPU_HSA"),
        field(
            "e_type",
            16,
            header.e_type.get(LE).0.into(),
            3,
            "ET_DYN, a linked object: link it with lld -shared",
        ),
        field("e_machine", 18, header.e_machine.get(LE).0.into(), 224, "EM_AMDGPU"),
        field("e_version", 20, header.e_version.get(LE).into(), 1, "the only ELF version"),
        field(
            "e_phentsize",
            54,
            header.e_phentsize.get(LE).into(),
            56,
            "the size of an ELF64 program header",
        ),
    ]
}

/// Reads the header's identity fields, reporting all that are wrong.
pub(crate) fn read_identity(header: &FileHeader64<LE>) -> Result<Identity, Vec<Problem>> {
    let magic = header.e_ident.magic;
    if magic != object::elf::ELFMAG {
        return Err(vec![Problem::NotElf { got: magic }]);
    }
    let wrong = fixed_fields(header).into_iter().filter(|field| field.got != field.expected);
    let mut problems: Vec<Problem> = wrong
        .map(|Fixed { name: field, offset, got, expected, meaning }| Problem::HeaderField {
            field,
            offset,
            got,
            expected,
            meaning,
        })
        .collect();
    let abi_byte = header.e_ident.abi_version;
    let abi_version = AbiVersion::from_byte(abi_byte);
    if abi_version.is_none() {
        problems.push(Problem::AbiVersion { got: abi_byte });
    }
    if !problems.is_empty() {
        // The processor's number means something else, or nothing, to another machine or version.
        return Err(problems);
    }
    let abi_version = abi_version.expect("its absence was reported above");
    let (target, features) =
        read_flags(header.e_flags.get(LE).0).map_err(|problem| vec![problem])?;
    Ok(Identity { target, features, abi_version })
}

fn read_flags(flags: u32) -> Result<(Target, TargetFeatures), Problem> {
    let target = Target::from_elf_mach(flags.to_le_bytes()[0])?;
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Problem::ReservedFlags { got: flags, reserved: !KNOWN_FLAGS });
    }
    let features = TargetFeatures::from_flags(flags);
    let plain = TargetFeatures::from_flags(target.limits().elf_flags);
    for (feature, setting, plain) in
        [("xnack", features.xnack, plain.xnack), ("sramecc", features.sramecc, plain.sramecc)]
    {
        let supported = plain != FeatureSetting::Unsupported;
        if (setting != FeatureSetting::Unsupported) != supported {
            return Err(Problem::Feature { feature, target, setting, supported, flags });
        }
    }
    Ok((target, features))
}

/// Serialises a target by its name.
pub(crate) fn serialize_target<S: Serializer>(
    target: &Target,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_older_and_newer_releases() {
        let unsupported = FeatureSetting::from_bits(0);
        let plain = TargetFeatures { xnack: unsupported, sramecc: unsupported };
        let named = |target, id| plain.is_named_by(target, id);
        assert!(named(Target::Gfx950, "amdgcn-amd-amdhsa--gfx950"));
        assert!(named(Target::Gfx950, "amdgpu9.50-amd-amdhsa-unknown-gfx950"));
        assert!(named(Target::Gfx1100, "amdgpu11.00-amd-amdhsa-unknown-gfx1100"));
        assert!(!named(Target::Gfx950, "amdgpu11.00-amd-amdhsa-unknown-gfx950"));
        assert!(!named(Target::Gfx950, "amdgpu9.50-amd-amdhsa-unknown-gfx950:xnack-"));
        assert!(!named(Target::Gfx950, "amdgcn-amd-amdhsa--gfx1100"));
        assert!(!named(Target::Gfx950, ""));
    }
}
