"""MAVLink signing, set up by a client and given at the start."""

from pathlib import Path

import pytest

from firmware_bridge.messages import dialect
from firmware_bridge.signing import Key, Signer, link_signer, make_key
from firmware_bridge.signing_setup import give_key, take_key
from ghost.core.errors import RefusedError
from tests.firmware_bridge import signing_story
from tests.sitl.rig import flying


def test_a_client_gives_changes_and_takes_the_key(tmp_path: Path) -> None:
    with flying() as client:
        client.vehicle.find()
        signing_story.tell(client.vehicle, tmp_path)
        assert "MAVLink signing key accepted" in client.texts
        assert client.texts[-1] == "MAVLink signing disabled"


def test_the_key_does_not_change_while_armed(tmp_path: Path) -> None:
    with flying() as client:
        client.make_ready()
        client.vehicle.arm(armed=True)
        client.until(lambda: client.vehicle.is_armed, "waiting for it to be armed")
        make_key(tmp_path / "key")
        with pytest.raises(RefusedError, match="not changed while armed; disarm first"):
            give_key(client.vehicle, link_signer(tmp_path / "key", 0))
        with pytest.raises(RefusedError, match="not changed while armed; disarm first"):
            take_key(client.vehicle)
        message = dialect.MAVLink_setup_signing_message(1, 1, [7] * 32, 0)
        client.vehicle.send(message)  # not asked first, as another client may do
        rejected = "MAVLink signing: rejected while armed"
        client.until(lambda: rejected in client.texts, "waiting for the rejection")


def test_one_that_has_a_key_from_the_start_hears_nobody_else(tmp_path: Path) -> None:
    key = tmp_path / "key"
    make_key(key)
    with flying(signing_key=key) as client:
        client.vehicle.find()
        link = client.hub.links[0]
        link.signer = Signer(Key(bytes(32)))
        with pytest.raises(RefusedError):
            take_key(client.vehicle)
        link.signer = link_signer(key, 1)
        assert client.vehicle.identify().firmware == "1.18.0"
