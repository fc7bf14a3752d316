"""Elements as text."""

import html
import re

from ghost.report.flight import FloatArray

# What XML can't hold even escaped.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def escape(text: object) -> str:
    return html.escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", str(text)))


def tag(name: str, *children: str, **attributes: object) -> str:
    """An element. Children are markup; attributes are escaped.

    Underscores become hyphens and a last one is dropped, so class_ and stroke_width work.
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{shown}>{''.join(children)}</{name}>"


def text(content: object, **attributes: object) -> str:
    return tag("text", escape(content), **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> str:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def number(value: float, decimals: int = 2) -> str:
    """As short as it goes: no trailing zeros, no minus zero."""
    shown = f"{value:.{decimals}f}"
    if "." in shown:
        shown = shown.rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


def path_data(x_px: FloatArray, y_px: FloatArray) -> str:
    """Lines through finite points. What isn't finite makes a gap; a lone point is a dot."""
    runs: list[list[str]] = [[]]
    finite_px = 1e5  # further out is off the paper anyway, and renderers lose precision there
    for x, y in zip(x_px.tolist(), y_px.tolist(), strict=True):
        if x - x == 0.0 and y - y == 0.0:
            y_shown = number(min(max(y, -finite_px), finite_px))
            runs[-1].append(f"{number(x, 1)},{y_shown}")
        elif runs[-1]:
            runs.append([])
    return "".join(f"M{' '.join(run if len(run) > 1 else run * 2)}" for run in runs if run)


def _attribute(value: object) -> str:
    return number(value) if isinstance(value, float) else escape(value)
