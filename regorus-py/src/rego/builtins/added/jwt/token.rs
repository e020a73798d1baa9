//! A token's three parts, and `io.jwt.decode`.

use std::borrow::Cow;

use regorus::Value;
use regorus::value::Object;

use crate::json::engine_reader;
use crate::rego::builtins::added::encodings::base64url;
use crate::rego::builtins::added::hashes::hexadecimal;
use crate::rego::builtins::added::operands::string;

pub struct Token<'a> {
    pub header: &'a str,
    pub payload: &'a str,
    pub signature: &'a str,
}

impl<'a> Token<'a> {
    pub fn split(text: &'a str) -> Result<Self, String> {
        let parts: Vec<_> = text.split('.').take(5).collect();
        match parts[..] {
            [_] => Err(String::from("encoded JWT had no period separators")),
            [header, payload, signature] => Ok(Self { header, payload, signature }),
            _ => Err(format!("encoded JWT must have 3 sections, found {}", text.split('.').count())),
        }
    }

    /// What is signed.
    pub fn signed(&self) -> String {
        format!("{}.{}", self.header, self.payload)
    }

    pub fn decoded_header(&self) -> Result<Value, String> {
        let text = base64url(self.header).map_err(|why| format!("JWT header had invalid encoding: {why}"))?;
        let header = json_object(&text).map_err(|why| format!("bad JWT header: {why}"))?;
        if member(&header, "enc").is_some() {
            return Err(String::from("JWT is a JWE object, which is not supported"));
        }
        Ok(header)
    }

    pub fn decoded_payload(&self) -> Result<Vec<u8>, String> {
        base64url(self.payload).map_err(|why| format!("JWT payload had invalid encoding: {why}"))
    }
}

/// Of two members with one name the last counts, as RFC 7519 section 4 allows and OPA does.
pub fn json_object(text: &[u8]) -> Result<Value, String> {
    let value = engine_reader::read_last_of_duplicates(text)
        .map_err(|refusal| format!("invalid JSON: {}", refusal.describe(text)))?;
    match value {
        Value::Object(_) => Ok(value),
        _ => Err(String::from("decoded JSON type was not an Object")),
    }
}

pub fn member<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    let Value::Object(members) = object else { return None };
    Object::get(members, &Value::from(name))
}

/// A payload that is a token again.
pub fn nested(payload: Vec<u8>) -> Result<String, String> {
    String::from_utf8(payload).map_err(|_| String::from("a nested JWT is no text"))
}

pub fn decode(values: &[Value]) -> Result<Value, String> {
    let mut text = Cow::Borrowed(string(values, 1)?);
    // A token in a token is shorter by a quarter, so this ends soon.
    loop {
        let token = Token::split(&text)?;
        let header = token.decoded_header()?;
        let payload = token.decoded_payload()?;
        match member(&header, "cty") {
            Some(Value::String(kind)) if kind.as_ref() == "JWT" => {
                text = Cow::Owned(nested(payload)?.trim_matches(['"', '\'']).to_owned());
                continue;
            }
            Some(Value::String(_)) | None => {}
            Some(_) => return Err(String::from("cty: must be a string")),
        }
        let payload = json_object(&payload)?;
        let signature =
            base64url(token.signature).map_err(|why| format!("JWT signature had invalid encoding: {why}"))?;
        return Ok(Value::from(vec![header, payload, Value::from(hexadecimal(&signature))]));
    }
}
