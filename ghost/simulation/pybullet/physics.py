"""Vehicles as PyBullet's rigid bodies, driven by our rotors and felt by our sensors."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import ConfigError
from ghost.hal import ContactSample
from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from ghost.simulation.adapter import World
from ghost.simulation.models.craft import Craft, views
from ghost.simulation.models.rays import in_world
from ghost.simulation.models.sensors import Camera, Picture
from ghost.simulation.pybullet import kernel
from ghost.simulation.pybullet.camera import take_picture
from ghost.simulation.pybullet.client import Client, pybullet
from ghost.simulation.pybullet.contacts import Contacts
from ghost.simulation.pybullet.shapes import add_ground, add_solid, add_vehicle

FloatArray = NDArray[np.float64]
Kernel = Callable[..., None]

_SKIN_M = 0.001  # Bullet keeps convex shapes that far apart
_MOST_RAYS = 16_000  # of one call
_ALL_GROUPS = -1
_BEHIND = (4.0, -90.0, -25.0)  # in the window: metres, and degrees of yaw and pitch
_OVERLAP_M = 0.01


class Bodies(Craft):
    """One physics client per run: only a world built afresh repeats exactly."""

    def __init__(self, world: World) -> None:
        vehicles = world.vehicles
        super().__init__(
            [vehicle.airframe for vehicle in vehicles],
            [vehicle.start for vehicle in vehicles],
            world.scenario.step_ns,
            standing_m,
        )
        self._client = Client(view=world.view)
        self._is_shown = world.view
        try:
            self._build(world)
        except BaseException:
            self._client.close()
            raise

    def step(self, step_count: int = 1) -> None:
        client, bodies, loads, fresh = self._client, self._bodies, self._loads, self._fresh
        step_s = self.step_ns / 1e9
        for _ in range(step_count):
            self.propel(step_s)
            self._load()
            for row, body in enumerate(bodies):
                fx, fy, fz, tx, ty, tz = loads[row].tolist()
                at = fresh[row, :3].tolist()
                client.applyExternalForce(body, -1, (fx, fy, fz), at, pybullet.WORLD_FRAME)
                client.applyExternalTorque(body, -1, (tx, ty, tz), pybullet.WORLD_FRAME)
            client.stepSimulation()
            self._time_ns += self.step_ns
            for row, body in enumerate(bodies):
                place, attitude = client.getBasePositionAndOrientation(body)
                velocity, rate = client.getBaseVelocity(body)
                fresh[row] = place + attitude + velocity + rate
                if points := client.getContactPoints(body):
                    self._contacts[row].note(points, self._time_ns)
            self._observe(step_s)
        if self._is_shown:
            client.resetDebugVisualizerCamera(*_BEHIND, fresh[0, :3].tolist())

    def cast_m(
        self, vehicle: int, origin_flu_m: FloatArray, directions_flu: FloatArray, max_m: float
    ) -> FloatArray:
        """Through the vehicle itself: a lidar may look past its own hull, or sit inside of it."""
        begin, directions = in_world(self.body[vehicle], origin_flu_m, directions_flu)
        ends = begin + directions * max_m
        others = ~_group(vehicle)
        shares: list[float] = []
        for first in range(0, len(ends), _MOST_RAYS):
            some = ends[first : first + _MOST_RAYS].tolist()
            hits = self._client.rayTestBatch(
                [begin.tolist()] * len(some), some, numThreads=1, collisionFilterMask=others
            )
            shares += [hit[2] if hit[0] >= 0 else np.inf for hit in hits]
        return np.array(shares) * max_m

    def look(self, vehicle: int, camera: Camera) -> Picture:
        return take_picture(self._client, self.body[vehicle], camera)

    def take_contacts(self, vehicle: int) -> list[ContactSample]:
        return self._contacts[vehicle].take()

    def close(self) -> None:
        self._client.close()

    def _build(self, world: World) -> None:
        client, scenery = self._client, world.scenery
        client.setGravity(0.0, 0.0, -GRAVITY_MPS2)
        client.setTimeStep(self.step_ns / 1e9)
        client.setPhysicsEngineParameter(deterministicOverlappingPairs=1)
        names = {add_ground(client, scenery): "ground"}
        landable = set(names)
        for solid in scenery.solids:
            numbers = add_solid(client, solid, scenery.friction)
            names |= dict.fromkeys(numbers, solid.name)
            if solid.landable:
                landable.update(numbers)
        self._bodies: list[int] = []
        for row, (airframe, setup) in enumerate(zip(self.airframes, world.vehicles, strict=True)):
            if setup.start.position_enu_m is None:
                self.body[row, 2] += self._floor_m(row, landable)
            self._bodies.append(self._add(row, airframe))
            client.setCollisionFilterGroupMask(self._bodies[-1], -1, _group(row), _ALL_GROUPS)
            names[self._bodies[-1]] = f"vehicle {row}"
        velocities = {body: self.body[row, 3:6] for row, body in enumerate(self._bodies)}
        self._contacts = [Contacts(body, names, landable, velocities) for body in self._bodies]
        self._refuse_overlaps(names)
        self._time_ns = 0
        self._loads, self._fresh = np.zeros((len(self), 6)), np.zeros((len(self), 13))
        self._fresh[:, :3] = self.body[:, :3]
        self._load: Kernel = partial(
            kernel.load, *views(self.body, self.wrench, self.push, self._loads)
        )
        observed = views(self.body, self.felt, self._fresh)
        self._observe: Kernel = partial(kernel.observe, *observed)

    def _add(self, row: int, airframe: Airframe) -> int:
        state = self.body[row].tolist()
        w, x, y, z = state[6:10]
        number = add_vehicle(self._client, airframe, state[:3], (x, y, z, w))
        _, rates = in_world(self.body[row], np.zeros(3), self.body[row, None, 10:13])
        self._client.resetBaseVelocity(number, state[3:6], rates[0].tolist())
        return number

    def _floor_m(self, row: int, landable: set[int]) -> float:
        """How high the pad is that a vehicle without a place of its own stands on."""
        east_m, north_m, up_m = self.body[row, :3].tolist()
        above, below = (east_m, north_m, up_m + 1.0), (east_m, north_m, -1.0)
        (hit,) = self._client.rayTest(above, below)
        return max(float(hit[3][2]), 0.0) if hit[0] in landable else 0.0

    def _refuse_overlaps(self, names: dict[int, str]) -> None:
        self._client.performCollisionDetection()
        for row, body in enumerate(self._bodies):
            for point in self._client.getContactPoints(body):
                if point[8] < -_OVERLAP_M:
                    place = ", ".join(f"{part:g}" for part in self.body[row, :3].tolist())
                    raise ConfigError(
                        f"the vehicle starts at ({place}), {-point[8]:.2f} m deep in "
                        f"{names[point[2]]}; move start.position_enu_m in the scenario, or the "
                        "solid in the world"
                    )


def _group(row: int) -> int:
    """By which rays leave a vehicle out. Bullet has room for 29 beside its own two; from there on
    a lidar misses the vehicle that shares its group.
    """
    return 1 << (2 + row % 29)


def standing_m(airframe: Airframe) -> float:
    """How high the centre of mass is when the vehicle stands on its legs."""
    return -min(leg[2] for leg in airframe.legs_flu_m) + _SKIN_M
