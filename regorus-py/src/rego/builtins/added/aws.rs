//! `providers.aws.sign_req`: a request with the headers of AWS's Signature Version 4.

use std::collections::BTreeMap;

use chrono::DateTime;
use hmac::{Hmac, Mac};
use regorus::Value;
use regorus::value::Object;
use sha2::{Digest, Sha256};

use super::Added;
use super::hashes::hexadecimal;
use super::jwt::as_go_writes;
use super::operands::wrong_type;
use super::uris::Uri;

pub const TABLE: &[Added] = &[Added::new("providers.aws.sign_req", 3, sign_request)];

/// Of a request object, as for http.send.
const PARAMETERS: [&str; 28] = [
    "method",
    "url",
    "body",
    "enable_redirect",
    "force_json_decode",
    "force_yaml_decode",
    "headers",
    "raw_body",
    "tls_use_system_certs",
    "tls_ca_cert",
    "tls_ca_cert_file",
    "tls_ca_cert_env_variable",
    "tls_client_cert",
    "tls_client_cert_file",
    "tls_client_cert_env_variable",
    "tls_client_key",
    "tls_client_key_file",
    "tls_client_key_env_variable",
    "tls_insecure_skip_verify",
    "tls_server_name",
    "timeout",
    "cache",
    "force_cache",
    "force_cache_duration_seconds",
    "raise_error",
    "caching_mode",
    "max_retry_attempts",
    "cache_ignored_headers",
];
const REQUIRED: [&str; 2] = ["method", "url"];
const SETTINGS: [&str; 4] = ["aws_access_key", "aws_region", "aws_secret_access_key", "aws_service"];
/// A proxy may change them on the way.
const UNSIGNED_HEADERS: [&str; 3] = ["authorization", "user-agent", "x-amzn-trace-id"];

fn object(values: &[Value], position: usize) -> Result<&Object, String> {
    match values.get(position - 1) {
        Some(Value::Object(members)) => Ok(members),
        Some(other) => Err(wrong_type(position, "object", other)),
        None => Err(format!("operand {position} is missing")),
    }
}

fn text<'v>(members: &'v Object, name: &str) -> &'v str {
    match members.get(&Value::from(name)) {
        Some(Value::String(text)) => text,
        _ => "",
    }
}

/// `{"a", "b"}`
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> Option<String> {
    let names: Vec<_> = names.map(|name| format!("{name:?}")).collect();
    (!names.is_empty()).then(|| format!("{{{}}}", names.join(", ")))
}

