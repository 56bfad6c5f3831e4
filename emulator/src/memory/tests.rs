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
