//! Lower triangular tiles, scored apart: a diagonal near one hides errors of the small entries below it.

use super::rmse_ratio;

/// [`rmse_ratio`] of each part of lower triangular tiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriangleRatios {
    /// Of the entries below the diagonal.
    pub strict_lower: f64,
    /// Of the diagonal.
    pub diagonal: f64,
    /// Of the entries above the diagonal: 0 when they are the reference's zeros, else infinite.
    pub above: f64,
}

/// Scores any number of tiles of `rows` × `rows` elements, one after the other, as one tensor. Lengths
/// that differ, or are no whole tiles, are a mismatch of every part.
pub fn triangle_rmse_ratios(x: &[f64], reference: &[f64], rows: usize) -> TriangleRatios {
    let whole = rows > 0 && x.len() == reference.len() && x.len().is_multiple_of(rows * rows);
    if !whole {
        let ratio = f64::INFINITY;
        return TriangleRatios { strict_lower: ratio, diagonal: ratio, above: ratio };
    }
    let part = |wanted: std::cmp::Ordering| {
        let here = |index: &usize| (index % rows).cmp(&(index / rows % rows)) == wanted;
        let (x, reference): (Vec<f64>, Vec<f64>) =
            (0..x.len()).filter(here).map(|index| (x[index], reference[index])).unzip();
        rmse_ratio(&x, &reference)
    };
    TriangleRatios {
        strict_lower: part(std::cmp::Ordering::Less),
        diagonal: part(std::cmp::Ordering::Equal),
        above: part(std::cmp::Ordering::Greater),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tiles of 2 × 2.
    const TILES: [f64; 8] = [1.0, 0.0, 1e-3, 1.0, 1.0, 0.0, 2e-3, 1.0];

    fn ratios(change: impl Fn(&mut [f64; 8])) -> TriangleRatios {
        let mut x = TILES;
        change(&mut x);
        triangle_rmse_ratios(&x, &TILES, 2)
    }

    #[test]
    fn each_part_shows_its_own_errors() {
        let exact = TriangleRatios { strict_lower: 0.0, diagonal: 0.0, above: 0.0 };
        assert_eq!(ratios(|_| ()), exact);
        let below = ratios(|x| x[6] = -2e-3);
        assert!((below.strict_lower - (16.0 / 5f64).sqrt()).abs() < 1e-12, "{below:?}");
        assert_eq!(TriangleRatios { strict_lower: 0.0, ..below }, exact);
        assert_eq!(ratios(|x| x[3] = 1.5), TriangleRatios { diagonal: 0.25, ..exact });
        assert_eq!(ratios(|x| x[5] = 1e-9), TriangleRatios { above: f64::INFINITY, ..exact });
    }

    #[test]
    fn other_sizes_are_a_mismatch() {
        for (len, rows) in [(7, 2), (8, 3), (8, 0)] {
            let got = triangle_rmse_ratios(&TILES[..len], &TILES[..len], rows);
            assert_eq!(got.strict_lower, f64::INFINITY);
        }
        assert_eq!(triangle_rmse_ratios(&TILES[..4], &TILES, 2).above, f64::INFINITY);
    }
}
