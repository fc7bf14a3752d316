"""The conformance suite on the real backend: what can be checked without arming."""

import pytest

from ghost.cli import main
from ghost.conformance import CHECKS, Factory, Verdict, judge
from ghost.deploy import load_robot
from tests.firmware_bridge.link_rig import free_port
from tests.hardware.rig import Autopilot, beating
from tests.px4 import Start

ON_BENCH = [check for check in CHECKS if check.on_bench]


@pytest.mark.slow
@pytest.mark.usefixtures("soon")
def test_a_scripted_flight_controller_conforms_and_is_never_armed() -> None:
    autopilot, port = Autopilot(), free_port()
    factory = Factory(load_robot("x500"), links=(f"udpin://127.0.0.1:{port}",))
    with beating(autopilot, port):
        outcomes = [judge(check, factory) for check in ON_BENCH]
        told = [(one.check.name, one.figure) for one in outcomes if one.verdict != Verdict.PASS]
        assert told == []
        skipped = [judge(check, factory) for check in CHECKS if not check.on_bench]
        factory.close()
    assert len(outcomes) == 8
    assert {one.verdict for one in skipped} == {Verdict.SKIP}
    assert autopilot.commands == []
    assert autopilot.setpoints == []


@pytest.mark.usefixtures("soon")
def test_an_armed_vehicle_is_left_alone() -> None:
    port = free_port()
    factory = Factory(load_robot("x500"), links=(f"udpin://127.0.0.1:{port}",))
    with beating(Autopilot(), port) as peer:
        assert factory.capabilities
        peer.beat["base_mode"] = 128
        outcome = judge(ON_BENCH[0], factory)
    assert outcome.verdict == Verdict.FAIL
    assert outcome.figure == "the vehicle is armed; conformance is tried on the bench"


@pytest.mark.parametrize("options", [["--mode", "real"], ["--link", "udpin://127.0.0.1:14540"]])
def test_a_link_and_the_real_mode_go_together(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform", "x500", *options]) == 1
    assert capsys.readouterr().err == "ghost: --mode real and --link go together\n"


@pytest.mark.slow
def test_px4_conforms(px4: Start, capsys: pytest.CaptureFixture[str]) -> None:
    vehicle = px4(5)
    code = main(["conform", "x500", "--mode", "real", "--link", vehicle.url])
    said = capsys.readouterr().out
    assert code == 0, said
    assert f"\n8 passed, 0 failed, {len(CHECKS) - 8} skipped\n" in said
