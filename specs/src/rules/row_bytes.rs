//! A row of every tensor is smaller than 2 GiB. Kernels find a row by a 64-bit offset and everything inside
//! it by a 32-bit one, which must not wrap. A row is what one sequence, or one pool slot, has of a tensor;
//! of a state, which is found head by head, it is one head's K × V; a weight is a single row.

use crate::attention::AttentionSpec;
use crate::conv_step::ConvStepSpec;
use crate::decode_step::DecodeStepSpec;
use crate::rule::{Rule, Violation};
use crate::signature::{Axis, BufferArgument, Role, Signature};

const ID: &str = "row_bytes";

/// Size in bytes that no row reaches.
const ROW_LIMIT_BYTES: u128 = 1 << 31;

/// What the rule needs to know of a spec.
pub(crate) trait Rows {
    /// The tensors.
    fn tensors(&self) -> Signature;
    /// The field that sets the length of an axis.
    fn field_of(symbol: &str) -> &'static str;
}

impl Rows for DecodeStepSpec {
    fn tensors(&self) -> Signature {
        self.signature()
    }

    fn field_of(symbol: &str) -> &'static str {
        match symbol {
            "HK" => "key_heads",
            "HV" => "value_heads",
            "K" => "head_k",
            _ => "head_v",
        }
    }
}

impl Rows for ConvStepSpec {
    fn tensors(&self) -> Signature {
        self.signature()
    }

    fn field_of(symbol: &str) -> &'static str {
        match symbol {
            "D" => "channels",
            _ => "width",
        }
    }
}

impl Rows for AttentionSpec {
    fn tensors(&self) -> Signature {
        self.signature()
    }

    fn field_of(symbol: &str) -> &'static str {
        match symbol {
            "HQ" => "query_heads",
            "HKV" => "key_heads",
            "block_size" => "block_size",
            _ => "head_dim",
        }
    }
}

pub(crate) const fn rule<S: Rows>() -> Rule<S> {
    Rule { id: ID, file: include_str!("row_bytes.rs"), check: check::<S> }
}

/// The largest row alone: smaller ones that are too large have the same cause.
fn check<S: Rows>(spec: &S) -> Vec<Violation> {
    let signature = spec.tensors();
    let rows = signature.buffers().map(|(name, tensor)| (row_bytes(tensor), name, tensor));
    let largest = rows.max_by_key(|(bytes, _, _)| *bytes);
    let refused = largest.filter(|(bytes, _, _)| *bytes >= ROW_LIMIT_BYTES);
    refused.map(|(bytes, name, tensor)| violation::<S>(bytes, name, tensor)).into_iter().collect()
}

/// The axes of one row, each with its length.
fn row(tensor: &BufferArgument) -> impl Iterator<Item = (Axis, u32)> {
    let fixed = tensor.shape.iter().filter_map(|axis| Some((*axis, axis.extent.fixed()?)));
    let one_head = matches!(tensor.role, Role::State | Role::NextState | Role::PoolState);
    fixed.filter(move |(axis, _)| !(one_head && axis.symbol == "HV"))
}

fn row_bytes(tensor: &BufferArgument) -> u128 {
    let elements: u128 = row(tensor).map(|(_, length)| u128::from(length)).product();
    elements * u128::from(tensor.element.size_bytes())
}

fn violation<S: Rows>(bytes: u128, name: &'static str, tensor: &BufferArgument) -> Violation {
    let longest = row(tensor).max_by_key(|(_, length)| *length);
    let (symbol, length) = longest.map_or(("", 1), |(axis, length)| (axis.symbol, length));
    let most = (ROW_LIMIT_BYTES - 1) / (bytes / u128::from(length.max(1))).max(1);
    let field = S::field_of(symbol);
    Violation {
        rule: ID,
        field,
        got: format!("{bytes} in a row of {name}"),
        limit: format!("below {ROW_LIMIT_BYTES}"),
        unit: "bytes",
        source: "32-bit offsets inside a row, the kernel's contract",
        hint: format!("at most {field} = {most} beside the other sizes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reduction;
    use crate::rules::fixtures::{conv, decode, refused};

    #[test]
    fn accepts_the_largest_head() {
        // One channel more in K would be 2 GiB a head.
        let spec = DecodeStepSpec { head_k: (1 << 19) - 1, head_v: 1024, ..decode() };
        let spec = DecodeStepSpec { reduction: Reduction::Serial, ..spec };
        assert_eq!(spec.check(), []);
    }

    #[test]
    fn refuses_a_head_of_two_gib() {
        let spec = DecodeStepSpec {
            head_k: 1 << 19,
            head_v: 1024,
            reduction: Reduction::Serial,
            ..decode()
        };
        let words = ["got 2147483648 in a row of", "below 2147483648", "bytes", "head_k = 524287"];
        refused(&spec.check(), "row_bytes", "head_k", &words);
    }

    #[test]
    fn refuses_channels_whose_weights_reach_two_gib() {
        let spec = ConvStepSpec { channels: 1 << 28, width: 4, ..conv() };
        let words = ["in a row of weight", "channels = 268435455"];
        refused(&spec.check(), "row_bytes", "channels", &words);
        assert_eq!(ConvStepSpec { channels: (1 << 28) - 1, width: 4, ..conv() }.check(), []);
    }

    #[test]
    fn huge_sizes_do_not_wrap() {
        let spec = DecodeStepSpec { head_k: u32::MAX, head_v: u32::MAX, ..decode() };
        assert!(spec.check().iter().any(|violation| violation.rule == ID));
    }
}
