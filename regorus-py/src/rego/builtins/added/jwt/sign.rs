//! `io.jwt.encode_sign` and `encode_sign_raw`, with a JSON Web Key that holds a private key or a secret.
//!
//! RS, HS, and ES with P-256 and P-384 (whose nonce RFC 6979 takes from key and text) sign the same text the same
//! way each time.

use p256::ecdsa::signature::hazmat::{PrehashSigner, RandomizedPrehashSigner};
use regorus::Value;
use rsa::rand_core::OsRng;
use rsa::{BigUint, RsaPrivateKey};

use super::keys::{bytes_of, text_of};
use super::signatures::{Algorithm, pkcs1, pss};
use super::token::member;
use crate::json::{engine_reader, engine_writer};
use crate::rego::builtins::added::encodings::in_base64url;
use crate::rego::builtins::added::operands::string;

/// A signature with more takes longer than a decision may.
const PRIVATE_MODULUS_BITS_MAX: usize = 4_096;

pub fn encode_sign(values: &[Value]) -> Result<Value, String> {
    let [header, payload, key] = values else { return Err(String::from("three operands are needed")) };
    signed(&as_go_writes(header)?, &as_go_writes(payload)?, &as_go_writes(key)?)
}

pub fn encode_sign_raw(values: &[Value]) -> Result<Value, String> {
    signed(string(values, 1)?, string(values, 2)?, string(values, 3)?)
}

/// JSON as Go's encoder writes it: what HTML could misread is escaped.
pub fn as_go_writes(value: &Value) -> Result<String, String> {
    let mut json = Vec::new();
    engine_writer::write(&mut json, value)?;
    let json = String::from_utf8(json).map_err(|_| String::from("the value is no text"))?;
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => escaped.push(character),
        }
    }
    Ok(escaped)
}

fn parsed(text: &str) -> Result<Value, String> {
    engine_reader::read_last_of_duplicates(text.as_bytes()).map_err(|refusal| refusal.describe(text.as_bytes()))
}

fn signed(header: &str, payload: &str, key: &str) -> Result<Value, String> {
    let key = parsed(key)?;
    let key = match member(&key, "keys") {
        Some(Value::Array(keys)) if !keys.is_empty() => keys.get(0).cloned().unwrap_or(Value::Undefined),
        _ => key,
    };
    let fields = parsed(header)?;
    let name = text_of(&fields, "alg")?.unwrap_or_default();
    let kind = text_of(&fields, "typ")?.unwrap_or_default();
    if matches!(kind, "" | "JWT") && parsed(payload).is_err() {
        return Err(String::from("type is JWT but payload is not JSON"));
    }
    let algorithm = match name {
        "" | "none" => return Err(format!("failed to create signer: unsupported signature algorithm {name}")),
        _ => Algorithm::named(name).ok_or("unknown signature algorithm")?,
    };
    let text = format!("{}.{}", in_base64url(header.as_bytes()), in_base64url(payload.as_bytes()));
    let signature =
        signature(algorithm, &key, text.as_bytes()).map_err(|why| format!("failed to sign payload: {why}"))?;
    Ok(Value::from(format!("{text}.{}", in_base64url(&signature))))
}

fn signature(algorithm: Algorithm, key: &Value, text: &[u8]) -> Result<Vec<u8>, String> {
    match (algorithm, text_of(key, "kty")?.unwrap_or_default()) {
        (Algorithm::Hs(hash), "oct") => {
            let secret = bytes_of(key, "k")?.unwrap_or_default();
            if secret.is_empty() {
                return Err(String::from("missing key while signing payload"));
            }
            Ok(hash.code(&secret, text))
        }
        (Algorithm::Rs(hash), "RSA") => {
            rsa_key(key)?.sign_with_rng(&mut OsRng, pkcs1(hash), &hash.digest(text)).map_err(|error| error.to_string())
        }
        (Algorithm::Ps(hash), "RSA") => {
            rsa_key(key)?.sign_with_rng(&mut OsRng, pss(hash), &hash.digest(text)).map_err(|error| error.to_string())
        }
        (Algorithm::Es(hash), "EC") => of_curve(key, &hash.digest(text)),
        (Algorithm::EdDsa, _) => Err(String::from("EdDSA is not available")),
        _ => Err(String::from("the key is of another kind than the algorithm")),
    }
}

fn rsa_key(key: &Value) -> Result<RsaPrivateKey, String> {
    let number = |name: &str| -> Result<BigUint, String> {
        let bytes = bytes_of(key, name)?.ok_or("missing mandatory key parameters D, P or Q")?;
        if bytes.len() * 8 > PRIVATE_MODULUS_BITS_MAX {
            return Err(format!("an RSA key of more than {PRIVATE_MODULUS_BITS_MAX} bits"));
        }
        Ok(BigUint::from_bytes_be(&bytes))
    };
    RsaPrivateKey::from_components(number("n")?, number("e")?, number("d")?, vec![number("p")?, number("q")?])
        .map_err(|error| error.to_string())
}

fn of_curve(key: &Value, digest: &[u8]) -> Result<Vec<u8>, String> {
    let scalar = bytes_of(key, "d")?.ok_or("missing mandatory key parameter D")?;
    let broken = || String::from("failed to generate private key. Incorrect D value");
    match text_of(key, "crv")?.unwrap_or_default() {
        "P-256" => {
            let key = p256::ecdsa::SigningKey::from_slice(&scalar).map_err(|_| broken())?;
            let signature: p256::ecdsa::Signature = key.sign_prehash(digest).map_err(|error| error.to_string())?;
            Ok(signature.to_bytes().to_vec())
        }
        "P-384" => {
            let key = p384::ecdsa::SigningKey::from_slice(&scalar).map_err(|_| broken())?;
            let signature: p384::ecdsa::Signature = key.sign_prehash(digest).map_err(|error| error.to_string())?;
            Ok(signature.to_bytes().to_vec())
        }
        "P-521" => {
            let key = p521::ecdsa::SigningKey::from_slice(&scalar).map_err(|_| broken())?;
            let signature: p521::ecdsa::Signature =
                key.sign_prehash_with_rng(&mut OsRng, digest).map_err(|error| error.to_string())?;
            Ok(signature.to_bytes().to_vec())
        }
        other => Err(format!("invalid curve name {other}")),
    }
}
