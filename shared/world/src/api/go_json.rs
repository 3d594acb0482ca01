//! JSON as the real server reads it: syntax errors in the words of Go's decoder, and names that appear twice.

/// What reading a text came to: the paths of fields that appear more than once, or what is wrong with it.
pub fn scan(text: &[u8]) -> Result<Vec<String>, String> {
    let mut scanner = Scanner { text, at: 0, doubled: Vec::new() };
    scanner.value("")?;
    scanner.blanks();
    match scanner.peek() {
        None => Ok(scanner.doubled),
        Some(byte) => Err(invalid(byte, "after top-level value")),
    }
}

/// The beginning of a body, as error messages show it: text if it looks like JSON, else hexadecimal.
pub fn summary(body: &[u8]) -> String {
    const MOST: usize = 30;
    match body {
        [] => "<empty>".to_owned(),
        [b'{', ..] if body.len() > MOST => format!("{} ...", String::from_utf8_lossy(&body[..MOST])),
        [b'{', ..] => String::from_utf8_lossy(body).into_owned(),
        _ => {
            let shown: String = body.iter().take(MOST).map(|byte| format!("{byte:02x}")).collect();
            if body.len() > MOST { format!("{shown} ...") } else { shown }
        }
    }
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    doubled: Vec<String>,
}

const END: &str = "unexpected end of JSON input";

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, String> {
        let byte = self.peek().ok_or(END)?;
        self.at += 1;
        Ok(byte)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn value(&mut self, path: &str) -> Result<(), String> {
        self.blanks();
        match self.next()? {
            b'{' => self.object(path),
            b'[' => self.list(path),
            b'"' => self.string().map(drop),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            first @ (b'-' | b'0'..=b'9') => self.number(first),
            other => Err(invalid(other, "looking for beginning of value")),
        }
    }

    fn object(&mut self, path: &str) -> Result<(), String> {
        let mut seen: Vec<String> = Vec::new();
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.blanks();
            match self.next()? {
                b'"' => {}
                other => return Err(invalid(other, "looking for beginning of object key string")),
            }
            let name = self.string()?;
            let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            if seen.contains(&name) && !self.doubled.contains(&below) {
                self.doubled.push(below.clone());
            }
            seen.push(name);
            self.blanks();
            match self.next()? {
                b':' => {}
                other => return Err(invalid(other, "after object key")),
            }
            self.value(&below)?;
            self.blanks();
            match self.next()? {
                b',' => {}
                b'}' => return Ok(()),
                other => return Err(invalid(other, "after object key:value pair")),
            }
        }
    }

    fn list(&mut self, path: &str) -> Result<(), String> {
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        for index in 0.. {
            self.value(&format!("{path}[{index}]"))?;
            self.blanks();
            match self.next()? {
                b',' => {}
                b']' => break,
                other => return Err(invalid(other, "after array element")),
            }
        }
        Ok(())
    }

    /// The first quote has been read.
    fn string(&mut self) -> Result<String, String> {
        let from = self.at - 1;
        loop {
            match self.next()? {
                b'"' => break,
                b'\\' => match self.next()? {
                    b'u' => {
                        for _ in 0..4 {
                            let digit = self.next()?;
                            if !digit.is_ascii_hexdigit() {
                                return Err(invalid(digit, "in \\u hexadecimal character escape"));
                            }
                        }
                    }
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    other => return Err(invalid(other, "in string escape code")),
                },
                control @ 0..=0x1f => return Err(invalid(control, "in string literal")),
                _ => {}
            }
        }
        Ok(serde_json::from_slice(&self.text[from..self.at]).unwrap_or_default())
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for wanted in word.bytes().skip(1) {
            let found = self.next()?;
            if found != wanted {
                let place = format!("in literal {word} (expecting {})", quoted(wanted));
                return Err(invalid(found, &place));
            }
        }
        Ok(())
    }

    fn number(&mut self, first: u8) -> Result<(), String> {
        let mut first = first;
        if first == b'-' {
            first = self.next()?;
            if !first.is_ascii_digit() {
                return Err(invalid(first, "in numeric literal"));
            }
        }
        if first != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            match self.next()? {
                b'0'..=b'9' => self.digits(),
                other => return Err(invalid(other, "after decimal point in numeric literal")),
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            match self.next()? {
                b'0'..=b'9' => self.digits(),
                other => return Err(invalid(other, "in exponent of numeric literal")),
            }
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }
}

fn invalid(byte: u8, place: &str) -> String {
    format!("invalid character {} {place}", quoted(byte))
}

/// A byte as Go quotes a rune.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        0x20..=0x7e => format!("'{}'", char::from(byte)),
        0x80..=0xff => format!("'\\u{byte:04x}'"),
        other => format!("'\\x{other:02x}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_text_is_said_in_the_words_of_go() {
        for (text, expected) in [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("nonsense", "invalid character 'o' in literal null (expecting 'u')"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("{a", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("hello", "invalid character 'h' looking for beginning of value"),
        ] {
            assert_eq!(scan(text.as_bytes()), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn names_that_appear_twice_are_told_with_their_path() {
        let text = r#"{"a": [{"b": 1, "b": 2}], "a": {"c": {"d": 1.5e3, "d": null, "d": "x\u0041"}}}"#;
        assert_eq!(scan(text.as_bytes()), Ok(["a[0].b", "a", "a.c.d"].map(str::to_owned).into()));
    }

    #[test]
    fn a_body_is_shown_as_text_only_if_it_looks_like_json() {
        assert_eq!(summary(b"{"), "{");
        assert_eq!(summary(b"[]"), "5b5d");
        assert_eq!(summary(b""), "<empty>");
    }
}
