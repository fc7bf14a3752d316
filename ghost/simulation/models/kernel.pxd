cimport cython
from libc cimport math
from ghost.core cimport exact

@cython.locals(
    sag=double, speed=double, power_w=double, thrust_n=double, charge=double, open_v=double,
    current_a=double, fx=double, fy=double, fz=double, tx=double, ty=double, tz=double,
    ax=double, ay=double, az=double)
cpdef void propel(
    double[:, ::1] body, double[:, ::1] rotor_speed, double[:, ::1] power, double[:, ::1] motors,
    double[:, ::1] push, double[:, ::1] strength, double[:, ::1] params, double[:, :, ::1] rotors,
    double[:, ::1] wrench, double step_s) noexcept

cpdef void read_imu(
    const double[::1] felt, double[:, ::1] work, const double[::1] draw, double scale) noexcept
cpdef void turning(
    double[:, ::1] rotor_speed, double[:, ::1] power, Py_ssize_t i, double curve, double full_v,
    double[::1] top_rps, double[::1] speed_rps) noexcept
