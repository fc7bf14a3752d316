"""The files themselves: their hashes, and what isn't a run at all."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

from ghost.cli import main
from ghost.telemetry import Record, read_manifest
from ghost.telemetry.manifest import ChannelEntry, Manifest, config_sha256
from ghost.verify import terms_of
from tests.verify.rig import failing, rewritten, with_manifest

NAMES = ["hashes", "order", "samples", "answers", "finite", "envelope"]
NAMES += ["fresh", "streamed", "kill", "authority", "failsafe", "estimate"]

Spoil = Callable[[Path], object]


@pytest.fixture
def run(hover: Path, tmp_path: Path) -> Path:
    """A copy, to do with as one likes."""
    return copytree(hover, tmp_path / "run")


def edited(change: Callable[[Manifest], Manifest]) -> Spoil:
    def edit(run: Path) -> None:
        manifest = change(read_manifest(run))
        with_manifest(run, log=manifest.log, config=manifest.config)

    return edit


def other_counts(manifest: Manifest) -> Manifest:
    first, *rest = manifest.log.channels
    more = ChannelEntry(first.name, first.schema, first.count + 1)
    return replace(manifest, log=replace(manifest.log, channels=(more, *rest)))


def other_envelope(manifest: Manifest) -> Manifest:
    robot = manifest.config["robot"] | {"envelope": {"max_speed_mps": 99.0}}
    return replace(manifest, config={**manifest.config, "robot": robot})


def last_byte_changed(run: Path) -> None:
    """In the summary's end, which no reader minds: only the hash knows."""
    log = run / "log.mcap"
    content = bytearray(log.read_bytes())
    content[-12] ^= 1
    log.write_bytes(content)


HASHES: dict[str, tuple[Spoil, str]] = {
    "another log": (last_byte_changed, "the log's sha256 is "),
    "another envelope": (edited(other_envelope), "the manifest's config was changed"),
    "other counts": (edited(other_counts), " messages; the manifest says "),
    "another end": (
        edited(lambda one: replace(one, log=replace(one.log, end_ns=1))),
        "the log runs from ",
    ),
    "another size": (
        edited(lambda one: replace(one, log=replace(one.log, size_bytes=1))),
        " bytes; the manifest says 1",
    ),
    "never closed": (
        edited(lambda one: replace(one, log=replace(one.log, status="recording"))),
        "the run never closed its log",
    ),
}


@pytest.mark.parametrize(("spoil", "said"), HASHES.values(), ids=HASHES)
def test_what_was_changed_after_the_run_fails(spoil: Spoil, said: str, run: Path) -> None:
    spoil(run)
    found = failing(run)
    assert list(found) == ["hashes"]
    assert said in found["hashes"].figure


def cut(run: Path) -> None:
    log = run / "log.mcap"
    log.write_bytes(log.read_bytes()[:-1000])


def damaged(run: Path) -> None:
    log = run / "log.mcap"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)


def renamed(run: Path) -> None:
    (run / "log.mcap").rename(run / "other.mcap")


BAD: dict[str, tuple[Spoil, str]] = {
    "cut off": (cut, "run `ghost log recover`"),
    "damaged": (damaged, "run `ghost log recover`"),
    "foreign": (lambda run: (run / "log.mcap").write_bytes(b"PX4 ULog"), "is not an MCAP file"),
    "no log": (renamed, "no flight log at "),
    "no manifest": (lambda run: (run / "manifest.yaml").unlink(), "no manifest.yaml in "),
}


@pytest.mark.parametrize(("spoil", "said"), BAD.values(), ids=BAD)
def test_what_cannot_be_judged_is_one_line(
    spoil: Spoil, said: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(run)
    assert main(["log", "verify", str(run)]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("ghost: ")
    assert said in err


def test_a_log_on_its_own_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    renamed(run)
    assert main(["log", "verify", str(run / "other.mcap")]) == 1
    assert "give a run folder" in capsys.readouterr().err


def test_commands_without_an_envelope_fail(hover: Path, tmp_path: Path) -> None:
    """Who takes the envelope out of the manifest gains nothing by it."""
    run = rewritten(hover, tmp_path / "run", lambda records: records)
    config = {**read_manifest(run).config, "robot": {}}
    with_manifest(run, config=config, config_sha256=config_sha256(config))
    assert list(failing(run)) == ["envelope"]


def test_each_property_has_a_line_and_the_exit_code_is_the_verdict(
    hover: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", "verify", str(hover)]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.partition("] ")[2].partition(":")[0] for line in lines]
    assert names == NAMES
    assert lines[8] == "[SKIP] kill: nobody killed it"
    assert lines[4] == "[PASS] finite: 103 accepted commands"

    def drop(records: list[Record]) -> list[Record]:
        return records[:100] + records[101:]

    bad = rewritten(hover, tmp_path / "run", drop)
    assert main(["log", "verify", "--json", str(bad)]) == 1
    told = json.loads(capsys.readouterr().out)
    (order,) = (entry for entry in told["properties"] if entry["name"] == "order")
    assert not told["passed"]
    assert order["result"] == "FAIL"
    assert order["first"]["sequence"] == 101


def test_a_flight_controller_of_its_own_has_its_own_time_out() -> None:
    assert terms_of({}, None).loss_ns == 500_000_000
    far = {"flight_controller": {}, "parameters": {"COM_OF_LOSS_T": 0.4}}
    assert terms_of({"flight_controller": {}}, None).loss_ns == 1_000_000_000
    assert terms_of(far, None).loss_ns == 400_000_000
    assert terms_of(far | {"applied_parameters": {"COM_OF_LOSS_T": 2}}, None).loss_ns == 2 * 10**9
    assert not terms_of({"vehicles": [{"firmware": "px4"}]}, None).is_embedded
    assert not terms_of({"simulator": "gazebo_px4"}, None).is_embedded
    assert terms_of({"simulator": "lightweight"}, None).is_embedded
