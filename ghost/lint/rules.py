"""The rules. Each one yields the places where it fires; RULES is the whole list."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from ghost.lint.arithmetic import array_sums, is_libm, is_sum, powers
from ghost.lint.float_time import float_bindings, float_fields, says_nanoseconds, says_time
from ghost.lint.sets import Sets, order_free, ordered_uses, popped
from ghost.lint.source import Source

_CLOCKS = frozenset(
    f"time.{name}"
    for name in (
        *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"),
        *("process_time", "process_time_ns", "thread_time", "thread_time_ns"),
        *("clock_gettime", "clock_gettime_ns", "localtime", "gmtime", "ctime"),
    )
) | {
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today"),
    "datetime.date.today",
}
_SLEEPS = frozenset({"time.sleep", "asyncio.sleep", "threading.Timer"})
_ENTROPY = frozenset({"os.urandom", "os.getrandom", "uuid.uuid1", "uuid.uuid4"})
# A signature may name these types; only making one draws from nowhere.
_NUMPY_TYPES = frozenset(
    f"numpy.random.{name}" for name in ("Generator", "BitGenerator", "SeedSequence")
)
_LISTINGS = frozenset({"os.listdir", "os.scandir", "os.walk", "glob.glob", "glob.iglob"})
_LISTING_METHODS = frozenset({"iterdir", "glob", "rglob"})


@dataclass(frozen=True, slots=True)
class Hit:
    line: int
    column: int
    what: str


Check = Callable[[Source], Iterator[Hit]]


@dataclass(frozen=True, slots=True)
class Rule:
    code: str
    title: str
    instead: str
    check: Check

    def message(self, what: str) -> str:
        return f"{what}; use {self.instead} instead"


def wall_clock(source: Source) -> Iterator[Hit]:
    for node, name in _references(source):
        if name in _CLOCKS or name == "time.*":
            yield _hit(node, f"{name} reads the wall clock")


def sleep(source: Source) -> Iterator[Hit]:
    for node, name in _references(source):
        if name in _SLEEPS:
            yield _hit(node, f"{name} waits on the wall clock")


def stdlib_random(source: Source) -> Iterator[Hit]:
    for node, name in _references(source):
        if _is_of("random", name) or _is_bare("random", name, node, source):
            yield _hit(node, f"{name} is a generator outside the run's random tree")


def numpy_random(source: Source) -> Iterator[Hit]:
    for node, name in _references(source):
        called = getattr(source.names.parents[node], "func", None) is node
        if name in _NUMPY_TYPES and not called:
            continue
        if _is_of("numpy.random", name) or _is_bare("numpy.random", name, node, source):
            yield _hit(node, f"{name} is a generator outside the run's random tree")


def entropy(source: Source) -> Iterator[Hit]:
    for node, name in _references(source):
        if name in _ENTROPY or _is_of("secrets", name):
            yield _hit(node, f"{name} differs in every run")


def float_nanoseconds(source: Source) -> Iterator[Hit]:
    for node, name in float_bindings(source.tree):
        if says_nanoseconds(name):
            yield _hit(node, f"{name} holds a float")


def float_time_field(source: Source) -> Iterator[Hit]:
    for node, name in float_fields(source.tree):
        if says_time(name):
            yield _hit(node, f"{name} is a float time field")


def set_order(source: Source) -> Iterator[Hit]:
    sets = Sets(source)
    for iterable in ordered_uses(source):
        if sets.is_set(iterable):
            yield _hit(iterable, "iteration over a set, in any order")
    for owner in popped(source):
        if sets.is_set(owner):
            yield _hit(owner, "pop from a set, of any element")


def listing_order(source: Source) -> Iterator[Hit]:
    for node in source.nodes():
        if not isinstance(node, ast.Call) or order_free(source, node):
            continue
        name = source.called(node)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in _LISTINGS or (name is None and method in _LISTING_METHODS):
            yield _hit(node, f"{name or method} lists files in any order")


def hash_value(source: Source) -> Iterator[Hit]:
    for node in source.nodes():
        if source.called(node) == "builtins.hash" and not any(
            isinstance(above, ast.FunctionDef) and above.name == "__hash__"
            for above in source.names.ancestors(node)
        ):
            yield _hit(node, "hash() of a string differs in every process")


def identity_key(source: Source) -> Iterator[Hit]:
    for node in source.nodes():
        match node:
            case ast.keyword(arg="key", value=key):
                keys: list[ast.expr | None] = [key.body if isinstance(key, ast.Lambda) else key]
            case ast.Subscript(slice=key) | ast.DictComp(key=key):
                keys = [key]
            case ast.Dict(keys=keys):
                pass
            case _:
                continue
        for key_node in keys:
            if key_node and "builtins.id" in (
                source.called(key_node),
                source.names.dotted(key_node),
            ):
                yield _hit(key_node, "id() as a key differs in every run")


def libm(source: Source) -> Iterator[Hit]:
    named = ((node, name) for node, name in _references(source) if is_libm(name))
    for node, name in chain(named, powers(source)):
        yield _hit(node, f"{name} rounds as the machine's libm does")


def sum_order(source: Source) -> Iterator[Hit]:
    named = ((node, name) for node, name in _references(source) if is_sum(name))
    for node, name in chain(named, array_sums(source)):
        yield _hit(node, f"{name} adds in the machine's order")


def _references(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """Every mention of an imported thing: called, passed on or stored, it is the same leak."""
    for node in source.nodes():
        match node:
            case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
                if name := source.names.dotted(node):
                    yield node, name
            case ast.ImportFrom(module=str(module), names=[ast.alias(name="*")], level=0):
                yield node, f"{module}.*"


def _is_of(module: str, name: str) -> bool:
    return name.rpartition(".")[0] == module


def _is_bare(module: str, name: str, node: ast.AST, source: Source) -> bool:
    """True for a module that is itself passed on, to be drawn from elsewhere."""
    return name == module and not isinstance(source.names.parents[node], ast.Attribute)


def _hit(node: ast.AST, what: str) -> Hit:
    return Hit(getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1, what)


def _no_hits(_: Source) -> Iterator[Hit]:
    # Excuses are judged against the other rules' hits, by the engine.
    yield from ()


_CLOCK = "the run's clock (ghost.core SimClock.now_ns)"
_RANDOM = "a child of the run's RandomSource"
UNREASONED = Rule(
    "GD001", "excuse without a rule or a reason", "`# determinism: allow GD101 why`", _no_hits
)
UNUSED = Rule("GD002", "excuse that excuses nothing", "no excuse", _no_hits)
RULES = (
    Rule("GD101", "reading the wall clock", _CLOCK, wall_clock),
    Rule("GD102", "sleeping on the wall clock", "the clock's scheduler", sleep),
    Rule("GD201", "the random module", _RANDOM, stdlib_random),
    Rule("GD202", "numpy.random", _RANDOM, numpy_random),
    Rule("GD203", "entropy: os.urandom, secrets, uuid1, uuid4", _RANDOM, entropy),
    Rule("GD301", "float in a name that ends in _ns", "int nanoseconds", float_nanoseconds),
    Rule("GD302", "float time field", "int nanoseconds and an _ns suffix", float_time_field),
    Rule("GD401", "order of a set", "sorted(...) or a dict", set_order),
    Rule("GD402", "order of a file listing", "sorted(...)", listing_order),
    Rule("GD403", "hash() outside __hash__", "hashlib or the value", hash_value),
    Rule("GD404", "id() as a sort or dict key", "a name or a sequence number", identity_key),
    Rule("GD501", "libm: sin, exp, log, hypot, **", "x * x, math.sqrt or ghost.core.exact", libm),
    Rule("GD502", "order of a sum: np.sum, .dot, @", "a loop or math.fsum", sum_order),
)
ALL_RULES = (UNREASONED, UNUSED, *RULES)
