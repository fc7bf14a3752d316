"""`ghost log`: look into, check, repair, take apart and judge flight logs."""

import argparse
import json
from pathlib import Path
from typing import Any

from ghost.core.errors import ConfigError
from ghost.deploy.verified import verify_run
from ghost.telemetry import (
    LogReader,
    channel_sha256,
    export_csv,
    file_sha256,
    log_path,
    read_manifest,
    recover,
)
from ghost.telemetry.manifest import MANIFEST_NAME
from ghost.telemetry.reader import LOG_NAME
from ghost.verify import Verification


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "log",
        help="look into, check, repair, export and verify flight logs",
        description="Flight logs: MCAP files, which Foxglove opens. A flight leaves a run folder "
        "with log.mcap and a manifest.yaml, which says what was flown and with which settings.",
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add(
        verbs,
        "info",
        _info,
        "show what a log holds: its run, channels, counts and times; check it by its manifest",
    )
    hash_parser = _add(
        verbs,
        "hash",
        _hash,
        "print the SHA-256 of the log, or of one channel in it: equal for equal flights",
    )
    hash_parser.add_argument(
        "--channel",
        metavar="NAME",
        help="only this channel's times and messages, such as /groundtruth/pose: two runs with "
        "the same hash agree on it bit for bit (default: the whole file)",
    )
    _add(
        verbs,
        "recover",
        _recover,
        "repair a log that a crash or power cut left unfinished, and say what was lost",
    )
    export_parser = _add(verbs, "export", _export, "write a log as CSV, one file per channel")
    export_parser.add_argument(
        "--channel",
        metavar="NAME",
        action="append",
        help="only this channel, such as /sensors/imu; may be given again (default: all)",
    )
    export_parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="the folder to write to (default: csv, beside the log)",
    )
    verify_parser = _add(
        verbs,
        "verify",
        _verify,
        "judge a flight by its log: a line for each property, and the first message that offends",
    )
    verify_parser.epilog = "Exit code: 0 nothing failed, 1 something did. See docs/log-verify.md."
    verify_parser.add_argument("--json", action="store_true", help="one JSON document for machines")


def _add(verbs: Any, name: str, run: Any, about: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=about, description=about[0].upper() + about[1:] + "."
    )
    parser.add_argument("path", metavar="RUN", type=Path, help="a run folder or an .mcap file")
    parser.set_defaults(run=run)
    return parser


def _info(options: argparse.Namespace) -> int:
    reader = LogReader(options.path)
    if reader.path.name == LOG_NAME and (reader.path.parent / MANIFEST_NAME).exists():
        manifest = read_manifest(reader.path.parent)
        if manifest.log.sha256 is None:
            raise ConfigError(
                f"{reader.path} is whole, but its manifest says {manifest.log.status}; "
                "run `ghost log recover`"
            )
        actual = file_sha256(reader.path)
        if manifest.log.sha256 != actual:
            raise ConfigError(
                f"{reader.path} is not the log its manifest describes: sha256 is {actual}, "
                f"expected {manifest.log.sha256}"
            )
        print(f"run        {manifest.run_id} ({manifest.log.status})")
        print(f"robot      {manifest.robot}")
        print(f"scenario   {manifest.scenario}, seed {manifest.seed}")
        print(f"reproduce  {manifest.reproduce}")
    count = sum(channel.count for channel in reader.channels.values())
    seconds = (reader.end_ns - reader.start_ns) / 1e9
    print(f"messages   {count} in {seconds:.3f} s, {reader.path.stat().st_size} bytes")
    width = max((len(name) for name in reader.channels), default=0)
    for channel in reader.channels.values():
        source = f"  (from {channel.derived_from})" if channel.derived_from else ""
        print(f"  {channel.name:<{width}}  {channel.count:>8}  {channel.schema}{source}")
    return 0


def _hash(options: argparse.Namespace) -> int:
    if options.channel is None:
        print(file_sha256(log_path(options.path)))
    else:
        print(channel_sha256(LogReader(options.path), options.channel))
    return 0


def _recover(options: argparse.Namespace) -> int:
    found = recover(options.path)
    print(f"recovered  {found.messages} messages on {len(found.channels)} channels")
    if found.end_ns is not None and found.start_ns is not None:
        print(f"time       {found.start_ns / 1e9:.3f} to {found.end_ns / 1e9:.3f} s")
    print(f"lost       {found.lost}")
    if found.kept_as is not None:
        print(f"log        {found.path} (the damaged one is kept as {found.kept_as.name})")
    return 0


def _export(options: argparse.Namespace) -> int:
    reader = LogReader(options.path)
    folder = options.out or reader.path.parent / "csv"
    for channel, path in export_csv(reader, folder, options.channel).items():
        print(f"{channel}  {path}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    found = verify_run(options.path)
    if options.json:
        print(json.dumps(_plain(found), indent=2))
    else:
        for verdict in found.verdicts:
            print(verdict)
    return int(not found.passed)


def _plain(found: Verification) -> dict[str, Any]:
    properties = []
    for verdict in found.verdicts:
        first = verdict.first
        entry: dict[str, Any] = {
            "name": verdict.name,
            "result": verdict.result,
            "figure": verdict.figure,
            "first": None,
        }
        if first is not None:
            entry["first"] = {
                "channel": first.channel,
                "log_time_ns": first.log_ns,
                "sequence": first.sequence,
            }
        properties.append(entry)
    return {
        "passed": found.passed,
        "messages": found.message_count,
        "properties": properties,
    }
