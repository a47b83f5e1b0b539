//! A session for quinn-proto without encryption: the same packets as with TLS, but readable.
//!
//! ```text
//!   client                                    server
//!   Initial: its transport parameters   --->
//!                                       <---  Initial: "hello"; Handshake: its transport parameters
//!   Handshake: "done"                   --->
//! ```
//!
//! Packets have a tag of 16 zero bytes, as long as that of AES-GCM. So sizes are those of a real connection, and the bytes are the same
//! twice, which a key exchange would prevent.

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::sync::Arc;

/// Bytes of the tag of a packet.
const TAG: usize = 16;

/// Every key and configuration of the plaintext session.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(Plain), remote: Box::new(Plain) },
        packet: KeyPair { local: Box::new(Plain), remote: Box::new(Plain) },
    }
}

impl PacketKey for Plain {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}
    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
    }
    fn tag_len(&self) -> usize {
        TAG
    }
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }
    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Plain {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        TAG
    }
}

impl HmacKey for Plain {
    // a stateless reset is recognised by its last bytes, so these must not be zeros, which end every packet here
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for (i, byte) in out.iter_mut().enumerate() {
            hash = (hash ^ u64::from(data[i % data.len().max(1)])).wrapping_mul(0x0100_0000_01b3);
            *byte = (hash >> 32) as u8 | 1;
        }
    }
    fn signature_len(&self) -> usize {
        64
    }
    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = vec![0; signature.len()];
        self.sign(data, &mut expected);
        if expected == signature { Ok(()) } else { Err(CryptoError) }
    }
}

impl HandshakeTokenKey for Plain {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Plain)
    }
}

impl AeadKey for Plain {
    fn seal(&self, _: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}

impl ClientConfig for Plain {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Handshake::new(Side::Client, params)))
    }
}

impl ServerConfig for Plain {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }
    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }
    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(Handshake::new(Side::Server, params))
    }
}

/// The next step of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    ClientWritesParameters,
    ClientReadsHello,
    ClientTakesKeys,
    ClientReadsParameters,
    ClientWritesDone,
    ServerReadsParameters,
    ServerWritesHello,
    ServerWritesParameters,
    ServerReadsDone,
    Complete,
}

/// The session of one connection.
#[derive(Debug)]
struct Handshake {
    side: Side,
    step: Step,
    /// Our transport parameters, encoded.
    own: Vec<u8>,
    /// Those of the peer, once received.
    peer: Option<TransportParameters>,
}

impl Handshake {
    fn new(side: Side, params: &TransportParameters) -> Self {
        let mut own = Vec::new();
        params.write(&mut own);
        let step = if side.is_client() { Step::ClientWritesParameters } else { Step::ServerReadsParameters };
        Self { side, step, own, peer: None }
    }
}

fn unexpected() -> TransportError {
    let reason = "unexpected handshake message".to_owned();
    TransportError { code: TransportErrorCode::PROTOCOL_VIOLATION, frame: None, reason }
}

impl Session for Handshake {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }
    fn early_data_accepted(&self) -> Option<bool> {
        None
    }
    fn is_handshaking(&self) -> bool {
        self.step != Step::Complete
    }

    fn read_handshake(&mut self, mut bytes: &[u8]) -> Result<bool, TransportError> {
        self.step = match self.step {
            Step::ClientReadsHello => Step::ClientTakesKeys,
            Step::ServerReadsDone => Step::Complete,
            Step::ClientReadsParameters | Step::ServerReadsParameters => {
                self.peer = Some(TransportParameters::read(self.side, &mut bytes)?);
                if self.side.is_client() { Step::ClientWritesDone } else { Step::ServerWritesHello }
            }
            _ => return Err(unexpected()),
        };
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let (next, text, has_keys): (_, &[u8], _) = match self.step {
            Step::ClientWritesParameters => (Step::ClientReadsHello, &self.own, false),
            Step::ClientTakesKeys => (Step::ClientReadsParameters, b"", true),
            Step::ClientWritesDone => (Step::Complete, b"done", true),
            Step::ServerWritesHello => (Step::ServerWritesParameters, b"hello", true),
            Step::ServerWritesParameters => (Step::ServerReadsDone, &self.own, true),
            _ => return None,
        };
        out.extend_from_slice(text);
        self.step = next;
        has_keys.then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(keys().packet)
    }
    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        true
    }
    fn export_keying_material(&self, _: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}
