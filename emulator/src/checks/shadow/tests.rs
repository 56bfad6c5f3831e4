use super::*;

fn stamp(workgroup: u32, wave: u32) -> Stamp {
    Stamp::new(workgroup, wave, 1, 0)
}

fn writers(shadow: &mut Shadow, address: u64, n_bytes: u64) -> Vec<(u64, u32)> {
    let mut list = Vec::new();
    shadow.visit(address, n_bytes, |at, cell| list.push((at, cell.writer.wave())));
    list
}

#[test]
fn stamps_keep_their_fields_apart() {
    let stamp = Stamp::new(Stamp::WORKGROUPS - 1, 31, Stamp::MAX_SITES, Stamp::MAX_SERIAL);
    assert_eq!(
        (stamp.workgroup(), stamp.wave(), stamp.site(), stamp.serial()),
        (Stamp::WORKGROUPS - 1, 31, Stamp::MAX_SITES, Stamp::MAX_SERIAL)
    );
    let stamp = Stamp::new(5, 0, 1, 0);
    assert_eq!((stamp.workgroup(), stamp.wave(), stamp.site(), stamp.serial()), (5, 0, 1, 0));
    assert!(!stamp.is_none());
}

#[test]
fn parts_of_a_word_get_cells_of_their_own() {
    let mut shadow = Shadow::default();
    shadow.visit(8, 4, |_, cell| cell.write(stamp(0, 1)));
    shadow.visit(10, 2, |_, cell| cell.write(stamp(0, 2)));
    assert_eq!(writers(&mut shadow, 8, 4), [(8, 1), (10, 2)]);
    shadow.visit(11, 1, |_, cell| cell.write(stamp(0, 3)));
    assert_eq!(writers(&mut shadow, 8, 4), [(8, 1), (9, 1), (10, 2), (11, 3)]);
}

#[test]
fn accesses_cross_pages() {
    let mut shadow = Shadow::default();
    shadow.visit(4090, 12, |_, cell| cell.write(stamp(0, 1)));
    let list = writers(&mut shadow, 4088, 16);
    assert_eq!(list.first(), Some(&(4088, 0)));
    assert_eq!(list.iter().filter(|(_, wave)| *wave == 1).count(), 6);
    assert_eq!(list.last(), Some(&(4102, 0)));
}

/// The stamps of all cells of a range.
fn stamps(shadow: &mut Shadow, address: u64, n_bytes: u64) -> Vec<[Stamp; 3]> {
    let mut list = Vec::new();
    shadow.visit(address, n_bytes, |_, cell| {
        list.push([cell.writer, cell.reader, cell.other_reader]);
    });
    list
}

#[test]
fn ranges_at_once_leave_what_single_cells_do() {
    let (a, b, none) = (stamp(0, 1), stamp(0, 2), Stamp::default());
    let mut at_once = Shadow::default();
    let mut one_by_one = Shadow::default();
    assert_eq!(at_once.write_alone(64, 16, a, [none; 3]), Some(()));
    one_by_one.visit(64, 16, |_, cell| cell.write(a));
    assert_eq!(at_once.read_alone(68, 8, b, none), None, "wave 1 wrote it");
    assert_eq!(at_once.read_alone(68, 8, b, a), Some(()));
    one_by_one.visit(68, 8, |_, cell| cell.read(b));
    assert_eq!(at_once.read_alone(72, 4, a, a), None, "wave 2 read it");
    assert_eq!(at_once.write_alone(64, 16, b, [a, none, none]), None, "and is not known");
    assert_eq!(stamps(&mut at_once, 60, 24), stamps(&mut one_by_one, 60, 24));
    assert_eq!(at_once.write_alone(66, 2, b, [a, b, none]), Some(()));
    one_by_one.visit(66, 2, |_, cell| cell.write(b));
    assert_eq!(at_once.write_alone(64, 16, a, [a, b, none]), None, "two writers");
    assert_eq!(stamps(&mut at_once, 60, 24), stamps(&mut one_by_one, 60, 24));
    assert_eq!(at_once.read_alone(4088, 16, a, none), None, "two pages");
}

#[test]
fn cells_that_are_alike_are_visited_as_one() {
    let mut at_once = Shadow::default();
    let mut one_by_one = Shadow::default();
    // Writes of one and two words, reads of one, two and four by several waves of two workgroups.
    let accesses =
        [(0, 4), (4, 4), (0, 8), (8, 8), (0, 16), (16, 16), (4, 4), (16, 8), (6, 2), (0, 8)];
    let mut n_alike = 0;
    for (round, (address, n_bytes)) in (0_u32..).zip(accesses.iter().cycle().take(60)) {
        let stamp = stamp(round / 16, round % 3);
        let access = |cell: &mut Cell| match round % 4 {
            0 => cell.write(stamp),
            _ => cell.read(stamp),
        };
        let is_alike = at_once.visit_alike(*address, *n_bytes, |cell| {
            access(cell);
            true
        });
        if !is_alike {
            at_once.visit(*address, *n_bytes, |_, cell| access(cell));
        }
        n_alike += usize::from(is_alike);
        one_by_one.visit(*address, *n_bytes, |_, cell| access(cell));
        assert_eq!(stamps(&mut at_once, 0, 32), stamps(&mut one_by_one, 0, 32));
    }
    assert!((10..60).contains(&n_alike), "{n_alike} of both kinds");
    let before = stamps(&mut at_once, 0, 32);
    let refused = at_once.visit_alike(0, 4, |cell| {
        cell.write(stamp(9, 9));
        false
    });
    assert!(!refused, "as the visitor says");
    assert_eq!(stamps(&mut at_once, 0, 32), before);
    assert!(!at_once.visit_alike(4092, 8, |_| true), "two pages");
}

#[test]
fn two_readers_are_of_two_waves_and_one_stays_foreign() {
    let mut cell = Cell::default();
    for wave in [0, 1, 1, 1] {
        cell.read(stamp(7, wave));
    }
    assert_eq!((cell.reader.wave(), cell.other_reader.wave()), (1, 0));
    for wave in [0, 1, 2] {
        cell.read(stamp(8, wave));
    }
    assert_eq!((cell.reader.workgroup(), cell.other_reader.workgroup()), (8, 7));
}
