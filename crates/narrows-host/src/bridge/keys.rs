//! Keys: how the two ends of a bridge know each other. TLS 1.3 with raw Ed25519 keys (RFC 7250):
//! there are no certificates, either end has written down which keys it trusts.

use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct,
    DistinguishedName, Error, PeerIncompatible, ServerConfig, ServerConnection, SignatureScheme,
    version,
};

/// What stands before the 32 bytes of an Ed25519 key in its DER form (RFC 8410).
const PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const BYTES: usize = 32;

/// The public half of a key. As text: 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; BYTES]);

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A text is no public key: 64 hexadecimal digits are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoKey;

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a public key has 64 hexadecimal digits")
    }
}

impl std::error::Error for NoKey {}

impl FromStr for PublicKey {
    type Err = NoKey;
    fn from_str(text: &str) -> Result<PublicKey, NoKey> {
        let digits = text.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !digits || text.len() != 2 * BYTES {
            return Err(NoKey);
        }
        let mut key = [0; BYTES];
        for (at, byte) in key.iter_mut().enumerate() {
            let pair = text.get(2 * at..2 * at + 2).ok_or(NoKey)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NoKey)?;
        }
        Ok(PublicKey(key))
    }
}

impl PublicKey {
    fn of(der: &[u8]) -> Option<PublicKey> {
        der.strip_prefix(&PREFIX)?.try_into().ok().map(PublicKey)
    }
}

/// Why a key cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeyError {
    /// The file could not be read or written.
    File(io::Error),
    /// The file has no Ed25519 key in PKCS #8 and PEM.
    NoKey,
    /// The system gave no random numbers.
    Random,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::File(error) => error.fmt(f),
            KeyError::NoKey => f.write_str(
                "it has no Ed25519 key in PEM: make one with 'narrows bridge --new-key'",
            ),
            KeyError::Random => f.write_str("the system gave no random numbers for a key"),
        }
    }
}

impl std::error::Error for KeyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            KeyError::File(error) => error.source(),
            _ => None,
        }
    }
}

/// This end's key, and those of the other ends that it talks to.
#[derive(Clone, Debug)]
pub struct Keys {
    own: PublicKey,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Keys {
    /// Makes a new key in a file that only this user can read. The file must not exist.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn make(path: &Path) -> Result<PublicKey, KeyError> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let random = ring::rand::SystemRandom::new();
        let document = ring::signature::Ed25519KeyPair::generate_pkcs8(&random);
        let document = document.map_err(|_| KeyError::Random)?;
        let text = pem::encode(&pem::Pem::new("PRIVATE KEY", document.as_ref()));
        let mut file = std::fs::OpenOptions::new();
        let file = file.write(true).create_new(true).mode(0o600).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(KeyError::File)?;
        Keys::read(path, Vec::new()).map(|keys| keys.own)
    }

    /// Reads this end's key, and trusts those.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn read(path: &Path, trusted: Vec<PublicKey>) -> Result<Keys, KeyError> {
        let text = std::fs::read(path).map_err(KeyError::File)?;
        let key = PrivateKeyDer::from_pem_slice(&text).map_err(|_| KeyError::NoKey)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = provider.key_provider.load_private_key(key).map_err(|_| KeyError::NoKey)?;
        let der = key.public_key().ok_or(KeyError::NoKey)?;
        let own = PublicKey::of(der.as_ref()).ok_or(KeyError::NoKey)?;
        let raw = CertificateDer::from(der.as_ref().to_vec());
        let certified = Arc::new(CertifiedKey::new(vec![raw], key));
        let trust = Arc::new(Trust { trusted, provider: Arc::clone(&provider) });
        let versions = &[&version::TLS13];
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(|_| KeyError::NoKey)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&trust) as _)
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
                Arc::clone(&certified),
            )));
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(|_| KeyError::NoKey)?
            .with_client_cert_verifier(trust)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified)));
        Ok(Keys { own, client: Arc::new(client), server: Arc::new(server) })
    }

    /// The public half of this end's key, which the other end has to trust.
    #[must_use]
    pub fn own(&self) -> PublicKey {
        self.own
    }

    /// The side of a connection that this end asked for, or that it was asked for.
    pub(super) fn side(&self, asked_for: bool) -> Result<Connection, Error> {
        if asked_for {
            // Keys say who the other end is, not names.
            let name =
                ServerName::try_from("narrows").map_err(|_| Error::General(String::new()))?;
            ClientConnection::new(Arc::clone(&self.client), name).map(Connection::Client)
        } else {
            ServerConnection::new(Arc::clone(&self.server)).map(Connection::Server)
        }
    }
}

/// Trusts bridges that prove that they have one of these keys.
#[derive(Debug)]
struct Trust {
    trusted: Vec<PublicKey>,
    provider: Arc<CryptoProvider>,
}

impl Trust {
    fn knows(&self, key: &CertificateDer<'_>) -> Result<(), Error> {
        let known = PublicKey::of(key).is_some_and(|key| self.trusted.contains(&key));
        if known { Ok(()) } else { Err(CertificateError::UnknownIssuer.into()) }
    }

    fn proven(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(key.as_ref());
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &key, signature, known)
    }
}

/// There is TLS 1.3 only.
fn too_old() -> Result<HandshakeSignatureValid, Error> {
    Err(PeerIncompatible::ServerDoesNotSupportTls12Or13.into())
}

/// What either side asks of whom it talks to: TLS 1.3 and a raw key. Two traits of rustls have the
/// same methods for it.
macro_rules! raw_keys_alone {
    () => {
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            too_old()
        }
        fn verify_tls13_signature(
            &self,
            message: &[u8],
            key: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.proven(message, key, signature)
        }
        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }
        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.knows(key).map(|()| ServerCertVerified::assertion())
    }
    raw_keys_alone!();
}

impl ClientCertVerifier for Trust {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }
    fn verify_client_cert(
        &self,
        key: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.knows(key).map(|()| ClientCertVerified::assertion())
    }
    raw_keys_alone!();
}
