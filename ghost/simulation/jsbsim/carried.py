"""What has to be known of a model that JSBSim carries, to fly it by its motors."""

from dataclasses import dataclass

from ghost.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Carried:
    """motors are the properties that take 0 to 1; engines are as many, in the same order."""

    name: str
    motors: tuple[str, ...]


MODELS = (Carried("F450", tuple(f"fcs/cmd{motor}_ext_nd" for motor in ("FR", "AL", "FL", "AR"))),)


def read_model(address: str) -> Carried:
    for model in MODELS:
        if model.name == address:
            return model
    listed = ", ".join(f"jsbsim@{model.name}" for model in MODELS)
    raise ConfigError(
        f"jsbsim has no model {address!r} that can be flown by its motors; expected {listed}, or "
        "jsbsim alone for the robot's own airframe"
    )
