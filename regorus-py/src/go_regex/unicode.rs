//! Unicode's properties as Go names them, with the tables of the version that Go has.

use std::sync::OnceLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// Characters that later versions of Unicode assigned are unassigned in Go's `unicode` (15.0).
const GO_AGE: &str = r"\p{Age=15.0}";

/// Its category is Mn in Unicode 15 and Mc in 16.
const SPACING_SINCE_16: char = '\u{1171e}';

const CATEGORIES: [&str; 37] = [
    "C", "Cc", "Cf", "Cn", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No",
    "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
];

const CATEGORY_ALIASES: [(&str, &str); 40] = [
    ("Closepunctuation", "Pe"),
    ("Cntrl", "Cc"),
    ("Combiningmark", "M"),
    ("Connectorpunctuation", "Pc"),
    ("Control", "Cc"),
    ("Currencysymbol", "Sc"),
    ("Dashpunctuation", "Pd"),
    ("Decimalnumber", "Nd"),
    ("Digit", "Nd"),
    ("Enclosingmark", "Me"),
    ("Finalpunctuation", "Pf"),
    ("Format", "Cf"),
    ("Initialpunctuation", "Pi"),
    ("Letter", "L"),
    ("Letternumber", "Nl"),
    ("Lineseparator", "Zl"),
    ("Lowercaseletter", "Ll"),
    ("Mark", "M"),
    ("Mathsymbol", "Sm"),
    ("Modifierletter", "Lm"),
    ("Modifiersymbol", "Sk"),
    ("Nonspacingmark", "Mn"),
    ("Number", "N"),
    ("Openpunctuation", "Ps"),
    ("Other", "C"),
    ("Otherletter", "Lo"),
    ("Othernumber", "No"),
    ("Otherpunctuation", "Po"),
    ("Othersymbol", "So"),
    ("Paragraphseparator", "Zp"),
    ("Privateuse", "Co"),
    ("Punct", "P"),
    ("Punctuation", "P"),
    ("Separator", "Z"),
    ("Spaceseparator", "Zs"),
    ("Spacingmark", "Mc"),
    ("Surrogate", "Cs"),
    ("Symbol", "S"),
    ("Titlecaseletter", "Lt"),
    ("Uppercaseletter", "Lu"),
];

/// Those without an underscore: Go 1.26 takes the underscore out of what a pattern says, not out of its own names, and
/// so refuses `\p{Old_Italic}`.
const SCRIPTS: [&str; 117] = [
    "Adlam",
    "Ahom",
    "Arabic",
    "Armenian",
    "Avestan",
    "Balinese",
    "Bamum",
    "Batak",
    "Bengali",
    "Bhaiksuki",
    "Bopomofo",
    "Brahmi",
    "Braille",
    "Buginese",
    "Buhid",
    "Carian",
    "Chakma",
    "Cham",
    "Cherokee",
    "Chorasmian",
    "Common",
    "Coptic",
    "Cuneiform",
    "Cypriot",
    "Cyrillic",
    "Deseret",
    "Devanagari",
    "Dogra",
    "Duployan",
    "Elbasan",
    "Elymaic",
    "Ethiopic",
    "Georgian",
    "Glagolitic",
    "Gothic",
    "Grantha",
    "Greek",
    "Gujarati",
    "Gurmukhi",
    "Han",
    "Hangul",
    "Hanunoo",
    "Hatran",
    "Hebrew",
    "Hiragana",
    "Inherited",
    "Javanese",
    "Kaithi",
    "Kannada",
    "Katakana",
    "Kawi",
    "Kharoshthi",
    "Khmer",
    "Khojki",
    "Khudawadi",
    "Lao",
    "Latin",
    "Lepcha",
    "Limbu",
    "Lisu",
    "Lycian",
    "Lydian",
    "Mahajani",
    "Makasar",
    "Malayalam",
    "Mandaic",
    "Manichaean",
    "Marchen",
    "Medefaidrin",
    "Miao",
    "Modi",
    "Mongolian",
    "Mro",
    "Multani",
    "Myanmar",
    "Nabataean",
    "Nandinagari",
    "Newa",
    "Nko",
    "Nushu",
    "Ogham",
    "Oriya",
    "Osage",
    "Osmanya",
    "Palmyrene",
    "Phoenician",
    "Rejang",
    "Runic",
    "Samaritan",
    "Saurashtra",
    "Sharada",
    "Shavian",
    "Siddham",
    "Sinhala",
    "Sogdian",
    "Soyombo",
    "Sundanese",
    "Syriac",
    "Tagalog",
    "Tagbanwa",
    "Takri",
    "Tamil",
    "Tangsa",
    "Tangut",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Tifinagh",
    "Tirhuta",
    "Toto",
    "Ugaritic",
    "Vai",
    "Vithkuqi",
    "Wancho",
    "Yezidi",
    "Yi",
];

