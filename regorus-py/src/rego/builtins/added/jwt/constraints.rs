//! `io.jwt.decode_verify`: a token that must meet every constraint that is given, and those it sets itself.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use regorus::Value;

use super::keys::{self, Key, Material};
use super::signatures::{Algorithm, Unverified};
use super::token::{Token, json_object, member, nested};
use super::verify::{Header, candidates};
use crate::rego::builtins::added::encodings::base64url;
use crate::rego::builtins::added::operands::{string, wrong_type};

#[derive(Default)]
struct Constraints {
    keys: Option<Vec<Key>>,
    secret: String,
    algorithm: String,
    issuer: String,
    audience: String,
    time_nanoseconds: Option<f64>,
}

impl Constraints {
    fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(members) = value else { return Err(wrong_type(2, "object", value)) };
        let mut constraints = Self::default();
        for (name, value) in members.iter_sorted() {
            let Value::String(name) = name else { return Err(String::from("a constraint's name must be a string")) };
            let text = || match value {
                Value::String(text) => Ok(text.to_string()),
                _ => Err(format!("{name} constraint: must be a string")),
            };
            match name.as_ref() {
                "cert" => constraints.keys = Some(keys::read(&text()?)?),
                "secret" => constraints.secret = text()?,
                "alg" => constraints.algorithm = text()?,
                "iss" => constraints.issuer = text()?,
                "aud" => constraints.audience = text()?,
                "time" => constraints.time_nanoseconds = Some(time(value)?),
                // One that is not understood is one that is not met.
                _ => return Err(format!("unknown token validation constraint: {name}")),
            }
        }
        match (&constraints.keys, constraints.secret.as_str()) {
            (Some(_), secret) if !secret.is_empty() => Err(String::from("duplicate key constraints")),
            (None, "") => Err(String::from("no key constraint")),
            _ => Ok(constraints),
        }
    }

    /// Whether the signature holds; an error where the algorithm is unknown, or of another kind than the secret.
    fn is_signed(&self, header: &Header, signed: &str, signature: &[u8]) -> Result<bool, String> {
        let algorithm = Algorithm::named(&header.algorithm)
            .ok_or_else(|| format!("unknown JWS algorithm: {}", header.algorithm))?;
        if let Some(keys) = &self.keys {
            return Ok(candidates(keys, &header.key_id, &header.algorithm)
                .into_iter()
                .any(|key| algorithm.verify(&key.material, signed.as_bytes(), signature).is_ok()));
        }
        let secret = Material::Secret(self.secret.as_bytes().to_vec());
        match algorithm.verify(&secret, signed.as_bytes(), signature) {
            Ok(()) => Ok(true),
            Err(Unverified::Signature) => Ok(false),
            Err(Unverified::WrongKey(why)) => Err(why.to_owned()),
        }
    }

    /// The registered claims (RFC 7519 section 4.1).
    fn are_met(&self, payload: &Value) -> Result<bool, String> {
        if !self.issuer.is_empty() {
            match member(payload, "iss") {
                Some(Value::String(issuer)) if issuer.as_ref() == self.issuer => {}
                Some(Value::String(_)) | None => return Ok(false),
                Some(_) => return Err(String::from("iss value must be a string")),
            }
        }
        let is_ours = |value: &Value| matches!(value, Value::String(audience) if audience.as_ref() == self.audience);
        let is_meant = match member(payload, "aud") {
            None => self.audience.is_empty(),
            Some(Value::Array(audiences)) => audiences.iter().any(is_ours),
            Some(one) => is_ours(one),
        };
        if !is_meant {
            return Ok(false);
        }
        let seconds = Value::from(self.time_nanoseconds.map_or_else(now_nanoseconds, Ok)? / 1e9);
        Ok(match member(payload, "exp") {
            None => true,
            Some(expiry @ Value::Number(_)) => seconds < *expiry,
            Some(_) => return Err(String::from("exp value must be a number")),
        } && match member(payload, "nbf") {
            None => true,
            Some(start @ Value::Number(_)) => seconds >= *start,
            Some(_) => return Err(String::from("nbf value must be a number")),
        })
    }
}

fn time(value: &Value) -> Result<f64, String> {
    let Value::Number(number) = value else { return Err(String::from("token time constraint: must be a number")) };
    let time = number.as_f64().or_else(|| number.as_i64().map(|integer| integer as f64));
    match time {
        Some(time) if time >= 0.0 && time.is_finite() => Ok(time),
        Some(_) => Err(String::from("token time constraint: must not be negative")),
        None => Err(String::from("token time constraint: no number of a double's range")),
    }
}

fn now_nanoseconds() -> Result<f64, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?;
    Ok(now.as_nanos() as f64)
}

pub fn decode_verify(values: &[Value]) -> Result<Value, String> {
    let nothing = || Value::from(vec![Value::Bool(false), Value::new_object(), Value::new_object()]);
    let constraints = Constraints::read(values.get(1).ok_or("operand 2 is missing")?)?;
    let mut text = Cow::Borrowed(string(values, 1)?);
    loop {
        let token = Token::split(&text)?;
        let header_object = token.decoded_header()?;
        let header = Header::of(&header_object)?;
        if !header.is_valid || !(constraints.algorithm.is_empty() || constraints.algorithm == header.algorithm) {
            return Ok(nothing());
        }
        let signature = base64url(token.signature)?;
        if !constraints.is_signed(&header, &token.signed(), &signature)? {
            return Ok(nothing());
        }
        let payload = token.decoded_payload()?;
        if header.content_type.eq_ignore_ascii_case("JWT") {
            text = Cow::Owned(nested(payload)?);
            continue;
        }
        let payload = json_object(&payload)?;
        if !constraints.are_met(&payload)? {
            return Ok(nothing());
        }
        return Ok(Value::from(vec![Value::Bool(true), header_object, payload]));
    }
}
