//! The hash covers what is loaded, all of it, and nothing else.

use wavesmith_codeobj::CodeObject;

use crate::fixture::{
    KERNELS_GFX950_V5, KERNELS_GFX950_V6, KERNELS_GFX1100_V5, OTHER_LINKER, file_offset, parse,
    patched,
};

#[test]
fn the_linkers_name_and_the_section_headers_do_not_move_it() {
    assert_ne!(KERNELS_GFX1100_V5, OTHER_LINKER);
    let hash = parse(KERNELS_GFX1100_V5).loaded_bytes_sha256();
    assert_eq!(hash, parse(OTHER_LINKER).loaded_bytes_sha256());
    let mut stripped = patched(KERNELS_GFX1100_V5, 0x28, &[0; 8]);
    stripped = patched(&stripped, 0x3c, &[0; 4]);
    assert_eq!(hash, parse(&stripped).loaded_bytes_sha256());
    assert_eq!(hash.len(), 64);
}

#[test]
fn versions_of_one_kernel_differ() {
    let [v5, v6] =
        [KERNELS_GFX950_V5, KERNELS_GFX950_V6].map(|bytes| parse(bytes).loaded_bytes_sha256());
    assert_ne!(v5, v6);
}

#[test]
fn every_byte_of_code_moves_it() {
    let object = parse(KERNELS_GFX1100_V5);
    let hash = object.loaded_bytes_sha256();
    let kernel = object.kernel("scale_rows").expect("in the fixture");
    let start = file_offset(&object, kernel.entry_address);
    for (index, byte) in object.code(kernel).expect("code is loaded").iter().enumerate() {
        let changed = patched(KERNELS_GFX1100_V5, start + index, &[byte ^ 1]);
        assert_ne!(hash, parse(&changed).loaded_bytes_sha256(), "byte {index} of the code");
    }
}

#[test]
fn permissions_move_it() {
    let hash = parse(KERNELS_GFX1100_V5).loaded_bytes_sha256();
    // p_flags of the second program header, the first PT_LOAD: read becomes read and write.
    let writable = patched(KERNELS_GFX1100_V5, 64 + 56 + 4, &[6]);
    let object = CodeObject::parse(&writable).expect("still loadable");
    assert!(object.segments[0].flags.write);
    assert_ne!(hash, object.loaded_bytes_sha256());
}
