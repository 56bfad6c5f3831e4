//! From text to tokens with their places.

use std::fmt;

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'t> {
    /// A name, a mnemonic or a keyword.
    Word(&'t str),
    /// `%N`.
    Value(u32),
    /// Digits, decimal (signed) or hexadecimal, within 64 bits.
    Integer {
        /// Whether a minus sign stood before it.
        negative: bool,
        /// Its magnitude.
        magnitude: u64,
    },
    /// One of `: , = + { }`.
    Mark(char),
    /// The end of a line that holds other tokens.
    EndOfLine,
    /// The end of the text.
    EndOfText,
    /// Anything else.
    Unknown(&'t str),
}

/// A token and where it starts, counted from 1 in lines and characters.
#[derive(Clone, Copy, Debug)]
pub struct Token<'t> {
    pub kind: Kind<'t>,
    pub line: usize,
    pub column: usize,
}

/// All tokens of a text; the last is [`Kind::EndOfText`], and no line is empty.
pub fn lex(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let content = line.split(';').next().unwrap_or_default();
        let before = tokens.len();
        lex_line(content, index + 1, &mut tokens);
        if tokens.len() > before {
            tokens.push(Token {
                kind: Kind::EndOfLine,
                line: index + 1,
                column: content.chars().count() + 1,
            });
        }
    }
    tokens.push(Token { kind: Kind::EndOfText, line: text.lines().count() + 1, column: 1 });
    tokens
}

fn lex_line<'t>(content: &'t str, line: usize, tokens: &mut Vec<Token<'t>>) {
    let mut rest = content;
    let mut column = 1;
    while let Some(first) = rest.chars().next() {
        let length = token_bytes(rest, first);
        let (spelling, tail) = rest.split_at(length);
        if !first.is_whitespace() {
            tokens.push(Token { kind: classify(spelling, first), line, column });
        }
        column += spelling.chars().count();
        rest = tail;
    }
}

/// Length of the token at the start of `rest`.
fn token_bytes(rest: &str, first: char) -> usize {
    if !is_wordy(first) && first != '%' {
        return first.len_utf8();
    }
    let tail = &rest[first.len_utf8()..];
    first.len_utf8() + tail.find(|next| !is_wordy(next)).unwrap_or(tail.len())
}

fn is_wordy(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '$' | '-')
}

fn classify(spelling: &str, first: char) -> Kind<'_> {
    let known = match first {
        ':' | ',' | '=' | '+' | '{' | '}' => Some(Kind::Mark(first)),
        '%' => spelling[1..].parse().ok().map(Kind::Value),
        '-' | '0'..='9' => integer(spelling),
        'a'..='z' | 'A'..='Z' | '_' => Some(Kind::Word(spelling)),
        _ => None,
    };
    known.unwrap_or(Kind::Unknown(spelling))
}

fn integer(spelling: &str) -> Option<Kind<'_>> {
    let (negative, digits) =
        spelling.strip_prefix('-').map_or((false, spelling), |digits| (true, digits));
    let magnitude = match digits.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None => digits.parse(),
    };
    magnitude.ok().map(|magnitude| Kind::Integer { negative, magnitude })
}

impl fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Word(word) | Kind::Unknown(word) => {
                write!(f, "'{}'", word.chars().take(60).collect::<String>().escape_debug())
            }
            Kind::Value(number) => write!(f, "'%{number}'"),
            Kind::Integer { negative, magnitude } => {
                write!(f, "'{}{magnitude}'", if *negative { "-" } else { "" })
            }
            Kind::Mark(mark) => write!(f, "'{mark}'"),
            Kind::EndOfLine => f.write_str("the end of the line"),
            Kind::EndOfText => f.write_str("the end of the text"),
        }
    }
}
