"""Who holds a port that we need, as far as /proc tells."""

from enum import StrEnum
from pathlib import Path

from ghost.core.errors import LinkError

_PROC = Path("/proc")
_LISTENING = "0A"
"""A TCP socket that waits for connections; one that has any is no hindrance."""


class PortKind(StrEnum):
    TCP = "tcp"
    UDP = "udp"


def taken(port: int, kind: PortKind, wanted_for: str) -> LinkError:
    """The error to raise when a port can't be had, which names its holder."""
    holder = holder_of(port, kind) or "another program, which this user may not see"
    return LinkError(
        f"{wanted_for} needs {kind.upper()} port {port}, which is held by {holder}; "
        "end that, or take another port"
    )


def holder_of(port: int, kind: PortKind) -> str:
    """Like `px4 (pid 123)`; empty where nobody has it, or /proc doesn't tell."""
    inodes = _inodes(port, kind)
    if not inodes:
        return ""
    links = [f"socket:[{inode}]" for inode in inodes]
    for process in sorted(_PROC.glob("[0-9]*"), key=lambda folder: int(folder.name)):
        try:
            if any(str(entry.readlink()) in links for entry in (process / "fd").iterdir()):
                name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"{name} (pid {process.name})"
        except OSError:  # it ended meanwhile, or belongs to somebody else
            continue
    return ""


def _inodes(port: int, kind: PortKind) -> list[str]:
    found: list[str] = []
    for table in (kind, f"{kind}6"):
        try:
            rows = (_PROC / "net" / table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            _, local, _, state, *rest = row.split()
            is_held = kind is PortKind.UDP or state == _LISTENING
            if is_held and int(local.rpartition(":")[2], 16) == port:
                found.append(rest[5])
    return found
