//! `crypto.x509.parse_certificates` and `parse_certificate_request`: what RFC 5280 and RFC 2986 write, with the
//! members that Go's `crypto/x509` gives it. Every member is there: one that is missing would be undefined, and a
//! deny that reads it would miss.

mod extensions;
mod names;
mod request;
mod values;

use regorus::Value;
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode};

use super::Added;
use super::encodings::{base64, in_base64, pem};
use super::operands::string;
use values::{Fields, decimal};

const TEXT_WEIGHT_MAX: usize = 256 << 10;
const CERTIFICATES_MAX: usize = 32;

pub const TABLE: &[Added] = &[
    Added::new("crypto.x509.parse_certificates", 1, parse_certificates).weighing(TEXT_WEIGHT_MAX),
    Added::new("crypto.x509.parse_certificate_request", 1, request::parse).weighing(TEXT_WEIGHT_MAX),
];

fn parse_certificates(values: &[Value]) -> Result<Value, String> {
    let der = der_of(string(values, 1)?)?;
    let mut rest = der.as_slice();
    let mut certificates = Vec::new();
    while !rest.is_empty() {
        if certificates.len() == CERTIFICATES_MAX {
            return Err(format!("more than {CERTIFICATES_MAX} certificates"));
        }
        let (one, after) = split(rest).ok_or("x509: malformed certificate")?;
        certificates.push(describe(one)?);
        rest = after;
    }
    Ok(Value::from(certificates))
}

/// PEM, or either of PEM and DER in base64.
fn der_of(text: &str) -> Result<Vec<u8>, String> {
    if text.starts_with("-----BEGIN") {
        return der_of_pem(text);
    }
    let bytes = base64(text)?;
    match std::str::from_utf8(&bytes) {
        Ok(text) if text.starts_with("-----BEGIN") => der_of_pem(text),
        _ => Ok(bytes),
    }
}

fn der_of_pem(text: &str) -> Result<Vec<u8>, String> {
    let mut der = Vec::new();
    let mut rest = text;
    while let Some((block, after)) = pem(rest) {
        if block.label != "CERTIFICATE" {
            return Err(format!("PEM block type is '{}', expected CERTIFICATE", block.label));
        }
        der.extend(block.contents);
        rest = after;
    }
    Ok(der)
}

/// The first element of a sequence of DER, and the rest.
fn split(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (header, length) = match *der.get(1)? {
        short if short < 0x80 => (2, usize::from(short)),
        long @ 0x81..=0x83 => {
            let octets = usize::from(long & 0x7f);
            let length = der.get(2..2 + octets)?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            (2 + octets, length)
        }
        _ => return None,
    };
    der.split_at_checked(header + length)
}

fn malformed(error: impl std::fmt::Display) -> String {
    format!("x509: malformed certificate: {error}")
}

fn describe(der: &[u8]) -> Result<Value, String> {
    let certificate = Certificate::from_der(der).map_err(malformed)?;
    let tbs = &certificate.tbs_certificate;
    let encoded = |part: &dyn EncodeDer| part.der().map(|der| in_base64(&der));
    let serial = tbs.serial_number.as_bytes();
    if serial.first().is_some_and(|byte| *byte >= 0x80) {
        return Err(malformed("a negative serial number"));
    }
    let time = |time: x509_cert::time::Time| time.to_date_time().to_string();
    let mut fields = Fields::default();
    fields.text("Raw", &in_base64(der));
    fields.text("RawTBSCertificate", &encoded(tbs)?);
    fields.text("RawSubjectPublicKeyInfo", &encoded(&tbs.subject_public_key_info)?);
    fields.text("RawSubject", &encoded(&tbs.subject)?);
    fields.text("RawIssuer", &encoded(&tbs.issuer)?);
    fields.text("Signature", &in_base64(certificate.signature.raw_bytes()));
    fields.number("SignatureAlgorithm", names::signature_algorithm(&certificate.signature_algorithm)?);
    fields.number("PublicKeyAlgorithm", names::key_algorithm(&tbs.subject_public_key_info));
    fields.put("PublicKey", values::public_key(&tbs.subject_public_key_info)?);
    fields.number("Version", tbs.version as i64 + 1);
    fields.put("SerialNumber", decimal(serial)?);
    fields.put("Issuer", names::name(&tbs.issuer)?);
    fields.put("Subject", names::name(&tbs.subject)?);
    fields.text("NotBefore", &time(tbs.validity.not_before));
    fields.text("NotAfter", &time(tbs.validity.not_after));
    extensions::add(&mut fields, tbs.extensions.as_deref().unwrap_or_default())?;
    Ok(fields.into_value())
}

/// Anything that has DER.
trait EncodeDer {
    fn der(&self) -> Result<Vec<u8>, String>;
}

impl<T: Encode> EncodeDer for T {
    fn der(&self) -> Result<Vec<u8>, String> {
        self.to_der().map_err(malformed)
    }
}
