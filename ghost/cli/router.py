"""`ghost router`: share a flight controller with ground stations."""

import argparse
import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ghost.deploy.router import LinkNews, PortCounts, Router

TURN_NS = 100_000_000
TABLE_NS = 5_000_000_000
_HEADS = "    in/s    out/s  in kB/s out kB/s  dropped  denied"


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "router",
        help="share a flight controller with ground stations",
        description="Pass MAVLink between a flight controller and any number of ground stations, "
        "as it is. A message goes where its addressee was heard, or to all where it has none. What "
        "opens a shell, erases logs, writes files or firmware, and what Ghost doesn't know, is "
        "denied to the network.",
        epilog="Prints a line for whoever comes, goes, is refused or denied something, and a table "
        "of rates: every 5 s on a terminal, and at the end. Ctrl-C or SIGTERM ends it. Exit code: "
        "0 ended so, 1 could not start: an address of --listen or --tcp that is taken, a name that "
        "nobody knows. A --link that can't be opened is told, and tried again.",
    )
    parser.add_argument(
        "--link",
        required=True,
        metavar="URL",
        help="to the flight controller, such as serial:///dev/ttyACM0:921600; opened again "
        "whenever it fails, or can't be opened yet",
    )
    for option, about in {
        "--listen": "for UDP clients, such as udpin://0.0.0.0:14550: whoever sends is one, until "
        "silent for 30 s, or 3 s where another needs the room; at most 32",
        "--tcp": "for TCP clients, such as tcpin://0.0.0.0:5760; at most 16",
        "--to": "a UDP client that is spoken to first, such as udpout://192.168.1.5:14550",
    }.items():
        parser.add_argument(
            option,
            action="append",
            default=[],
            metavar="URL",
            help=f"{about}; may be given again",
        )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="let the network send this: BOOTLOADER, FTP_WRITE, LOG_ERASE, SERIAL_CONTROL, "
        "SETUP_SIGNING or UNKNOWN (messages that Ghost doesn't know); may be given again",
    )
    parser.add_argument(
        "--deny",
        action="append",
        default=[],
        metavar="NAME",
        help="deny the network this, too: the name of a message, such as PARAM_SET, or of a "
        "command, such as MAV_CMD_COMPONENT_ARM_DISARM; may be given again",
    )
    parser.set_defaults(run=_router)


def _router(options: argparse.Namespace) -> int:
    # Not at the top: MAVLink takes a while to load, and no other command needs it.
    from ghost.deploy.router import LinkNews, RouterOrder, open_router  # noqa: PLC0415

    order = RouterOrder(
        options.link,
        listen=tuple(options.listen),
        tcp=tuple(options.tcp),
        to=tuple(options.to),
        allow=tuple(options.allow),
        deny=tuple(options.deny),
    )
    ended: list[int] = []
    ways = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(way, lambda number, _: ended.append(number)) for way in ways]
    try:
        news = LinkNews(_tell)
        router = open_router(order, _tell, news)
        try:
            _tell(f"denied to the network: {', '.join(router.guard.names) or 'nothing'}")
            _run(router, news, ended)
        finally:
            router.close()
            router.link.close()
    finally:
        for way, handler in zip(ways, before, strict=True):
            signal.signal(way, handler)
    return 0


def _run(router: "Router", news: "LinkNews", ended: list[int]) -> None:
    table = _Table(router)
    is_live = sys.stdout.isatty()
    shown_ns = router.now_ns()
    while not ended:
        router.spin(router.now_ns() + TURN_NS)
        news.look_at(router.link)
        news.look_at(router.link)
        if is_live and router.now_ns() - shown_ns >= TABLE_NS:
            shown_ns = router.now_ns()
            table.show()
    table.show()


class _Table:
    """Rates since it was shown last."""

    def __init__(self, router: "Router") -> None:
        self._router = router
        self._since_ns = router.now_ns()
        self._before: dict[str, tuple[int, int, int, int]] = {}

    def show(self) -> None:
        ports = self._router.ports()
        now_ns = self._router.now_ns()
        seconds = max(now_ns - self._since_ns, 1) / 1e9
        width = max(map(len, ports))
        lines = [f"{'':<{width}}  {_HEADS}"]
        for name, counts in ports.items():
            before = self._before.get(name, (0, 0, 0, 0))
            rates = [
                (now - then) / seconds for now, then in zip(_sums(counts), before, strict=True)
            ]
            lines.append(
                f"{name:<{width}}  {rates[0]:8.1f} {rates[1]:8.1f} {rates[2] / 1e3:8.2f} "
                f"{rates[3] / 1e3:8.2f} {counts.dropped:8} {counts.denied:7}"
            )
        lines += [f"denied {name}: {count}" for name, count in self._router.denied.items()]
        lines += [
            f"refused at {server.endpoint}: {server.refusals.count}"
            for server in self._router.servers
            if server.refusals.count
        ]
        _tell("\n".join(lines))
        self._since_ns = now_ns
        self._before = {name: _sums(counts) for name, counts in ports.items()}


def _sums(counts: "PortCounts") -> tuple[int, int, int, int]:
    return counts.received, counts.sent, counts.received_bytes, counts.sent_bytes


def _tell(text: str) -> None:
    print(text, flush=True)
