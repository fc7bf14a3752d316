"""Each rule on code where it must fire, with its line, and on code where it must not."""

from pathlib import Path

import pytest

from ghost.lint import LintError, lint_file
from ghost.lint.policy import module_of

FIRES = [
    ("GD101", 2, "import time\nnow = time.time()"),
    ("GD101", 2, "import time as t\nnow = t.monotonic_ns()"),
    ("GD101", 2, "from time import monotonic as m\nnow = m()"),
    ("GD101", 2, "import time\nclock = time.perf_counter"),
    ("GD101", 3, "def f():\n    import time\n    return time.process_time()"),
    ("GD101", 3, "import time\nt = time\nnow = t.time_ns()"),
    ("GD101", 2, "import time\ndef f(time=time.time): return time"),
    ("GD101", 1, "from time import *"),
    ("GD101", 2, "from datetime import datetime as dt\nnow = dt.now()"),
    ("GD101", 2, "import datetime\nnow = datetime.datetime.utcnow()"),
    ("GD101", 2, "from datetime import date\nday = date.today()"),
    ("GD101", 3, "try:\n    import time\nexcept ImportError: time = None; time.time()"),
    ("GD102", 2, "import time\ntime.sleep(1)"),
    ("GD102", 3, "import asyncio\nasync def f():\n    await asyncio.sleep(1)"),
    ("GD201", 2, "import random\nx = random.random()"),
    ("GD201", 2, "from random import Random as R\nx = R(4)"),
    ("GD201", 2, "import random\nx = random.SystemRandom()"),
    ("GD201", 2, "import random\ndraw(random)"),
    ("GD202", 2, "import numpy as np\nx = np.random.default_rng(4)"),
    ("GD202", 2, "from numpy import random as npr\nx = npr.rand()"),
    ("GD202", 2, "import numpy.random\nnumpy.random.seed(4)"),
    ("GD202", 2, "from numpy.random import RandomState\nx = RandomState(4)"),
    ("GD202", 2, "import numpy as np\nx = np.random.Philox(4)"),
    ("GD202", 3, "import numpy as np\nfrom x import bits\nx = np.random.Generator(bits)"),
    ("GD203", 2, "import os\nx = os.urandom(4)"),
    ("GD203", 2, "import secrets\nx = secrets.token_hex()"),
    ("GD203", 2, "from uuid import uuid4\nx = uuid4()"),
    ("GD301", 1, "def f(stamp_ns: float): ..."),
    ("GD301", 1, "def f(step_ns=1e6): ..."),
    ("GD301", 1, "def now_ns() -> float: ..."),
    ("GD301", 2, "class A:\n    stamp_ns: float | None = None"),
    ("GD301", 1, "STEP_NS = 1e6"),
    ("GD301", 1, "half_ns = step_ns / 2"),
    ("GD301", 1, "late_ns = step_ns * 0.5 + 1"),
    ("GD301", 1, "step_ns /= 2"),
    ("GD301", 1, "advance(step_ns=1e6)"),
    ("GD302", 2, "class A:\n    timestamp: float"),
    ("GD302", 2, "class A:\n    period_s: 'float' = 0.1"),
    ("GD302", 2, "class A:\n    timeout_ms: float | None"),
    ("GD302", 3, "class A:\n    def __init__(self):\n        self._elapsed_s = 0.0"),
    ("GD302", 3, "class A:\n    def __init__(self, dt):\n        self.dt: float = dt"),
    ("GD401", 1, "for x in {1, 2}: ..."),
    ("GD401", 1, "y = [x for x in set(z)]"),
    ("GD401", 1, "y = list(frozenset(z))"),
    ("GD401", 1, "y = ','.join({x for x in z})"),
    ("GD401", 1, "y = [*set(z)]"),
    ("GD401", 1, "a, b = set(z)"),
    ("GD401", 2, "names = set(z)\nfor name in names: ..."),
    ("GD401", 2, "def f(names: set[str]):\n    return tuple(names)"),
    ("GD401", 3, "from collections.abc import Set as S\ndef f(names: S[str]):\n  return [*names]"),
    ("GD401", 5, "class A:\n  def a(self):\n    self.x = set()\n  def b(self):\n    list(self.x)"),
    ("GD401", 4, "class A:\n    x: frozenset[str]\n    def b(self):\n        yield from self.x"),
    ("GD401", 1, "for x in a.keys() - b: ..."),
    ("GD401", 2, "names = {1}\nfor x in names.union(z): ..."),
    ("GD401", 2, "names = {1}\nnames.pop()"),
    ("GD402", 2, "import os\nfor f in os.listdir('.'): ..."),
    ("GD402", 2, "from glob import glob\nx = glob('*')"),
    ("GD402", 1, "x = list(path.rglob('*'))"),
    ("GD403", 1, "seed = hash(label)"),
    ("GD404", 1, "x = sorted(z, key=id)"),
    ("GD404", 1, "x = sorted(z, key=lambda y: id(y))"),
    ("GD404", 1, "table[id(x)] = 1"),
    ("GD404", 1, "table = {id(x): 1}"),
    ("GD501", 2, "import math\nx = math.sin(y)"),
    ("GD501", 2, "import math\nx = math.log1p(y)"),
    ("GD501", 2, "import math\nx = math.hypot(y, z)"),
    ("GD501", 2, "import math\nx = math.dist(y, z)"),
    ("GD501", 2, "import math\nx = math.erf(y)"),
    ("GD501", 2, "from math import atan2 as angle\nx = angle(y, z)"),
    ("GD501", 2, "import math\nx = list(map(math.exp, y))"),
    ("GD501", 1, "from math import *"),
    ("GD501", 2, "import cmath\nx = cmath.sqrt(y)"),
    ("GD501", 2, "import numpy as np\nx = np.cos(y)"),
    ("GD501", 2, "import numpy as np\nx = np.arctan2(y, z)"),
    ("GD501", 2, "import numpy as np\nx = np.atan2(y, z)"),
    ("GD501", 2, "import numpy as np\nx = np.float_power(y, 2)"),
    ("GD501", 2, "import numpy as np\nx = np.logaddexp.reduce(y)"),
    ("GD501", 2, "from numpy import power\nx = power(y, 2)"),
    ("GD501", 1, "from numpy import *"),
    ("GD501", 1, "x = y**0.5"),
    ("GD501", 1, "x = y**3"),
    ("GD501", 1, "x = y**2"),
    ("GD501", 1, "x = 2**n"),
    ("GD501", 1, "x = 2.0**-53"),
    ("GD501", 1, "x = 10**-9"),
    ("GD501", 1, "x **= 2"),
    ("GD501", 1, "x = pow(y, 2)"),
    ("GD501", 1, "x = pow(2.0, 3)"),
    ("GD501", 1, "x = list(map(pow, y, z))"),
    ("GD501", 2, "import operator\nx = operator.pow(y, 2)"),
    ("GD502", 2, "import numpy as np\nx = np.sum(y)"),
    ("GD502", 2, "import numpy as np\nx = np.mean(y)"),
    ("GD502", 2, "import numpy as np\nx = np.dot(y, z)"),
    ("GD502", 2, "import numpy as np\nx = np.einsum('i,i', y, z)"),
    ("GD502", 2, "import numpy as np\nx = np.convolve(y, z)"),
    ("GD502", 2, "import numpy as np\nx = np.trapezoid(y)"),
    ("GD502", 2, "import numpy as np\nx = np.add.reduce(y)"),
    ("GD502", 2, "import numpy as np\nx = np.linalg.norm(y)"),
    ("GD502", 2, "from numpy.linalg import solve\nx = solve(y, z)"),
    ("GD502", 2, "from numpy import linalg as la\nx = la.inv(y)"),
    ("GD502", 1, "from numpy.linalg import *"),
    ("GD502", 2, "import numpy as np\nx = np.fft.rfft(y)"),
    ("GD502", 2, "import operator\nx = operator.matmul(y, z)"),
    ("GD502", 1, "x = y @ z"),
    ("GD502", 1, "x @= y"),
    ("GD502", 1, "x = y.sum()"),
    ("GD502", 1, "x = (y * y).mean(axis=0)"),
    ("GD502", 1, "x = y[0].std()"),
    ("GD502", 1, "def f(self): return self.y.dot(self.z)"),
    ("GD502", 2, "from model import TABLE\nx = TABLE.sum()"),
    ("GD001", 2, "import time\nx = time.time()  # determinism: allow GD101"),
    ("GD001", 1, "x = 1  # determinism: whatever"),
    ("GD002", 1, "x = 1  # determinism: allow GD101 no clock in sight"),
]

