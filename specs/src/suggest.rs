//! The nearest known name to a misspelt one.

/// Similarity (Jaro–Winkler, 0 to 1) below which a known name is no likely reading of what was written.
const LEAST_SIMILARITY: f64 = 0.75;

/// The known name nearest to `got`, when one is near enough to be meant.
pub fn nearest<'k>(got: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let got = got.to_lowercase();
    let scored = known.into_iter().map(|name| (strsim::jaro_winkler(&got, name), name));
    let likely = scored.filter(|(similarity, _)| *similarity >= LEAST_SIMILARITY);
    likely.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// Text from a file, made safe to print: escaped, and cut when long.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name() {
        let known = ["head_k", "head_v", "head_map", "waves", "wave_width"];
        assert_eq!(nearest("heads_k", known), Some("head_k"));
        assert_eq!(nearest("wavewidth", known), Some("wave_width"));
        assert_eq!(nearest("HEAD_MAP", known), Some("head_map"));
    }

    #[test]
    fn a_strange_word_finds_nothing() {
        assert_eq!(nearest("zzz", ["head_k", "waves"]), None);
        assert_eq!(nearest("", ["head_k"]), None);
    }

    #[test]
    fn shown_text_is_escaped_and_short() {
        assert_eq!(shown("a\u{1b}[31m\n"), "a\\u{1b}[31m\\n");
        assert_eq!(shown(&"x".repeat(100)).chars().count(), 61);
    }
}
