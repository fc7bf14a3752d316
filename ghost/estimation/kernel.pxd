cimport cython
from libc cimport math
from ghost.core cimport exact

cpdef void predict(
    double[:, ::1] beliefs, Py_ssize_t source, Py_ssize_t target, double[:, ::1] imu,
    Py_ssize_t sample, double[::1] noise, double dt_s, double extra_velocity_variance,
    double extra_attitude_variance) noexcept
@cython.locals(variance=double, total=double, nis=double)
cpdef double update(
    double[:, ::1] beliefs, Py_ssize_t row, double[:, ::1] scratch, Py_ssize_t count,
    double gate, int heading) noexcept
@cython.locals(
    variance=double, residual=double, total=double, c=double, k=double, value=double)
cdef double _take_in(
    double[:, ::1] beliefs, Py_ssize_t row, double[:, ::1] scratch, Py_ssize_t n,
    int heading) noexcept
cdef void _keep_heading(
    double[:, ::1] beliefs, Py_ssize_t row, double[:, ::1] scratch) noexcept
cdef void _inject(double[:, ::1] beliefs, Py_ssize_t row, double[:, ::1] scratch) noexcept
cpdef double fuse_gps(
    double[:, ::1] beliefs, Py_ssize_t row, double[:, ::1] scratch, double[::1] measured,
    double gate) noexcept
cpdef double fuse_heading(
    double[:, ::1] beliefs, Py_ssize_t row, double[:, ::1] scratch, double[::1] measured,
    double gate) noexcept
cpdef double fuse_height(
    double[:, ::1] beliefs, Py_ssize_t row, double[:, ::1] scratch, double[::1] measured,
    double gate) noexcept
cpdef double fuse_range(
    double[:, ::1] beliefs, Py_ssize_t row, double[:, ::1] scratch, double[::1] measured,
    double gate) noexcept
cpdef double fuse_rest(
    double[:, ::1] beliefs, Py_ssize_t row, double[:, ::1] scratch, double[:, ::1] imu,
    Py_ssize_t sample, double accel_variance, double gyro_variance) noexcept
cpdef void forget(
    double[:, ::1] beliefs, Py_ssize_t row, Py_ssize_t first, Py_ssize_t count,
    double variance) noexcept
cpdef void read_out(
    double[:, ::1] beliefs, Py_ssize_t row, double[:, ::1] imu, Py_ssize_t sample,
    double[::1] output) noexcept
cpdef void spread(
    double[:, ::1] beliefs, Py_ssize_t row, double horizontal_m2, double vertical_m2,
    double heading_rad2, double[::1] covariances) noexcept
cdef void _write(
    double[:, ::1] scratch, Py_ssize_t n, double residual, double variance) noexcept
cdef (double, double, double) _up(double[:, ::1] beliefs, Py_ssize_t row) noexcept
