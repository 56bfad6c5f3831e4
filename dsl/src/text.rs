//! The canonical text form of a kernel: what is hashed, diffed, and sent to a back end's process.
//!
//! [`print()`] and [`parse()`] are inverse to each other on every kernel that the verifier accepts and whose values are
//! numbered in the order of their definitions, as the builder numbers them. One statement stands on one line:
//!
//! ```text
//! wavesmith-ir 1
//! kernel scale_rows
//! target gfx1100
//! workgroup_size 64
//! param %0 x: buffer f32 read_only align 16
//! param %1 factor: f32
//! lds partial: 64 bytes align 16
//! body {
//!   %2: i32 varying = special thread_id
//!   %3: i32 uniform = const 2
//!   %4: i32 varying = shl %2, %3
//!   %5: f32 varying = load global %0 + %4 align 4
//!   %6: f32 varying = fmul %5, %1
//!   store lds partial + %4 align 4, %6
//!   %7: f32 varying = for %8: i32 uniform from %3 to %3 step 1 {
//!     carry %9: f32 varying = %6
//!     yield %9
//!   }
//! }
//! ```
//!
//! A register budget stands in a line `max_vgprs 96` after the workgroup's size. A comment runs from `;` to the end of its line. Values are numbered from 0 in the order in which the text
//! defines them. Integers are decimal and signed, floats are the hexadecimal bits of their type.

mod cursor;
mod lex;
mod names;
mod parse;
mod print;

pub use cursor::ParseError;
pub use parse::parse;
pub use print::print;
pub use print::print_with_locations;

pub(crate) use names::Named;
pub(crate) use print::Head;

/// The first line of every kernel text; the number grows when the meaning of a text changes.
pub const HEADER: &str = "wavesmith-ir 1";

/// How deep loops and conditionals may nest.
pub const MAX_NESTING: usize = 64;

/// Whether a name may stand in the text and in an object's symbol table: `[A-Za-z_][A-Za-z0-9_.$]*`, at most 200 bytes.
pub fn is_symbol(name: &str) -> bool {
    let mut bytes = name.bytes();
    let starts_well = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let goes_on_well =
        bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$'));
    starts_well && goes_on_well && name.len() <= 200
}
