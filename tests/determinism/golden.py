"""Fly the canon and write its hashes: `make golden`."""

import tempfile
from pathlib import Path

import yaml

from ghost.telemetry import LogReader, channel_sha256
from tests.determinism.conftest import CANON, fly
from tests.determinism.test_canon import GOLDEN

with tempfile.TemporaryDirectory() as folder:
    hashes = {
        name: channel_sha256(LogReader(fly(name, Path(folder) / str(index))), "/groundtruth/pose")
        for index, name in enumerate(CANON)
    }
GOLDEN.write_text(
    "# SHA-256 of /groundtruth/pose of each canonical flight, on every machine.\n"
    + yaml.safe_dump(hashes, sort_keys=False)
)
