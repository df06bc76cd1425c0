//! Certificates that PostgreSQL's own recipes make and psql accepts, but webpki does not: a self-signed one with
//! CA:TRUE (made by `openssl req -x509`), and one of version 1 (made by `openssl x509 -req` without `-extfile` up to
//! OpenSSL 3.1). Both name the host in their common name alone. See "Secure TCP/IP Connections with SSL" in
//! PostgreSQL's manual.
//!
//! Beyond webpki this accepts only a certificate for which the user's file vouches: one that is in the file itself, or
//! one of version 1 that an authority in the file signed directly.

use rustls::client::verify_server_name;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::ParsedCertificate;
use x509_cert::Certificate;
use x509_cert::certificate::Version;
use x509_cert::der::asn1::{Ia5StringRef, PrintableStringRef, Utf8StringRef};
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::der::{Any, Decode, Encode};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::spki::AlgorithmIdentifierOwned;

/// Whether the certificates of the user's file vouch for one that webpki rejects for its form.
pub fn is_vouched_for(
    certificate: &CertificateDer<'_>,
    file: &[CertificateDer<'_>],
    algorithms: &WebPkiSupportedAlgorithms,
    now: UnixTime,
) -> bool {
    let Ok(parsed) = Certificate::from_der(certificate) else { return false };
    if !is_valid_at(&parsed, now) {
        return false;
    }
    let itself = file.contains(certificate);
    let first_version = parsed.tbs_certificate.version == Version::V1;
    itself || first_version && file.iter().any(|authority| is_signed_by(&parsed, authority, algorithms, now))
}

/// The public key of a certificate of version 1; `None` for any other.
pub fn key_of_first_version(certificate: &CertificateDer<'_>) -> Option<SubjectPublicKeyInfoDer<'static>> {
    let parsed = Certificate::from_der(certificate).ok()?.tbs_certificate;
    let key = parsed.subject_public_key_info.to_der().ok()?;
    (parsed.version == Version::V1).then(|| SubjectPublicKeyInfoDer::from(key))
}

/// Whether a certificate is issued for a host, as libpq judges it: by its alternative names, or by its common name if
/// it has none of the host's kind.
pub fn is_made_out_to(certificate: &CertificateDer<'_>, host: &ServerName<'_>) -> bool {
    let by_alternative = |parsed: ParsedCertificate<'_>| verify_server_name(&parsed, host).is_ok();
    if ParsedCertificate::try_from(certificate).is_ok_and(by_alternative) {
        return true;
    }
    let Ok(parsed) = Certificate::from_der(certificate) else { return false };
    let tbs = parsed.tbs_certificate;
    let Ok(alternatives) = tbs.get::<SubjectAltName>() else { return false };
    let of_its_kind = |name: &GeneralName| match host {
        ServerName::IpAddress(_) => matches!(name, GeneralName::IpAddress(_)),
        _ => matches!(name, GeneralName::DnsName(_)),
    };
    if alternatives.is_some_and(|(_, names)| names.0.iter().any(of_its_kind)) {
        return false;
    }
    let mut names = tbs.subject.0.iter().flat_map(|part| part.0.iter());
    let common = names.rfind(|name| name.oid == COMMON_NAME);
    common.and_then(|name| text(&name.value)).is_some_and(|name| is_name(&name, &host.to_str()))
}

/// libpq's comparison: ignoring case, and `*.` stands for one label.
fn is_name(name: &str, host: &str) -> bool {
    let rest = |host: &str| host.split_once('.').map(|(_, rest)| rest.to_owned());
    match name.strip_prefix("*.") {
        Some(name) => rest(host).is_some_and(|rest| rest.eq_ignore_ascii_case(name)),
        None => name.eq_ignore_ascii_case(host),
    }
}

fn text(value: &Any) -> Option<String> {
    let utf8 = value.decode_as::<Utf8StringRef<'_>>().map(|text| text.as_str().to_owned());
    let printable = || value.decode_as::<PrintableStringRef<'_>>().map(|text| text.as_str().to_owned());
    let ia5 = || value.decode_as::<Ia5StringRef<'_>>().map(|text| text.as_str().to_owned());
    utf8.or_else(|_| printable()).or_else(|_| ia5()).ok()
}

fn is_valid_at(certificate: &Certificate, now: UnixTime) -> bool {
    let valid = certificate.tbs_certificate.validity;
    let seconds = |time: x509_cert::time::Time| time.to_unix_duration().as_secs();
    (seconds(valid.not_before)..=seconds(valid.not_after)).contains(&now.as_secs())
}

fn is_signed_by(
    certificate: &Certificate,
    authority: &CertificateDer<'_>,
    algorithms: &WebPkiSupportedAlgorithms,
    now: UnixTime,
) -> bool {
    let Ok(authority) = Certificate::from_der(authority) else { return false };
    let key = &authority.tbs_certificate.subject_public_key_info;
    let named = certificate.tbs_certificate.issuer == authority.tbs_certificate.subject;
    let (Ok(message), Some(key_bits), Some(signature)) = (
        certificate.tbs_certificate.to_der(),
        key.subject_public_key.as_bytes(),
        certificate.signature.as_bytes(),
    ) else {
        return false;
    };
    let (key_kind, signature_kind) = (inside(&key.algorithm), inside(&certificate.signature_algorithm));
    let fits = |algorithm: &&&dyn rustls::pki_types::SignatureVerificationAlgorithm| {
        key_kind.as_deref() == Some(algorithm.public_key_alg_id().as_ref())
            && signature_kind.as_deref() == Some(algorithm.signature_alg_id().as_ref())
    };
    named
        && is_valid_at(&authority, now)
        && algorithms
            .all
            .iter()
            .filter(fits)
            .any(|it| it.verify_signature(key_bits, &message, signature).is_ok())
}

/// An algorithm's identifier without the enclosing sequence, as rustls stores it.
fn inside(identifier: &AlgorithmIdentifierOwned) -> Option<Vec<u8>> {
    let whole = Any::encode_from(identifier).ok()?;
    Some(whole.value().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_names_are_compared_as_libpq_does() {
        for (name, host, same) in [
            ("db.example", "DB.example", true),
            ("db.example", "db.example.org", false),
            ("*.example", "db.example", true),
            ("*.example", "a.db.example", false),
            ("*.example", "example", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("", "", true),
        ] {
            assert_eq!(is_name(name, host), same, "{name} {host}");
        }
    }

    #[test]
    fn what_the_file_has_is_vouched_for_while_it_is_valid() {
        use rustls::pki_types::pem::PemObject;
        use std::time::Duration;
        // Made by openssl 3.0 for two days: `req -x509 -newkey rsa:2048`, and `x509 -req` of another request with its
        // key.
        let read = |pem: &[u8]| CertificateDer::from_pem_slice(pem).unwrap();
        let a = read(include_bytes!("../../tests/data/authority.crt"));
        let b = read(include_bytes!("../../tests/data/version1.crt"));
        let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        let at = |seconds: u64| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let now = at(1_795_849_895);
        let taken = |certificate: &CertificateDer<'_>, file: &[CertificateDer<'_>], now| {
            is_vouched_for(certificate, file, &algorithms, now)
        };
        assert!(taken(&a, std::slice::from_ref(&a), now));
        for wrong in [at(now.as_secs() - 86_400), at(now.as_secs() + 3 * 86_400)] {
            assert!(
                !taken(&a, std::slice::from_ref(&a), wrong) && !taken(&b, std::slice::from_ref(&a), wrong)
            );
        }
        assert!(!taken(&a, &[], now) && !taken(&a, std::slice::from_ref(&b), now));
        assert!(taken(&b, std::slice::from_ref(&a), now) && key_of_first_version(&b).is_some());
        // A byte of what was signed, and of the signature.
        for place in [60, b.len() - 5] {
            let mut bytes = b.to_vec();
            bytes[place] ^= 1;
            assert!(!taken(&CertificateDer::from(bytes), std::slice::from_ref(&a), now));
        }
        assert!(!taken(&CertificateDer::from(vec![1, 2]), std::slice::from_ref(&a), now));
    }
}
