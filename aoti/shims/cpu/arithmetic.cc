#include <torch/csrc/inductor/aoti_torch/generated/c_shim_aten.h>
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <cmath>
#include <complex>
#include <numeric>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"

// Element-wise operators that Inductor leaves to ATen: those of complex numbers, above all.

namespace executorch_backends::aoti {
namespace {

enum class Category { kBool, kInteger, kFloat, kComplex };

Category category_of(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return Category::kBool;
    case DType::Half:
    case DType::BFloat16:
    case DType::Float:
    case DType::Double:
      return Category::kFloat;
    case DType::ComplexFloat:
    case DType::ComplexDouble:
      return Category::kComplex;
    default:
      return Category::kInteger;
  }
}

bool is_reduced(DType dtype) { return dtype == DType::Half || dtype == DType::BFloat16; }

DType real_of(DType dtype) {
  return dtype == DType::ComplexFloat    ? DType::Float
         : dtype == DType::ComplexDouble ? DType::Double
                                         : dtype;
}

DType complex_of(DType dtype) {
  if (category_of(dtype) == Category::kComplex) return dtype;
  require(dtype != DType::Half, "complex numbers of float16 are not supported");
  return dtype == DType::Double ? DType::ComplexDouble : DType::ComplexFloat;
}

/// As torch.promote_types, for the dtypes of Everything.
DType promote(DType a, DType b) {
  if (a == b) return a;
  if (category_of(a) < category_of(b)) std::swap(a, b);
  const DType wide = real_of(a), other = real_of(b);
  if (category_of(a) == Category::kComplex) {
    const bool twice = wide == DType::Double || other == DType::Double;
    return twice ? DType::ComplexDouble : DType::ComplexFloat;
  }
  if (category_of(a) > category_of(b)) return a;
  if (category_of(a) == Category::kFloat) {
    if (a == DType::Double || b == DType::Double) return DType::Double;
    return DType::Float;  // float32 with any, and float16 with bfloat16
  }
  const DType larger = item_size(a) >= item_size(b) ? a : b;
  const bool mixed = (a == DType::Byte) != (b == DType::Byte);
  return mixed && larger == DType::Byte          ? DType::Short
         : mixed && item_size(a) == item_size(b) ? DType::Short
                                                 : larger;
}

/// As torch.result_type: a tensor of rank 0 counts for its category only.
DType result_type(const Tensor& a, const Tensor& b) {
  if ((a.dim() == 0) == (b.dim() == 0)) return promote(a.dtype(), b.dtype());
  const DType strong = a.dim() == 0 ? b.dtype() : a.dtype();
  const DType weak = a.dim() == 0 ? a.dtype() : b.dtype();
  if (category_of(weak) <= category_of(strong)) return strong;
  if (category_of(strong) == Category::kFloat) return complex_of(strong);
  return weak;
}

template <class T>
std::complex<typename T::value_type> standard(T z) {
  return {z.real(), z.imag()};
}

/// A result of TensorIterator's layout for two operands that broadcast.
Tensor result_of(const Tensor& a, const Tensor& b, DType dtype) {
  const Ints sizes = broadcast(a.sizes(), b.sizes());
  return empty_strided(
      sizes, dense_strides(sizes, {expand(a, sizes).strides(), expand(b, sizes).strides()}), dtype);
}

/// out = f(a, b) in the dtype that both promote to, one of `Allowed`.
template <class Allowed, class F>
Tensor binary(const Tensor& a, const Tensor& b, F&& f) {
  const DType dtype = result_type(a, b);
  Tensor out = result_of(a, b, dtype);
  const Tensor x = to(a, dtype), y = to(b, dtype);
  dispatch(Allowed{}, dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    elementwise<T, T, T>([&](T p, T q) { return static_cast<T>(f(p, q)); }, out, x, y);
  });
  return out;
}

Tensor number(double value, DType dtype) {
  const Tensor wide = empty({}, DType::Double);
  *wide.data<double>() = value;
  return to(wide, dtype);
}

