#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <exception>

namespace executorch_backends::aoti {

/// Work per thread below which starting threads costs more than it gains, in simple operations.
inline constexpr int64_t kGrain = 1 << 15;

#ifdef __SANITIZE_THREAD__
// It cannot see how the OpenMP library, which is not instrumented, orders its threads.
inline constexpr bool kOneThread = true;
#else
inline constexpr bool kOneThread = false;
#endif

/// Calls `f(begin, end)` for ranges that make up 0 … count, on as many threads as have at least
/// `grain` each; on this one alone inside a parallel region. The first exception is thrown here.
template <class F>
void parallel_for(int64_t count, int64_t grain, F&& f) {
  if (count <= 0) return;
  const int64_t most = std::max<int64_t>(count / std::max<int64_t>(grain, 1), 1);
  if (kOneThread || most == 1 || omp_in_parallel() || omp_get_max_threads() == 1) {
    f(int64_t{0}, count);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel
  {
    const int64_t threads = std::min<int64_t>(omp_get_num_threads(), most);
    const int64_t thread = omp_get_thread_num();
    const int64_t chunk = (count + threads - 1) / threads;
    const int64_t begin = std::min(thread * chunk, count);
    const int64_t end = std::min(begin + chunk, count);
    if (begin < end) {
      try {
        f(begin, end);
      } catch (...) {
#pragma omp critical(executorch_backends_aoti_failure)
        if (!failure) failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace executorch_backends::aoti
