//! Conv chunk: any number of tokens of a depthwise causal convolution for packed sequences.
//!
//! A work-item owns one channel of one segment of one sequence and walks through its tokens with the window in
//! registers. Every token takes the body of the conv step, so its bits are the conv step's. The contract is
//! `docs/kernels/conv_chunk.md`.

use dsl::builder::BuildError;
use dsl::ir::Kernel;
use dsl::{Expr, KernelBuilder, Mask, View};
use specs::ConvChunkSpec;

use crate::arguments::Arguments;
use crate::conv::{Taps, widened};

/// Tokens whose samples are loaded together: their loads are in flight at once, and the window moves once for all.
const AT_ONCE: u32 = 8;

/// The kernel of a legal spec.
pub fn build(name: &str, spec: &ConvChunkSpec) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.step.target, spec.step.workgroup_size());
    let args = Arguments::declare(&k, &spec.signature());
    let channel = k.workgroup_id_x() * k.workgroup_size() + k.thread_id();
    let (sequence, index) = (k.workgroup_id_y(), k.workgroup_id_z());
    let ends = args.view("cu_seqlens").window(sequence);
    let (sequence_start, sequence_end) = (ends.load(0), ends.load(1));
    let before = index * k.i32(spec.segment.cast_signed());
    let left = sequence_end - sequence_start - before;
    let inside = Mask::below(channel, spec.step.channels, k.workgroup_size());
    let segment = Segment {
        k: &k,
        spec,
        args: &args,
        sequence,
        channel,
        is_first: index.eq(0),
        start: sequence_start + before,
        end: sequence_start + before + left.min(spec.segment.cast_signed()),
        is_last: left.le(spec.segment.cast_signed()),
    };
    // A sequence without tokens has its first segment, which passes the history on.
    k.if_(segment.is_first | (k.i32(0).lt(left)), || inside.run(|| segment.run()));
    k.finish()
}

/// One channel of one segment.
struct Segment<'k, 's> {
    k: &'k KernelBuilder,
    spec: &'s ConvChunkSpec,
    args: &'s Arguments<'k>,
    sequence: Expr<'k>,
    channel: Expr<'k>,
    /// Whether the sequence starts here, and whether it ends here.
    is_first: Expr<'k>,
    is_last: Expr<'k>,
    /// The segment's tokens among those of all sequences.
    start: Expr<'k>,
    end: Expr<'k>,
}

impl<'k> Segment<'k, '_> {
    fn run(&self) {
        let k = self.k;
        let taps = Taps::load(&self.spec.step, self.args, self.channel);
        let tokens = (self.end - self.start) & !(AT_ONCE.cast_signed() - 1);
        let whole = self.start + tokens;
        // Bits, oldest to newest: the history is copied, so no float operation may touch it.
        let history = k.for_range(self.start, whole, AT_ONCE, self.before(), |row, history| {
            self.tokens(&taps, row, history, AT_ONCE)
        });
        let history = k.for_range(whole, self.end, 1, history, |row, history| {
            self.tokens(&taps, row, history, 1)
        });
        if !history.is_empty() {
            k.if_(self.is_last, || {
                self.history("next_history").store_run((self.channel, 0), &history);
            });
        }
    }

    /// The samples before the segment.
    fn before(&self) -> Vec<Expr<'k>> {
        let length = self.spec.step.history_len();
        if length == 0 {
            return Vec::new();
        }
        let earlier = || {
            let first = self.start - length.cast_signed();
            let x = self.args.view("x").bits();
            (0..length).map(|age| x.load((first + age.cast_signed(), self.channel))).collect()
        };
        let handed_in = || self.history("history").load_run((self.channel, 0), length);
        self.k.if_else(self.is_first, handed_in, earlier)
    }

    fn history(&self, name: &str) -> View<'k> {
        self.args.view(name).bits().at(self.sequence)
    }

    /// `count` tokens from `row` on: stores their outputs and gives the history after them.
    fn tokens(
        &self,
        taps: &Taps<'k>,
        row: Expr<'k>,
        mut window: Vec<Expr<'k>>,
        count: u32,
    ) -> Vec<Expr<'k>> {
        let x = self.args.view("x");
        let rows: Vec<_> = (0..count.cast_signed()).map(|token| row + token).collect();
        window.extend(rows.iter().map(|row| x.bits().load((*row, self.channel))));
        let samples: Vec<_> = window.iter().map(|bits| widened(*bits, x.elem())).collect();
        let width = self.spec.step.width as usize;
        for (row, window) in rows.iter().zip(samples.windows(width)) {
            let Some(y) = taps.output(window.iter().copied()) else { continue };
            self.args.view("y").store((*row, self.channel), y);
        }
        window.split_off(count as usize)
    }
}