/// Fails unless a number that stands for a tensor may be a fraction.
void require_number(const Tensor& t) {
  require(category_of(t.dtype()) >= Category::kFloat, "no kernel for ", name_of(t.dtype()),
          " and a number: whether it was an integer is not known");
}

/// Where a number stands for a tensor: of the other one's dtype.
Tensor number_for(const Tensor& t, double value) {
  require_number(t);
  return number(value, t.dtype());
}

Tensor add(const Tensor& a, const Tensor& b, double alpha) {
  return binary<Everything>(a, b, [alpha](auto x, auto y) {
    using T = decltype(x);
    if constexpr (std::is_same_v<T, bool>) {
      return x || (y && alpha != 0);
    } else if constexpr (is_complex<T>) {
      return x + static_cast<T>(static_cast<typename T::value_type>(alpha)) * y;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(x) +
                            static_cast<uint64_t>(static_cast<int64_t>(alpha)) *
                                static_cast<uint64_t>(y));
    } else {
      using C = Compute<T>;  // alpha is rounded as the operands are
      return static_cast<C>(x) + static_cast<C>(static_cast<T>(alpha)) * static_cast<C>(y);
    }
  });
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  // ATen multiplies 16-bit floats with a second number as it is: 0.001 times 1e5 is 100, though
  // 1e5 is no float16.
  if (is_reduced(a.dtype()) && b.dim() == 0 && result_type(a, b) == a.dtype()) {
    Tensor out = result_of(a, b, a.dtype());
    const float factor = *to(b, DType::Float).data<float>();
    dispatch(Types<Half, BFloat16>{}, a.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      elementwise<T, T>([&](T x) { return static_cast<T>(static_cast<float>(x) * factor); }, out,
                        a);
    });
    return out;
  }
  return binary<Everything>(a, b, [](auto x, auto y) {
    using T = decltype(x);
    if constexpr (std::is_same_v<T, bool>) {
      return x && y;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
    } else {
      return x * y;
    }
  });
}

template <class T>
T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0)
      return static_cast<T>(base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0);
  }
  auto factor = static_cast<uint64_t>(base);
  uint64_t result = 1;
  for (auto n = static_cast<uint64_t>(exponent); n > 0; n >>= 1, factor *= factor) {
    if (n & 1) result *= factor;
  }
  return static_cast<T>(result);
}

Tensor power(const Tensor& a, const Tensor& b) {
  return binary<Numbers>(a, b, [](auto x, auto y) {
    using T = decltype(x);
    if constexpr (is_complex<T>) {
      const auto z = std::pow(standard(x), standard(y));
      return T(z.real(), z.imag());
    } else if constexpr (std::is_integral_v<T>) {
      return integer_power(x, y);
    } else {
      using C = Compute<T>;
      return std::pow(static_cast<C>(x), static_cast<C>(y));
    }
  });
}

Tensor absolute(const Tensor& t) {
  Tensor out = empty_like(t, real_of(t.dtype()));
  dispatch(Numbers{}, t.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (is_complex<T>) {
      using R = typename T::value_type;
      elementwise<R, T>([](T z) { return std::hypot(z.real(), z.imag()); }, out, t);
    } else if constexpr (std::is_integral_v<T>) {
      elementwise<T, T>(
          [](T x) { return x < 0 ? static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x)) : x; },
          out, t);
    } else {
      elementwise<T, T>([](T x) { return static_cast<T>(std::abs(static_cast<Compute<T>>(x))); },
                        out, t);
    }
  });
  return out;
}

/// The angle of a number; of real ones 0 or pi.
Tensor angle(const Tensor& t) {
  const Category category = category_of(t.dtype());
  Tensor out = empty_like(t, category < Category::kFloat ? DType::Float : real_of(t.dtype()));
  dispatch(Everything{}, t.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (is_complex<T>) {
      using R = typename T::value_type;
      elementwise<R, T>([](T z) { return std::atan2(z.imag(), z.real()); }, out, t);
    } else {
      using R = std::conditional_t<is_float<T>, T, float>;
      elementwise<R, T>(
          [](T x) {
            if (is_nan(x)) return static_cast<R>(x);
            return static_cast<R>(static_cast<Compute<R>>(x) < 0 ? M_PI : 0);
          },
          out, t);
    }
  });
  return out;
}

