//! Any bytes are a legal input: truncated, flipped, random.

use proptest::prelude::*;
use wavesmith_codeobj::CodeObject;

use crate::fixture::{KERNELS_GFX950_V5, UNDEFINED, VALID, parse};

/// A small generator with a fixed sequence (splitmix64), so that a failure can be repeated.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

/// Reads the bytes; what is accepted must be consistent enough to be used.
fn read(bytes: &[u8]) -> Option<CodeObject> {
    match CodeObject::parse(bytes) {
        Ok(object) => {
            for kernel in &object.kernels {
                assert_eq!(
                    object.code(kernel).map(|code| code.len() as u64),
                    Some(kernel.code_size)
                );
                assert!(
                    kernel
                        .metadata
                        .args
                        .iter()
                        .all(|arg| arg.offset + arg.size <= kernel.metadata.kernarg_segment_size)
                );
            }
            Some(object)
        }
        Err(error) => {
            assert!(!error.problems.is_empty() && !error.to_string().is_empty());
            None
        }
    }
}

#[test]
fn ten_thousand_seeded_bit_flips() {
    let mut seeded = Seeded(1);
    let (mut refused, mut accepted) = (0, 0);
    for _ in 0..10_000 {
        let object = VALID[seeded.below(VALID.len())];
        let mut bytes = object.to_vec();
        for _ in 0..1 + seeded.below(4) {
            let bit = seeded.below(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        match read(&bytes) {
            Some(_) => accepted += 1,
            None => refused += 1,
        }
    }
    assert!(
        refused > 1000 && accepted > 1000,
        "{refused} refused, {accepted} accepted: flips reach too little"
    );
}

#[test]
fn an_accepted_flip_of_a_loaded_byte_moves_the_fingerprint() {
    let original = parse(KERNELS_GFX950_V5);
    let hash = original.loaded_bytes_sha256();
    let mut seeded = Seeded(2);
    for _ in 0..3_000 {
        let offset = seeded.below(KERNELS_GFX950_V5.len());
        let mut bytes = KERNELS_GFX950_V5.to_vec();
        bytes[offset] ^= 1 << seeded.below(8);
        let Some(changed) = read(&bytes) else { continue };
        let in_file = |segment: &&wavesmith_codeobj::Segment| {
            (segment.file_offset..segment.file_offset + segment.bytes.len() as u64)
                .contains(&(offset as u64))
        };
        let loaded = original.segments.iter().find(in_file).is_some();
        let section_table = (0x28..0x30).contains(&offset) || (0x3a..0x40).contains(&offset);
        assert_eq!(
            changed.loaded_bytes_sha256() != hash,
            loaded && !section_table,
            "file offset {offset:#x}"
        );
    }
}

#[test]
fn every_truncation_that_loses_loaded_bytes_is_refused() {
    for object in VALID {
        let parsed = parse(object);
        let loaded = parsed
            .segments
            .iter()
            .map(|segment| segment.file_offset as usize + segment.bytes.len())
            .max();
        for length in 0..object.len() {
            match read(&object[..length]) {
                Some(kept) => assert!(Some(length) >= loaded && kept == parsed, "{length} bytes"),
                None => assert!(Some(length) < loaded, "{length} bytes"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..2048)) {
        prop_assert!(read(&bytes).is_none());
    }

    #[test]
    fn random_bytes_after_a_right_header(bytes in proptest::collection::vec(any::<u8>(), 0..2048)) {
        let mut object = KERNELS_GFX950_V5[..64].to_vec();
        object.extend(bytes);
        prop_assert!(read(&object).is_none());
    }

    #[test]
    fn a_random_run_over_any_part(
        which in 0..VALID.len() + 1,
        place in any::<prop::sample::Index>(),
        run in proptest::collection::vec(any::<u8>(), 1..64),
    ) {
        let mut bytes = VALID.get(which).copied().unwrap_or(UNDEFINED).to_vec();
        let start = place.index(bytes.len());
        for (byte, new) in bytes[start..].iter_mut().zip(run) {
            *byte = new;
        }
        read(&bytes);
    }
}
