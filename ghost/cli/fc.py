"""`ghost fc`: a flight controller's parameters, mission and logs."""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ghost.core.errors import GhostError

if TYPE_CHECKING:
    from ghost.deploy.fc import Difference, Parameter

Run = Callable[[argparse.Namespace], int]

SAME, DIFFERENT, TROUBLE = 0, 1, 2
REFRESH_NS = 100_000_000
_DIFF_CODES = "Exit code, as diff's: 0 the same, 1 different, 2 it could not be told."
_DISARMED = "Refused while armed."


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "fc",
        help="look after a flight controller's parameters, mission, logs and signing key",
        description="Look after the flight controller behind a link: its parameters, its mission, "
        "its logs and its signing key. Nothing is changed while it is armed.",
    )
    things = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_params(things)
    _add_mission(things)
    _add_logs(things)
    _add_sign(things)


def _add_params(things: Any) -> None:
    about = "list, read, set, save, load and compare parameters"
    parser = things.add_parser("params", help=about, description=f"{about.capitalize()}.")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = _add(verbs, "list", _list_params, "list parameters: name, value and type")
    listing.add_argument(
        "pattern",
        metavar="PATTERN",
        nargs="?",
        default="*",
        help="only names like this, such as 'MPC_*' (default: all)",
    )
    getting = _add(verbs, "get", _get_params, "read parameters: name, value and type")
    getting.add_argument("names", metavar="NAME", nargs="+", help="such as MPC_XY_CRUISE")
    setting = _add(
        verbs, "set", _set_param, "set a parameter, and print what it was and is", _DISARMED
    )
    setting.add_argument("name", metavar="NAME", help="such as MPC_XY_CRUISE")
    setting.add_argument("value", metavar="VALUE", help="a number")
    saving = _add(verbs, "save", _save_params, "write all parameters to a .params file")
    loading = _add(
        verbs,
        "load",
        _load_params,
        "set what differs from a .params file, and print what it was and is",
        f"Parameters that the file doesn't have are left alone. {_DISARMED}",
    )
    comparing = _add(
        verbs,
        "diff",
        _diff_params,
        "print what `load` would change: what is, and what would be",
        f"Parameters that the file doesn't have are left out. {_DIFF_CODES}",
    )
    for one in (saving, loading, comparing):
        one.add_argument(
            "file", metavar="FILE", type=Path, help="of parameters, in QGroundControl's form"
        )


def _add_mission(things: Any) -> None:
    about = "list, clear, save, load and compare the mission"
    parser = things.add_parser("mission", help=about, description=f"{about.capitalize()}.")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add(verbs, "list", _list_mission, "list the mission's items, with their seven parameters")
    _add(verbs, "clear", _clear_mission, "remove the mission", _DISARMED)
    simple = "Only plans of SimpleItems, without a fence or rally points, can be read."
    saving = _add(verbs, "save", _save_mission, "write the mission to a .plan file")
    loading = _add(
        verbs,
        "load",
        _load_mission,
        "put the mission of a .plan file in place of the flight controller's",
        f"{simple} {_DISARMED}",
    )
    comparing = _add(
        verbs,
        "diff",
        _diff_mission,
        "print what `load` would change: what is, and what it would become",
        f"{simple} Places a centimetre apart are the same. {_DIFF_CODES}",
    )
    for one in (saving, loading, comparing):
        one.add_argument("file", metavar="FILE", type=Path, help="a plan of QGroundControl")


def _add_logs(things: Any) -> None:
    about = "list and fetch the flight controller's own logs"
    parser = things.add_parser("logs", help=about, description=f"{about.capitalize()}.")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add(verbs, "list", _list_logs, "list logs: number, size and date")
    getting = _add(
        verbs,
        "get",
        _get_log,
        "fetch a log",
        "Until it is whole, what came is in a file beside it that ends with .part; the next "
        "attempt goes on from there.",
    )
    getting.add_argument("log", metavar="ID|latest", help="a number of `list`, or the newest")
    getting.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where to write it, a file or a folder (default: here, named after number and date)",
    )


