//! Matrix operations: MFMA of gfx950 and WMMA of gfx1100.

use isa::table::Matrix;

use crate::sem::Meaning;

pub(crate) fn meaning(_: Matrix) -> Meaning {
    Meaning::Unsupported
}
