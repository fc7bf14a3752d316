"""Every relative link and image in the documentation leads to a file."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
TARGET = re.compile(
    r"\]\(\s*<?([^)>\s]+)|(?:src|href)=\"([^\"]+)\"|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE
)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|#")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_files(page: Path) -> None:
    missing = [
        target
        for target in _targets(page.read_text(encoding="utf-8"))
        if not ELSEWHERE.match(target) and not (page.parent / target.partition("#")[0]).exists()
    ]
    assert missing == []


def test_links_images_and_references_are_found_and_code_is_not() -> None:
    text = '![a](b.svg) [c](d.md#e) `[x](y)` <img src="f.png">\n```\n[g](h)\n```\n[i]: j.md\n'
    assert _targets(text) == ["b.svg", "d.md#e", "f.png", "j.md"]


def _targets(markdown: str) -> list[str]:
    return ["".join(groups) for groups in TARGET.findall(CODE.sub("", markdown))]
