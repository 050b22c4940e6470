#pragma once

#include <type_traits>

// Integer arithmetic that reports overflow instead of wrapping or being undefined.
//
// Every function returns true when the exact result does not fit, so that a computation is one
// `||` chain and an overflow is the branch that is taken:
//
//   if (checked::mul(rows, pitch, &bytes) || checked::add(bytes, offset, &bytes)) return false;
//
// Then `*out` holds the result modulo 2^bits, which is good for nothing.

namespace executorch_backends::checked {

template <class T>
inline constexpr bool is_integer_v = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// `*out = a + b`. True when the sum does not fit T. `out` may point to an operand's variable.
template <class T>
[[nodiscard]] constexpr bool add(T a, T b, T* out) {
  static_assert(is_integer_v<T>, "checked arithmetic is for integers");
  return __builtin_add_overflow(a, b, out);
}

/// `*out = a - b`. True when the difference does not fit T: for an unsigned T, when b > a.
template <class T>
[[nodiscard]] constexpr bool sub(T a, T b, T* out) {
  static_assert(is_integer_v<T>, "checked arithmetic is for integers");
  return __builtin_sub_overflow(a, b, out);
}

/// `*out = a * b`. True when the product does not fit T.
template <class T>
[[nodiscard]] constexpr bool mul(T a, T b, T* out) {
  static_assert(is_integer_v<T>, "checked arithmetic is for integers");
  return __builtin_mul_overflow(a, b, out);
}

/// `*out = v`, between any two integer types. True when To cannot hold the value: too large, or
/// negative for an unsigned To.
template <class To, class From>
[[nodiscard]] constexpr bool narrow(From v, To* out) {
  static_assert(is_integer_v<To> && is_integer_v<From>, "checked arithmetic is for integers");
  return __builtin_add_overflow(v, From{0}, out);
}

}  // namespace executorch_backends::checked
