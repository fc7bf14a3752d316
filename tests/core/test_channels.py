import pytest

from ghost.core.channels import Channel, ChannelName
from ghost.core.errors import ChannelError


@pytest.mark.parametrize(
    "name", ["", "/", "imu", "/imu/", "//imu", "/a b", "/imu\n", "/é", "/a-b", "sensors/imu"]
)
def test_malformed_names_are_named(name: str) -> None:
    with pytest.raises(ChannelError) as caught:
        Channel(name, int)
    assert repr(name) in str(caught.value)


def test_channels_are_equal_when_name_and_type_are() -> None:
    channel = Channel("/a", int)
    assert channel == Channel("/a", int)
    assert hash(channel) == hash(Channel("/a", int))
    assert channel != Channel("/a", bool)
    assert channel != Channel("/b", int)
    assert channel != "/a"


def test_a_channel_moves_under_a_vehicle() -> None:
    channel = Channel(ChannelName.IMU, int)
    assert channel.under("/vehicle/3") == Channel("/vehicle/3/sensors/imu", int)
    assert channel.under("") == channel
    with pytest.raises(ChannelError, match="vehicle"):
        channel.under("vehicle")


@pytest.mark.parametrize("name", ChannelName)
def test_every_own_name_makes_a_channel(name: ChannelName) -> None:
    assert type(Channel(name, int).name) is str