SILENT = [
    "import time\ndef f(time): return time.time()",
    "import time\nzone = time.strftime",
    "from ghost.core import clock as time\nnow = time.time()",
    "from .time import monotonic\nnow = monotonic()",
    "def f(clock): return clock.monotonic()",
    "from datetime import datetime\nday = datetime.fromisoformat('2026-06-03')",
    "import time\nx = time.time()  # determinism: allow GD101 the manifest's wall date",
    "import time\nx = time.sleep(time.time())  # determinism: allow GD101, GD102 one line, both",
    "x = '# determinism: allow GD101'",
    "from ghost.core import random\nx = random.random()",
    "import numpy as np\ndef f(rng: np.random.Generator): return rng.normal()",
    "import uuid\nx = uuid.uuid5(uuid.NAMESPACE_URL, 'a')",
    "class A:\n    stamp_ns: int\n    speed_m_s: float\n    status: float",
    "def f(seconds: float) -> int: return int(seconds * 1e9)",
    "def elapsed_s(elapsed_ns: int) -> float: return elapsed_ns / 1e9",
    "elapsed_s = elapsed_ns / 1e9",
    "step_ns = total_ns // 4",
    "step_ns = int(total_ns / 4)",
    "from collections.abc import Callable\nto_ns: Callable[[float], int]",
    "for x in sorted({1, 2}): ...",
    "x = sorted(list({1, 2}))",
    "x = sorted(f(y) for y in {1, 2})",
    "x = len({1}), min({1}), any(y for y in {1}), 1 in {1}",
    "x = {y for y in {1, 2}}",
    "(only,) = set(z)",
    "names = set(z)\nnames = sorted(names)\nfor name in names: ...",
    "def f(names: set[str]): ...\ndef g(names: list[str]): return list(names)",
    "def set(x): return [x]\nfor y in set(1): ...",
    "for x in table.keys(): ...",
    "stack = [1]\nstack.pop()",
    "import os\nfor f in sorted(os.listdir('.')): ...",
    "x = sorted(p.name for p in path.iterdir())",
    "class A:\n    def __hash__(self): return hash(self.name)",
    "def f(id): return {id: 1}",
    "same = id(x) == id(y)",
    "import math\nx = math.sqrt(y), math.floor(y), math.ceil(y), math.fabs(y), math.isfinite(y)",
    "import math\nx = math.copysign(y, z), math.ldexp(y, 3), math.frexp(y), math.fmod(y, z)",
    "import math\nx = math.radians(y), math.degrees(y), math.pi, math.inf, math.factorial(3)",
    "import math\nx = math.fsum(y), math.prod(y), math.isqrt(y)",
    "import numpy as np\nx = np.sqrt(y), np.abs(y), np.floor(y), np.minimum(y, z), np.square(y)",
    "import numpy as np\nx = np.cumsum(y), np.cross(y, z), np.max(y), np.count_nonzero(y)",
    "import cmath\nx = cmath.isfinite(y), cmath.pi",
    "import numpy as np\ntry: ...\nexcept np.linalg.LinAlgError: ...",
    "from ghost.core.exact import exponential, sine_cosine\nx = exponential(y), sine_cosine(z)",
    "from ghost.core import exact as math\nx = math.exp(y)",
    "def f(math): return math.sin(1)",
    "x = 2**63 - 1, 10**9, -(2**31), (-2) ** 3, 1.0 / 2**53",
    "x = pow(2, 63), pow(y, -1, z), pow(y, z, mod=7)",
    "def pow(x, y): return x\nz = pow(1.5, 2)",
    "x = f(*y, **z) | {**z}",
    "x = sum(y), sum(z for z in y)",
    "import statistics\nx = statistics.mean(y)",
    "from ghost.core import tally\nx = tally.sum(y)",
    "class A:\n    def a(self): return self.mean()",
    "x = y.max(), y.sum, y.cumsum(), y.prod()",
    "@decorate\ndef f(): ...",
    "import math\nx = math.exp(1)  # determinism: allow GD501 read by people, not by a flight",
    "x = y.sum()  # determinism: allow GD502 integers: exact in any order",
]


