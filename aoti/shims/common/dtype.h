#pragma once

#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>
#include <torch/headeronly/util/complex.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "executorch_backends/aoti/shims/common/failure.h"

namespace executorch_backends::aoti {

using DType = c10::ScalarType;
using Half = c10::Half;
using BFloat16 = c10::BFloat16;
using ComplexFloat = c10::complex<float>;
using ComplexDouble = c10::complex<double>;

template <class T>
inline constexpr DType dtype_of = c10::CppTypeToScalarType<T>::value;

/// "float32", as PyTorch writes it.
const char* name_of(DType dtype);

/// Bytes of an element. Fails for what no tensor here can hold: quantised and sub-byte types.
size_t item_size(DType dtype);

/// The dtype of this number; fails when there is no such dtype.
DType dtype_from(int32_t number);

template <class... T>
struct Types {};

template <class... T, class... U>
Types<T..., U...> operator+(Types<T...>, Types<U...>);

using SignedIntegers = Types<int8_t, int16_t, int32_t, int64_t>;
using Integers = decltype(SignedIntegers{} + Types<uint8_t>{});
using WideUnsigned = Types<uint16_t, uint32_t, uint64_t>;
using Floats = Types<float, double, Half, BFloat16>;
using Complexes = Types<ComplexFloat, ComplexDouble>;
using Reals = decltype(Integers{} + Floats{});  // without bool, as ATen's kernels
using RealsAndBool = decltype(Reals{} + Types<bool>{});
using Numbers = decltype(Reals{} + Complexes{});
using Everything = decltype(Numbers{} + Types<bool>{});
using Indices = Types<int64_t, int32_t>;

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<c10::complex<T>> = true;

template <class T>
inline constexpr bool is_reduced_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class T>
inline constexpr bool is_float = std::is_floating_point_v<T> || is_reduced_float<T>;

/// What sums of T are kept in: float for the 16-bit types, int64 for integers.
template <class T>
using Accumulator = std::conditional_t<is_reduced_float<T>, float,
                                       std::conditional_t<std::is_integral_v<T>, int64_t, T>>;

/// What T is computed in: float for the 16-bit types, else T.
template <class T>
using Compute = std::conditional_t<is_reduced_float<T>, float, T>;

template <class T>
bool is_nan(T value) {
  if constexpr (is_complex<T>) {
    return value.real() != value.real() || value.imag() != value.imag();
  } else if constexpr (is_float<T>) {
    return static_cast<Compute<T>>(value) != static_cast<Compute<T>>(value);
  } else {
    return false;
  }
}

template <class T>
struct Type {
  using type = T;
};

/// Calls `f(Type<T>{})` with the T of the list that is `dtype`; fails when none is.
template <class... T, class F>
void dispatch(Types<T...>, DType dtype, F&& f) {
  const bool found = ((dtype == dtype_of<T> ? (f(Type<T>{}), true) : false) || ...);
  require(found, "no kernel for ", name_of(dtype));
}

/// A type as wide as an element, for kernels that only move elements.
struct alignas(8) Bytes16 {
  uint64_t words[2];
};

/// Calls `f(Type<T>{})` with a T of so many bytes.
template <class F>
void dispatch_width(size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(Type<uint8_t>{});
    case 2:
      return f(Type<uint16_t>{});
    case 4:
      return f(Type<uint32_t>{});
    case 8:
      return f(Type<uint64_t>{});
    case 16:
      return f(Type<Bytes16>{});
    default:
      fail("no kernel for elements of ", bytes, " bytes");
  }
}

}  // namespace executorch_backends::aoti
