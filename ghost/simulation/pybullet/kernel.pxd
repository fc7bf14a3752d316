from ghost.core cimport exact

cpdef void load(
    double[:, ::1] body, double[:, ::1] wrench, double[:, ::1] push, double[:, ::1] loads) noexcept
cpdef void observe(
    double[:, ::1] body, double[:, ::1] felt, double[:, ::1] fresh, double step_s) noexcept