Tensor polar(const Tensor& length, const Tensor& turned) {
  require(length.dtype() == turned.dtype(), "dtypes are ", name_of(length.dtype()), " and ",
          name_of(turned.dtype()));
  Tensor out = result_of(length, turned, complex_of(length.dtype()));
  dispatch(Types<float, double>{}, length.dtype(), [&](auto type) {
    using R = typename decltype(type)::type;
    elementwise<c10::complex<R>, R, R>(
        [](R r, R a) { return c10::complex<R>(r * std::cos(a), r * std::sin(a)); }, out, length,
        turned);
  });
  return out;
}

Tensor gcd(const Tensor& a, const Tensor& b) {
  return binary<Integers>(a, b, [](auto x, auto y) {
    using T = decltype(x);
    const auto magnitude = [](T v) {
      return v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
    };
    return static_cast<T>(std::gcd(magnitude(x), magnitude(y)));
  });
}

void fill(const Tensor& t, double value) {
  require_single_elements(t);
  copy(t, number(value, t.dtype()));
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_abs(AtenTensorHandle self, AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(absolute(tensor_of(self))); });
}

AOTITorchError aoti_torch_cpu_angle(AtenTensorHandle self, AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(angle(tensor_of(self))); });
}

AOTITorchError aoti_torch_cpu_polar(AtenTensorHandle abs, AtenTensorHandle angle,
                                    AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(polar(tensor_of(abs), tensor_of(angle))); });
}

AOTITorchError aoti_torch_cpu_add_Tensor(AtenTensorHandle self, AtenTensorHandle other,
                                         double alpha, AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(add(tensor_of(self), tensor_of(other), alpha)); });
}

AOTITorchError aoti_torch_cpu_add_Scalar(AtenTensorHandle self, double other, double alpha,
                                         AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(self);
    *ret0 = release(add(t, number_for(t, other), alpha));
  });
}

AOTITorchError aoti_torch_aten_subtract_Tensor(AtenTensorHandle self, AtenTensorHandle other,
                                               double alpha, AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor &a = tensor_of(self), &b = tensor_of(other);
    require(a.dtype() != DType::Bool && b.dtype() != DType::Bool, "no kernel for bool");
    *ret0 = release(add(a, b, -alpha));
  });
}

AOTITorchError aoti_torch_cpu_mul_Tensor(AtenTensorHandle self, AtenTensorHandle other,
                                         AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(multiply(tensor_of(self), tensor_of(other))); });
}

AOTITorchError aoti_torch_cpu_mul_Scalar(AtenTensorHandle self, double other,
                                         AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(self);
    require_number(t);
    *ret0 = release(multiply(t, number(other, is_reduced(t.dtype()) ? DType::Float : t.dtype())));
  });
}

AOTITorchError aoti_torch_cpu_pow_Tensor_Tensor(AtenTensorHandle self, AtenTensorHandle exponent,
                                                AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(power(tensor_of(self), tensor_of(exponent))); });
}

AOTITorchError aoti_torch_cpu_pow_Tensor_Scalar(AtenTensorHandle self, double exponent,
                                                AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(self);
    *ret0 = release(power(t, number_for(t, exponent)));
  });
}

AOTITorchError aoti_torch_cpu_pow_Scalar(double self, AtenTensorHandle exponent,
                                         AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(exponent);
    *ret0 = release(power(number_for(t, self), t));
  });
}

AOTITorchError aoti_torch_cpu_gcd(AtenTensorHandle self, AtenTensorHandle other,
                                  AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(gcd(tensor_of(self), tensor_of(other))); });
}

AOTITorchError aoti_torch_cpu_fill__Scalar(AtenTensorHandle self, double value) {
  return shim(__func__, [&] { fill(tensor_of(self), value); });
}

AOTITorchError aoti_torch_aten_fill__Scalar(AtenTensorHandle self, double value) {
  return shim(__func__, [&] { fill(tensor_of(self), value); });
}