def _add_sign(things: Any) -> None:
    about = "give the flight controller a MAVLink signing key, or take it back"
    parser = things.add_parser(
        "sign",
        help=about,
        description=f"{about[0].upper()}{about[1:]}. With one it hears only what is signed with "
        "it. The key goes over the link in clear: use a cable.",
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    changing = f"A key that is there already is given with --signing-key. {_DISARMED}"
    making = _add(verbs, "new", _new_key, "make a key, and give it", changing)
    giving = _add(verbs, "give", _give_key, "give a key that there is", changing)
    for one in (making, giving):
        one.add_argument("file", metavar="FILE", type=Path, help="of the key, readable to you only")
    _add(
        verbs,
        "remove",
        _remove_key,
        "take back the key of --signing-key, and hear everybody again",
        _DISARMED,
    )


def _add(
    verbs: Any, name: str, run: Run, about: str, epilog: str | None = None
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=about, description=f"{about[0].upper()}{about[1:]}.", epilog=epilog
    )
    parser.add_argument(
        "--link",
        required=True,
        metavar="URL",
        help="to the flight controller, such as serial:///dev/ttyACM0:921600 or "
        "udpin://0.0.0.0:14540",
    )
    parser.add_argument(
        "--signing-key", type=Path, metavar="FILE", help="that the flight controller has, if any"
    )
    parser.set_defaults(run=run)
    return parser


# In each of these, not at the top: MAVLink takes a while to load.


def _list_params(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    with (
        fc.connect(options.link, options.signing_key) as vehicle,
        _Progress("reading parameters") as progress,
    ):
        found = fc.list_parameters(vehicle, options.pattern, progress.show)
    _print_parameters(found)
    return 0


def _get_params(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    with fc.connect(options.link, options.signing_key) as vehicle:
        _print_parameters([fc.read_parameter(vehicle, name) for name in options.names])
    return 0


def _set_param(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    with fc.connect(options.link, options.signing_key) as vehicle:
        _print_differences([fc.set_parameter(vehicle, options.name, options.value)])
    return 0


def _save_params(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    with (
        fc.connect(options.link, options.signing_key) as vehicle,
        _Progress("reading parameters") as progress,
    ):
        count = fc.save_parameters(vehicle, options.file, progress.show)
    print(f"{count} parameters in {options.file}")
    return 0


def _load_params(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    wanted = fc.read_parameters(options.file)
    with (
        fc.connect(options.link, options.signing_key) as vehicle,
        _Progress("reading parameters") as progress,
    ):
        count = 0
        for difference in fc.load_parameters(vehicle, wanted, progress.show):
            progress.clear()
            _print_differences([difference])
            count += 1
    print(f"{count} of {len(wanted)} parameters set, the others were so already")
    return 0


def _diff_params(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    def compare() -> bool:
        wanted = fc.read_parameters(options.file)
        with (
            fc.connect(options.link, options.signing_key) as vehicle,
            _Progress("reading parameters") as progress,
        ):
            differences = fc.parameter_differences(vehicle, wanted, progress.show)
        _print_differences(differences)
        return not differences

    return _verdict(compare)


def _list_mission(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    with (
        fc.connect(options.link, options.signing_key) as vehicle,
        _Progress("reading items") as progress,
    ):
        items = fc.download_mission(vehicle, progress.show)
    if not items:
        print("no mission")
        return 0
    rows = [
        (
            str(item.seq),
            fc.command_name(item.command),
            fc.frame_name(item.frame),
            *("-" if value is None else f"{value:.10g}" for value in fc.params_of(item)),
        )
        for item in items
    ]
    heads = ("#", "command", "frame", "param1", "2", "3", "4", "5 lat", "6 lon", "7 alt")
    _print_table([heads, *rows])
    return 0


def _clear_mission(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    with fc.connect(options.link, options.signing_key) as vehicle:
        fc.clear_mission(vehicle)
    print("no mission is left")
    return 0


def _save_mission(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    with (
        fc.connect(options.link, options.signing_key) as vehicle,
        _Progress("reading items") as progress,
    ):
        count = fc.save_mission(vehicle, options.file, progress.show)
    print(f"{count} items in {options.file}")
    return 0


def _load_mission(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    items = fc.read_plan(options.file)
    with (
        fc.connect(options.link, options.signing_key) as vehicle,
        _Progress("sending items") as progress,
    ):
        fc.upload_mission(vehicle, items, progress.show)
    print(f"{len(items)} items loaded from {options.file}")
    return 0


def _diff_mission(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    def compare() -> bool:
        wanted = fc.read_plan(options.file)
        with (
            fc.connect(options.link, options.signing_key) as vehicle,
            _Progress("reading items") as progress,
        ):
            differences = fc.mission_differences(vehicle, wanted, progress.show)
        for line in differences:
            print(line)
        return not differences

    return _verdict(compare)


def _list_logs(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    with fc.connect(options.link, options.signing_key) as vehicle:
        logs = fc.list_logs(vehicle)
    for log in logs:
        date = fc.date_of(log)
        when = f"{date:%Y-%m-%d %H:%M:%S} UTC" if date else "no date"
        print(f"{log.number:>5}  {log.size_bytes / 1e6:>9.3f} MB  {when}")
    if not logs:
        print("no logs")
    return 0


def _get_log(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    with (
        fc.connect(options.link, options.signing_key) as vehicle,
        _Progress("fetching bytes") as progress,
    ):
        fetched = fc.fetch_log(vehicle, options.log, options.out, progress.show)
    seconds = fetched.duration_ns / 1e9
    megabytes = fetched.bytes_fetched / 1e6
    print(
        f"log {fetched.log.number}: {megabytes:.3f} MB in {seconds:.1f} s, "
        f"{megabytes / max(seconds, 1e-9):.3f} MB/s, in {fetched.path}"
    )
    return 0


def _new_key(options: argparse.Namespace) -> int:
    return _put_key(options, is_new=True)


def _give_key(options: argparse.Namespace) -> int:
    return _put_key(options, is_new=False)


def _put_key(options: argparse.Namespace, *, is_new: bool) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    with fc.connect(options.link, options.signing_key) as vehicle:
        fc.give_signing_key(vehicle, options.file, is_new=is_new)
    print(f"the flight controller signs with the key in {options.file}, and hears nobody else")
    return 0


def _remove_key(options: argparse.Namespace) -> int:
    from ghost.deploy import fc  # noqa: PLC0415

    with fc.connect(options.link, options.signing_key) as vehicle:
        fc.remove_signing_key(vehicle)
    print("the flight controller has no key, and hears everybody")
    return 0


def _verdict(is_same: Callable[[], bool]) -> int:
    try:
        return SAME if is_same() else DIFFERENT
    except GhostError as error:
        print(f"ghost: {' '.join(str(error).split())}", file=sys.stderr)
        return TROUBLE


def _print_parameters(parameters: "Sequence[Parameter]") -> None:
    from ghost.deploy import fc  # noqa: PLC0415

    _print_table([(one.name, fc.shortest(one.value), fc.kind_name(one.kind)) for one in parameters])


def _print_differences(differences: "Iterable[Difference]") -> None:
    from ghost.deploy import fc  # noqa: PLC0415

    for one in differences:
        before, after = (
            "-" if value is None else fc.shortest(value) for value in (one.before, one.after)
        )
        print(f"{one.name:<16}  {before} -> {after}", flush=True)


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


class _Progress:
    """On a terminal a line that is rewritten, and at last removed; else nothing."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._is_live = sys.stderr.isatty()
        self._shown_ns = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def show(self, done: int, total: int) -> None:
        now_ns = time.monotonic_ns()
        if self._is_live and now_ns - self._shown_ns >= REFRESH_NS:
            self._shown_ns = now_ns
            part = done / total if total else 1.0
            line = f"\r{self._what}: {done} of {total}, {part:.0%}\033[K"
            print(line, end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._is_live and self._shown_ns:
            self._shown_ns = 0
            print("\r\033[K", end="", file=sys.stderr, flush=True)
