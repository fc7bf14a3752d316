cimport cython
from libc cimport math

@cython.locals(
    distance=double, we=double, wn=double, size=double, best_e=double, best_n=double, roomy_e=double,
    roomy_n=double, ue=double, un=double, cost=double, least=double, roomiest=double,
    be=double, bn=double, share=double, room=double)
cpdef void keep_apart(
    double[:, ::1] now, double[:, ::1] plan, double[:, ::1] tries, double[:, ::1] fence,
    double[::1] rule) noexcept

cdef void _aim(
    double[:, ::1] now, double[:, ::1] plan, Py_ssize_t i, double ue, double un, double change,
    double step_s) noexcept

@cython.locals(first_s=double, at_s=double)
cdef double _foresight(
    double[:, ::1] now, double[:, ::1] plan, Py_ssize_t i, double ue, double un, double distance,
    double haste) noexcept

@cython.locals(room=double)
cdef double _room(
    double[:, ::1] now, double[:, ::1] plan, Py_ssize_t i, double distance,
    double acceleration, double care) noexcept

@cython.locals(
    t=double, i_s=double, j_s=double, i_share=double, j_share=double, near=double,
    nearest=double, le=double, ln=double, j_way=double)
cdef double _nearest(
    double[:, ::1] now, double[:, ::1] plan, Py_ssize_t i, Py_ssize_t j, double reach,
    double acceleration, double care) noexcept

cdef bint _leaves(
    double[:, ::1] now, double[:, ::1] plan, Py_ssize_t i, double[:, ::1] fence,
    double acceleration) noexcept

cdef bint _crosses(
    double pe, double pn, double qe, double qn, double[:, ::1] fence, Py_ssize_t edge) noexcept
