"""`# determinism: allow GD101 <reason>`: one line excused, with its reason in sight."""

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

_MARK = re.compile(r"#\s*determinism:\s*(?P<text>.*)$")
_EXCUSE = re.compile(r"allow\s+(?P<codes>GD\d{3}(?:\s*,\s*GD\d{3})*)\b[\s:,-]*(?P<reason>.*)$")


@dataclass(frozen=True, slots=True)
class Excuse:
    line: int
    column: int
    codes: tuple[str, ...]
    reason: str


def excuses(text: str) -> Iterator[Excuse]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        mark = _MARK.search(token.string) if token.type == tokenize.COMMENT else None
        if mark is None:
            continue
        line, column = token.start
        excuse = _EXCUSE.match(mark["text"])
        codes = tuple(re.findall(r"GD\d{3}", excuse["codes"])) if excuse else ()
        yield Excuse(line, column + 1, codes, excuse["reason"].strip() if excuse else "")
