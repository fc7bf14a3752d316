"""One case in a process of its own, so that it can be ended: `python -m hil.one FOLDER`, with what
to play in FOLDER/order.json; the verdict comes into FOLDER/verdict.json.
"""

import json
import signal
import sys
import time
import traceback
from pathlib import Path
from types import FrameType

from ghost.core.errors import GhostError
from hil import cases
from hil.case import CASES, Case, Skipped
from hil.judge import judged
from hil.stage import Stage
from hil.survey import Survey
from hil.target import Target
from hil.targets import make_target
from hil.verdict import Outcome, Verdict

__all__ = ["cases", "main"]


def main(folder: Path) -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    order = json.loads((folder / "order.json").read_text(encoding="utf-8"))
    case = CASES[order["case"]]
    began_s = time.monotonic()
    found = order["survey"]
    target = make_target(order["target"], order["link"], found and Survey.of(found))
    outcome, detail = _play(case, target, folder, order["seed"], allow_arming=order["allow_arming"])
    verdict = Verdict(case.name, case.subsystem, outcome, detail, time.monotonic() - began_s)
    (folder / "verdict.json").write_text(json.dumps(verdict.plain), encoding="utf-8")
    return 0


def _play(
    case: Case, target: Target, folder: Path, seed: int, *, allow_arming: bool
) -> tuple[Outcome, str]:
    try:
        with Stage(target, folder, seed=seed, allow_arming=allow_arming) as stage:
            figure = case.play(stage)
        return judged(figure, [unit.folder for unit in stage.units])
    except Skipped as why:
        return Outcome.SKIP, str(why)
    except GhostError as problem:
        return Outcome.FAIL, str(problem)
    except KeyboardInterrupt:
        return Outcome.FAIL, "ended before it was over"
    except Exception as error:  # noqa: BLE001 - the rig goes on, and it is told
        (folder / "traceback.txt").write_text(traceback.format_exc(), encoding="utf-8")
        return Outcome.FAIL, f"{type(error).__name__}: {error}"


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """As Ctrl-C: what is on the stage is taken off."""
    del signum, frame
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
