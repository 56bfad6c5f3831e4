//! Conv step: one token of a depthwise causal convolution for every sequence of a batch.
//!
//! A work-item owns one channel of one sequence. The contract, with the order of all float operations, is
//! `docs/kernels/conv_step.md`.

use dsl::builder::BuildError;
use dsl::ir::Kernel;
use dsl::{Expr, KernelBuilder, Mask};
use specs::ConvStepSpec;

use crate::arguments::Arguments;
use crate::conv::{Taps, widened};

/// The kernel of a legal spec.
pub fn build(name: &str, spec: &ConvStepSpec) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.target, spec.workgroup_size());
    let args = Arguments::declare(&k, &spec.signature());
    let channel = k.workgroup_id_x() * k.workgroup_size() + k.thread_id();
    Mask::below(channel, spec.channels, k.workgroup_size())
        .run(|| step(spec, &args, k.workgroup_id_y(), channel));
    k.finish()
}

/// One channel of sequence `b`.
fn step<'k>(spec: &ConvStepSpec, args: &Arguments<'k>, b: Expr<'k>, channel: Expr<'k>) {
    // Bits, oldest to newest: the history is copied, so no float operation may touch it.
    let mut window = match spec.history_len() {
        0 => Vec::new(),
        length => args.view("history").bits().at(b).load_run((channel, 0), length),
    };
    window.push(args.view("x").bits().load((b, channel)));
    if spec.history_len() > 0 {
        args.view("next_history").bits().at(b).store_run((channel, 0), &window[1..]);
    }

    let taps = Taps::load(spec, args, channel);
    let stored = args.view("x").elem();
    let Some(y) = taps.output(window.into_iter().map(|bits| widened(bits, stored))) else { return };
    args.view("y").store((b, channel), y);
}
