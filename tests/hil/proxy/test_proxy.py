"""The proxy as a process, on real sockets and ptys."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_bridge.transport import SerialTransport
from ghost.core.errors import LinkError
from hil.proxy import Cut, Delay, Direction, Fault, Proxy, Replay, Schedule, Side, Unplug
from tests.hil.proxy.wire import MS, S, Wire, acknowledgement, heartbeat, port_of, until, wire


@pytest.fixture(scope="module")
def shared() -> Iterator[Wire]:
    with wire(seed=3) as made:
        yield made


@pytest.fixture
def link(shared: Wire) -> Wire:
    shared.settle()
    return shared


def test_bytes_go_both_ways_as_they_are_and_soon(link: Wire) -> None:
    took_ns: list[int] = []
    for number in range(200):
        datagram = heartbeat(number) + b"\xfd no frame \x00" + acknowledgement(number)
        for send, receive in ((link.unit, link.at_vehicle), (link.vehicle, link.at_unit)):
            began_ns = time.perf_counter_ns()
            send.send(datagram)
            assert receive() == datagram
            took_ns.append(time.perf_counter_ns() - began_ns)
    # Both sockets included. Alone on a machine 99 % are under 1 ms; this one may be busy.
    assert sorted(took_ns)[len(took_ns) // 2] < 5 * MS


def test_one_direction_may_die_and_come_back(link: Wire) -> None:
    dropped_before = link.proxy.counts.to_vehicle.dropped
    handle = link.proxy.apply(Fault(Cut(), Direction.TO_VEHICLE))
    link.unit.send(heartbeat(1))
    link.vehicle.send(heartbeat(2))
    assert link.at_unit() == heartbeat(2)
    until(lambda: link.proxy.counts.to_vehicle.dropped == dropped_before + 1, "the cut")
    handle.clear()
    link.unit.send(heartbeat(3))
    assert link.at_vehicle() == heartbeat(3)
    done = [entry for entry in link.proxy.journal if entry.fault in handle.numbers]
    assert [entry.action for entry in done] == ["began", "dropped", "ended"]


def test_a_delay_is_what_it_is_told_to_be(link: Wire) -> None:
    link.proxy.apply(Fault(Delay(60 * MS)))
    for number in range(5):
        began_ns = time.monotonic_ns()
        link.unit.send(heartbeat(number))
        assert link.at_vehicle() == heartbeat(number)
        assert 60 * MS <= time.monotonic_ns() - began_ns < 560 * MS


def test_a_schedule_begins_and_ends_its_faults_by_the_clock(link: Wire) -> None:
    cut = Fault(Cut(), Direction.TO_UNIT, ("COMMAND_ACK",), at_ns=100 * MS, duration_ns=200 * MS)
    began_ns = time.monotonic_ns()
    handle = link.proxy.play(Schedule((cut,)))
    sent = came = 0
    while not handle.is_over:
        link.vehicle.send(acknowledgement())
        sent += 1
        came += bool(link.at_unit(within_s=0.01))
    link.vehicle.send(heartbeat(1))
    while link.at_unit() != heartbeat(1):  # what came later than we looked
        came += 1
    began, *dropped, ended = [
        entry for entry in link.proxy.journal if entry.fault in handle.numbers
    ]
    assert (began.action, ended.action) == ("began", "ended")
    # No sooner, and no later than a busy machine may be.
    assert 100 * MS <= began.at_ns - began_ns < 600 * MS
    assert 200 * MS <= ended.at_ns - began.at_ns < 700 * MS
    assert all(began.at_ns <= entry.at_ns <= ended.at_ns for entry in dropped)
    assert dropped
    assert came == sent - len(dropped) > 0


def test_what_was_heard_can_be_kept_and_replayed(link: Wire) -> None:
    link.unit.send(acknowledgement(77))
    assert link.at_vehicle() == acknowledgement(77)
    assert link.proxy.recorded(Direction.TO_VEHICLE, ("COMMAND_ACK",))[-1] == acknowledgement(77)
    link.proxy.apply(Fault(Replay(count=1), Direction.TO_VEHICLE, ("COMMAND_ACK",)))
    assert link.at_vehicle() == acknowledgement(77)


def test_a_unit_that_comes_back_from_another_port_is_answered_there(link: Wire) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as restarted:
        restarted.settimeout(2.0)
        restarted.connect(("127.0.0.1", port_of(link.proxy.unit_url)))
        restarted.send(heartbeat(9))
        assert link.at_vehicle() == heartbeat(9)
        link.vehicle.send(heartbeat(10))
        assert restarted.recv(4096) == heartbeat(10)


def test_a_serial_port_is_pulled_out_and_comes_back_under_its_path() -> None:
    with Proxy(unit="pty", vehicle="pty") as proxy:
        unit_path, vehicle_path = (
            url.removeprefix("serial://").rpartition(":")[0]
            for url in (proxy.unit_url, proxy.vehicle_url)
        )
        unit, vehicle = SerialTransport(unit_path, 921600), SerialTransport(vehicle_path, 921600)
        try:
            _goes(proxy, unit, vehicle)
            proxy.apply(Fault(Unplug(Side.UNIT), duration_ns=S // 5))
            with pytest.raises(OSError, match="the port is gone"):
                _goes(proxy, unit, vehicle)
            with pytest.raises(OSError, match="the port is gone"):
                unit.write(heartbeat())
            unit.close()
            assert not Path(unit_path).exists()
            until(Path(unit_path).exists, "the port")
            unit = SerialTransport(unit_path, 921600)
            _goes(proxy, unit, vehicle)
        finally:
            unit.close()
            vehicle.close()


def test_a_connection_is_closed_refused_and_taken_again_on_the_same_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as vehicle:
        there = f"tcpout://127.0.0.1:{vehicle.getsockname()[1]}"
        with Proxy(unit="tcpin://127.0.0.1:0", vehicle=there) as proxy:
            address = "127.0.0.1", port_of(proxy.unit_url)
            vehicle.settimeout(2.0)
            far, _ = vehicle.accept()
            with socket.create_connection(address, 2.0) as unit, far:
                far.settimeout(2.0)
                unit.sendall(heartbeat())
                assert far.recv(4096) == heartbeat()
                handle = proxy.apply(Fault(Unplug(Side.UNIT)))
                assert unit.recv(4096) == b""
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(address, 2.0)
            handle.clear()
            socket.create_connection(address, 2.0).close()


def test_a_port_that_is_taken_is_an_error_that_names_its_holder() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        with pytest.raises(LinkError, match=rf"UDP port {port}, .*\(pid {os.getpid()}\)"):
            Proxy(unit=f"udpin://127.0.0.1:{port}", vehicle="pty")


def test_a_proxy_that_dies_is_told_of() -> None:
    with Proxy(unit="pty", vehicle="pty") as proxy:
        os.kill(proxy.pid, signal.SIGKILL)
        with pytest.raises(LinkError, match=r"exit code -9\) before it answered 'counts'"):
            _ = proxy.counts


def test_the_journal_outlives_the_proxy() -> None:
    with Proxy(unit="pty", vehicle="pty") as proxy:
        proxy.apply(Fault(Cut()))
    assert [entry.action for entry in proxy.journal] == ["began"]


def test_a_proxy_ends_with_its_rig_whatever_ends_that() -> None:
    code = (
        "import os, time\n"
        "from hil.proxy import Proxy\n"
        "proxy = Proxy(unit='pty', vehicle='pty')\n"
        "print(proxy.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as rig:
        assert rig.stdout is not None
        pid = int(rig.stdout.readline())
        rig.kill()
    until(lambda: not Path(f"/proc/{pid}/status").exists() or _is_zombie(pid), "the proxy's end")


def _goes(proxy: Proxy, unit: SerialTransport, vehicle: SerialTransport) -> None:
    """One heartbeat each way."""
    end_s = time.monotonic() + 5.0
    for sender, receiver in ((unit, vehicle), (vehicle, unit)):
        heard = b""
        while heard != heartbeat():
            assert time.monotonic() < end_s, proxy.counts
            # What was sent to a port that nobody had open yet is lost, as on a wire.
            sender.write(heartbeat())
            time.sleep(0.02)
            heard = receiver.read()[-len(heartbeat()) :]


def _is_zombie(pid: int) -> bool:
    """Dead, in a container whose first process reaps nobody."""
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return True
