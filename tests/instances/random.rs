//! Random numbers that are the same on every machine.

/// A generator of 64-bit numbers (SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed and a name: equal names give equal sequences, whatever else is asked for.
    pub fn new(seed: u64, name: &str) -> Random {
        let fold =
            |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Random(name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, fold))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u32) -> u32 {
        (self.bits() % u64::from(end)) as u32
    }

    /// True in one of `n` cases.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    /// True in half of the cases.
    pub fn coin(&mut self) -> bool {
        self.one_in(2)
    }

    /// One of some choices; there is at least one.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u32) as usize]
    }
}
