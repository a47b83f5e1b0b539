//! A session for quinn-proto without encryption: its data packets are as long as with TLS, but readable.
//!
//! ```text
//!   client                                    server
//!   Initial: its transport parameters   --->
//!                                       <---  Initial: "hello"; Handshake: its transport parameters
//!   Handshake: "done"                   --->
//! ```
//!
//! Packets end with a tag of 16 zero bytes, as long as AES-GCM's tag. The handshake is shorter than that of TLS. There
//! is no key exchange, so two runs give the same bytes.

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::Arc;

/// Size of a packet's tag, in bytes.
const TAG: usize = 16;

/// Every key and configuration of the plaintext session.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

fn keys() -> Keys {
    let packet: KeyPair<Box<dyn PacketKey>> = KeyPair { local: Box::new(Plain), remote: Box::new(Plain) };
    Keys { header: KeyPair { local: Box::new(Plain), remote: Box::new(Plain) }, packet }
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
    // a stateless reset is recognised by its last bytes; they must not be zeros, because every packet in this session ends with
    // zeros
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
    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
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
        Ok(Handshake::session(true, params))
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
        Handshake::session(false, params)
    }
}

/// The session of one connection. Its state is the number of messages read and written so far.
#[derive(Debug)]
struct Handshake {
    is_client: bool,
    /// Our transport parameters, encoded.
    own: Vec<u8>,
    /// The peer's transport parameters, once received.
    peer: Option<TransportParameters>,
    read: u8,
    written: u8,
}

impl Handshake {
    fn session(is_client: bool, params: &TransportParameters) -> Box<dyn Session> {
        let mut own = Vec::new();
        params.write(&mut own);
        Box::new(Self { is_client, own, peer: None, read: 0, written: 0 })
    }
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
        if self.is_client { self.written < 3 } else { self.read < 2 }
    }
    fn read_handshake(&mut self, mut bytes: &[u8]) -> Result<bool, TransportError> {
        self.read += 1;
        // the server reads the peer's parameters in its first message. The client reads them in its second, after "hello"
        if self.read == 1 + u8::from(self.is_client) {
            let side = if self.is_client { Side::Client } else { Side::Server };
            self.peer = Some(TransportParameters::read(side, &mut bytes)?);
        }
        Ok(false)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }
    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let (least_read, text, has_keys): (_, &[u8], _) = match (self.is_client, self.written) {
            (true, 0) => (0, &self.own, false),
            (true, 1) => (1, b"", true),
            (true, 2) => (2, b"done", true),
            (false, 0) => (1, b"hello", true),
            (false, 1) => (1, &self.own, true),
            _ => return None,
        };
        if self.read < least_read {
            return None;
        }
        out.extend_from_slice(text);
        self.written += 1;
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
