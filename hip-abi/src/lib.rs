//! Numbers of HIP's binary interface: result codes, attributes, layouts. No code of a HIP library is here.
//!
//! Source: the public headers of HIP 5.2 (Debian) and 7.1 (as Triton 3.9 ships them), `hip_runtime_api.h`; both
//! headers are asked again by `tests/third_party/abi.c`, so that no number rests on reading alone.

mod code;
mod layout;

pub use code::Code;
pub use layout::{
    Attribute, FunctionAttribute, Layout, PROPERTIES_R0000, PROPERTIES_R0600, PointerAttribute,
};

/// Ends the list of `extra` of a launch (`HIP_LAUNCH_PARAM_END`).
pub const LAUNCH_PARAM_END: usize = 3;
/// Followed by the address of packed arguments (`HIP_LAUNCH_PARAM_BUFFER_POINTER`).
pub const LAUNCH_PARAM_BUFFER_POINTER: usize = 1;
/// Followed by the address of their size in bytes (`HIP_LAUNCH_PARAM_BUFFER_SIZE`).
pub const LAUNCH_PARAM_BUFFER_SIZE: usize = 2;

/// A version of HIP as `hipRuntimeGetVersion` gives it: major × 10⁷ + minor × 10⁵ + patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub i32);

impl Version {
    /// Version of numbers.
    pub const fn new(major: i32, minor: i32) -> Version {
        Version(major * 10_000_000 + minor * 100_000)
    }

    /// The first number, which libraries carry in their file names.
    pub const fn major(self) -> i32 {
        self.0 / 10_000_000
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Version(number) = *self;
        write!(f, "{}.{}.{}", self.major(), number / 100_000 % 100, number % 100_000)
    }
}

/// First version of HIP that loads code objects v5. Source: ROCr's loader (ROCm/ROCR-Runtime, `LoadCodeObject` in
/// `src/loader/executable.cpp`) takes up to v4 at the tag rocm-5.1.3 and up to v5 at rocm-5.2.0.
pub const FIRST_WITH_CODE_OBJECTS_V5: Version = Version::new(5, 2);

/// First version of HIP that is sure to load code objects v6. Source: ROCr's loader takes up to v5 at the tag rocm-6.1.2
/// and up to v6 at rocm-6.2.0; LLVM's AMDGPU developers nevertheless name ROCm 6.3 as the first release that runs them
/// (llvm/llvm-project pull request 130963, ROCm/ROCR-Runtime issue 321), so the later of the two is asked for.
pub const FIRST_WITH_CODE_OBJECTS_V6: Version = Version::new(6, 3);

/// The symbol of the emulated library that no library of AMD has: a function without arguments that returns its
/// description as a C string. Whoever finds it must say *emulated*.
pub const IDENTITY_SYMBOL: &str = "wavesmith_hip_emulated_identity";

/// The symbol by which the emulated library tells how many findings its launches had so far, as a `u64`.
pub const FINDINGS_SYMBOL: &str = "wavesmith_hip_emulated_findings";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_as_people_write_them() {
        assert_eq!(Version(50_221_153).to_string(), "5.2.21153");
        assert_eq!(Version::new(7, 1).to_string(), "7.1.0");
        assert!(Version::new(6, 0) > Version(50_221_153));
    }

    #[test]
    fn every_code_has_its_own_number_and_name() {
        let numbers: std::collections::BTreeSet<u32> =
            Code::ALL.iter().map(|code| code.number()).collect();
        assert_eq!(numbers.len(), Code::ALL.len());
        for code in Code::ALL {
            assert_eq!(Code::from_number(code.number()), Some(*code));
            assert!(!code.cause().is_empty() && !code.remedy().is_empty(), "{}", code.name());
            assert!(code.name_c().to_str().is_ok_and(|name| name == code.name()));
        }
        assert_eq!(Code::from_number(123_456), None);
    }
}
