"""The way from a run folder to its report."""

from pathlib import Path

from ghost.report.figures import summarize
from ghost.report.flight import read_flight
from ghost.report.page import page
from ghost.telemetry import file_sha256, log_path, read_manifest

REPORT_NAME = "report.html"


def write_report(run_folder: Path) -> Path:
    """Write report.html beside the log and say where. The same log gives the same bytes."""
    manifest = read_manifest(run_folder)
    flight = read_flight(run_folder)
    text = page(manifest, flight, summarize(flight), file_sha256(log_path(run_folder)))
    path = run_folder / REPORT_NAME
    unfinished = run_folder / f".{REPORT_NAME}.new"
    try:
        unfinished.write_bytes(text.encode("utf-8", errors="replace"))
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)  # what fitted on a full disk
        raise
    return path
