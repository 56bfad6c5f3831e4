//! A matrix dealt out so that whatever belongs to one column stays inside one wave.

use super::{Expr, KernelBuilder};

/// Neighbouring columns of a lane.
const LANE_COLUMNS: u32 = 4;

/// A matrix of `rows` × `columns`: every wave owns neighbouring columns; in a wave, groups of lanes own neighbouring rows,
/// and each lane four neighbouring columns of its group's rows.
#[derive(Clone, Copy)]
pub struct WaveBlocks<'k> {
    k: &'k KernelBuilder,
    /// Rows of a lane.
    rows: u32,
    /// Groups of rows in a wave.
    groups: u32,
    /// Columns of a wave.
    columns: u32,
}

impl KernelBuilder {
    /// The elements of a matrix by columns: `columns` is four times a power of two for each wave, and the groups of lanes that
    /// are left divide the rows.
    #[track_caller]
    pub fn wave_blocks(&self, rows: u32, columns: u32) -> WaveBlocks<'_> {
        let (waves, lanes) = (self.waves().max(1), self.target().wave_width());
        let across = columns / waves / LANE_COLUMNS;
        let groups = lanes.checked_div(across).unwrap_or(0);
        let is_whole = across.is_power_of_two()
            && columns == across * waves * LANE_COLUMNS
            && groups > 0
            && rows.is_multiple_of(groups);
        if is_whole {
            return WaveBlocks { k: self, rows: rows / groups, groups, columns: columns / waves };
        }
        let got = format!("{rows}x{columns} by {waves} waves");
        self.mistake("a matrix by waves", got, "4 columns and whole rows for every lane");
        WaveBlocks { k: self, rows: 1, groups: 1, columns: LANE_COLUMNS }
    }
}

impl<'k> WaveBlocks<'k> {
    /// Rows of a lane.
    pub fn rows(self) -> u32 {
        self.rows
    }

    /// Groups of lanes in a wave.
    pub fn groups(self) -> u32 {
        self.groups
    }

    /// The lane's group.
    #[track_caller]
    pub fn group(self) -> Expr<'k> {
        self.k.lane_id().shr_u((self.columns / LANE_COLUMNS).trailing_zeros())
    }

    /// The lane's first row.
    #[track_caller]
    pub fn first_row(self) -> Expr<'k> {
        self.group() * self.rows as i32
    }

    /// The lane's first column.
    #[track_caller]
    pub fn column(self) -> Expr<'k> {
        let across = self.columns / LANE_COLUMNS;
        self.first_column() + (self.k.lane_id() & (across - 1) as i32) * LANE_COLUMNS as i32
    }

    #[track_caller]
    fn first_column(self) -> Expr<'k> {
        self.k.wave_id() * self.columns as i32
    }

    /// Calls `visit` with every column of the wave, one a lane.
    #[track_caller]
    pub fn each_column(self, visit: impl Fn(Expr<'k>)) {
        let lanes = self.k.target().wave_width();
        for start in (0..self.columns).step_by(lanes as usize) {
            let lane = self.k.lane_id();
            let column = || self.first_column() + lane + start as i32;
            if self.columns - start >= lanes {
                visit(column());
            } else {
                self.k.if_(lane.lt_u(self.columns - start), || visit(column()));
            }
        }
    }

    /// The sum over the lanes of a group, in each of them.
    #[track_caller]
    pub fn group_sum(self, x: Expr<'k>) -> Expr<'k> {
        self.k.lane_groups(self.columns / LANE_COLUMNS).sum(x)
    }

    /// The largest unsigned number of the lanes of a group, in each of them.
    #[track_caller]
    pub fn group_max_u(self, x: Expr<'k>) -> Expr<'k> {
        self.k.lane_groups(self.columns / LANE_COLUMNS).max_u(x)
    }

    /// Whether the lane is the first of its group.
    #[track_caller]
    pub fn leads_group(self) -> Expr<'k> {
        (self.k.lane_id() & (self.columns / LANE_COLUMNS - 1) as i32).eq(0)
    }
}
