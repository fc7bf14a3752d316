"""The shipped Foxglove layout names channels that exist and panels that can show them."""

import json
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from ghost.core.channels import Channel, ChannelName
from ghost.hal import LaserScan, channels
from ghost.telemetry import LogWriter

LAYOUT: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "foxglove-layout.json").read_text(encoding="utf-8")
)
TOPIC = re.compile(r"/[A-Za-z0-9_/]+")


# A sensor's channel has its name, and this is one for a lidar of either kind.
LIDAR = Channel("/sensors/lidar", LaserScan)


def _schemas() -> dict[str, str]:
    """What the log calls the schema of each channel, those for the eye included."""
    writer = LogWriter(BytesIO())
    for channel in (*vars(channels).values(), LIDAR):
        if isinstance(channel, Channel):
            writer._register(channel)
    return {name: channel.schema for name, channel in writer.channels.items()}


SCHEMAS = _schemas()
SHOWN = {
    "3D": {
        "foxglove.LaserScan",
        "foxglove.PointCloud",
        "foxglove.PoseInFrame",
        "foxglove.SceneUpdate",
    },
    "Image": {"foxglove.CompressedImage", "foxglove.RawImage"},
    "map": {"foxglove.LocationFix"},
}


def test_every_topic_is_a_channel_of_ghost() -> None:
    topics = {topic for config in LAYOUT["configById"].values() for topic in _topics(config)}
    assert topics
    assert topics <= {*ChannelName, *SCHEMAS}


@pytest.mark.parametrize("kind", ["3D", "Image", "Plot", "RosOut", "map", "RawMessages"])
def test_every_kind_of_panel_shows_a_topic(kind: str) -> None:
    panels = {name: config for name, config in LAYOUT["configById"].items() if _kind(name) == kind}
    assert panels
    assert all(list(_topics(config)) for config in panels.values())


@pytest.mark.parametrize("kind", SHOWN)
def test_a_panel_is_given_what_it_can_show(kind: str) -> None:
    panels = [config for name, config in LAYOUT["configById"].items() if _kind(name) == kind]
    assert {SCHEMAS[topic] for config in panels for topic in _topics(config)} == SHOWN[kind]


def test_depth_is_coloured_between_two_distances() -> None:
    depth = LAYOUT["configById"]["Image!depth"]["imageMode"]
    assert depth["imageTopic"] == f"{ChannelName.DEPTH_CAMERA}/mm"
    assert depth["colorMode"] == "colormap"
    assert 0 <= depth["minValue"] < depth["maxValue"] <= 65_535


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
