//! Extensions (RFC 5280 section 4.2).

use regorus::Value;
use x509_cert::der::Decode;
use x509_cert::der::asn1::OctetString;
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::name::{DistributionPointName, GeneralName};
use x509_cert::ext::pkix::{
    AuthorityInfoAccessSyntax, AuthorityKeyIdentifier, BasicConstraints, CertificatePolicies, CrlDistributionPoints,
    ExtendedKeyUsage, KeyUsage, NameConstraints, SubjectAltName,
};

use super::malformed;
use super::values::{Fields, address, arcs};
use crate::rego::builtins::added::encodings::in_base64;
use crate::rego::builtins::added::uris::Uri;

/// Extended key usages by Go's numbers.
const USAGES: [(&str, i64); 14] = [
    ("2.5.29.37.0", 0),
    ("1.3.6.1.5.5.7.3.1", 1),
    ("1.3.6.1.5.5.7.3.2", 2),
    ("1.3.6.1.5.5.7.3.3", 3),
    ("1.3.6.1.5.5.7.3.4", 4),
    ("1.3.6.1.5.5.7.3.5", 5),
    ("1.3.6.1.5.5.7.3.6", 6),
    ("1.3.6.1.5.5.7.3.7", 7),
    ("1.3.6.1.5.5.7.3.8", 8),
    ("1.3.6.1.5.5.7.3.9", 9),
    ("1.3.6.1.4.1.311.10.3.3", 10),
    ("2.16.840.1.113730.4.1", 11),
    ("1.3.6.1.4.1.311.2.1.22", 12),
    ("1.3.6.1.4.1.311.61.1.1", 13),
];

fn parsed<'d, T: Decode<'d>>(extension: &'d Extension) -> Result<T, String> {
    T::from_der(extension.extn_value.as_bytes()).map_err(|error| malformed(error))
}

/// The extension of that identifier.
fn find<'e>(extensions: &'e [Extension], identifier: &str) -> Option<&'e Extension> {
    extensions.iter().find(|extension| extension.extn_id.to_string() == identifier)
}

pub fn add(fields: &mut Fields, extensions: &[Extension]) -> Result<(), String> {
    for (index, extension) in extensions.iter().enumerate() {
        if extensions[..index].iter().any(|other| other.extn_id == extension.extn_id) {
            return Err(malformed("two extensions of one kind"));
        }
    }
    add_raw(fields, extensions);
    let usage = find(extensions, "2.5.29.15").map(parsed::<KeyUsage>).transpose()?;
    fields.number("KeyUsage", usage.map_or(0, |usage| i64::from(usage.0.bits())));
    add_usages(fields, extensions)?;
    add_basic(fields, extensions)?;
    let key = find(extensions, "2.5.29.14").map(parsed::<OctetString>).transpose()?;
    fields.put("SubjectKeyId", key.map_or(Value::Null, |key| Value::from(in_base64(key.as_bytes()))));
    let authority = find(extensions, "2.5.29.35").map(parsed::<AuthorityKeyIdentifier>).transpose()?;
    let authority = authority.and_then(|authority| authority.key_identifier);
    fields.put("AuthorityKeyId", authority.map_or(Value::Null, |key| Value::from(in_base64(key.as_bytes()))));
    add_access(fields, extensions)?;
    add_alternatives(fields, extensions)?;
    add_constraints(fields, extensions)?;
    add_distribution(fields, extensions)?;
    add_policies(fields, extensions)
}

pub fn add_raw(fields: &mut Fields, extensions: &[Extension]) {
    let described = extensions.iter().map(|extension| {
        let mut described = Fields::default();
        described.put("Id", arcs(extension.extn_id));
        described.flag("Critical", extension.critical);
        described.text("Value", &in_base64(extension.extn_value.as_bytes()));
        described.into_value()
    });
    fields.list("Extensions", described.collect());
    let is_known = |identifier: &str| {
        matches!(
            identifier,
            "2.5.29.14"
                | "2.5.29.15"
                | "2.5.29.17"
                | "2.5.29.19"
                | "2.5.29.30"
                | "2.5.29.31"
                | "2.5.29.32"
                | "2.5.29.33"
                | "2.5.29.35"
                | "2.5.29.36"
                | "2.5.29.37"
                | "2.5.29.54"
                | "1.3.6.1.5.5.7.1.1"
        )
    };
    let unknown = extensions.iter().filter(|extension| extension.critical && !is_known(&extension.extn_id.to_string()));
    fields.list("UnhandledCriticalExtensions", unknown.map(|extension| arcs(extension.extn_id)).collect());
    fields.nothing(&["ExtraExtensions"]);
}

