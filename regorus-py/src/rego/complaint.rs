//! Why a policy is refused, and where in its text.

/// A refusal before anything is evaluated.
#[derive(Debug, PartialEq, Eq)]
pub struct Complaint {
    pub message: String,
    /// Name of the module, as its author knows it.
    pub path: String,
    /// Line and column, from 1, where they are known.
    pub place: Option<(u32, u32)>,
    /// The line of the source at that place.
    pub snippet: String,
}

impl Complaint {
    /// About a module as a whole.
    pub fn about(path: &str, message: impl Into<String>) -> Self {
        Self { message: message.into(), path: path.to_owned(), place: None, snippet: String::new() }
    }

    /// About one place of a module.
    pub fn at(path: &str, source: &str, line: u32, column: u32, message: impl Into<String>) -> Self {
        let index = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        let snippet = source.lines().nth(index).unwrap_or_default().to_owned();
        Self { message: message.into(), path: path.to_owned(), place: Some((line, column)), snippet }
    }

    /// From the text of an error of the engine, which is its only form:
    /// `--> file:line:column`, the source line between bars, `error: message`.
    pub fn from_engine(path: &str, source: &str, text: &str) -> Self {
        let message = match text.rsplit_once("error: ") {
            Some((_, message)) => message.trim(),
            None => text.trim(),
        };
        // What follows shows another place with a picture of its own.
        let message = message.lines().next().unwrap_or_default();
        match place_in(path, text) {
            Some((line, column)) => Self::at(path, source, line, column, message),
            None => Self::about(path, message),
        }
    }
}

/// The first `--> path:line:column`.
pub fn place_in(path: &str, text: &str) -> Option<(u32, u32)> {
    let (_, rest) = text.split_once("--> ")?;
    let rest = rest.strip_prefix(path)?.strip_prefix(':')?;
    let (line, rest) = rest.split_once(':')?;
    let column: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((line.parse().ok()?, column.parse().ok()?))
}
