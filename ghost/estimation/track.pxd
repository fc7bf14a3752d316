cimport cython
from ghost.core cimport exact
from ghost.estimation cimport kernel

cdef class Track:
    cdef double[:, ::1] beliefs, imu, scratch, values, nis
    cdef double[::1] output, noise, gates
    cdef long long[:, ::1] keys, counts
    cdef long long[::1] stamps_ns
    cdef Py_ssize_t capacity, begin, end
    cdef double half_jerk, half_turn
    cdef long long buffer_ns, gps_reset_ns, max_imu_gap_ns, period_ns, longest_step_ns, now_ns
    cdef readonly long long head, seen_ns, stamp_ns
    cdef readonly Py_ssize_t live_row

    cpdef void start(
        self, long long stamp_ns, long long gps_accepted_ns, long long now_ns) noexcept
    @cython.locals(row=Py_ssize_t)
    cpdef int add_imu(
        self, long long stamp_ns, const double[::1] accel, const double[::1] gyro) noexcept
    @cython.locals(place=Py_ssize_t, first="long long", index=Py_ssize_t)
    cpdef int add(
        self, long long stamp_ns, int kind, long long sequence, tuple values) except -1
    cpdef void advance_to(self, long long now_ns) noexcept
    cpdef long long imu_age_ns(self) noexcept
    cpdef long long gps_age_ns(self) noexcept
    cpdef long long ranged_ns(self) noexcept
    cpdef tuple books(self)
    cdef long long _oldest_ns(self) noexcept
    @cython.locals(place=Py_ssize_t)
    cdef Py_ssize_t _insert(self, long long stamp_ns, int kind, long long sequence) except -2
    cdef bint _is_before(
        self, Py_ssize_t place, long long stamp_ns, int kind, long long sequence) noexcept
    cdef _make_room(self)
    cdef void _move(self, Py_ssize_t source, Py_ssize_t target) noexcept
    @cython.locals(
        row=Py_ssize_t, before=Py_ssize_t, source=Py_ssize_t, place=Py_ssize_t, high=Py_ssize_t,
        middle=Py_ssize_t, after_ns="long long", at_ns="long long", stamp_ns="long long")
    cdef void _step(self, long long index) noexcept
    cdef void _propagate(
        self, Py_ssize_t row, Py_ssize_t source, Py_ssize_t before, long long from_ns,
        long long to_ns) noexcept
    cdef void _hold(
        self, Py_ssize_t row, Py_ssize_t source, Py_ssize_t sample, long long from_ns,
        long long to_ns) noexcept
    cdef void _fly_steadily(self, Py_ssize_t row) noexcept
    @cython.locals(nis=double)
    cdef void _fuse(self, Py_ssize_t row, Py_ssize_t place) noexcept
    cdef void _doubt(self, Py_ssize_t row, long long stamp_ns, double[::1] values) noexcept
    cdef void _publish(self) noexcept

cpdef bint is_sane(const double[::1] accel, const double[::1] gyro) noexcept
cdef double _growth(double half_rate, double first_s, double last_s) noexcept
