"""The package: missing, quiet, and honest about what it can't load."""

import sys
from threading import Thread

import pytest

from ghost.core.errors import ConfigError
from ghost.simulation.adapter import load_adapter
from ghost.simulation.jsbsim import client
from ghost.simulation.jsbsim.client import JsbsimError
from tests.simulation.airframes import shipped
from tests.simulation.jsbsim.rig import MS, begun


def test_without_the_package_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [name for name in sys.modules if name.startswith("ghost.simulation.jsbsim")]
    for name in ours:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jsbsim", None)
    with pytest.raises(
        ConfigError, match=r"simulator jsbsim can't be loaded: .*\[jsbsim\]"
    ) as told:
        load_adapter("jsbsim")
    assert "\n" not in str(told.value)


def test_loading_and_flying_print_nothing_in_any_thread(capfd: pytest.CaptureFixture[str]) -> None:
    """JSBSim has a logger for each thread. The F450's files give it much to say."""

    def fly() -> None:
        adapter = begun(load_adapter("jsbsim@F450"), shipped("f450"))
        adapter.step(10 * MS)

    fly()
    thread = Thread(target=fly)
    thread.start()
    thread.join()
    assert capfd.readouterr() == ("", "")


def test_what_jsbsim_cannot_load_is_an_error_in_its_words() -> None:
    with pytest.raises(JsbsimError, match="can't load vehicle: "):
        client.built("<fdm_config", 0.001)
    with pytest.raises(JsbsimError, match=r"can't load nothing: .*nothing\.xml"):
        client.carried("nothing", 0.001)
    with pytest.raises(JsbsimError, match="has no property no/such"):
        client.carried("F450", 0.001).node("no/such")
