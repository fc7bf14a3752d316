"""The top of the page: what was flown, how it went, and how to fly it again."""

from ghost.report.figures import Figures
from ghost.report.flight import Flight
from ghost.report.summary import Summary
from ghost.report.svg import escape, tag
from ghost.telemetry import Manifest

_NOTHING = "\N{EN DASH}"


def header(
    manifest: Manifest, flight: Flight, figures: Figures, log_sha256: str, track: str
) -> str:
    names = [manifest.robot, _mission(manifest), manifest.scenario]
    title = " · ".join(escape(name) for name in names if name)
    outcome = tag(
        "span", escape(figures.outcome), class_=f"outcome {figures.outcome.replace(' ', '-')}"
    )
    reason = tag("p", escape(figures.reason), class_="reason") if figures.reason else ""
    alarm = figures.summary.alarm
    return "\n".join(
        [
            tag(
                "header",
                tag("p", "Ghost flight report", class_="overline"),
                tag("h1", tag("span", title), outcome),
                reason,
                tag("p", tag("strong", escape(alarm)), class_="grave") if alarm else "",
            ),
            tag("dl", *_tiles(flight, figures.summary), id="summary", class_="tiles"),
            tag("div", track, _facts(manifest, flight, log_sha256), class_="columns"),
        ]
    )


def _mission(manifest: Manifest) -> str:
    mission = manifest.config.get("mission")
    return str(mission.get("name", "")) if isinstance(mission, dict) else ""


def _tiles(flight: Flight, summary: Summary) -> list[str]:
    measured = "" if flight.truth else "by the estimate"
    flew = summary.was_airborne and flight.motion is not None
    return [
        _tile("In the air", summary.flown_ns / 1e9 if flight.status else None, "s", 1),
        _tile("Path flown", summary.path_m if flew else None, "m", 1, measured),
        _tile("Highest", summary.highest_m if flew else None, "m", 2, measured or "above home"),
        _tile("Fastest", summary.fastest_mps if flew else None, "m/s", 2, measured),
        _tracking_tile(summary),
        _spread_tile("Estimate RMS", summary.estimate_rms_m, summary.estimate_max_m),
        _landing_tile(summary, measured or "from home"),
        _tile(
            "Warnings",
            float(summary.warnings),
            "",
            0,
            f"of {len(flight.events)} events",
            is_grave=summary.warnings > 0,
        ),
    ]


def _tracking_tile(summary: Summary) -> str:
    if not summary.tracked_by:
        return _spread_tile("Tracking RMS", None, None)
    by = "" if summary.tracked_by == "truth" else f", by the {summary.tracked_by}"
    return _spread_tile("Tracking RMS", summary.tracking_rms_m, summary.tracking_max_m, by)


def _spread_tile(name: str, rms_m: float | None, max_m: float | None, by: str = "") -> str:
    return _tile(name, rms_m, "m", 2, "" if max_m is None else f"at most {max_m:.2f} m{by}")


def _landing_tile(summary: Summary, measured: str) -> str:
    error_m = summary.landing_error_m
    return _tile("Landing error", error_m, "m", 2, summary.landing if error_m is None else measured)


def _tile(
    name: str,
    value: float | None,
    unit: str,
    decimals: int,
    note: str = "",
    *,
    is_grave: bool = False,
) -> str:
    shown = _NOTHING if value is None else f"{value:.{decimals}f}"
    unit_shown = tag("small", escape(unit)) if unit and value is not None else ""
    return tag(
        "div",
        tag("dt", escape(name)),
        tag("dd", shown, unit_shown, class_="grave" if is_grave else None),
        tag("dd", escape(note), class_="aside"),
    )


def _facts(manifest: Manifest, flight: Flight, log_sha256: str) -> str:
    versions = manifest.versions
    simulator = manifest.config.get("simulator", "")
    facts = [
        ("Run", escape(manifest.run_id)),
        ("Robot", escape(manifest.robot)),
        ("Mission", escape(_mission(manifest) or _NOTHING)),
        ("Scenario", escape(manifest.scenario)),
        ("Seed", escape(manifest.seed)),
        ("Simulator", escape(simulator or _NOTHING)),
        ("Deterministic", "yes" if manifest.deterministic else "no"),
        ("Duration", f"{(flight.end_ns - flight.start_ns) / 1e9:.2f} s"),
        ("Log", f"{flight.message_count:,} messages, {escape(manifest.log.status)}"),
        ("Log SHA-256", _digest(log_sha256) + _doubt(manifest, log_sha256)),
        ("Config SHA-256", _digest(manifest.config_sha256)),
        ("Revision", _revision(manifest)),
        ("Ghost", f"{escape(versions.ghost)}, HAL {escape(versions.hal_protocol)}"),
        ("Python", f"{escape(versions.python)}, numpy {escape(versions.numpy)}"),
    ]
    rows = [tag("dt", name) + tag("dd", value) for name, value in facts]
    again = (
        tag("h3", "Fly it again") + tag("pre", escape(manifest.reproduce))
        if manifest.reproduce
        else ""
    )
    return tag("section", tag("h2", "Run"), tag("dl", *rows, class_="facts"), again, id="facts")


def _digest(sha256: str) -> str:
    return tag("code", escape(sha256[:16]), title=sha256)


def _doubt(manifest: Manifest, log_sha256: str) -> str:
    if manifest.log.sha256 in {None, log_sha256}:
        return ""
    return " " + tag("strong", "not the manifest's", class_="grave")


def _revision(manifest: Manifest) -> str:
    git = manifest.git
    if git.revision is None:
        return _NOTHING
    return tag("code", escape(git.revision[:12])) + (", with changes" if git.dirty else "")
