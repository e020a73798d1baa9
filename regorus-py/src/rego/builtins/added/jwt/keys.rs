//! Keys to verify with: a certificate, a public key in PEM, or JSON Web Keys (RFC 7517).

use ed25519_dalek::VerifyingKey;
use p256::pkcs8::DecodePublicKey;
use regorus::Value;
use rsa::pkcs1::DecodeRsaPublicKey;
use rsa::traits::PublicKeyParts;
use rsa::{BigUint, RsaPublicKey};
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode};
use x509_cert::spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};

use super::token::member;
use crate::json::engine_reader;
use crate::rego::builtins::added::encodings::{base64url_raw, pem};

/// Each of them may have to be tried.
const KEYS_MAX: usize = 32;
/// Sixteen times the work of the 2,048 bits that keys have.
pub const MODULUS_BITS_MAX: usize = 8_192;

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

pub enum Material {
    Rsa(RsaPublicKey),
    P256(p256::ecdsa::VerifyingKey),
    P384(p384::ecdsa::VerifyingKey),
    P521(p521::ecdsa::VerifyingKey),
    Ed25519(VerifyingKey),
    Secret(Vec<u8>),
    /// A private key, or a public one with which nothing verifies.
    Unusable,
}

pub struct Key {
    /// Empty where the key does not say.
    pub algorithm: String,
    pub id: String,
    pub material: Material,
}

/// The keys in `text`. PEM is never JSON, nor JSON PEM.
pub fn read(text: &str) -> Result<Vec<Key>, String> {
    let Some((block, rest)) = pem(text) else { return json_keys(text) };
    if !rest.is_empty() {
        return Err(String::from("extra data after a PEM certificate block"));
    }
    let material = match block.label.as_str() {
        "CERTIFICATE" => of_certificate(&block.contents)?,
        "PUBLIC KEY" => of_info(&block.contents).map_err(|why| format!("failed to parse a PEM public key: {why}"))?,
        _ => return Err(String::from("failed to extract a Key from the PEM certificate")),
    };
    Ok(vec![Key { algorithm: String::new(), id: String::new(), material }])
}

fn of_certificate(der: &[u8]) -> Result<Material, String> {
    let failed = |why: String| format!("failed to parse a PEM certificate: {why}");
    let certificate = Certificate::from_der(der).map_err(|error| failed(error.to_string()))?;
    let info = certificate.tbs_certificate.subject_public_key_info.to_der();
    of_info(&info.map_err(|error| failed(error.to_string()))?).map_err(failed)
}

/// A SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7).
pub fn of_info(der: &[u8]) -> Result<Material, String> {
    let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|error| error.to_string())?;
    match info.algorithm.oid {
        RSA => {
            let bytes = info.subject_public_key.as_bytes().ok_or("a key of broken bits")?;
            within_limits(RsaPublicKey::from_pkcs1_der(bytes).map_err(|error| error.to_string())?)
        }
        EC => p256::ecdsa::VerifyingKey::from_public_key_der(der)
            .map(Material::P256)
            .or_else(|_| p384::ecdsa::VerifyingKey::from_public_key_der(der).map(Material::P384))
            .or_else(|_| p521::PublicKey::from_public_key_der(der).map(of_p521))
            .map_err(|_| String::from("unsupported elliptic curve")),
        ED25519 => {
            let bytes = info.subject_public_key.as_bytes().and_then(|bytes| bytes.try_into().ok());
            let key = bytes.and_then(|bytes| VerifyingKey::from_bytes(bytes).ok()).ok_or("no key of Ed25519")?;
            Ok(Material::Ed25519(key))
        }
        _ => Ok(Material::Unusable),
    }
}

fn of_p521(key: p521::PublicKey) -> Material {
    p521::ecdsa::VerifyingKey::from_affine(*key.as_affine()).map_or(Material::Unusable, Material::P521)
}

fn within_limits(key: RsaPublicKey) -> Result<Material, String> {
    if key.n().bits() > MODULUS_BITS_MAX {
        return Err(format!("an RSA key of more than {MODULUS_BITS_MAX} bits"));
    }
    Ok(Material::Rsa(key))
}

