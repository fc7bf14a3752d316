"""`python tied.py PARENT COMMAND...` becomes the command, which dies when its parent does.

However the parent ends, even by SIGKILL: the kernel sees to it. Run as a script of its own, because
a forked copy of a process with threads may not do so much.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it was quicker
        sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606 - that is what it is for


if __name__ == "__main__":
    main()
