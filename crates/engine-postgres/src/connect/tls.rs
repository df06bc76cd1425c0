//! TLS by libpq's modes, with rustls and the system's authorities or a file of them.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;

use super::target::{SslMode, Target};

/// The client's configuration for a target's mode.
///
/// # Errors
/// There is no authority to check against.
pub fn configuration(target: &Target) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let checks: Arc<dyn ServerCertVerifier> = match target.ssl_mode {
        SslMode::Disable | SslMode::Prefer | SslMode::Require => Arc::new(AnyServer(provider.clone())),
        SslMode::VerifyCa => Arc::new(AnyName(authorities(target.ssl_root.as_deref(), &provider)?)),
        SslMode::VerifyFull => authorities(target.ssl_root.as_deref(), &provider)?,
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| cause.to_string())?;
    Ok(builder.dangerous().with_custom_certificate_verifier(checks).with_no_client_auth())
}

fn authorities(
    file: Option<&Path>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(path) => {
            let bad = |why: String| format!("{}: {why}", path.display());
            for certificate in CertificateDer::pem_file_iter(path).map_err(|cause| bad(cause.to_string()))? {
                let certificate = certificate.map_err(|cause| bad(cause.to_string()))?;
                roots.add(certificate).map_err(|cause| bad(cause.to_string()))?;
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
    builder.build().map_err(|cause| cause.to_string())
}

/// Takes any certificate: `prefer` and `require` encrypt and do not ask who the server is (libpq's
/// documentation says so of both).
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Checks the chain and not the name: `verify-ca`.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.0.verify_server_cert(certificate, chain, name, ocsp, now) {
            // The name is looked at last, when the chain has been found good.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
