"""What a bench engineer checks first: this computer, its ports and disks, the flight controller."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from ghost.core import exact
from ghost.deploy.finding import Finding, Verdict
from ghost.deploy.interview import examine_flight_controller

FREE_BYTES = 2_000_000_000
PROBE_BYTES = 8_000_000
SLOW_BYTES_PER_S = 2_000_000
"""A log with lidar takes about a tenth of this, one with cameras all of it."""
GOOD_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock")


def examine(
    link: str | None, out: Path, root: Path = Path("/"), signing_key: Path | None = None
) -> Iterator[Finding]:
    """One finding after the other, as they are made. root is where /dev, /sys and /proc are."""
    yield _kernels()
    yield _clock(root)
    yield _priority()
    yield from _limits(root)
    yield from _disk(out)
    yield from _ports(root)
    yield _modem_manager(root)
    if link is not None:
        yield from examine_flight_controller(link, signing_key)


def _kernels() -> Finding:
    if exact.__file__.endswith(".py"):
        advice = "install a C compiler and install Ghost again; it flies as it is, slower"
        return Finding("kernels", Verdict.WARN, "interpreted", advice)
    return Finding("kernels", Verdict.PASS, "compiled")


def _clock(root: Path) -> Finding:
    path = root / "sys/devices/system/clocksource/clocksource0/current_clocksource"
    name = _read(path) or "unknown"
    if name in GOOD_CLOCKS:
        return Finding("clock source", Verdict.PASS, name)
    advice = "timing may be coarse; see clocksource= among the kernel's parameters"
    return Finding("clock source", Verdict.WARN, name, advice)


def _priority() -> Finding:
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        advice = "allow it: ulimit -r 10, or --cap-add SYS_NICE for a container"
        return Finding("real-time priority", Verdict.WARN, "not allowed", advice)
    os.sched_setscheduler(0, policy, parameters)
    return Finding("real-time priority", Verdict.PASS, "allowed")


def _limits(root: Path) -> Iterator[Finding]:
    """Of the control group that this runs in, as a container does."""
    memory = _read(root / "sys/fs/cgroup/memory.max")
    if memory is not None and memory.isdigit() and int(memory) < 256_000_000:
        advice = "give it 256 MB or more"
        yield Finding("memory limit", Verdict.FAIL, f"{int(memory) / 1e6:.0f} MB", advice)
    quota = _read(root / "sys/fs/cgroup/cpu.max")
    share, _, period = (quota or "max").partition(" ")
    if share.isdigit() and period.isdigit() and int(share) < int(period):
        cores = int(share) / int(period)
        yield Finding(
            "CPU limit", Verdict.WARN, f"{cores:.2f} cores", "a flight wants a core of its own"
        )


def _disk(out: Path) -> Iterator[Finding]:
    place = next(path for path in (out, *out.resolve().parents) if path.is_dir())
    stats = os.statvfs(place)
    free_bytes = stats.f_bavail * stats.f_frsize
    verdict = Verdict.PASS if free_bytes >= FREE_BYTES else Verdict.FAIL
    advice = "" if verdict is Verdict.PASS else "remove old runs; an hour with cameras takes 4 GB"
    yield Finding("disk space", verdict, f"{free_bytes / 1e9:.1f} GB free at {place}", advice)
    probe = place / f".ghost-doctor-{os.getpid()}"
    try:
        started_ns = time.monotonic_ns()
        with probe.open("wb") as file:
            file.write(bytes(range(250)) * (PROBE_BYTES // 250))
            file.flush()
            os.fsync(file.fileno())
        rate = PROBE_BYTES * 1e9 / (time.monotonic_ns() - started_ns)
    except OSError as error:
        advice = "choose another --out"
        yield Finding("disk speed", Verdict.FAIL, f"{place}: {error.strerror}", advice)
        return
    finally:
        probe.unlink(missing_ok=True)
    verdict = Verdict.PASS if rate >= SLOW_BYTES_PER_S else Verdict.WARN
    advice = "" if verdict is Verdict.PASS else "use a faster card; logs may drop what is large"
    yield Finding("disk speed", verdict, f"{rate / 1e6:.0f} MB/s with fsync", advice)


def _ports(root: Path) -> Iterator[Finding]:
    by_id = sorted((root / "dev/serial/by-id").glob("*"))
    known = {path.resolve() for path in by_id}
    plain = [
        path
        for pattern in ("ttyACM*", "ttyUSB*")
        for path in sorted((root / "dev").glob(pattern))
        if path.resolve() not in known
    ]
    if not by_id and not plain:
        advice = "plug the flight controller in; a UART of this computer has a name of its own"
        yield Finding("serial ports", Verdict.WARN, "none on USB", advice)
    for path in (*by_id, *plain):
        shown = f"/{path.relative_to(root)}"
        if os.access(path, os.R_OK | os.W_OK):
            yield Finding("serial port", Verdict.PASS, f"{shown} ({path.resolve().name})")
        else:
            advice = "add yourself to its group, usually: sudo usermod -aG dialout $USER"
            yield Finding("serial port", Verdict.FAIL, f"{shown} may not be opened", advice)


def _modem_manager(root: Path) -> Finding:
    for path in root.glob("proc/[0-9]*/comm"):
        if _read(path) == "ModemManager":
            advice = (
                "it opens serial ports to look for modems: stop it, or set ID_MM_DEVICE_IGNORE "
                "for the port in a udev rule"
            )
            return Finding("ModemManager", Verdict.WARN, "running", advice)
    return Finding("ModemManager", Verdict.PASS, "not running")


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