fn json_keys(text: &str) -> Result<Vec<Key>, String> {
    let failed = |why: String| format!("failed to parse a JWK key (set): {why}");
    let document = engine_reader::read_last_of_duplicates(text.as_bytes())
        .map_err(|refusal| failed(format!("failed to unmarshal JWK Set: {}", refusal.describe(text.as_bytes()))))?;
    let raw: Vec<&Value> = match member(&document, "keys") {
        Some(Value::Array(items)) if !items.is_empty() => items.iter().collect(),
        _ => vec![&document],
    };
    if raw.len() > KEYS_MAX {
        return Err(failed(format!("more than {KEYS_MAX} keys")));
    }
    let is_set = !std::ptr::eq(raw[0], &raw const document);
    let mut keys = Vec::with_capacity(raw.len());
    for key in raw {
        let algorithm = text_of(key, "alg").map_err(failed)?.unwrap_or_default();
        let is_known = algorithm.is_empty() || algorithm == "none" || is_signature(algorithm);
        if !is_known && is_set {
            continue; // a key for something else, such as encryption
        }
        let material = of_json(key).map_err(|why| failed(format!("failed to generate key: {why}")))?;
        let id = text_of(key, "kid").map_err(failed)?.unwrap_or_default().to_owned();
        let algorithm = if is_known { algorithm } else { "unsupported" }.to_owned();
        keys.push(Key { algorithm, id, material });
    }
    Ok(keys)
}

fn is_signature(algorithm: &str) -> bool {
    super::signatures::Algorithm::named(algorithm).is_some()
}

pub fn text_of<'v>(key: &'v Value, name: &str) -> Result<Option<&'v str>, String> {
    match member(key, name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("failed to unmarshal JWK: {name} must be a string")),
    }
}

/// The number in a member of a key.
pub fn bytes_of(key: &Value, name: &str) -> Result<Option<Vec<u8>>, String> {
    text_of(key, name)?.map(base64url_raw).transpose()
}

fn of_json(key: &Value) -> Result<Material, String> {
    match text_of(key, "kty")?.unwrap_or_default() {
        "oct" => Ok(Material::Secret(bytes_of(key, "k")?.unwrap_or_default())),
        "RSA" => {
            let (Some(modulus), Some(exponent)) = (bytes_of(key, "n")?, bytes_of(key, "e")?) else {
                return Err(String::from("missing mandatory key parameters N or E"));
            };
            if member(key, "d").is_some() {
                return Ok(Material::Unusable);
            }
            if modulus.len() * 8 > MODULUS_BITS_MAX {
                return Err(format!("an RSA key of more than {MODULUS_BITS_MAX} bits"));
            }
            let (modulus, exponent) = (BigUint::from_bytes_be(&modulus), BigUint::from_bytes_be(&exponent));
            Ok(RsaPublicKey::new_with_max_size(modulus, exponent, MODULUS_BITS_MAX)
                .map_or(Material::Unusable, Material::Rsa))
        }
        "EC" => of_point(key),
        "OKP" if text_of(key, "crv")? == Some("Ed25519") => {
            let bytes = bytes_of(key, "x")?.ok_or("missing mandatory key parameter X")?;
            let key = bytes.try_into().ok().and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
            Ok(key.map_or(Material::Unusable, Material::Ed25519))
        }
        _ => Err(String::from("unrecognized key type")),
    }
}

fn of_point(key: &Value) -> Result<Material, String> {
    let (Some(x), Some(y), Some(curve)) = (bytes_of(key, "x")?, bytes_of(key, "y")?, text_of(key, "crv")?) else {
        return Err(String::from("missing mandatory key parameters X, Y or Crv"));
    };
    let size = match curve {
        "P-256" => 32,
        "P-384" => 48,
        "P-521" => 66,
        other => return Err(format!("invalid curve name {other}")),
    };
    if member(key, "d").is_some() {
        return Ok(Material::Unusable);
    }
    let Some(point) = point(&x, &y, size) else { return Ok(Material::Unusable) };
    let material = match size {
        32 => p256::ecdsa::VerifyingKey::from_sec1_bytes(&point).ok().map(Material::P256),
        48 => p384::ecdsa::VerifyingKey::from_sec1_bytes(&point).ok().map(Material::P384),
        _ => p521::ecdsa::VerifyingKey::from_sec1_bytes(&point).ok().map(Material::P521),
    };
    // One that is not on the curve verifies nothing.
    Ok(material.unwrap_or(Material::Unusable))
}

/// An uncompressed point (SEC 1 section 2.3.3).
fn point(x: &[u8], y: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![4];
    for coordinate in [x, y] {
        bytes.resize(bytes.len() + size.checked_sub(coordinate.len())?, 0);
        bytes.extend_from_slice(coordinate);
    }
    Some(bytes)
}
