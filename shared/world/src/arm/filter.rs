//! The little OData of `$filter`: `eq`, `ne`, `contains`, `startswith`, `and`, `or`, brackets.

/// A filter over named text fields. One that cannot be read is an error, as it is for Azure.
#[derive(Debug, PartialEq)]
pub(super) enum Filter {
    Equal(String, String),
    Unequal(String, String),
    Contains(String, String),
    StartsWith(String, String),
    All(Vec<Filter>),
    Any(Vec<Filter>),
}

impl Filter {
    pub fn read(text: &str) -> Option<Filter> {
        let mut words = Words { words: split(text)?, at: 0 };
        let filter = words.any()?;
        (words.at == words.words.len()).then_some(filter)
    }

    /// `field` gives a field's value; an unknown field never matches.
    pub fn matches(&self, field: &dyn Fn(&str) -> Option<String>) -> bool {
        let value = |name: &String| field(name);
        match self {
            Filter::Equal(name, wanted) => value(name).is_some_and(|own| own.eq_ignore_ascii_case(wanted)),
            Filter::Unequal(name, wanted) => value(name).is_some_and(|own| !own.eq_ignore_ascii_case(wanted)),
            Filter::Contains(name, part) => value(name).is_some_and(|own| own.contains(part.as_str())),
            Filter::StartsWith(name, part) => value(name).is_some_and(|own| own.starts_with(part.as_str())),
            Filter::All(parts) => parts.iter().all(|part| part.matches(field)),
            Filter::Any(parts) => parts.iter().any(|part| part.matches(field)),
        }
    }
}

#[derive(Debug, PartialEq, Clone)]
enum Word {
    Name(String),
    Text(String),
    Mark(char),
}

fn split(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, length) = match first {
            '(' | ')' | ',' => (Word::Mark(first), 1),
            '\'' => {
                let end = rest.get(1..)?.find('\'')?;
                (Word::Text(rest.get(1..=end)?.to_owned()), end + 2)
            }
            _ => {
                let end = rest.find([' ', '(', ')', ',', '\'']).unwrap_or(rest.len());
                (Word::Name(rest.get(..end)?.to_owned()), end)
            }
        };
        words.push(word);
        rest = rest.get(length..)?.trim_start();
    }
    Some(words)
}

struct Words {
    words: Vec<Word>,
    at: usize,
}

impl Words {
    fn any(&mut self) -> Option<Filter> {
        let mut parts = vec![self.all()?];
        while self.take_name("or") {
            parts.push(self.all()?);
        }
        if parts.len() == 1 { parts.pop() } else { Some(Filter::Any(parts)) }
    }

    fn all(&mut self) -> Option<Filter> {
        let mut parts = vec![self.one()?];
        while self.take_name("and") {
            parts.push(self.one()?);
        }
        if parts.len() == 1 { parts.pop() } else { Some(Filter::All(parts)) }
    }

    fn one(&mut self) -> Option<Filter> {
        match self.next()? {
            Word::Mark('(') => {
                let inner = self.any()?;
                self.mark(')')?;
                Some(inner)
            }
            Word::Name(name) if name.eq_ignore_ascii_case("contains") || name.eq_ignore_ascii_case("startswith") => {
                self.mark('(')?;
                let field = self.name()?;
                self.mark(',')?;
                let part = self.text()?;
                self.mark(')')?;
                let starts = name.eq_ignore_ascii_case("startswith");
                Some(if starts { Filter::StartsWith(field, part) } else { Filter::Contains(field, part) })
            }
            Word::Name(field) => match self.name()?.as_str() {
                "eq" => Some(Filter::Equal(field, self.text()?)),
                "ne" => Some(Filter::Unequal(field, self.text()?)),
                _ => None,
            },
            Word::Text(_) | Word::Mark(_) => None,
        }
    }

    fn next(&mut self) -> Option<Word> {
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        word
    }

    fn take_name(&mut self, name: &str) -> bool {
        let found = matches!(self.words.get(self.at), Some(Word::Name(own)) if own.eq_ignore_ascii_case(name));
        self.at += usize::from(found);
        found
    }

    fn mark(&mut self, mark: char) -> Option<()> {
        (self.next()? == Word::Mark(mark)).then_some(())
    }

    fn name(&mut self) -> Option<String> {
        if let Word::Name(name) = self.next()? { Some(name) } else { None }
    }

    /// A quoted text; `true` and `false` may stand bare.
    fn text(&mut self) -> Option<String> {
        match self.next()? {
            Word::Text(text) | Word::Name(text) => Some(text),
            Word::Mark(_) => None,
        }
    }
}
