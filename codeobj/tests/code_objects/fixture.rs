//! The objects in `tests/fixtures`, and how to damage them.

use wavesmith_codeobj::{CodeObject, CodeObjectError, Problem};

macro_rules! fixtures {
    ($($(#[$doc:meta])* $name:ident = $file:literal;)*) => {
        $($(#[$doc])* pub const $name: &[u8] = include_bytes!(concat!("../fixtures/", $file));)*
    };
}

fixtures! {
    KERNELS_GFX950_V5 = "kernels_gfx950_v5.hsaco";
    KERNELS_GFX950_V6 = "kernels_gfx950_v6.hsaco";
    KERNELS_GFX1100_V5 = "kernels_gfx1100_v5.hsaco";
    KERNELS_GFX1100_V6 = "kernels_gfx1100_v6.hsaco";
    OTHER_LINKER = "kernels_gfx1100_v5_other_linker.hsaco";
    REGISTERS = "registers_gfx950_v5.hsaco";
    RELOCATIONS = "relocations_gfx1100_v5.hsaco";
    UNDEFINED = "undefined_gfx1100_v5.hsaco";
}

/// Every object that is right.
pub const VALID: [&[u8]; 7] = [
    KERNELS_GFX950_V5,
    KERNELS_GFX950_V6,
    KERNELS_GFX1100_V5,
    KERNELS_GFX1100_V6,
    OTHER_LINKER,
    REGISTERS,
    RELOCATIONS,
];

pub fn parse(bytes: &[u8]) -> CodeObject {
    CodeObject::parse(bytes).expect("the fixture is a valid code object")
}

pub fn refusal(bytes: &[u8]) -> CodeObjectError {
    CodeObject::parse(bytes).expect_err("the bytes are damaged")
}

/// The one problem of an object that has exactly one.
pub fn problem(bytes: &[u8]) -> Problem {
    let error = refusal(bytes);
    let [problem] = error.problems.as_slice() else { panic!("not exactly one problem: {error}") };
    problem.clone()
}

/// A copy with `bytes` written at a file offset.
pub fn patched(object: &[u8], offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut copy = object.to_vec();
    copy[offset..offset + bytes.len()].copy_from_slice(bytes);
    copy
}

/// A copy with the first occurrence of `from` replaced by `to`, which is as long.
pub fn replaced(object: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = object.windows(from.len()).position(|window| window == from).expect("the bytes occur");
    patched(object, at, to)
}

/// A copy with the first occurrence of each `from` replaced by its `to`; the lengths add up.
pub fn spliced(object: &[u8], edits: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut copy = object.to_vec();
    for (from, to) in edits {
        let at =
            copy.windows(from.len()).position(|window| window == *from).expect("the bytes occur");
        copy.splice(at..at + from.len(), to.iter().copied());
    }
    assert_eq!(copy.len(), object.len());
    copy
}

/// File offset of an address in the image.
pub fn file_offset(object: &CodeObject, address: u64) -> usize {
    let segment = object
        .segments
        .iter()
        .find(|segment| segment.contains(address, 1))
        .expect("the address is mapped");
    usize::try_from(segment.file_offset + address - segment.address).expect("fixtures are small")
}

/// File offset of a kernel's descriptor.
pub fn descriptor_offset(bytes: &[u8], kernel: &str) -> usize {
    let object = parse(bytes);
    file_offset(
        &object,
        object.kernel(kernel).expect("the fixture has the kernel").descriptor_address,
    )
}
