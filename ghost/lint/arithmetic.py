"""Arithmetic whose last bits depend on the machine: libm, and sums in an order of its own.

IEEE 754 fixes + - * / and sqrt. It leaves sin, exp and pow to each libm, and the order of a sum
to whoever adds: numpy and BLAS split it by what the processor can do at once.
"""

import ast
from collections.abc import Iterator

from ghost.lint.source import Source

_ANGLES = (
    *("sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
)
_POWERS = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
    *("pow", "cbrt", "hypot", "atan2"),
)
_LIBM_OF = {
    "math": (*_ANGLES, *_POWERS, "dist", "gamma", "lgamma", "erf", "erfc", "*"),
    "cmath": (*_ANGLES, "exp", "log", "log10", "sqrt", "phase", "polar", "rect", "*"),
    "numpy": (
        *(*_ANGLES, *_POWERS, "power", "float_power", "logaddexp", "logaddexp2"),
        *("arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh"),
        *("angle", "sinc", "i0", "logspace", "geomspace"),
        *("hanning", "hamming", "blackman", "kaiser", "*"),
    ),
    "operator": ("pow",),
}
_LIBM = frozenset(f"{module}.{name}" for module, names in _LIBM_OF.items() for name in names)

_SUMS = frozenset(
    f"numpy.{name}"
    for name in (
        *("sum", "mean", "std", "var", "nansum", "nanmean", "nanstd", "nanvar"),
        *("average", "cov", "corrcoef", "trace", "trapezoid", "trapz", "add.reduce"),
        *("dot", "vdot", "inner", "matmul", "matvec", "vecmat", "vecdot", "einsum", "tensordot"),
        *("convolve", "correlate", "polyfit"),
    )
) | {"operator.matmul"}
_SUMMING_MODULES = ("numpy.linalg", "numpy.fft")
_NO_SUMS = frozenset(
    {
        *("numpy.linalg.LinAlgError", "numpy.linalg.cross", "numpy.linalg.outer"),
        *("numpy.linalg.diagonal", "numpy.linalg.matrix_transpose"),
        *("numpy.fft.fftfreq", "numpy.fft.rfftfreq", "numpy.fft.fftshift", "numpy.fft.ifftshift"),
    }
)
_SUMMING_METHODS = frozenset({"sum", "mean", "std", "dot"})


def is_libm(name: str) -> bool:
    return name in _LIBM


def is_sum(name: str) -> bool:
    if name in _NO_SUMS:
        return False
    return name in _SUMS or name.rpartition(".")[0] in _SUMMING_MODULES


def powers(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """Every power but those of two integer literals: CPython gives even a float's x**2 to libm."""
    for node in source.nodes():
        match node:
            case ast.BinOp(op=ast.Pow(), left=base, right=exponent):
                if not _is_integer_power(base, exponent):
                    yield node, "**"
            case ast.AugAssign(op=ast.Pow()):
                yield node, "**="
            case ast.Name(id=name, ctx=ast.Load()):
                if source.names.dotted(node) == "builtins.pow" and not _is_integer_call(
                    node, source.names.parents[node]
                ):
                    yield node, name


def array_sums(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """Sums without a name to look up: matrix products, and the methods of arrays."""
    for node in source.nodes():
        match node:
            case ast.BinOp(op=ast.MatMult()):
                yield node, "@"
            case ast.AugAssign(op=ast.MatMult()):
                yield node, "@="
            case ast.Call(func=ast.Attribute(value=owner, attr=method)):
                if method in _SUMMING_METHODS and _may_be_array(source, owner):
                    yield node, f".{method}()"


def _is_integer_power(base: ast.expr, exponent: ast.expr) -> bool:
    # Not with a negative exponent: that makes floats of them, and 10**-9 is libm's again.
    match base, exponent:
        case ast.UnaryOp(op=ast.USub(), operand=positive), _:
            return _is_integer_power(positive, exponent)
        case ast.Constant(value=int()), ast.Constant(value=int()):
            return True
    return False


def _is_integer_call(function: ast.AST, parent: ast.AST) -> bool:
    match parent:
        case ast.Call(func=called, args=args, keywords=keywords) if called is function:
            # With a modulus, Python takes nothing but integers.
            if len(args) + len(keywords) == 3:
                return True
            return len(args) == 2 and _is_integer_power(args[0], args[1])
    return False


def _may_be_array(source: Source, owner: ast.expr) -> bool:
    match owner:
        case ast.Name(id="self" | "cls"):
            return False
    # An imported name is a module, as in statistics.mean, unless it is written like a constant.
    name = source.names.dotted(owner)
    return name is None or name.rpartition(".")[2].isupper()
