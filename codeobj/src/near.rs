//! The nearest known name, for refusals that say what would have worked.

/// The name of `known` that `got` was most likely meant to be, if any is close enough to be helpful.
pub(crate) fn nearest<'n>(got: &str, known: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let limit = (got.chars().count() / 3).max(2);
    let candidates = known.into_iter().map(|name| (strsim::damerau_levenshtein(got, name), name));
    let (distance, name) = candidates.min()?;
    (distance <= limit).then(|| name.to_owned())
}

/// The suggestion as the tail of a sentence: `; did you mean 'x'?`, or nothing.
pub(crate) fn hint(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn suggests_a_close_name_and_stays_silent_otherwise() {
        let known = ["gdn_decode", "conv_step"];
        assert_eq!(nearest("gdn_decod", known), Some("gdn_decode".to_owned()));
        assert_eq!(nearest("matmul", known), None);
        assert_eq!(nearest("anything", []), None);
    }
}
