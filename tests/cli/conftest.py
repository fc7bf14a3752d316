from tests.px4 import px4

__all__ = ["px4"]
