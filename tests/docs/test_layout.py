"""The shipped Foxglove layout names channels that exist and panels that are placed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ghost.core.channels import ChannelName

LAYOUT: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "foxglove-layout.json").read_text(encoding="utf-8")
)
TOPIC = re.compile(r"/[A-Za-z0-9_/]+")


def test_every_topic_is_a_channel_of_ghost() -> None:
    topics = {topic for config in LAYOUT["configById"].values() for topic in _topics(config)}
    assert topics
    assert topics <= set(ChannelName)


@pytest.mark.parametrize("kind", ["3D", "Plot", "RosOut", "map", "RawMessages"])
def test_every_kind_of_panel_shows_a_topic(kind: str) -> None:
    panels = {name: config for name, config in LAYOUT["configById"].items() if _kind(name) == kind}
    assert panels
    assert all(list(_topics(config)) for config in panels.values())


def test_every_placed_panel_is_configured_once_and_every_configured_one_is_placed() -> None:
    assert sorted(_panels(LAYOUT["layout"])) == sorted(LAYOUT["configById"])


def _topics(value: object) -> Iterator[str]:
    """Whatever starts like a topic, wherever it stands: a key, a value, a path into a message."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _topics(key)
            yield from _topics(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _topics(inner)
    elif isinstance(value, str) and (topic := TOPIC.match(value)):
        yield topic[0]


def _panels(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    else:
        yield from _panels(node["first"])
        yield from _panels(node["second"])


def _kind(panel: str) -> str:
    return panel.partition("!")[0]
