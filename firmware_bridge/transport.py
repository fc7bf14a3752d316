"""Bytes in and out, without waiting: serial ports and sockets, all alike.

A transport that fails raises OSError and is done for; whoever owns it opens another.
"""

import errno
import fcntl
import os
import socket
import sys
import termios
from collections.abc import Callable
from typing import Protocol

import serial

from firmware_bridge.endpoint import Address, Endpoint, Lookup, Scheme

READ_BYTES = 4096
"""A turn: what noise costs is bounded by it. A datagram's bytes beyond it are lost."""
ROOM_BYTES = 280
"""The longest frame. More than that still unsent, and what is sent now leaves late."""
SEND_BUFFER_BYTES = 16_384
"""What the system keeps for one that doesn't read is old when it is read."""
_DATAGRAMS_A_TURN = 64
_RECEIVE_BUFFER_BYTES = 1 << 20
_GONE = "the port is gone"


class Transport(Protocol):
    """Opened when it is made, closed for good by close()."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The file descriptors that become readable when there is something to read."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether it can carry bytes: an outgoing TCP connection may still be on its way, an
        incoming one may have nobody at its other end.
        """
        ...

    @property
    def has_room(self) -> bool:
        """Whether the system has sent on what it was given before, but for a frame."""
        ...

    def settle(self) -> None:
        """Notice what became of a connection on its way, or who came; read nothing."""
        ...

    def read(self) -> bytes:
        """What has arrived; empty where nothing has."""
        ...

    def write(self, data: bytes) -> int:
        """How many bytes were taken: all, none, or on a stream a part."""
        ...

    def close(self) -> None: ...


def open_transport(
    endpoint: Endpoint, lookup: Lookup, on_stranger: Callable[[], None]
) -> Transport:
    """on_stranger is called for each datagram or connection that is turned away."""
    match endpoint.scheme:
        case Scheme.SERIAL:
            return SerialTransport(endpoint.place, endpoint.number)
        case Scheme.UDP_IN | Scheme.UDP_OUT:
            return UdpTransport(endpoint.scheme, *lookup(), on_stranger, local=endpoint.local)
        case Scheme.TCP_IN:
            return TcpListener(*lookup(), on_stranger)
        case Scheme.TCP_OUT:
            return TcpConnection(*lookup())


