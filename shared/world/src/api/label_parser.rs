//! The language of label selectors in a query, with the server's words for what is wrong.

use crate::resources::{errors::quote, names};

/// One requirement as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub key: String,
    pub operator: Operator,
    pub values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Greater,
    Less,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", ">", "<", "(", ")", ","];
const OPERATORS: &str = "in, notin, =, ==, !=, gt, lt";

pub fn parse(text: &str) -> Result<Vec<Written>, String> {
    let mut parser = Parser { tokens: tokens(text), at: 0 };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            Token::End => return Ok(requirements),
            Token::Word(_) | Token::Symbol("!") => {}
            other => return Err(format!("found '{}', expected: !, identifier, or 'end of string'", literal(other))),
        }
        let requirement = parser.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
        requirements.push(requirement);
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => {
                if !matches!(parser.peek(), Token::Word(_) | Token::Symbol("!")) {
                    return Err(format!("found '{}', expected: identifier after ','", literal(parser.peek())));
                }
            }
            other => return Err(format!("found '{}', expected: ',' or 'end of string'", literal(&other))),
        }
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Written, String> {
        let negated = *self.peek() == Token::Symbol("!");
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(word) => word,
            other => return Err(format!("found '{}', expected: identifier", literal(&other))),
        };
        let wrong = names::check_label_key(&key);
        if !wrong.is_empty() {
            return Err(format!("<nil>: Invalid value: {}: {}", quote(&key), wrong.join("; ")));
        }
        if negated {
            return Ok(Written { key, operator: Operator::DoesNotExist, values: Vec::new() });
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(Written { key, operator: Operator::Exists, values: Vec::new() });
        }
        let (operator, set) = match self.next() {
            Token::Word(word) if word == "in" => (Operator::In, true),
            Token::Word(word) if word == "notin" => (Operator::NotIn, true),
            Token::Symbol("=" | "==") => (Operator::In, false),
            Token::Symbol("!=") => (Operator::NotIn, false),
            Token::Symbol(">") => (Operator::Greater, false),
            Token::Symbol("<") => (Operator::Less, false),
            other => return Err(format!("found '{}', expected: {OPERATORS}", literal(&other))),
        };
        let values = if set { self.values()? } else { vec![self.value()?] };
        check_values(&key, operator, &values)?;
        Ok(Written { key, operator, values })
    }

    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(String::new());
        }
        match self.next() {
            Token::Word(word) => Ok(word),
            other => Err(format!("found '{}', expected: identifier", literal(&other))),
        }
    }

    /// `(a, b)`; where nothing stands between commas, the empty text is meant.
    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", literal(&other))),
        }
        let mut values = Vec::new();
        let mut pending = true;
        loop {
            match self.next() {
                Token::Word(word) if pending => {
                    values.push(word);
                    pending = false;
                }
                Token::Symbol(",") => {
                    if pending {
                        values.push(String::new());
                    }
                    pending = true;
                }
                Token::Symbol(")") => {
                    if pending {
                        values.push(String::new());
                    }
                    values.sort();
                    values.dedup();
                    return Ok(values);
                }
                other if pending && values.is_empty() => {
                    return Err(format!("found '{}', expected: ',', ')' or identifier", literal(&other)));
                }
                other if pending => return Err(format!("found '{}', expected: ',', or identifier", literal(&other))),
                other => return Err(format!("found '{}', expected: ',' or ')'", literal(&other))),
            }
        }
    }
}

fn check_values(key: &str, operator: Operator, values: &[String]) -> Result<(), String> {
    let mut wrong = Vec::new();
    for (index, value) in values.iter().enumerate() {
        if matches!(operator, Operator::Greater | Operator::Less) && value.parse::<i64>().is_err() {
            let why = "for 'Gt', 'Lt' operators, the value must be an integer";
            wrong.push(format!("values[{index}]: Invalid value: {}: {why}", quote(value)));
        }
    }
    for (index, value) in values.iter().enumerate() {
        let messages = names::check_label_value(value);
        if !messages.is_empty() {
            wrong.push(format!("values[{index}][{key}]: Invalid value: {}: {}", quote(value), messages.join("; ")));
        }
    }
    match wrong.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            tokens.push(Token::Symbol(symbol));
            rest = &rest[symbol.len()..];
        } else {
            let is_end = |one: char| one.is_whitespace() || "=!<>(),".contains(one);
            let end = rest.find(is_end).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    tokens
}

fn literal(token: &Token) -> &str {
    match token {
        Token::Word(word) => word,
        Token::Symbol(symbol) => symbol,
        Token::End => "",
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn what_cannot_be_read_is_said_in_the_words_of_the_server() {
        for (text, expected) in [
            ("a===x", "unable to parse requirement: found '=', expected: identifier"),
            ("a in x", "unable to parse requirement: found 'x' expected: '('"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a=x y", "found 'y', expected: ',' or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            ("=a", "found '=', expected: !, identifier, or 'end of string'"),
            ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ] {
            assert_eq!(parse(text), Err(expected.to_owned()), "{text}");
        }
    }
}
