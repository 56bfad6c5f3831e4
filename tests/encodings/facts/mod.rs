//! Every kind of fact against LLVM at test time, by a check over a value of the fact; and the same check
//! over a copy with a planted error, which it must report. `docs/facts.md` lists the kinds.

mod limits;
mod numbers;
mod rows;

/// What a check finds: nothing, or the first disagreement in words.
type Checked = Result<(), String>;

/// The check must fail on a fact with an error, and its words must name what is wrong.
fn must_report(kind: &str, checked: Checked, expected: &str) {
    let words = checked.expect_err(kind);
    assert!(words.contains(expected), "{kind}: '{words}' does not name '{expected}'");
    println!("{kind}: reported as: {words}");
}
