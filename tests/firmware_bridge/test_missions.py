"""Missions there and back, over links good and bad."""

import math

import pytest

from firmware_bridge.messages import dialect
from firmware_bridge.missions import MissionItem, Missions, Plan, compare
from ghost.core.errors import ConfigError, RefusedError, StalledError
from tests.firmware_bridge.peer import BAD, GOOD, MS, Loss, Peer, flight, hurry
from tests.firmware_bridge.transfers import MissionStore

RELATIVE_INT, WAYPOINT = 6, 16


def _mission(count: int = 12) -> list[MissionItem]:
    return [
        MissionItem(
            seq,
            RELATIVE_INT,
            WAYPOINT,
            param1=0.1 * seq,
            param4=math.nan,
            x=473977420 + seq,
            y=-85455940 - seq,
            z=10.1 + seq,
        )
        for seq in range(count)
    ]


@pytest.mark.parametrize(
    ("loss", "plan"),
    [(GOOD, Plan.MISSION), (BAD, Plan.FENCE), (Loss(0.2, 0.2, 0.2, seed=7), Plan.RALLY)],
)
def test_what_goes_up_comes_down(monkeypatch: pytest.MonkeyPatch, loss: Loss, plan: Plan) -> None:
    hurry(monkeypatch, "missions", ANSWER_NS=100 * MS, ITEM_NS=100 * MS)
    mission = _mission()
    told: list[tuple[int, int]] = []
    with flight(MissionStore(), loss=loss) as vehicle:
        missions = Missions(vehicle, plan)
        missions.upload(mission, lambda done, total: told.append((done, total)))
        got = missions.download()
        assert compare(mission, got) == ()
        assert told == [(done, 12) for done in range(13)]
        missions.clear()
        assert missions.download() == ()


def test_a_flight_controller_of_the_old_way_is_served() -> None:
    store = MissionStore(asks_old_way=True)
    with flight(store) as vehicle:
        Missions(vehicle).upload(_mission(3))
    assert len(store.items) == 3


def test_an_empty_mission_is_one() -> None:
    with flight(MissionStore()) as vehicle:
        missions = Missions(vehicle)
        missions.upload(_mission(2))
        missions.upload([])
        assert missions.download() == ()


def test_a_refusal_has_its_name() -> None:
    with (
        flight(MissionStore(refuses_at=2, refusal=7)) as vehicle,
        pytest.raises(RefusedError, match="upload of the mission was refused: INVALID_PARAM2"),
    ):
        Missions(vehicle).upload(_mission())


def test_a_stall_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firmware_bridge.missions.ITEM_RETRIES", 1)
    store = MissionStore(is_silent_after=2)
    with flight(store) as vehicle:
        missions = Missions(vehicle)
        with pytest.raises(StalledError, match="uploading the mission, after 2 of 12 items"):
            missions.upload(_mission())
        missions.cancel()  # nothing is under way any more
        assert store.acks == []
        store.is_silent_after = None
        missions.upload(_mission())
        store.is_silent_after = 3
        with pytest.raises(StalledError, match="downloading the mission, at item 3 of 12"):
            missions.download()


def test_a_reboot_is_a_stall_and_the_next_upload_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firmware_bridge.missions.ITEM_RETRIES", 1)
    store = MissionStore(reboots_at=5)
    with flight(store) as vehicle:
        missions = Missions(vehicle)
        with pytest.raises(StalledError, match="uploading the mission, after 6 of 12 items"):
            missions.upload(_mission())
        store.reboots_at = None
        missions.upload(_mission())
        assert compare(_mission(), missions.download()) == ()


@pytest.mark.parametrize(
    "ack", [(255, 190, dialect.MAV_MISSION_DENIED), (1, 191, dialect.MAV_MISSION_ACCEPTED)]
)
def test_neither_a_ground_stations_no_nor_an_old_yes_is_the_answer(
    ack: tuple[int, int, int],
) -> None:
    def acks_at_once(peer: Peer) -> None:
        peer.on("MISSION_COUNT", lambda _: peer.send(dialect.MAVLink_mission_ack_message(*ack, 0)))

    store = MissionStore()
    with flight(acks_at_once, store) as vehicle:
        Missions(vehicle).upload(_mission())
        assert len(store.items) == 12


def test_nobody_there_is_a_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firmware_bridge.missions.ANSWER_NS", 20 * MS)
    with flight() as vehicle:
        missions = Missions(vehicle)
        for call in (missions.clear, missions.download, lambda: missions.upload(_mission())):
            with pytest.raises(StalledError, match=r"ing the mission, .*asked again 5 times"):
                call()


def test_a_transfer_can_be_cancelled() -> None:
    store = MissionStore()
    with flight(store) as vehicle:
        missions = Missions(vehicle)

        def stop(done: int, _total: int) -> None:
            if done == 4:
                missions.cancel()

        with pytest.raises(RefusedError, match="uploading the mission was cancelled, after 5 of"):
            missions.upload(_mission(), stop)
        vehicle.hub.spin_until(lambda: store.acks == [15], within_ns=10**9, what="the ack")
        missions.upload(_mission())
        with pytest.raises(RefusedError, match="downloading the mission was cancelled, at item 4"):
            missions.download(stop)
        assert len(missions.download()) == 12


def test_a_comparison_is_exact() -> None:
    one = _mission(2)
    other = [MissionItem(0, 3, WAYPOINT, 0.0, param4=math.nan, x=one[0].x, y=one[0].y, z=10.1)]
    assert compare(one[:1], other) == ()
    moved = MissionItem(0, 3, WAYPOINT, z=one[0].z + 1e-6, param4=math.nan, x=1, y=one[0].y)
    assert compare(one, [moved]) == (
        "2 items became 1",
        f"item 0: x {one[0].x} became 1",
        f"item 0: z {one[0].z} became {moved.z}",
    )


@pytest.mark.parametrize(
    "fields", [{"x": 2**31}, {"command": -1}, {"z": 1e39}, {"param1": "a"}, {"seq": 70000}]
)
def test_an_item_that_cannot_be_sent_is_refused(fields: dict[str, float]) -> None:
    values: dict[str, float] = {"seq": 0, "frame": 3, "command": 16, **fields}
    with pytest.raises(ConfigError, match="mission item"):
        MissionItem(**values)  # type: ignore[arg-type]


def test_items_are_in_order() -> None:
    with flight() as vehicle, pytest.raises(ConfigError, match="item 1 is at place 0"):
        Missions(vehicle).upload(_mission()[1:])
