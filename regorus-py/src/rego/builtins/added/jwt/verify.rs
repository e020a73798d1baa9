//! `io.jwt.verify_*`: whether a signature holds, and nothing else.

use regorus::Value;

use super::keys::{self, Key, Material};
use super::signatures::{Algorithm, Unverified};
use super::token::{Token, member};
use crate::rego::builtins::added::encodings::base64url;
use crate::rego::builtins::added::operands::string;

/// The members of a header that this library understands (RFC 7515 section 4.1.11).
const KNOWN: [&str; 5] = ["alg", "kid", "typ", "cty", "crit"];

pub struct Header {
    pub algorithm: String,
    pub key_id: String,
    pub content_type: String,
    /// Understood as a whole, with an algorithm.
    pub is_valid: bool,
}

impl Header {
    pub fn of(header: &Value) -> Result<Self, String> {
        let text = |name: &str| match member(header, name) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.to_string()),
            Some(_) => Err(format!("{name}: must be a string")),
        };
        text("typ")?;
        let critical = critical(header)?;
        let is_unknown = |name: &&str| !KNOWN.contains(name) && member(header, name).is_some();
        let algorithm = text("alg")?;
        Ok(Self {
            is_valid: !algorithm.is_empty() && !critical.iter().any(|name| is_unknown(name)),
            algorithm,
            key_id: text("kid")?,
            content_type: text("cty")?,
        })
    }
}

fn critical(header: &Value) -> Result<Vec<&str>, String> {
    let names = match member(header, "crit") {
        None => return Ok(Vec::new()),
        Some(Value::Array(names)) => names.iter(),
        Some(_) => return Err(String::from("crit: must be a list")),
    };
    let names: Vec<&str> = names
        .map(|name| match name {
            Value::String(name) => Ok(name.as_ref()),
            _ => Err(String::from("crit: must be a list of strings")),
        })
        .collect::<Result<_, _>>()?;
    if names.is_empty() { Err(String::from("crit: must be a nonempty list")) } else { Ok(names) }
}

/// The key that the header names, where one of `keys` has that name, and else all that say no other algorithm.
pub fn candidates<'k>(keys: &'k [Key], key_id: &str, algorithm: &str) -> Vec<&'k Key> {
    let named = keys.iter().find(|key| !key_id.is_empty() && key.id == key_id);
    match named {
        Some(key) => vec![key],
        None => keys.iter().filter(|key| key.algorithm.is_empty() || key.algorithm == algorithm).collect(),
    }
}

/// With the algorithm of the function's name.
pub fn with_keys(values: &[Value], algorithm: &str) -> Result<Value, String> {
    let token = Token::split(string(values, 1)?)?;
    let keys = keys::read(string(values, 2)?)?;
    let signature = base64url(token.signature)?;
    let header = Header::of(&token.decoded_header()?)?;
    let algorithm = Algorithm::named(algorithm).ok_or("an unknown algorithm")?;
    let signed = token.signed();
    let holds = candidates(&keys, &header.key_id, &header.algorithm)
        .into_iter()
        .any(|key| algorithm.verify(&key.material, signed.as_bytes(), &signature).is_ok());
    Ok(Value::Bool(holds))
}

pub fn with_secret(values: &[Value], algorithm: &str) -> Result<Value, String> {
    let (text, secret) = (string(values, 1)?, string(values, 2)?);
    let token = Token::split(text)?;
    let signature = base64url(token.signature)?;
    let algorithm = Algorithm::named(algorithm).ok_or("an unknown algorithm")?;
    let secret = Material::Secret(secret.as_bytes().to_vec());
    match algorithm.verify(&secret, token.signed().as_bytes(), &signature) {
        Ok(()) => Ok(Value::Bool(true)),
        Err(Unverified::Signature | Unverified::WrongKey(_)) => Ok(Value::Bool(false)),
    }
}
