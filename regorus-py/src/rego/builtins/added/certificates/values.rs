//! Members of a certificate, as Go's JSON writes them.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use regorus::Value;
use rsa::BigUint;
use rsa::traits::PublicKeyParts;
use x509_cert::der::Encode;
use x509_cert::spki::{ObjectIdentifier, SubjectPublicKeyInfoOwned};

use super::malformed;
use crate::rego::builtins::added::encodings::in_base64;
use crate::rego::builtins::added::jwt::{Material, of_info};

#[derive(Default)]
pub struct Fields(BTreeMap<Value, Value>);

impl Fields {
    pub fn put(&mut self, name: &str, value: Value) {
        self.0.insert(Value::from(name), value);
    }

    pub fn text(&mut self, name: &str, value: &str) {
        self.put(name, Value::from(value));
    }

    pub fn number(&mut self, name: &str, value: i64) {
        self.put(name, Value::from(value));
    }

    pub fn flag(&mut self, name: &str, value: bool) {
        self.put(name, Value::Bool(value));
    }

    pub fn nothing(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.put(name, Value::Null));
    }

    /// Null where there are none, as Go writes a slice that was never made.
    pub fn list(&mut self, name: &str, items: Vec<Value>) {
        self.put(name, if items.is_empty() { Value::Null } else { Value::from(items) });
    }

    pub fn texts(&mut self, name: &str, items: &[String]) {
        self.list(name, items.iter().map(|item| Value::from(item.as_str())).collect());
    }

    pub fn into_value(self) -> Value {
        Value::from(self.0)
    }
}

/// A number from its bytes, the first the highest.
pub fn decimal(bytes: &[u8]) -> Result<Value, String> {
    Value::from_numeric_string(&BigUint::from_bytes_be(bytes).to_string()).map_err(|error| error.to_string())
}

/// `[2, 5, 29, 15]`
pub fn arcs(identifier: ObjectIdentifier) -> Value {
    Value::from(identifier.arcs().map(|arc| Value::from(u64::from(arc))).collect::<Vec<_>>())
}

pub fn address(octets: &[u8]) -> Result<String, String> {
    match *octets {
        [a, b, c, d] => Ok(Ipv4Addr::new(a, b, c, d).to_string()),
        _ => match <[u8; 16]>::try_from(octets) {
            Ok(octets) => Ok(Ipv6Addr::from(octets).to_string()),
            Err(_) => Err(malformed("an IP address of a wrong length")),
        },
    }
}

pub fn public_key(info: &SubjectPublicKeyInfoOwned) -> Result<Value, String> {
    let der = info.to_der().map_err(malformed)?;
    let mut fields = Fields::default();
    match of_info(&der).map_err(malformed)? {
        Material::Rsa(key) => {
            fields.put("N", decimal(&key.n().to_bytes_be())?);
            fields.put("E", decimal(&key.e().to_bytes_be())?);
        }
        Material::P256(key) => point(&mut fields, key.to_encoded_point(false).as_bytes())?,
        Material::P384(key) => point(&mut fields, key.to_encoded_point(false).as_bytes())?,
        Material::P521(key) => point(&mut fields, key.to_encoded_point(false).as_bytes())?,
        Material::Ed25519(key) => return Ok(Value::from(in_base64(key.as_bytes()))),
        Material::Secret(_) | Material::Unusable => return Ok(Value::Null),
    }
    Ok(fields.into_value())
}

/// An uncompressed point (SEC 1 section 2.3.3).
fn point(fields: &mut Fields, bytes: &[u8]) -> Result<(), String> {
    let coordinates = bytes.get(1..).unwrap_or_default();
    let (x, y) = coordinates.split_at(coordinates.len() / 2);
    fields.put("Curve", Value::new_object());
    fields.put("X", decimal(x)?);
    fields.put("Y", decimal(y)?);
    Ok(())
}