fn add_usages(fields: &mut Fields, extensions: &[Extension]) -> Result<(), String> {
    let usages = find(extensions, "2.5.29.37").map(parsed::<ExtendedKeyUsage>).transpose()?;
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for usage in usages.map(|usages| usages.0).unwrap_or_default() {
        match USAGES.iter().find(|(identifier, _)| usage.to_string() == *identifier) {
            Some((_, number)) => known.push(Value::from(*number)),
            None => unknown.push(arcs(usage)),
        }
    }
    fields.list("ExtKeyUsage", known);
    fields.list("UnknownExtKeyUsage", unknown);
    Ok(())
}

fn add_basic(fields: &mut Fields, extensions: &[Extension]) -> Result<(), String> {
    let basic = find(extensions, "2.5.29.19").map(parsed::<BasicConstraints>).transpose()?;
    let length = basic.as_ref().map_or(0, |basic| basic.path_len_constraint.map_or(-1, i64::from));
    fields.flag("BasicConstraintsValid", basic.is_some());
    fields.flag("IsCA", basic.as_ref().is_some_and(|basic| basic.ca));
    fields.number("MaxPathLen", length);
    fields.flag("MaxPathLenZero", basic.is_some() && length == 0);
    Ok(())
}

fn add_access(fields: &mut Fields, extensions: &[Extension]) -> Result<(), String> {
    let access = find(extensions, "1.3.6.1.5.5.7.1.1").map(parsed::<AuthorityInfoAccessSyntax>).transpose()?;
    let access = access.map(|access| access.0).unwrap_or_default();
    let places = |method: &str| -> Vec<String> {
        let uri = |location: &GeneralName| match location {
            GeneralName::UniformResourceIdentifier(uri) => Some(uri.as_str().to_owned()),
            _ => None,
        };
        let same = access.iter().filter(|one| one.access_method.to_string() == method);
        same.filter_map(|one| uri(&one.access_location)).collect()
    };
    fields.texts("OCSPServer", &places("1.3.6.1.5.5.7.48.1"));
    fields.texts("IssuingCertificateURL", &places("1.3.6.1.5.5.7.48.2"));
    Ok(())
}

/// Of a certificate, or asked for in a request.
pub fn add_alternatives(fields: &mut Fields, extensions: &[Extension]) -> Result<(), String> {
    let names = find(extensions, "2.5.29.17").map(parsed::<SubjectAltName>).transpose()?;
    let (mut hosts, mut addresses, mut mail, mut uris) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for name in names.map(|names| names.0).unwrap_or_default() {
        match name {
            GeneralName::DnsName(name) => hosts.push(name.as_str().to_owned()),
            GeneralName::Rfc822Name(name) => mail.push(name.as_str().to_owned()),
            GeneralName::IpAddress(octets) => addresses.push(address(octets.as_bytes())?),
            GeneralName::UniformResourceIdentifier(uri) => uris.push(uri.as_str().to_owned()),
            _ => {}
        }
    }
    fields.texts("DNSNames", &hosts);
    fields.texts("EmailAddresses", &mail);
    fields.texts("IPAddresses", &addresses);
    fields.list("URIs", uris.iter().map(|uri| parts(uri)).collect::<Result<_, _>>()?);
    fields.texts("URIStrings", &uris);
    Ok(())
}