/// A table of the engine's own: the ranges of `\p{…}`.
fn table(pattern: &str) -> ClassUnicode {
    match regex_syntax::parse(pattern).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // A class of one character is a literal.
        Ok(HirKind::Literal(literal)) => {
            let characters = std::str::from_utf8(&literal.0).unwrap_or_default().chars();
            ClassUnicode::new(characters.map(|one| ClassUnicodeRange::new(one, one)))
        }
        _ => ClassUnicode::empty(),
    }
}

fn go_assigned() -> &'static ClassUnicode {
    static ASSIGNED: OnceLock<ClassUnicode> = OnceLock::new();
    ASSIGNED.get_or_init(|| table(GO_AGE))
}

/// What of it Go knows.
pub fn within_go(mut class: ClassUnicode) -> ClassUnicode {
    class.intersect(go_assigned());
    class
}

/// Without underscores, hyphens and spaces, a capital first.
fn canonical(name: &str) -> String {
    let mut canonical = String::new();
    for character in name.chars().filter(|character| !matches!(character, '_' | '-' | ' ')) {
        let is_first = canonical.is_empty();
        canonical.push(if is_first { character.to_ascii_uppercase() } else { character.to_ascii_lowercase() });
    }
    canonical
}

fn unassigned() -> ClassUnicode {
    let mut class = go_assigned().clone();
    class.negate();
    // The characters that never will be have an age.
    class.union(&table(r"\p{gc=Cn}"));
    class
}

fn category(name: &str) -> ClassUnicode {
    match name {
        "Cn" => unassigned(),
        // A character of Rust's is no surrogate.
        "Cs" => ClassUnicode::empty(),
        "C" => {
            let mut class = within_go(table(r"\p{gc=C}"));
            class.union(&unassigned());
            class
        }
        _ => {
            let mut class = within_go(table(&format!(r"\p{{gc={name}}}")));
            let moved = ClassUnicode::new([ClassUnicodeRange::new(SPACING_SINCE_16, SPACING_SINCE_16)]);
            match name {
                "Mn" => class.union(&moved),
                "Mc" => class.difference(&moved),
                _ => {}
            }
            class
        }
    }
}

/// The characters of `\p{name}`; with `fold`, and those that are one of them in the other case.
pub fn property(name: &str, fold: bool) -> Option<ClassUnicode> {
    let name = canonical(name);
    let folded = |class: ClassUnicode| if fold { super::classes::folded(&class) } else { class };
    let alias = CATEGORY_ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, category)| *category);
    let found = match name.as_str() {
        "Any" => ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)]),
        "Ascii" => folded(ClassUnicode::new([ClassUnicodeRange::new('\0', '\x7f')])),
        "Assigned" => {
            let mut class = unassigned();
            class.negate();
            class
        }
        // Go has no other cases for it.
        "Lc" | "Casedletter" => category("Lc"),
        name if CATEGORIES.contains(&name) => folded(category(name)),
        name if SCRIPTS.contains(&name) => folded(within_go(table(&format!(r"\p{{sc={name}}}")))),
        _ => folded(category(alias.or((name == "Unassigned").then_some("Cn"))?)),
    };
    Some(found)
}

pub fn holds(class: &ClassUnicode, character: char) -> bool {
    class
        .ranges()
        .binary_search_by(|range| match (range.end() < character, range.start() > character) {
            (true, _) => std::cmp::Ordering::Less,
            (_, true) => std::cmp::Ordering::Greater,
            _ => std::cmp::Ordering::Equal,
        })
        .is_ok()
}

/// Whether Go's tables have the character.
pub fn is_known_to_go(character: char) -> bool {
    holds(go_assigned(), character)
}

/// Go's `unicode.IsLetter` or `unicode.IsDigit`.
pub fn is_letter_or_digit(character: char) -> bool {
    static CLASS: OnceLock<ClassUnicode> = OnceLock::new();
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    holds(CLASS.get_or_init(|| within_go(table(r"[\p{gc=L}\p{gc=Nd}]"))), character)
}
