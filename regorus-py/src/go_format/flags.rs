//! What stands between a percent sign and its verb, and the padding that it asks for.

/// Flags, width and precision of one verb.
#[derive(Clone, Copy, Default)]
pub struct Flags {
    pub minus: bool,
    pub plus: bool,
    pub sharp: bool,
    pub space: bool,
    pub zero: bool,
    /// `%+v` and `%#v`: their flags stand for another form of the whole value.
    pub plus_value: bool,
    pub sharp_value: bool,
    pub width: Option<usize>,
    pub precision: Option<usize>,
}

impl Flags {
    pub fn fill(&self, out: &mut String, count: usize) {
        // Zeros stand on the left only.
        let with = if self.zero && !self.minus { "0" } else { " " };
        out.push_str(&with.repeat(count));
    }

    /// `text` in the width, in characters.
    pub fn pad(&self, out: &mut String, text: &str) {
        let missing = self.width.unwrap_or(0).saturating_sub(text.chars().count());
        if self.minus {
            out.push_str(text);
            self.fill(out, missing);
        } else {
            self.fill(out, missing);
            out.push_str(text);
        }
    }

    /// Padded with spaces, whatever the flag says.
    pub fn pad_with_spaces(&self, out: &mut String, text: &str) {
        Self { zero: false, ..*self }.pad(out, text);
    }
}
