"""A raw client of the plugin's protocol, by its definition and nothing of Ghost's."""

import json
import select
import socket
import struct
import time
from types import TracebackType
from typing import Any, Self

MAGIC_16, MAGIC_32 = 18458, 29569
OFF_US = 1100


class Client:
    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect((host, port))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()

    def send(self, count: int, *, magic: int = MAGIC_16, channels: int = 16) -> None:
        pulses = (OFF_US,) * 4 + (0,) * (channels - 4)
        self.socket.send(struct.pack(f"<HHI{channels}H", magic, 1000, count, *pulses))

    def receive(self, timeout_s: float = 2.0) -> bytes:
        heard = self.within(timeout_s)
        assert heard is not None, f"no answer within {timeout_s} s"
        return heard

    def within(self, timeout_s: float) -> bytes | None:
        ready, _, _ = select.select([self.socket], [], [], timeout_s)
        return self.socket.recv(65536) if ready else None

    def ask(self, count: int) -> bytes:
        """The answer to that frame, after whatever was said before."""
        self.drain()
        self.send(count)
        return self.receive()

    def ask_beyond(self, before: bytes, count: int) -> bytes:
        """As ask(), where the server may be saying that state once more at this very moment."""
        answer = self.ask(count)
        while answer == before:
            answer = self.receive()
        return answer

    def drain(self, wait_s: float = 0.0) -> list[bytes]:
        """What has come, or the first that comes within so long."""
        heard: list[bytes] = []
        while (datagram := self.within(0.0 if heard else wait_s)) is not None:
            heard.append(datagram)
        return heard

    def during(self, span_s: float) -> list[tuple[float, bytes]]:
        """What comes in so many seconds, and when."""
        began_s, heard = time.monotonic(), []
        while (left_s := began_s + span_s - time.monotonic()) > 0.0:
            if (datagram := self.within(left_s)) is not None:
                heard.append((time.monotonic() - began_s, datagram))
        return heard


def time_ns(answer: bytes) -> int:
    timestamp_s: float = read(answer)["timestamp"]
    return round(timestamp_s * 1e9)


def read(answer: bytes) -> Any:
    assert answer[:1] == answer[-1:] == b"\n"
    return json.loads(answer)
