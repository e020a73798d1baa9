//! `crypto.*`: digests and message authentication codes of strings, in hexadecimal.

use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use md5::Md5;
use regorus::Value;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use subtle::ConstantTimeEq;

use super::Added;
use super::operands::string;

pub const TABLE: &[Added] = &[
    Added::new("crypto.md5", 1, digest::<Md5>),
    Added::new("crypto.sha1", 1, digest::<Sha1>),
    Added::new("crypto.sha256", 1, digest::<Sha256>),
    Added::new("crypto.hmac.md5", 2, |values| code::<Hmac<Md5>>(values)),
    Added::new("crypto.hmac.sha1", 2, |values| code::<Hmac<Sha1>>(values)),
    Added::new("crypto.hmac.sha256", 2, |values| code::<Hmac<Sha256>>(values)),
    Added::new("crypto.hmac.sha512", 2, |values| code::<Hmac<Sha512>>(values)),
    Added::new("crypto.hmac.equal", 2, equal),
];

pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

fn digest<D: Digest>(values: &[Value]) -> Result<Value, String> {
    Ok(Value::from(hexadecimal(&D::digest(string(values, 1)?))))
}

fn code<M: Mac + KeyInit>(values: &[Value]) -> Result<Value, String> {
    let message = string(values, 1)?;
    let mut mac = <M as KeyInit>::new_from_slice(string(values, 2)?.as_bytes()).map_err(|error| error.to_string())?;
    mac.update(message.as_bytes());
    Ok(Value::from(hexadecimal(&mac.finalize().into_bytes())))
}

fn equal(values: &[Value]) -> Result<Value, String> {
    let (one, other) = (string(values, 1)?, string(values, 2)?);
    Ok(Value::Bool(bool::from(one.as_bytes().ct_eq(other.as_bytes()))))
}