@pytest.mark.parametrize(("code", "line", "text"), FIRES)
def test_rule_fires(tmp_path: Path, code: str, line: int, text: str) -> None:
    assert (line, code) in found(tmp_path / "adapter.py", text)


@pytest.mark.parametrize("text", SILENT)
def test_rules_are_silent(tmp_path: Path, text: str) -> None:
    assert found(tmp_path / "adapter.py", text) == []


def test_an_excuse_without_a_reason_excuses_nothing(tmp_path: Path) -> None:
    text = "import time\nx = time.time()  # determinism: allow GD101"
    assert found(tmp_path / "adapter.py", text) == [(2, "GD101"), (2, "GD001")]


EVERYTHING = """\
import time, random, numpy
time.time()
random.random()
numpy.random.rand()
STEP_NS = 1e6
for x in {1}: ...
x **= 0.5
x = x @ x
"""


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("ghost/simulation/lightweight/physics.py", "GD101 GD201 GD202 GD301 GD401 GD501 GD502"),
        ("ghost/core/random.py", "GD101 GD201 GD301 GD401 GD501 GD502"),
        ("ghost/core/randomness.py", "GD101 GD201 GD202 GD301 GD401 GD501 GD502"),
        ("ghost/hal/gate.py", "GD101 GD201 GD202 GD301 GD401 GD501 GD502"),
        ("ghost/telemetry/log.py", "GD101 GD201 GD202 GD301 GD401"),
        ("ghost/events/bus.py", "GD101 GD201 GD202 GD301 GD401"),
        ("ghost/conformance/suite.py", "GD101 GD201 GD202 GD301 GD401"),
        ("ghost/report/page.py", "GD101 GD201 GD202 GD301 GD401"),
        ("ghost/verify/order.py", "GD101 GD201 GD202 GD301 GD401"),
        ("ghost/hardware/backend.py", "GD201 GD202 GD301"),
        ("ghost/cli/__init__.py", "GD201 GD202 GD301"),
        ("firmware_bridge/link.py", "GD201 GD202 GD301"),
        ("hil/__init__.py", "GD201 GD202"),
        ("hil/deep/er.py", "GD201 GD202"),
        ("drone/hil/adapter.py", "GD101 GD201 GD202 GD301 GD401 GD501 GD502"),
    ],
)
def test_policy_decides_which_rules_hold(tmp_path: Path, path: str, codes: str) -> None:
    file = tmp_path / path
    for folder in list(file.relative_to(tmp_path).parents)[:-1]:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "__init__.py").touch()
    assert [code for _, code in found(file, EVERYTHING)] == codes.split()


def test_a_file_outside_a_package_has_no_module(tmp_path: Path) -> None:
    loose = tmp_path / "ghost" / "hil.py"
    loose.parent.mkdir()
    loose.touch()
    assert module_of(loose) == ""


def test_what_is_not_python_is_an_error_with_its_line(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("x = 1\nx = = 1\n", encoding="utf-8")
    with pytest.raises(LintError, match=r"bad\.py:2: not valid Python"):
        lint_file(bad)


def found(file: Path, text: str) -> list[tuple[int, str]]:
    file.write_text(text, encoding="utf-8")
    return [(finding.line, finding.code) for finding in lint_file(file)]
