from libc cimport math

cpdef (double, double) sine_cosine(double angle_rad) noexcept
cpdef double arctangent2(double y, double x) noexcept
cpdef double exponential(double exponent) noexcept
cpdef double logarithm(double value) noexcept
cpdef double power(double base, double exponent) noexcept
cpdef (double, double, double, double) multiply(
    double lw, double lx, double ly, double lz, double rw, double rx, double ry, double rz) noexcept
cpdef (double, double, double) rotate(
    double w, double x, double y, double z, double vx, double vy, double vz) noexcept
cpdef (double, double, double, double) turned(
    double w, double x, double y, double z, double rx, double ry, double rz) noexcept
