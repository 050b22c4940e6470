#pragma once

#include <algorithm>
#include <limits>
#include <string_view>

#include "executorch_backends/aoti/shims/common/dtype.h"
#include "executorch_backends/aoti/shims/common/failure.h"

// How several values for one element become one: scatter_reduce, index_reduce, segment_reduce.

namespace executorch_backends::aoti {

enum class Reduction { kAssign, kSum, kProduct, kMean, kMaximum, kMinimum };

/// By ATen's name: "sum", "prod", "mean", "amax" or "max", "amin" or "min".
inline Reduction reduction_of(const char* text) {
  require(text != nullptr, "no name of a reduction");
  const std::string_view name(text);
  if (name == "sum" || name == "add") return Reduction::kSum;
  if (name == "prod" || name == "multiply") return Reduction::kProduct;
  if (name == "mean") return Reduction::kMean;
  if (name == "amax" || name == "max") return Reduction::kMaximum;
  if (name == "amin" || name == "min") return Reduction::kMinimum;
  fail("reduction '", name, "' is none of sum, prod, mean, amax, amin");
}

/// What leaves every value as it is.
template <class T>
T identity_of(Reduction reduction) {
  if constexpr (is_complex<T>) {
    return T(reduction == Reduction::kProduct ? 1 : 0);
  } else {
    using Limits = std::numeric_limits<T>;
    switch (reduction) {
      case Reduction::kProduct:
        return T(1);
      case Reduction::kMaximum:
        return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
      case Reduction::kMinimum:
        return Limits::has_infinity ? Limits::infinity() : Limits::max();
      default:
        return T(0);
    }
  }
}

/// Calls `f(combine)`, where combine(a, b) is the reduction of two values of T; a NaN wins.
template <class T, class F>
void with_reduction(Reduction reduction, F&& f) {
  switch (reduction) {
    case Reduction::kAssign:
      return f([](T, T b) { return b; });
    case Reduction::kSum:
    case Reduction::kMean:
      return f([](T a, T b) { return static_cast<T>(a + b); });
    case Reduction::kProduct:
      return f([](T a, T b) { return static_cast<T>(a * b); });
    default:
      break;
  }
  if constexpr (is_complex<T>) {
    fail("complex numbers have no largest one");
  } else if (reduction == Reduction::kMaximum) {
    f([](T a, T b) { return is_nan(a) || a > b ? a : b; });
  } else {
    f([](T a, T b) { return is_nan(a) || a < b ? a : b; });
  }
}

}  // namespace executorch_backends::aoti
