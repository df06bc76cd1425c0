//! TLS by libpq's modes, with rustls and the system's authorities or a file of them.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;
use threadwise_machine::given;

use super::certificates;
use super::target::{SslMode, Target};

/// The client's configuration for a target's mode.
///
/// # Errors
/// There is no authority to check against.
pub fn configuration(target: &Target) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let chain = match target.ssl_mode {
        SslMode::Disable | SslMode::Prefer | SslMode::Require => None,
        SslMode::VerifyCa | SslMode::VerifyFull => Some(authorities(target, &provider)?),
    };
    let judge = Judge { algorithms: provider.signature_verification_algorithms, chain };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| cause.to_string())?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(judge)).with_no_client_auth())
}

/// Most bytes of a file of certificates: the system's has a few hundred KiB.
const MOST_BYTES: u64 = 16 << 20;

fn authorities(target: &Target, provider: &Arc<CryptoProvider>) -> Result<Chain, String> {
    let mut roots = RootCertStore::empty();
    let file = target.ssl_root.as_deref().map(certificates_of).transpose()?.unwrap_or_default();
    match &target.ssl_root {
        Some(path) => {
            for certificate in &file {
                roots.add(certificate.clone()).map_err(|cause| format!("{}: {cause}", path.display()))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err("no certificate authority was found to check the server's certificate against: name a \
                    file by PGSSLROOTCERT"
            .into());
    }
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let webpki = builder.build().map_err(|cause| cause.to_string())?;
    Ok(Chain { webpki, file, name: target.ssl_mode == SslMode::VerifyFull })
}

fn certificates_of(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let bad = |why: String| format!("{}: {why}", path.display());
    let text = given::bytes(path, MOST_BYTES).map_err(|cause| bad(cause.to_string()))?;
    CertificateDer::pem_slice_iter(&text).collect::<Result<_, _>>().map_err(|cause| bad(cause.to_string()))
}

/// How a server's certificate is judged. Without a chain any is accepted: `prefer` and `require` encrypt and do not
/// check the server's identity (libpq's documentation says so of both).
#[derive(Debug)]
struct Judge {
    algorithms: WebPkiSupportedAlgorithms,
    chain: Option<Chain>,
}

/// Trusted authorities.
#[derive(Debug)]
struct Chain {
    webpki: Arc<WebPkiServerVerifier>,
    /// The certificates of the user's file; empty if the system's authorities are trusted.
    file: Vec<CertificateDer<'static>>,
    /// Whether the certificate must be issued for the host: `verify-full`.
    name: bool,
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        let Err(fault) = chain.webpki.verify_server_cert(certificate, between, name, ocsp, now) else {
            return Ok(ServerCertVerified::assertion());
        };
        // The name is checked last, after the chain.
        let other_name = matches!(
            fault,
            Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
            )
        );
        let good = match other_name {
            true => !chain.name || !chain.file.is_empty() && certificates::is_made_out_to(certificate, name),
            false => {
                is_of_its_form(&fault)
                    && certificates::is_vouched_for(certificate, &chain.file, &self.algorithms, now)
                    && (!chain.name || certificates::is_made_out_to(certificate, name))
            }
        };
        if good { Ok(ServerCertVerified::assertion()) } else { Err(fault) }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // webpki does not read certificates of version 1; their key tells whether their owner signed.
        match certificates::key_of_first_version(certificate) {
            Some(key) => {
                rustls::crypto::verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
            }
            None => rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.algorithms),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Whether webpki rejects a certificate for its form.
fn is_of_its_form(fault: &Error) -> bool {
    [AUTHORITY_AS_SERVER, FIRST_VERSION].iter().any(|form| fault.to_string().contains(form))
}

/// webpki's names of these faults; the library does not export their type.
const AUTHORITY_AS_SERVER: &str = "CaUsedAsEndEntity";
const FIRST_VERSION: &str = "UnsupportedCertVersion";

/// Keys that this program's TLS accepts.
const KEYS: &str =
    "RSA of 2,048 bits and more (rsaEncryption, not RSA-PSS), ECDSA on P-256 or P-384, Ed25519";

/// How to make an accepted certificate.
pub const MAKE: &str = "openssl req -x509 -newkey rsa:2048 -nodes -days 365 -subj /CN=HOST \
                        -addext basicConstraints=CA:FALSE -addext subjectAltName=DNS:HOST -keyout server.key -out server.crt";

/// What a failed handshake means, and what to do about it.
pub fn advice(target: &Target, fault: Option<&Error>) -> String {
    let text = fault.map(ToString::to_string).unwrap_or_default();
    let file = target.ssl_root.as_ref().map(|file| file.display());
    match fault {
        Some(Error::AlertReceived(rustls::AlertDescription::HandshakeFailure)) => format!(
            ": the server has no key of a supported kind ({KEYS}); make another: {MAKE}"
        ),
        Some(_) if text.contains(AUTHORITY_AS_SERVER) => format!(
            ": the certificate is both an authority's (CA:TRUE) and the server's own; name that very file by \
             PGSSLROOTCERT, or make one that is not an authority's: {MAKE}"
        ),
        Some(_) if text.contains(FIRST_VERSION) => {
            ": the certificate has version 1, which is accepted with TLS 1.3 if the file of PGSSLROOTCERT has it or \
             the authority that signed it; sign it with -extfile, which makes it version 3: echo \
             subjectAltName=DNS:HOST > ext; openssl x509 -req -in server.csr -CA root.crt -CAkey root.key \
             -CAcreateserial -days 365 -extfile ext -out server.crt"
                .into()
        }
        Some(Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => match file {
            Some(_) => "; connect by a name in the certificate, or set sslmode=verify-ca".into(),
            None => "; connect by a name in the certificate".into(),
        },
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => match file {
            Some(file) => format!(
                ": no certificate of {file} signed the server's; set PGSSLROOTCERT to the file of the authority that \
                 did"
            ),
            None => "; set PGSSLROOTCERT to the file of the authority that signed the server's certificate".into(),
        },
        Some(Error::InvalidCertificate(CertificateError::BadSignature | CertificateError::BadEncoding))
        | Some(Error::InvalidCertificate(CertificateError::UnsupportedSignatureAlgorithmContext { .. }))
        | Some(Error::InvalidCertificate(
            CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. },
        )) => format!("; supported keys: {KEYS}; make another: {MAKE}"),
        _ => String::new(),
    }
}
