"""Time held as float: it loses nanoseconds after a few months, and equality at once."""

import ast
from collections.abc import Iterator

_TIME_NAMES = frozenset({"stamp", "timestamp", "time", "t", "dt"})
_TIME_SUFFIXES = ("_s", "_sec", "_secs", "_seconds", "_ms", "_us", "_time", "_stamp", "_timestamp")
# speed_m_s is metres per second, not a time.
_PER_SECOND = tuple(
    f"_{unit}_s" for unit in ("m", "mm", "cm", "km", "rad", "deg", "rev", "per", "bytes", "bits")
)


def says_nanoseconds(name: str) -> bool:
    return name.lower().endswith("_ns") or name.lower() == "ns"


def says_time(name: str) -> bool:
    bare = f"_{name.lower().strip('_')}"
    if bare.endswith(_PER_SECOND):
        return False
    return bare[1:] in _TIME_NAMES or bare.endswith(_TIME_SUFFIXES)


def is_float_type(annotation: ast.expr | None) -> bool:
    match annotation:
        case ast.Name(id="float") | ast.Attribute(attr="float64" | "float32"):
            return True
        case ast.Constant(value=str(quoted)):
            return is_float_type(_unquoted(quoted))
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            parts = [left, right]
        case ast.Subscript(value=ast.Name(id="Callable") | ast.Attribute(attr="Callable")):
            parts = []
        case ast.Subscript(slice=ast.Tuple(elts=elements)):
            parts = elements
        case ast.Subscript(slice=element):
            parts = [element]
        case _:
            parts = []
    return any(is_float_type(part) for part in parts)


def is_float_value(value: ast.expr | None) -> bool:
    """A float by its look: a literal, a true division, float(...), or arithmetic on one."""
    match value:
        case ast.Constant(value=float()) | ast.BinOp(op=ast.Div()):
            return True
        case ast.Call(func=ast.Name(id="float")):
            return True
        case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
            parts = [left, right]
        case ast.UnaryOp(operand=operand):
            parts = [operand]
        case ast.Call(func=ast.Name(id="field"), keywords=keywords):
            parts = [word.value for word in keywords if word.arg == "default"]
        case _:
            parts = []
    return any(is_float_value(part) for part in parts)


def float_bindings(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every name that is given a float, by annotation or by value."""
    for node in ast.walk(tree):
        match node:
            case ast.arguments():
                yield from _float_defaults(node)
            case ast.arg(arg=name, annotation=annotation) if is_float_type(annotation):
                yield node, name
            case ast.keyword(arg=str(name), value=value) if is_float_value(value):
                yield node, name
            case ast.FunctionDef(name=name, returns=returns) if is_float_type(returns):
                yield node, name
            case ast.stmt() | ast.NamedExpr():
                for target in float_targets(node):
                    yield target, target_name(target)


def float_targets(node: ast.AST) -> list[ast.expr]:
    """The targets of this assignment, if what it assigns is a float."""
    match node:
        case ast.AnnAssign(target=target, annotation=annotation, value=value):
            return [target] if is_float_type(annotation) or is_float_value(value) else []
        case ast.Assign(targets=targets, value=value):
            return targets if is_float_value(value) else []
        case ast.NamedExpr(target=target, value=value):
            return [target] if is_float_value(value) else []
        case ast.AugAssign(target=target, op=op, value=value):
            return [target] if isinstance(op, ast.Div) or is_float_value(value) else []
    return []


def target_name(target: ast.expr) -> str:
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def float_fields(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Class attributes and `self.x` attributes that hold a float."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for statement in node.body:
                for target in float_targets(statement):
                    yield target, target_name(target)
        for target in float_targets(node):
            match target:
                case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                    yield target, name


def _unquoted(annotation: str) -> ast.expr | None:
    try:
        return ast.parse(annotation, mode="eval").body
    except SyntaxError:
        return None


def _float_defaults(args: ast.arguments) -> Iterator[tuple[ast.AST, str]]:
    positional = [*args.posonlyargs, *args.args]
    with_default = positional[len(positional) - len(args.defaults) :]
    pairs = [
        *zip(with_default, args.defaults, strict=True),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ]
    for arg, default in pairs:
        if is_float_value(default):
            yield arg, arg.arg
