"""What the bus carries, kept: sinks, the MCAP flight log, its manifest, recovery and replay."""

from ghost.telemetry.background import BackgroundLog
from ghost.telemetry.buffer import BufferedSink, DropPolicy
from ghost.telemetry.export import channel_sha256, export_csv
from ghost.telemetry.log import LogWriter
from ghost.telemetry.manifest import Manifest, describe_run, read_manifest
from ghost.telemetry.reader import LogReader, Record, log_path
from ghost.telemetry.recover import Recovery, recover
from ghost.telemetry.replay import Replay, ReplayClock
from ghost.telemetry.run import RunRecorder, file_sha256

__all__ = [
    "BackgroundLog",
    "BufferedSink",
    "DropPolicy",
    "LogReader",
    "LogWriter",
    "Manifest",
    "Record",
    "Recovery",
    "Replay",
    "ReplayClock",
    "RunRecorder",
    "channel_sha256",
    "describe_run",
    "export_csv",
    "file_sha256",
    "log_path",
    "read_manifest",
    "recover",
]
