//! `uri.parse` and `uri.is_valid`, as Go's `net/url` splits and refuses.

use std::collections::BTreeMap;

use regorus::Value;

use super::Added;
use super::operands::string;

const TEXT_WEIGHT_MAX: usize = 64 << 10;

pub const TABLE: &[Added] = &[
    Added::new("uri.is_valid", 1, is_valid).weighing(TEXT_WEIGHT_MAX),
    Added::new("uri.parse", 1, parse).weighing(TEXT_WEIGHT_MAX),
];

/// What a URI (RFC 3986) is made of; empty where it has no such part.
#[derive(Default)]
pub struct Uri {
    pub scheme: String,
    /// With the port, without user and password.
    pub host: String,
    /// Unescaped.
    pub path: Vec<u8>,
    /// As it was written.
    pub raw_path: String,
    pub query: String,
    pub fragment: Vec<u8>,
}

impl Uri {
    pub fn parse(text: &str) -> Result<Self, String> {
        let failed = |why: &str| format!("parse {text:?}: net/url: {why}");
        let mut uri = Self::default();
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err(failed("invalid control character in URL"));
        }
        uri.fragment = unescaped(fragment).ok_or_else(|| failed("invalid URL escape"))?;
        let (scheme, rest) = scheme(text).ok_or_else(|| failed("missing protocol scheme"))?;
        uri.scheme = scheme.to_ascii_lowercase();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        query.clone_into(&mut uri.query);
        if !rest.starts_with('/') {
            if !uri.scheme.is_empty() {
                return Ok(uri); // opaque, such as mailto:a@b
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err(failed("first path segment in URL cannot contain colon"));
            }
        }
        let mut path = rest;
        if let Some(after) = rest.strip_prefix("//")
            && (!uri.scheme.is_empty() || !rest.starts_with("///"))
        {
            let (authority, rest) = after.find('/').map_or((after, ""), |at| after.split_at(at));
            uri.host = host(&uri.scheme, authority).map_err(|why| failed(&why))?;
            path = rest;
        }
        uri.path = unescaped(path).ok_or_else(|| failed("invalid URL escape"))?;
        path.clone_into(&mut uri.raw_path);
        Ok(uri)
    }

    pub fn hostname(&self) -> &str {
        let host = without_port(&self.host);
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    pub fn port(&self) -> &str {
        self.host[without_port(&self.host).len()..].strip_prefix(':').unwrap_or_default()
    }

    /// The path as it was written where that is one way to write it, else escaped anew.
    pub fn escaped_path(&self) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@!'()*[]%".contains(&byte);
        if self.raw_path.bytes().all(is_plain) {
            return self.raw_path.clone();
        }
        escaped(&self.path)
    }
}

/// A path, as Go escapes it.
fn escaped(path: &[u8]) -> String {
    let mut text = String::new();
    for byte in path {
        match byte {
            _ if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(byte) => text.push(char::from(*byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

fn without_port(host: &str) -> &str {
    let after_bracket = host.rfind(']').map_or(0, |at| at + 1);
    host[after_bracket..].rfind(':').map_or(host, |at| &host[..after_bracket + at])
}

/// Scheme and rest; None for a colon at the start.
fn scheme(text: &str) -> Option<(&str, &str)> {
    for (at, character) in text.char_indices() {
        match character {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return None,
            ':' => return Some((&text[..at], &text[at + 1..])),
            _ => return Some(("", text)),
        }
    }
    Some(("", text))
}

fn host(scheme: &str, authority: &str) -> Result<String, String> {
    let host = match authority.rsplit_once('@') {
        None => authority,
        Some((user, host)) => {
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
            if !user.bytes().all(is_allowed) || unescaped(user).is_none() {
                return Err(String::from("invalid userinfo"));
            }
            host
        }
    };
    let port = if let Some(after) = host.strip_prefix('[') {
        let (inside, port) = after.rsplit_once(']').ok_or("missing ']' in host")?;
        let address = inside.split_once("%25").map_or(inside, |(address, _)| address);
        if address.parse::<std::net::Ipv6Addr>().is_err() {
            return Err(String::from("invalid host"));
        }
        port
    } else {
        if host.contains('[') {
            return Err(String::from("invalid character in host name"));
        }
        // Go 1.26 takes several colons in other schemes, where databases have lists of hosts.
        let colon = if matches!(scheme, "http" | "https") { host.find(':') } else { host.rfind(':') };
        colon.map_or("", |at| &host[at..])
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) || (!port.is_empty() && !port.starts_with(':')) {
        return Err(format!("invalid port {port:?} after host"));
    }
    let is_allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80 || b"-._~!$&'()*+,;=:[]<>\"%".contains(&byte);
    if !host.bytes().all(is_allowed) {
        return Err(String::from("invalid character in host name"));
    }
    // A host name is not escaped, except for bytes beyond ASCII and the zone of an address.
    let bytes = unescaped(host).ok_or("invalid URL escape")?;
    let is_escaped_ascii = !host.starts_with('[')
        && host.match_indices('%').any(|(at, _)| host.as_bytes().get(at + 1).is_some_and(|digit| *digit < b'8'));
    if is_escaped_ascii {
        return Err(String::from("invalid URL escape"));
    }
    String::from_utf8(bytes).map_err(|_| String::from("a host that is no text"))
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        bytes.push(u8::try_from(digit(0)? * 16 + digit(1)?).ok()?);
        rest = &after[2..];
    }
    Some(bytes)
}

fn is_valid(values: &[Value]) -> Result<Value, String> {
    Ok(Value::Bool(string(values, 1).is_ok_and(|text| !text.is_empty() && Uri::parse(text).is_ok())))
}

fn parse(values: &[Value]) -> Result<Value, String> {
    let uri = Uri::parse(string(values, 1)?)?;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| String::from("a part that is no text"));
    let path = text(&uri.path)?;
    // Go keeps the path as it was written only where it would write it otherwise.
    let raw_path = if uri.raw_path == escaped(&uri.path) { path.clone() } else { uri.raw_path.clone() };
    let members = [
        ("scheme", uri.scheme.clone()),
        ("hostname", uri.hostname().to_owned()),
        ("port", uri.port().to_owned()),
        ("path", path),
        ("raw_path", raw_path),
        ("raw_query", uri.query.clone()),
        ("fragment", text(&uri.fragment)?),
    ];
    let present = members.into_iter().filter(|(_, value)| !value.is_empty());
    Ok(Value::from(present.map(|(name, value)| (Value::from(name), Value::from(value))).collect::<BTreeMap<_, _>>()))
}
