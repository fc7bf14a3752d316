"""What a session leaves for people and for CI."""

import json
import os
import platform
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import ghost
from hil.case import CASES
from hil.session import Session, Terms
from hil.survey import Survey
from hil.verdict import Outcome, Verdict

_COLOURS = {Outcome.PASS: "#1a7f37", Outcome.FAIL: "#cf222e", Outcome.SKIP: "#6e7781"}
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; color: #1f2328 }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .4rem .6rem;
border-bottom: 1px solid #d1d9e0; vertical-align: top } th { font-weight: 600 }
.outcome { font-weight: 700 } small { color: #59636e }
"""


def write_evidence(session: Session, took_s: float) -> Path:
    """The page to look at."""
    terms, verdicts, survey = session.terms, session.verdicts, session.survey
    terms.out.mkdir(parents=True, exist_ok=True)
    machine = machine_facts()
    plain = {
        "target": terms.target,
        "link": terms.link,
        "flight_controller": None if survey is None else survey.plain["identity"],
        "parameters_put_back": session.put_back,
        "seed": terms.seed,
        "took_s": round(took_s, 1),
        "machine": machine,
        "verdicts": [verdict.plain for verdict in verdicts],
    }
    (terms.out / "report.json").write_text(json.dumps(plain, indent=2), encoding="utf-8")
    (terms.out / "machine.json").write_text(json.dumps(machine, indent=2), encoding="utf-8")
    (terms.out / "junit.xml").write_bytes(_junit(terms, verdicts, survey, took_s))
    page = terms.out / "report.html"
    page.write_text(_page(session, took_s, machine), encoding="utf-8")
    return page


def machine_facts() -> dict[str, Any]:
    load_1m, _, _ = os.getloadavg()
    return {
        "ghost": ghost.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load_1m": round(load_1m, 2),
    }


def _junit(
    terms: Terms, verdicts: Sequence[Verdict], survey: Survey | None, took_s: float
) -> bytes:
    suite = ET.Element(
        "testsuite",
        name=f"hil.{terms.target}",
        tests=str(len(verdicts)),
        failures=str(sum(one.outcome is Outcome.FAIL for one in verdicts)),
        skipped=str(sum(one.outcome is Outcome.SKIP for one in verdicts)),
        time=f"{took_s:.3f}",
    )
    if survey is not None:
        stamped = ET.SubElement(suite, "properties")
        for name, value in survey.identity.items():
            ET.SubElement(stamped, "property", name=name, value=str(value))
    for verdict in verdicts:
        entry = ET.SubElement(
            suite,
            "testcase",
            classname=f"hil.{terms.target}.{verdict.subsystem}",
            name=verdict.case,
            time=f"{verdict.took_s:.3f}",
        )
        if verdict.outcome is Outcome.FAIL:
            ET.SubElement(entry, "failure", message=verdict.detail)
        elif verdict.outcome is Outcome.SKIP:
            ET.SubElement(entry, "skipped", message=verdict.detail)
        else:
            ET.SubElement(entry, "system-out").text = verdict.detail
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True))


def _page(session: Session, took_s: float, machine: dict[str, Any]) -> str:
    terms, verdicts, survey = session.terms, session.verdicts, session.survey
    flies = "nobody was there" if survey is None else escape(survey.line)
    changed = "".join(f"<br>{escape(line)}" for line in session.put_back)
    facts = " · ".join(f"{name} {escape(str(value))}" for name, value in machine.items())
    rows = "\n".join(_row(terms, verdict) for verdict in verdicts)
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>HIL: {escape(terms.target)}</title>
<style>{_STYLE}</style>
<h1>HIL session on {escape(terms.target)}</h1>
<p>Flight controller: {flies}{changed}</p>
<p>{len(verdicts)} cases in {took_s:.0f} s, seed {terms.seed}<br><small>{facts}</small></p>
<table><tr><th>Case<th>Subsystem<th>Verdict<th>Figure<th>Time</tr>
{rows}
</table></html>
"""


def _row(terms: Terms, verdict: Verdict) -> str:
    folder = verdict.case.replace(" ", "-")
    name = escape(verdict.case)
    if (terms.out / folder).is_dir():
        name = f'<a href="{escape(folder)}">{name}</a>'
    case, more = CASES.get(verdict.case), ""
    if case is not None and verdict.outcome is Outcome.FAIL:
        more = f"<br><small>In the air: {escape(case.looks_like)}. {escape(case.remedy)}</small>"
    return (
        f"<tr><td>{name}<td>{escape(verdict.subsystem)}"
        f'<td class="outcome" style="color: {_COLOURS[verdict.outcome]}">{verdict.outcome}'
        f"<td>{escape(verdict.detail)}{more}<td>{verdict.took_s:.1f} s</tr>"
    )
