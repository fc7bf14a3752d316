"""The page in a real browser: nothing to complain about, and the cursor reads the lines."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ghost.events import Event, EventKind, Severity
from ghost.hal import Scene
from ghost.hal.channels import GROUNDTRUTH_STATE
from ghost.report import write_report
from tests.report.rig import STEP_NS, height_m, record

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"needs one of {', '.join(BROWSERS)}")

POINT_AT_THE_MIDDLE = """<script>
const chart = document.querySelector("#height svg.time");
const plot = chart.querySelector("svg.plot");
const box = chart.getBoundingClientRect();
const [left, width] = ["x", "width"].map((name) => Number(plot.getAttribute(name)));
const middle = box.left + (box.width / chart.viewBox.baseVal.width) * (left + width / 2);
chart.dispatchEvent(new PointerEvent("pointermove", { clientX: middle }));
</script>"""


def test_it_loads_without_a_complaint(tmp_path: Path) -> None:
    page = write_report(record(tmp_path / "run"))
    dom, complaints = _load(page, tmp_path)
    assert not complaints
    assert 'class="cursor"' in dom


def test_a_world_and_a_collision_are_drawn_without_a_complaint(tmp_path: Path) -> None:
    box = [2.0, 1.0, 1.0, 0.9, 0.1, 0.2, 0.3, 1.0, 2.0, 3.0, 0.5, 0.5, 0.5]
    cylinder = [3.0, -1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.5, 0.5, 3.0, 0.5, 0.5, 0.5]
    facet = [1.0, 1.0, 0.0, 2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.5, 0.5, 0.5]
    scene = Scene(0, np.array([box]), np.array([cylinder]), np.array([facet]))
    hit = Event(100 * STEP_NS, Severity.ERROR, EventKind.COLLISION, "safety")
    page = write_report(record(tmp_path / "run", scene=scene, events=(hit,)))
    dom, complaints = _load(page, tmp_path)
    assert not complaints
    assert dom.count('class="solid') == 2
    assert dom.count('class="collision"') == 1


def test_a_complaint_would_be_seen(tmp_path: Path) -> None:
    page = write_report(record(tmp_path / "run"))
    _, complaints = _load(_with(page, "<script>nothing.there()</script>"), tmp_path)
    assert any("nothing is not defined" in line for line in complaints)


def test_the_page_may_load_nothing(tmp_path: Path) -> None:
    page = write_report(record(tmp_path / "run"))
    _, complaints = _load(_with(page, '<img src="picture.png">'), tmp_path)
    assert any("Content Security Policy" in line for line in complaints)


@pytest.mark.parametrize("lacks_truth", [False, True])
def test_the_cursor_reads_every_line_at_its_time(tmp_path: Path, *, lacks_truth: bool) -> None:
    without = (GROUNDTRUTH_STATE,) if lacks_truth else ()
    page = write_report(record(tmp_path / "run", without=without))
    dom, complaints = _load(_with(page, POINT_AT_THE_MIDDLE), tmp_path)
    assert not complaints
    height = re.search(r'<section id="height".*?</section>', dom, re.DOTALL)
    assert height
    values = re.findall(r'class="value end">([^<]+)<', height[0])
    true_m = (height_m(99) + height_m(100)) / 2
    expected = [true_m + 0.5, true_m] if lacks_truth else [true_m, true_m + 0.5, true_m]
    assert [float(value) for value in values] == pytest.approx(expected, abs=0.02)
    assert re.search(r'class="cursor-time end">1\.99 s<', dom)
    assert dom.count('visibility="hidden"') == 0


def _with(page: Path, markup: str) -> Path:
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("</body>", f"{markup}</body>"), encoding="utf-8")
    return page


def _load(page: Path, profile: Path) -> tuple[str, list[str]]:
    """The document after its scripts ran, and what the console says."""
    assert BROWSER
    done = subprocess.run(
        [
            BROWSER,
            *["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
            *["--no-first-run", f"--user-data-dir={profile / 'profile'}"],
            *["--enable-logging=stderr", "--window-size=1280,900", "--dump-dom", page.as_uri()],
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "</html>" in done.stdout
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
