"""A signing key's life on a flight controller, whichever it is: given, changed, taken back."""

from pathlib import Path

import pytest

from firmware_bridge.signing import link_signer, make_key
from firmware_bridge.signing_setup import give_key, take_key
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import RefusedError, StalledError


def tell(vehicle: Vehicle, folder: Path) -> None:
    link = vehicle.hub.links[0]
    first, second = folder / "first.key", folder / "second.key"
    for path in (first, second):
        make_key(path)
    give_key(vehicle, link_signer(first, 0))
    identity = vehicle.identify()
    refused = link.counts.refused  # what was on its way meanwhile
    vehicle.hub.spin(vehicle.hub.now_ns() + 300_000_000)
    assert link.counts.refused == refused

    give_key(vehicle, link_signer(second, 0))
    assert vehicle.identify() == identity
    flight, link.signer = link.signer, link_signer(second, 0)  # as of a second program
    assert vehicle.identify() == identity
    link.signer = flight  # which is heard as before
    assert vehicle.identify() == identity

    link.signer = link_signer(first, 0)
    with pytest.raises(StalledError, match=r"frames refused: not signed with this key\)$"):
        vehicle.request("AUTOPILOT_VERSION", retries=0)
    with pytest.raises(RefusedError, match="it has another key already"):
        give_key(vehicle, link_signer(first, 0))
    assert link.counts.refused > refused

    link.signer = None
    before = link.counts.unjudged
    with pytest.raises(StalledError, match="brings signed frames, and no signing key is given"):
        vehicle.request("AUTOPILOT_VERSION", retries=0)
    with pytest.raises(RefusedError, match="did not stop signing"):
        take_key(vehicle)
    assert link.counts.unjudged > before

    link.signer = link_signer(second, 0)
    assert vehicle.identify() == identity
    take_key(vehicle)
    assert vehicle.hub.links[0].signer is None
    assert vehicle.identify() == identity
