//! Names, and numbers for algorithms.

use regorus::Value;
use x509_cert::der::{Tag, Tagged};
use x509_cert::name::Name;
use x509_cert::spki::{AlgorithmIdentifierOwned, ObjectIdentifier, SubjectPublicKeyInfoOwned};

use super::malformed;
use super::values::{Fields, arcs};

/// Attributes of a name that have a member of their own (RFC 5280 appendix A.1); the last two hold one text.
const LISTS: [(&str, &str); 7] = [
    ("2.5.4.6", "Country"),
    ("2.5.4.10", "Organization"),
    ("2.5.4.11", "OrganizationalUnit"),
    ("2.5.4.7", "Locality"),
    ("2.5.4.8", "Province"),
    ("2.5.4.9", "StreetAddress"),
    ("2.5.4.17", "PostalCode"),
];
const TEXTS: [(&str, &str); 2] = [("2.5.4.3", "CommonName"), ("2.5.4.5", "SerialNumber")];

pub fn name(name: &Name) -> Result<Value, String> {
    let mut attributes = Vec::new();
    for attribute in name.0.iter().flat_map(|relative| relative.0.iter()) {
        attributes.push((attribute.oid, text(attribute.value.tag(), attribute.value.value())?));
    }
    let values = |identifier: &str| -> Vec<String> {
        let same = |(oid, _): &&(ObjectIdentifier, String)| oid.to_string() == identifier;
        attributes.iter().filter(same).map(|(_, text)| text.clone()).collect()
    };
    let mut fields = Fields::default();
    for (identifier, member) in LISTS {
        fields.texts(member, &values(identifier));
    }
    for (identifier, member) in TEXTS {
        fields.text(member, values(identifier).last().map_or("", String::as_str));
    }
    let described = attributes.iter().map(|(identifier, text)| {
        let mut attribute = Fields::default();
        attribute.put("Type", arcs(*identifier));
        attribute.text("Value", text);
        attribute.into_value()
    });
    fields.list("Names", described.collect());
    fields.nothing(&["ExtraNames"]);
    Ok(fields.into_value())
}

fn text(tag: Tag, bytes: &[u8]) -> Result<String, String> {
    let broken = || malformed("a name that is no text");
    match tag {
        Tag::BmpString => {
            let units: Vec<u16> =
                bytes.chunks(2).map(|pair| pair.iter().fold(0, |unit, byte| unit << 8 | u16::from(*byte))).collect();
            String::from_utf16(&units).map_err(|_| broken())
        }
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::TeletexString | Tag::NumericString => {
            std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| broken())
        }
        _ => Err(broken()),
    }
}

/// Go's number for an algorithm; 0 for one that it does not know.
pub fn signature_algorithm(algorithm: &AlgorithmIdentifierOwned) -> Result<i64, String> {
    Ok(match algorithm.oid.to_string().as_str() {
        "1.2.840.113549.1.1.2" => 1,
        "1.2.840.113549.1.1.4" => 2,
        "1.2.840.113549.1.1.5" | "1.3.14.3.2.29" => 3,
        "1.2.840.113549.1.1.11" => 4,
        "1.2.840.113549.1.1.12" => 5,
        "1.2.840.113549.1.1.13" => 6,
        "1.2.840.10040.4.3" => 7,
        "2.16.840.1.101.3.4.3.2" => 8,
        "1.2.840.10045.4.1" => 9,
        "1.2.840.10045.4.3.2" => 10,
        "1.2.840.10045.4.3.3" => 11,
        "1.2.840.10045.4.3.4" => 12,
        "1.3.101.112" => 16,
        // Its number depends on parameters within parameters (RFC 4055).
        "1.2.840.113549.1.1.10" => return Err(String::from("certificates signed with RSASSA-PSS are not available")),
        _ => 0,
    })
}

pub fn key_algorithm(info: &SubjectPublicKeyInfoOwned) -> i64 {
    match info.algorithm.oid.to_string().as_str() {
        "1.2.840.113549.1.1.1" => 1,
        "1.2.840.10040.4.1" => 2,
        "1.2.840.10045.2.1" => 3,
        "1.3.101.112" => 4,
        _ => 0,
    }
}
