//! Scratch memory of one wave: every lane has its own, so that no wave and no lane sees another's.

use crate::lds::Lds;

/// Scratch of a wave, of the descriptor's size a lane.
#[derive(Debug)]
pub(crate) struct Scratch {
    bytes_per_lane: u32,
    lanes: Vec<Lds>,
}

impl Scratch {
    pub(crate) fn new(bytes_per_lane: u32, n_lanes: u32) -> Scratch {
        Scratch { bytes_per_lane, lanes: (0..n_lanes).map(|_| Lds::new(bytes_per_lane)).collect() }
    }

    pub(crate) fn bytes_per_lane(&self) -> u32 {
        self.bytes_per_lane
    }

    /// Forgets everything, for the next workgroup.
    pub(crate) fn reset(&mut self) {
        if self.bytes_per_lane != 0 {
            self.lanes.iter_mut().for_each(Lds::reset);
        }
    }

    pub(crate) fn load<const N: usize>(&self, lane: usize, address: u32) -> Option<([u8; N], u32)> {
        self.lanes.get(lane)?.load(address)
    }

    pub(crate) fn store<const N: usize>(
        &mut self,
        lane: usize,
        address: u32,
        value: [u8; N],
        written: u32,
    ) -> Option<()> {
        self.lanes.get_mut(lane)?.store(address, value, written)
    }
}