/// A URI as Go's `url.URL` is written.
fn parts(text: &str) -> Result<Value, String> {
    let uri = Uri::parse(text)?;
    let path = String::from_utf8(uri.path.clone()).map_err(malformed)?;
    let fragment = String::from_utf8(uri.fragment.clone()).map_err(malformed)?;
    let is_opaque = !uri.scheme.is_empty() && uri.host.is_empty() && path.is_empty();
    let opaque = text.split_once(':').map_or("", |(_, rest)| rest.split(['?', '#']).next().unwrap_or(""));
    let mut fields = Fields::default();
    fields.text("Scheme", &uri.scheme);
    fields.text("Opaque", if is_opaque { opaque } else { "" });
    fields.nothing(&["User"]);
    fields.text("Host", &uri.host);
    fields.text("RawPath", if uri.raw_path == path { "" } else { &uri.raw_path });
    fields.text("Path", &path);
    fields.flag("OmitHost", false);
    fields.flag("ForceQuery", false);
    fields.text("RawQuery", &uri.query);
    fields.text("Fragment", &fragment);
    fields.text("RawFragment", "");
    Ok(fields.into_value())
}

fn add_constraints(fields: &mut Fields, extensions: &[Extension]) -> Result<(), String> {
    let extension = find(extensions, "2.5.29.30");
    fields.flag("PermittedDNSDomainsCritical", extension.is_some_and(|extension| extension.critical));
    let constraints = extension.map(parsed::<NameConstraints>).transpose()?;
    let (permitted, excluded) = constraints
        .map(|constraints| (constraints.permitted_subtrees, constraints.excluded_subtrees))
        .unwrap_or_default();
    for (prefix, trees) in [("Permitted", permitted), ("Excluded", excluded)] {
        let (mut hosts, mut ranges, mut mail, mut uris) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for tree in trees.unwrap_or_default() {
            match tree.base {
                GeneralName::DnsName(name) => hosts.push(name.as_str().to_owned()),
                GeneralName::Rfc822Name(name) => mail.push(name.as_str().to_owned()),
                GeneralName::UniformResourceIdentifier(uri) => uris.push(uri.as_str().to_owned()),
                GeneralName::IpAddress(octets) => ranges.push(range(octets.as_bytes())?),
                _ => {}
            }
        }
        fields.texts(&format!("{prefix}DNSDomains"), &hosts);
        fields.list(&format!("{prefix}IPRanges"), ranges);
        fields.texts(&format!("{prefix}EmailAddresses"), &mail);
        fields.texts(&format!("{prefix}URIDomains"), &uris);
    }
    Ok(())
}

/// An address and a mask of the same length.
fn range(octets: &[u8]) -> Result<Value, String> {
    let (first, mask) = octets.split_at(octets.len() / 2);
    let mut range = Fields::default();
    range.text("IP", &address(first)?);
    range.text("Mask", &in_base64(mask));
    Ok(range.into_value())
}

fn add_distribution(fields: &mut Fields, extensions: &[Extension]) -> Result<(), String> {
    let points = find(extensions, "2.5.29.31").map(parsed::<CrlDistributionPoints>).transpose()?;
    let mut places = Vec::new();
    for point in points.map(|points| points.0).unwrap_or_default() {
        let Some(DistributionPointName::FullName(names)) = point.distribution_point else { continue };
        for name in names {
            match name {
                GeneralName::UniformResourceIdentifier(uri) => places.push(uri.as_str().to_owned()),
                _ => break,
            }
        }
    }
    fields.texts("CRLDistributionPoints", &places);
    Ok(())
}

fn add_policies(fields: &mut Fields, extensions: &[Extension]) -> Result<(), String> {
    let policies = find(extensions, "2.5.29.32").map(parsed::<CertificatePolicies>).transpose()?;
    let identifiers: Vec<_> =
        policies.map(|policies| policies.0).unwrap_or_default().into_iter().map(|one| one.policy_identifier).collect();
    fields.list("PolicyIdentifiers", identifiers.iter().map(|one| arcs(*one)).collect());
    fields.texts("Policies", &identifiers.iter().map(ToString::to_string).collect::<Vec<_>>());
    for identifier in ["2.5.29.33", "2.5.29.36", "2.5.29.54"] {
        if find(extensions, identifier).is_some() {
            return Err(String::from("certificates with policy mappings or policy constraints are not available"));
        }
    }
    for name in ["InhibitAnyPolicy", "InhibitPolicyMapping", "RequireExplicitPolicy"] {
        fields.number(name, 0);
        fields.flag(&format!("{name}Zero"), false);
    }
    fields.nothing(&["PolicyMappings"]);
    Ok(())
}