fn missing(members: &Object, names: &[&'static str]) -> Option<String> {
    listed(names.iter().copied().filter(|name| !members.contains_key(&Value::from(*name))))
}

fn no_strings(members: &Object, names: &[&'static str]) -> Option<String> {
    listed(names.iter().copied().filter(|name| !matches!(members.get(&Value::from(*name)), Some(Value::String(_)))))
}

fn sign_request(values: &[Value]) -> Result<Value, String> {
    let (request, settings) = (object(values, 1)?, object(values, 2)?);
    if let Some(names) = missing(settings, &SETTINGS) {
        return Err(format!("operand 2 missing required AWS config parameters(s): {names}"));
    }
    if let Some(names) = no_strings(settings, &SETTINGS) {
        return Err(format!("operand 2 invalid values for required AWS config parameters(s): {names}"));
    }
    let time = match values.get(2) {
        Some(Value::Number(number)) => {
            number.as_i64().ok_or("operand 3 could not convert time_ns value into a unix timestamp")?
        }
        Some(other) => return Err(wrong_type(3, "number", other)),
        None => return Err(String::from("operand 3 is missing")),
    };
    let is_unknown = |key: &&Value| !matches!(key, Value::String(name) if PARAMETERS.contains(&name.as_ref()));
    let unknown: Vec<_> = request.keys_sorted().filter(is_unknown).map(ToString::to_string).collect();
    if !unknown.is_empty() {
        return Err(format!("operand 1 invalid request parameters(s): {{{}}}", unknown.join(", ")));
    }
    if let Some(names) = missing(request, &REQUIRED) {
        return Err(format!("operand 1 missing required request parameters(s): {names}"));
    }
    let headers = match request.get(&Value::from("headers")) {
        None => Object::default(),
        Some(Value::Object(headers)) => headers.as_ref().clone(),
        Some(other) => return Err(wrong_type(0, "object", other)),
    };
    if let Some(names) = no_strings(request, &REQUIRED) {
        return Err(format!("operand 1 invalid values for required request parameters(s): {names}"));
    }
    let is_unsigned = match settings.get(&Value::from("disable_payload_signing")) {
        None => false,
        Some(Value::Bool(is_unsigned)) => *is_unsigned,
        Some(_) => return Err(String::from("operand 2 invalid value for 'disable_payload_signing' in AWS config")),
    };
    let digest =
        if is_unsigned { String::from("UNSIGNED-PAYLOAD") } else { hexadecimal(&Sha256::digest(body(request)?)) };
    let uri = Uri::parse(text(request, "url"))?;
    let signer = Signer { settings, time: DateTime::from_timestamp_nanos(time), digest };
    let mut signed = headers.clone();
    for (name, value) in signer.headers(text(request, "method"), &uri, &headers) {
        signed.insert(Value::from(name), Value::from(value));
    }
    let mut answer = request.clone();
    answer.insert(Value::from("headers"), signed.into_value());
    Ok(answer.into_value())
}

fn body(request: &Object) -> Result<Vec<u8>, String> {
    match (request.get(&Value::from("raw_body")), request.get(&Value::from("body"))) {
        (Some(Value::String(raw)), _) => Ok(raw.as_bytes().to_vec()),
        (Some(_), _) | (None, None) => Ok(Vec::new()),
        (None, Some(body)) => as_go_writes(body).map(String::into_bytes),
    }
}

struct Signer<'a> {
    settings: &'a Object,
    time: DateTime<chrono::Utc>,
    /// Of the body, in hexadecimal.
    digest: String,
}

fn code(key: &[u8], text: &str) -> Result<Vec<u8>, String> {
    let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(key).map_err(|error| error.to_string())?;
    mac.update(text.as_bytes());
    Ok(mac.finalize().into_bytes().to_vec())
}

impl Signer<'_> {
    /// The headers to add.
    fn headers(&self, method: &str, uri: &Uri, given: &Object) -> Vec<(String, String)> {
        let (date, instant) = (self.time.format("%Y%m%d").to_string(), self.time.format("%Y%m%dT%H%M%SZ").to_string());
        let service = text(self.settings, "aws_service");
        let mut added = vec![(String::from("host"), uri.host.clone()), (String::from("x-amz-date"), instant.clone())];
        if matches!(service, "s3" | "glacier") {
            added.push((String::from("x-amz-content-sha256"), self.digest.clone()));
        }
        let session = text(self.settings, "aws_session_token");
        if !session.is_empty() {
            added.push((String::from("x-amz-security-token"), session.to_owned()));
        }
        let mut canonical: BTreeMap<String, String> = added.iter().cloned().collect();
        for (name, value) in given.iter_sorted() {
            let (Value::String(name), Value::String(value)) = (name, value) else { continue };
            let name = name.to_lowercase();
            if !UNSIGNED_HEADERS.contains(&name.as_str()) {
                canonical.insert(name, value.to_string());
            }
        }
        let names = canonical.keys().map(String::as_str).collect::<Vec<_>>().join(";");
        let lines: String = canonical.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let request = format!("{method}\n{}\n{}\n{lines}\n{names}\n{}", uri.escaped_path(), uri.query, self.digest);
        let scope = format!("{date}/{}/{service}/aws4_request", text(self.settings, "aws_region"));
        let to_sign =
            format!("AWS4-HMAC-SHA256\n{instant}\n{scope}\n{}", hexadecimal(&Sha256::digest(request.as_bytes())));
        let secret = format!("AWS4{}", text(self.settings, "aws_secret_access_key"));
        let signature = [date.as_str(), text(self.settings, "aws_region"), service, "aws4_request", &to_sign]
            .into_iter()
            .try_fold(secret.into_bytes(), |key, part| code(&key, part))
            .unwrap_or_default();
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={names},Signature={}",
            text(self.settings, "aws_access_key"),
            hexadecimal(&signature),
        );
        added.push((String::from("Authorization"), authorization));
        added
    }
}
