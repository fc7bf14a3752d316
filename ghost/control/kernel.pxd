cimport cython
from libc cimport math
from ghost.core cimport exact

cpdef void cascade(
    const double[::1] nominal, const double[::1] rate, double[::1] want, double[::1] integral,
    double[::1] gains, double[::1] demand, double step_s) noexcept
cpdef void follow(
    double[::1] want, double x_m, double y_m, double z_m, double vx_mps, double vy_mps,
    double vz_mps, double ax_mps2, double ay_mps2, double az_mps2, double yaw_rad) noexcept
@cython.locals(px=double, py=double, pz=double)
cdef void _position_loop(const double[::1] nominal, double[::1] want, double[::1] gains) noexcept
@cython.locals(
    ax=double, ay=double, az=double, lift=double, size=double, yx=double, yy=double, yz=double,
    is_full=bint, is_bound=bint)
cdef void _velocity_loop(
    const double[::1] nominal, double[::1] want, double[::1] integral, double[::1] gains,
    double step_s) noexcept
@cython.locals(ex=double, ey=double, turn=double, rz=double)
cdef void _attitude_loop(const double[::1] nominal, double[::1] want, double[::1] gains) noexcept
cdef void _rate_loop(
    const double[::1] rate, double[::1] want, double[::1] integral, double[::1] gains,
    double[::1] demand, double step_s) noexcept
@cython.locals(
    count=Py_ssize_t, low=double, high=double, span=double, room=double, widest=double,
    tilt_n=double, share=double, base_n=double, twist_n=double, thrust_n=double, yaw=double)
cpdef void mix(
    double[::1] demand, double[:, ::1] allocation, double[::1] limits, double[::1] motors,
    double curve, double sag) noexcept
