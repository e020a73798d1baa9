//! `io.jwt.*`: JSON Web Tokens (RFC 7519) in compact form, as OPA reads, verifies and signs them.
//!
//! Which algorithm counts is OPA's choice too: a function that names one uses that one, whatever the token's
//! header says; `decode_verify` uses the header's, with keys of that algorithm's kind alone. A public key is
//! never a secret: `HS256` with a certificate does not verify.

mod constraints;
mod keys;
mod sign;
mod signatures;
mod token;
mod verify;

pub use keys::{Material, of_info};
pub use sign::as_go_writes;

use super::Added;

/// More than any header of a request may hold.
const TOKEN_WEIGHT_MAX: usize = 256 << 10;

const fn added(name: &'static str, arity: u8, work: fn(&[regorus::Value]) -> Result<regorus::Value, String>) -> Added {
    Added::new(name, arity, work).weighing(TOKEN_WEIGHT_MAX)
}

pub const TABLE: &[Added] = &[
    added("io.jwt.decode", 1, token::decode),
    added("io.jwt.decode_verify", 2, constraints::decode_verify),
    added("io.jwt.verify_rs256", 2, |values| verify::with_keys(values, "RS256")),
    added("io.jwt.verify_rs384", 2, |values| verify::with_keys(values, "RS384")),
    added("io.jwt.verify_rs512", 2, |values| verify::with_keys(values, "RS512")),
    added("io.jwt.verify_ps256", 2, |values| verify::with_keys(values, "PS256")),
    added("io.jwt.verify_ps384", 2, |values| verify::with_keys(values, "PS384")),
    added("io.jwt.verify_ps512", 2, |values| verify::with_keys(values, "PS512")),
    added("io.jwt.verify_es256", 2, |values| verify::with_keys(values, "ES256")),
    added("io.jwt.verify_es384", 2, |values| verify::with_keys(values, "ES384")),
    added("io.jwt.verify_es512", 2, |values| verify::with_keys(values, "ES512")),
    added("io.jwt.verify_eddsa", 2, |values| verify::with_keys(values, "EdDSA")),
    added("io.jwt.verify_hs256", 2, |values| verify::with_secret(values, "HS256")),
    added("io.jwt.verify_hs384", 2, |values| verify::with_secret(values, "HS384")),
    added("io.jwt.verify_hs512", 2, |values| verify::with_secret(values, "HS512")),
    added("io.jwt.encode_sign", 3, sign::encode_sign),
    added("io.jwt.encode_sign_raw", 3, sign::encode_sign_raw),
];