class SerialTransport:
    is_ready = True

    def __init__(self, device: str, baud: int) -> None:
        # Without exclusive two programs would share the port, and each get half of the bytes.
        try:
            self._port = serial.Serial(device, baud, timeout=0, write_timeout=0, exclusive=True)
        except termios.error as error:  # which is no OSError
            raise OSError(*error.args) from None
        except OSError as error:  # whose text is pyserial's, with another text in it
            raise _plain(error, device) from None
        self._number: int = self._port.fileno()

    @property
    def numbers(self) -> tuple[int, ...]:
        return (self._number,)

    @property
    def has_room(self) -> bool:
        # A pty always says that nothing is left: its bytes lie at the other end at once, up to
        # 16 kB of them that nobody has read (Linux 6). Only a real port tells.
        return _unsent_bytes(self._number) <= ROOM_BYTES

    def read(self) -> bytes:
        try:
            data = os.read(self._number, READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise _plain(error) from None
        if not data:  # a port that was pulled out is readable, and empty
            raise OSError(errno.EIO, _GONE)
        return data

    def write(self, data: bytes) -> int:
        try:
            return os.write(self._number, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise _plain(error) from None

    def settle(self) -> None:
        pass

    def close(self) -> None:
        self._port.close()


class UdpTransport:
    """udpin answers whom its owner adopts; udpout speaks first, and its own address is always
    heard. Nobody else is while is_held, which the owner sets: then the peer is alive.
    """

    has_room = True  # a datagram goes at once, or not at all

    def __init__(
        self,
        scheme: Scheme,
        family: int,
        address: Address,
        on_stranger: Callable[[], None],
        *,
        local: int = 0,
    ) -> None:
        self.is_held = False
        self.is_ready = True
        self._on_stranger = on_stranger
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
        self._home = address if scheme is Scheme.UDP_OUT else None
        self._peer = self._home
        self._speaker: Address | None = None
        try:
            if self._home is None:
                self._socket.bind(address)
            else:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                if local:
                    self._socket.bind(("", local))
        except OSError:
            self._socket.close()
            raise

    @property
    def port(self) -> int:
        """Our own."""
        number: int = self._socket.getsockname()[1]
        return number

    @property
    def numbers(self) -> tuple[int, ...]:
        return (self._socket.fileno(),)

    def read(self) -> bytes:
        for _ in range(_DATAGRAMS_A_TURN):
            try:
                datagram, speaker = self._socket.recvfrom(READ_BYTES)
            except (BlockingIOError, ConnectionRefusedError):  # refused: nobody listens there yet
                return b""
            if not self.is_held or speaker in (self._peer, self._home):
                self._speaker = speaker
                return datagram
            self._on_stranger()
        return b""

    def adopt(self) -> None:
        """Whose datagram was read last is the peer."""
        self._peer = self._speaker
        self.is_ready = True

    def forget(self) -> None:
        """The peer is gone; not ready until another is adopted, though udpout may speak."""
        self._peer = self._home
        self.is_ready = False

    def write(self, data: bytes) -> int:
        if self._peer is None:
            return 0
        try:
            return self._socket.sendto(data, self._peer)
        except (BlockingIOError, ConnectionRefusedError):
            return 0

    def settle(self) -> None:
        pass

    def close(self) -> None:
        self._socket.close()


class TcpConnection:
    """On its way until the other side has taken it."""

    def __init__(self, family: int, address: Address) -> None:
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        _tune(self._socket)
        self.is_ready = False
        failure = self._socket.connect_ex(address)
        if failure not in (0, errno.EINPROGRESS):
            self._socket.close()
            raise OSError(failure, os.strerror(failure))

    @property
    def numbers(self) -> tuple[int, ...]:
        return (self._socket.fileno(),)

    @property
    def has_room(self) -> bool:
        return _unsent_bytes(self._socket.fileno()) <= ROOM_BYTES

    def read(self) -> bytes:
        self.settle()
        return _receive(self._socket) if self.is_ready else b""

    def write(self, data: bytes) -> int:
        self.settle()
        return _send(self._socket, data) if self.is_ready else 0

    def settle(self) -> None:
        if self.is_ready:
            return
        failure = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if failure:
            raise OSError(failure, os.strerror(failure))
        try:
            self._socket.getpeername()
        except OSError:
            return  # still on its way
        self.is_ready = True

    def close(self) -> None:
        self._socket.close()


class TcpListener:
    """One peer at a time: a new one takes the place of the old, which may be long dead, unless
    is_held, which the owner sets: then the old one is alive.
    """

    def __init__(self, family: int, address: Address, on_stranger: Callable[[], None]) -> None:
        self.is_held = False
        self._on_stranger = on_stranger
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._peer: socket.socket | None = None
        try:
            self._socket.bind(address)
            self._socket.listen()
        except OSError:
            self._socket.close()
            raise

    @property
    def port(self) -> int:
        number: int = self._socket.getsockname()[1]
        return number

    @property
    def is_ready(self) -> bool:
        return self._peer is not None

    @property
    def numbers(self) -> tuple[int, ...]:
        own = self._socket.fileno()
        return (own,) if self._peer is None else (own, self._peer.fileno())

    @property
    def has_room(self) -> bool:
        return self._peer is None or _unsent_bytes(self._peer.fileno()) <= ROOM_BYTES

    def read(self) -> bytes:
        self.settle()
        if self._peer is None:
            return b""
        try:
            return _receive(self._peer)
        except OSError:
            self._drop()
            return b""

    def write(self, data: bytes) -> int:
        if self._peer is None:
            return 0
        try:
            return _send(self._peer, data)
        except OSError:
            self._drop()
            return 0

    def close(self) -> None:
        self._drop()
        self._socket.close()

    def settle(self) -> None:
        try:
            peer, _ = self._socket.accept()
        except BlockingIOError:
            return
        if self._peer is not None and self.is_held and not _has_hung_up(self._peer):
            peer.close()
            self._on_stranger()
            return
        self._drop()
        _tune(peer)
        self._peer = peer

    def _drop(self) -> None:
        if self._peer is not None:
            self._peer.close()
            self._peer = None


def _plain(error: OSError, device: str = "") -> OSError:
    number = error.errno
    if number is None:
        return OSError(errno.ENOTTY, "it doesn't answer as a serial port does")
    if number in (errno.EIO, errno.ENXIO, errno.ENODEV):
        return OSError(number, _GONE)
    if number in (errno.EAGAIN, errno.EBUSY):
        return OSError(number, "another program has it open")
    if number == errno.EACCES:
        return OSError(number, f"not allowed to open it; ls -l {device} shows who is")
    return OSError(number, os.strerror(number))


def _tune(stream: socket.socket) -> None:
    stream.setblocking(False)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)


def _unsent_bytes(number: int) -> int:
    """What the system still holds of what was written; of a TCP connection, what the other side
    has not acknowledged. 0 where it can't tell.
    """
    try:
        told = fcntl.ioctl(number, termios.TIOCOUTQ, bytes(4))  # SIOCOUTQ is the same number
    except OSError:
        return 0
    return int.from_bytes(told, sys.byteorder)


def _has_hung_up(stream: socket.socket) -> bool:
    try:
        return not stream.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _receive(stream: socket.socket) -> bytes:
    try:
        data = stream.recv(READ_BYTES)
    except BlockingIOError:
        return b""
    if not data:
        raise OSError(errno.ECONNRESET, "the other side hung up")
    return data


def _send(stream: socket.socket, data: bytes) -> int:
    try:
        return stream.send(data)
    except BlockingIOError:
        return 0
