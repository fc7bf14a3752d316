cimport cython
from libc cimport math
from ghost.core cimport exact
from ghost.simulation.models cimport kernel as models

@cython.locals(
    normal_n=double, grip=double, touching=double,
    fx=double, fy=double, fz=double, tx=double, ty=double, tz=double,
    ax=double, ay=double, az=double, ex=double, ey=double, ez=double,
    sx=double, sy=double, sz=double, qw=double, qx=double, qy=double, qz=double)
cpdef void advance(
    double[:, ::1] body, double[:, ::1] rotor_speed, double[:, ::1] power, double[:, ::1] felt,
    double[:, ::1] touch, double[:, ::1] motors, double[:, ::1] push, double[:, ::1] strength,
    double[:, ::1] params, double[:, :, ::1] rotors, double[:, ::1] wrench,
    double[:, ::1] ground, double[:, :, ::1] legs,
    Py_ssize_t step_count, double step_s) noexcept
@cython.locals(height_m=double)
cpdef void cast(
    double[:, ::1] body, Py_ssize_t i, const double[::1] origin, const double[:, ::1] directions,
    double limit_m, double[::1] away_m) noexcept
