cpdef int judge(
    const double[::1] output, const double[::1] limits, long long gps_age_ns,
    long long imu_age_ns) noexcept
