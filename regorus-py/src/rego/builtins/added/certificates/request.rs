//! Requests for certificates (RFC 2986).

use regorus::Value;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::Extension;
use x509_cert::request::{CertReq, ExtensionReq};

use super::values::{self, Fields};
use super::{EncodeDer, extensions, names};
use crate::rego::builtins::added::encodings::{base64, in_base64, pem};
use crate::rego::builtins::added::operands::string;

const LABEL: &str = "CERTIFICATE REQUEST";
const EXTENSION_REQUEST: &str = "1.2.840.113549.1.9.14";

pub fn parse(values: &[Value]) -> Result<Value, String> {
    let text = string(values, 1)?;
    let bytes =
        if text.starts_with("-----BEGIN CERTIFICATE REQUEST-----") { text.as_bytes().to_vec() } else { base64(text)? };
    let block = std::str::from_utf8(&bytes).ok().and_then(pem);
    let der = match block {
        Some((block, _)) if block.label == LABEL => block.contents,
        Some(_) => return Err(String::from("invalid PEM-encoded certificate signing request")),
        None => bytes,
    };
    describe(&der)
}

fn describe(der: &[u8]) -> Result<Value, String> {
    let malformed = |error: x509_cert::der::Error| format!("asn1: structure error: {error}");
    let request = CertReq::from_der(der).map_err(malformed)?;
    let info = &request.info;
    let mut fields = Fields::default();
    fields.text("Raw", &in_base64(der));
    fields.text("RawTBSCertificateRequest", &in_base64(&info.der()?));
    fields.text("RawSubjectPublicKeyInfo", &in_base64(&info.public_key.der()?));
    fields.text("RawSubject", &in_base64(&info.subject.der()?));
    fields.number("Version", 0);
    fields.text("Signature", &in_base64(request.signature.raw_bytes()));
    fields.number("SignatureAlgorithm", names::signature_algorithm(&request.algorithm)?);
    fields.number("PublicKeyAlgorithm", names::key_algorithm(&info.public_key));
    fields.put("PublicKey", values::public_key(&info.public_key)?);
    fields.put("Subject", names::name(&info.subject)?);
    fields.nothing(&["Attributes"]); // deprecated, and null here whatever the request holds
    let mut asked: Vec<Extension> = Vec::new();
    for attribute in info.attributes.iter().filter(|attribute| attribute.oid.to_string() == EXTENSION_REQUEST) {
        for value in attribute.values.iter() {
            let der = value.to_der().map_err(malformed)?;
            asked.extend(ExtensionReq::from_der(&der).map_err(malformed)?.0);
        }
    }
    extensions::add_raw(&mut fields, &asked);
    extensions::add_alternatives(&mut fields, &asked)?;
    Ok(fields.into_value())
}
