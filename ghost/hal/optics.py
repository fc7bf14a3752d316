"""How a sensor that looks at the world sees it: from where, how far, and through which lens."""

from dataclasses import dataclass

from numpy import inf, isfinite

from ghost.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Mount:
    """Where a sensor sits in the body. attitude takes the sensor's axes to the body's: its x axis
    is where it looks, y is to its left and z its up.
    """

    position_flu_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    attitude: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)


CENTRE = Mount()


@dataclass(frozen=True, slots=True)
class Ranging:
    """What a sensor that measures distance promises: a standard deviation of
    noise_m + noise_per_m2 * distance squared, between min_m and max_m.
    """

    min_m: float
    max_m: float
    noise_m: float = 0.0
    noise_per_m2: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.min_m < self.max_m < inf:
            raise ConfigError(
                f"min_m is {self.min_m:g} and max_m {self.max_m:g}; expected 0 <= min_m < max_m"
            )
        for key in ("noise_m", "noise_per_m2"):
            if not 0.0 <= getattr(self, key) < inf:
                raise ConfigError(f"{key} is {getattr(self, key)}; expected 0 or more")


@dataclass(frozen=True, slots=True)
class Lens:
    """A pinhole. Column u of a pixel is cx_px - fx_px * y / x in the sensor's axes, its row v
    cy_px - fy_px * z / x; the middle of the first pixel is at (0, 0).
    """

    width_px: int
    height_px: int
    fx_px: float
    fy_px: float
    cx_px: float
    cy_px: float

    def __post_init__(self) -> None:
        for key in ("width_px", "height_px"):
            size = getattr(self, key)
            if type(size) is not int or not 1 <= size <= 8192:
                raise ConfigError(f"{key} is {size}; expected an integer, 1 to 8192")
        for key in ("fx_px", "fy_px"):
            if not (isfinite(getattr(self, key)) and getattr(self, key) > 0.0):
                raise ConfigError(f"{key} is {getattr(self, key)}; expected above 0")
        for key, size in (("cx_px", self.width_px), ("cy_px", self.height_px)):
            if not -0.5 <= getattr(self, key) <= size - 0.5:
                raise ConfigError(
                    f"{key} is {getattr(self, key)}; expected inside the image, "
                    f"-0.5 to {size - 0.5:g}"
                )
