//! Buffers, bounds, initialised bytes.

use super::*;

#[test]
fn written_bits_cross_words() {
    let mut written = WrittenBytes::none(200);
    written.set(60, 8, 0b1010_0110);
    assert_eq!((written.get(60, 8), written.get(56, 16)), (0b1010_0110, 0b1010_0110_0000));
    written.set(61, 1, 0);
    assert_eq!(written.get(60, 8), 0b1010_0100);
    written.set_range(0, 200);
    assert_eq!((written.n_unwritten, written.get(184, 16)), (0, 0xffff));
    written.set(100, 4, 0);
    assert_eq!((written.n_unwritten, written.get(98, 8)), (4, 0b1100_0011));
}

#[test]
fn buffers_are_found_by_address_and_never_touch() {
    let mut memory = Memory::new(1 << 20);
    let ids: Vec<BufferId> =
        (1..20).map(|n| memory.allocate("b", n * 16, Access::ReadWrite).expect("fits")).collect();
    let mut cursor = Cursor::default();
    for (n, id) in (1..20).zip(&ids) {
        let address = memory.address(*id).expect("live");
        assert_eq!(memory.buffer_at(address), Some(*id));
        memory
            .store::<16>(&mut cursor, address + n * 16 - 16, [n as u8; 16], 0xffff)
            .expect("inside");
        assert!(memory.load::<16>(&mut cursor, address + n * 16 - 15).is_err());
        assert!(memory.load::<1>(&mut cursor, address - 1).is_err());
    }
    memory.free(ids[3]).expect("live");
    let address = memory.buffers[3].address;
    let error = memory.load::<4>(&mut cursor, address).expect_err("freed").to_string();
    assert!(error.contains("(freed)"), "{error}");
    assert_eq!(memory.buffer_at(address), None);
    assert!(memory.load::<4>(&mut cursor, u64::MAX).is_err());
}

#[test]
fn addresses_near_zero_are_told_as_null_and_not_by_their_distance_to_a_buffer() {
    let mut memory = Memory::new(1 << 20);
    memory.allocate("near", 64, Access::ReadWrite).unwrap();
    let told = |address: u64| {
        memory.load::<4>(&mut Cursor::default(), address).expect_err("no buffer").to_string()
    };
    let cases = [
        (0, "the address is null"),
        (12, "12 B past null"),
        (u64::from(u32::MAX), "4294967295 B past null"),
        (1 << 32, "nearest is 'near'"),
        (0u64.wrapping_sub(16), "16 B before null"),
        (0u64.wrapping_sub(1 << 32), "4294967296 B before null"),
        (0u64.wrapping_sub((1 << 32) + 1), "nearest is 'near'"),
        (FIRST_ADDRESS + 64, "nearest is 'near'"),
    ];
    for (address, words) in cases {
        assert!(told(address).contains(words), "{address:#x}: {}", told(address));
    }
}
