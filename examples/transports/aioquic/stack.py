"""aioquic as an endpoint: a client that sends one endless stream, and a server that reads it.

aioquic is sans-I/O. It draws random bytes from `os.urandom`, and keys from `cryptography`. Here both come from seeded
streams, and the time of day is constant, so that two runs give the same bytes, encryption included. aioquic has no ECN.
"""

from __future__ import annotations

import datetime as dt
import math
import ssl
from random import Random
from types import SimpleNamespace

from aioquic import tls
from aioquic.quic import connection, events, logger, packet
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, x448, x25519
from cryptography.x509.oid import NameOID

from bloatlab.network import Address, Datagram

#: Bytes that the client writes at a time, and the minimum that it keeps waiting to be sent.
AHEAD = 1 << 20
#: The time of day, within the validity of the server's certificate.
NOW = dt.datetime(2026, 11, 24, tzinfo=dt.UTC)


class Source:
    """The source of aioquic's random numbers, and of the time in its log.

    `random` is the random stream of the running stack, and `now` the network's time in s.
    """

    def __init__(self) -> None:
        self.random = Random(0)
        self.now = 0.0

    def urandom(self, size: int) -> bytes:
        return self.random.randbytes(size)

    def ec_key(self, curve: ec.EllipticCurve) -> ec.EllipticCurvePrivateKey:
        # a 31-byte number is below the order of every curve that aioquic uses
        return ec.derive_private_key(1 + int.from_bytes(self.urandom(31), "big"), curve)

    def install(self) -> None:
        """Replaces the random sources and clocks in aioquic's modules, and in no others."""
        for module in (connection, packet, tls):
            module.os = SimpleNamespace(urandom=self.urandom)
        tls.utcnow = lambda: NOW
        logger.time = SimpleNamespace(time=lambda: self.now)
        tls.ec = SimpleNamespace(**{**vars(ec), "generate_private_key": self.ec_key})
        tls.x25519 = self._with_generate(x25519, x25519.X25519PrivateKey, 32)
        tls.x448 = self._with_generate(x448, x448.X448PrivateKey, 56)

    def _with_generate(self, module: object, key: type, size: int) -> SimpleNamespace:
        """Returns a module whose private keys are drawn from this source."""
        drawn = SimpleNamespace(
            generate=lambda: key.from_private_bytes(self.urandom(size)), from_private_bytes=key.from_private_bytes
        )
        return SimpleNamespace(**{**vars(module), key.__name__: drawn})


SOURCE = Source()
SOURCE.install()


def certificate() -> tuple[x509.Certificate, ed25519.Ed25519PrivateKey]:
    """Returns the server's certificate and key. Ed25519 signatures use no random numbers."""
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32))
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    day = dt.timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW - day, NOW + day)
    return builder.sign(key, None), key


class Aioquic:
    """A QUIC stack with at most one connection."""

    def __init__(self, server: Address | None = None, **configuration: object) -> None:
        """Makes a client of `server`, or a server if `server` is None. `configuration` is passed to aioquic."""
        self._server = server
        self._random = Random(1 if server else 2)
        self._configuration = QuicConfiguration(is_client=server is not None, alpn_protocols=["x"], **configuration)
        if server is None:
            self._configuration.certificate, self._configuration.private_key = certificate()
        self._configuration.verify_mode = ssl.CERT_NONE
        self._connection: connection.QuicConnection | None = None
        self._stream: int | None = None
        self._to_send: list[tuple[bytes, Address]] = []
        self._written = self._sent = 0
        #: Number of bytes read by the server.
        self.read = 0

    def _begin(self, now_ns: int) -> float:
        """Prepares a call to aioquic; returns the time in s.

        The half nanosecond is added so that a timer that is due now also compares as due.
        """
        SOURCE.random, SOURCE.now = self._random, (now_ns + 0.5) / 1e9
        return SOURCE.now

    def _open(self, first: bytes | None = None) -> connection.QuicConnection:
        """Makes the connection. On a server, `first` is the first datagram from the client."""
        if first is None:
            return connection.QuicConnection(configuration=self._configuration)
        header = packet.pull_quic_header(packet.Buffer(data=first), host_cid_length=8)
        return connection.QuicConnection(
            configuration=self._configuration, original_destination_connection_id=header.destination_cid
        )

    def handle(self, now_ns: int, datagram: Datagram) -> None:
        """Receives a datagram."""
        now = self._begin(now_ns)
        if self._connection is None:
            self._connection = self._open(datagram.data)
        self._connection.receive_datagram(datagram.data, datagram.sender, now=now)
        self._handle_events()

    def poll_transmit(self, now_ns: int) -> tuple[Address, bytes, int] | None:
        """Returns the next datagram, with an ECN field of 0."""
        now = self._begin(now_ns)
        if self._connection is None:
            if self._server is None:
                return None
            self._connection = self._open()
            self._connection.connect(self._server, now=now)
        if not self._to_send:
            self._write()
            self._to_send = self._connection.datagrams_to_send(now=now)[::-1]
        if not self._to_send:
            return None
        data, address = self._to_send.pop()
        self._sent += len(data)
        return address[:2], data, 0

    def next_timeout(self) -> int | None:
        """Returns the time of aioquic's timer, rounded up."""
        at = self._connection.get_timer() if self._connection else None
        return None if at is None else math.ceil(at * 1e9)

    def on_timeout(self, now_ns: int) -> None:
        """Handles the timer."""
        self._connection.handle_timer(now=self._begin(now_ns))
        self._handle_events()

    def _handle_events(self) -> None:
        while (event := self._connection.next_event()) is not None:
            match event:
                case events.HandshakeCompleted() if self._server is not None:
                    self._stream = self._connection.get_next_available_stream_id(is_unidirectional=True)
                case events.StreamDataReceived(data=data):
                    self.read += len(data)
                case events.ConnectionTerminated(reason_phrase=reason):
                    raise ConnectionError(f"the connection is lost: {reason}")
                case _:
                    pass

    def _write(self) -> None:
        """Keeps at least `AHEAD` bytes waiting; often more, because `_sent` also counts headers and retransmissions."""
        if self._stream is not None and self._written < self._sent + AHEAD:
            self._connection.send_stream_data(self._stream, bytes(AHEAD))
            self._written += AHEAD
