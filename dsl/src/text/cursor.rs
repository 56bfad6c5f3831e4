//! The parser's place in the text, and the smallest things it reads there: words, numbers, marks, values.

use crate::ir::{LdsBuffer, Scalar, Type, Value, ValueInfo};

use super::lex::{Kind, Token, lex};
use super::names::Named;

/// Why a text is not a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel text, line {line}, column {column}: got {got}, expected {expected}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What stands there.
    pub got: String,
    /// What could stand there.
    pub expected: String,
}

/// What reading a piece of the text gives.
pub type Parsed<T> = Result<T, ParseError>;

/// The state of the parser.
pub struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    pub next: usize,
    pub values: Vec<ValueInfo>,
    pub lds: Vec<LdsBuffer>,
    pub depth: usize,
}

impl<'t> Parser<'t> {
    /// At the start of a text.
    pub fn new(text: &'t str) -> Parser<'t> {
        Parser { tokens: lex(text), next: 0, values: Vec::new(), lds: Vec::new(), depth: 0 }
    }

    pub fn peek(&self) -> Kind<'t> {
        self.tokens[self.next].kind
    }

    /// Steps over the token that `result` was read from.
    pub fn taken<T>(&mut self, result: T) -> Parsed<T> {
        self.next += 1;
        Ok(result)
    }

    pub fn refuse<T>(&self, expected: impl Into<String>) -> Parsed<T> {
        let Token { kind, line, column } = self.tokens[self.next];
        Err(ParseError { line, column, got: kind.to_string(), expected: expected.into() })
    }

    pub fn take(&mut self, kind: Kind<'_>) -> bool {
        let found = self.peek() == kind;
        self.next += usize::from(found);
        found
    }

    pub fn take_word(&mut self, word: &str) -> bool {
        self.take(Kind::Word(word))
    }

    pub fn take_mark(&mut self, mark: char) -> bool {
        self.take(Kind::Mark(mark))
    }

    pub fn word(&mut self, word: &str) -> Parsed<()> {
        if self.take_word(word) { Ok(()) } else { self.refuse(format!("'{word}'")) }
    }

    pub fn mark(&mut self, mark: char) -> Parsed<()> {
        if self.take_mark(mark) { Ok(()) } else { self.refuse(format!("'{mark}'")) }
    }

    /// The format's version.
    pub fn exactly(&mut self, version: &str) -> Parsed<()> {
        if self.peek().to_string() == format!("'{version}'") {
            self.taken(())
        } else {
            self.refuse(format!("version {version}"))
        }
    }

    pub fn end_of_line(&mut self) -> Parsed<()> {
        if self.take(Kind::EndOfLine) { Ok(()) } else { self.refuse("the end of the line") }
    }

    pub fn name(&mut self, what: &str) -> Parsed<String> {
        match self.peek() {
            Kind::Word(word) if super::is_symbol(word) => self.taken(word.to_owned()),
            _ => self.refuse(what),
        }
    }

    pub fn named<T: Named>(&mut self, what: &str) -> Parsed<T> {
        let Kind::Word(word) = self.peek() else {
            return self.refuse(what);
        };
        match T::from_spelling(word) {
            Some(member) => self.taken(member),
            None => self.refuse(what),
        }
    }

    pub fn number<N: TryFrom<u64>>(&mut self, what: &str) -> Parsed<N> {
        let Kind::Integer { negative: false, magnitude } = self.peek() else {
            return self.refuse(what);
        };
        match N::try_from(magnitude) {
            Ok(number) => self.taken(number),
            Err(_) => self.refuse(format!("{what} within {} bits", 8 * size_of::<N>())),
        }
    }

    pub fn align(&mut self) -> Parsed<u32> {
        self.word("align")?;
        self.number("an alignment in bytes")
    }

    /// A value that need not be defined yet.
    pub fn any_value(&mut self, what: &str) -> Parsed<Value> {
        let Kind::Value(number) = self.peek() else {
            return self.refuse(what);
        };
        self.taken(Value(number))
    }

    /// A use of a value that the text has defined before.
    pub fn value(&mut self) -> Parsed<Value> {
        match self.peek() {
            Kind::Value(number) if (number as usize) < self.values.len() => {
                self.taken(Value(number))
            }
            _ => self.refuse("a value defined above"),
        }
    }

    pub fn uses(&mut self) -> Parsed<Vec<Value>> {
        let mut uses = vec![self.value()?];
        while self.take_mark(',') {
            uses.push(self.value()?);
        }
        Ok(uses)
    }

    pub fn two(&mut self) -> Parsed<[Value; 2]> {
        let a = self.value()?;
        self.mark(',')?;
        Ok([a, self.value()?])
    }

    pub fn three(&mut self) -> Parsed<[Value; 3]> {
        let [a, b] = self.two()?;
        self.mark(',')?;
        Ok([a, b, self.value()?])
    }

    pub fn ty(&mut self) -> Parsed<Type> {
        let expected = "a type such as f32, i32x4 or ptr";
        let Kind::Word(word) = self.peek() else {
            return self.refuse(expected);
        };
        match type_of(word) {
            Some(ty) => self.taken(ty),
            None => self.refuse(expected),
        }
    }
}

fn type_of(word: &str) -> Option<Type> {
    if word == "ptr" {
        return Some(Type::Pointer);
    }
    match word.split_once('x') {
        Some((scalar, lanes)) => {
            Some(Type::Vector(Scalar::from_spelling(scalar)?, lanes.parse().ok()?))
        }
        None => Scalar::from_spelling(word).map(Type::Scalar),
    }
}
