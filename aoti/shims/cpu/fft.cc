#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <cmath>
#include <vector>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"

// Discrete Fourier transforms of any length, in double precision.

namespace executorch_backends::aoti {
namespace {

using Value = ComplexDouble;
using Values = std::vector<Value>;

Value turn(double part) {  // e^(2 pi i part)
  return {std::cos(2 * M_PI * part), std::sin(2 * M_PI * part)};
}

Value conjugate(Value z) { return {z.real(), -z.imag()}; }

/// One length: by halves where it is a power of two, else as a convolution by Bluestein.
class Transform {
 public:
  explicit Transform(int64_t length) : length_(length), padded_(1) {
    const bool power = (length & (length - 1)) == 0;
    while (padded_ < (power ? length : 2 * length - 1)) padded_ *= 2;
    for (int64_t i = 0; i < padded_ / 2; ++i) {
      roots_.push_back(turn(-static_cast<double>(i) / static_cast<double>(padded_)));
    }
    if (power) return;
    for (int64_t i = 0; i < length; ++i) {
      // i² modulo 2 n keeps the angle exact.
      const auto square = static_cast<int64_t>(static_cast<__int128>(i) * i % (2 * length));
      chirp_.push_back(turn(-static_cast<double>(square) / static_cast<double>(2 * length)));
    }
    filter_.assign(static_cast<size_t>(padded_), Value(0));
    for (int64_t i = 0; i < length; ++i) {
      filter_[at(i)] = filter_[at((padded_ - i) % padded_)] = conjugate(chirp_[at(i)]);
    }
    halve(filter_);
  }

  /// The forward transform, in place.
  void operator()(Values& x) const {
    if (chirp_.empty()) return halve(x);
    Values y(static_cast<size_t>(padded_), Value(0));
    for (int64_t i = 0; i < length_; ++i) y[at(i)] = x[at(i)] * chirp_[at(i)];
    halve(y);
    // The inverse transform is the forward one of the conjugate.
    for (size_t i = 0; i < y.size(); ++i) y[i] = conjugate(y[i] * filter_[i]);
    halve(y);
    const double scale = 1 / static_cast<double>(padded_);
    for (int64_t i = 0; i < length_; ++i) {
      x[at(i)] = conjugate(y[at(i)]) * scale * chirp_[at(i)];
    }
  }

 private:
  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  void halve(Values& x) const {
    for (int64_t i = 1, j = 0; i < padded_; ++i) {  // bits of the index reversed
      int64_t bit = padded_ / 2;
      for (; j & bit; bit /= 2) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(x[at(i)], x[at(j)]);
    }
    for (int64_t half = 1; half < padded_; half *= 2) {
      const int64_t step = padded_ / (2 * half);
      for (int64_t block = 0; block < padded_; block += 2 * half) {
        for (int64_t i = 0; i < half; ++i) {
          Value& even = x[at(block + i)];
          Value& odd = x[at(block + i + half)];
          const Value turned = odd * roots_[at(i * step)];
          odd = even - turned;
          even = even + turned;
        }
      }
    }
  }

  int64_t length_, padded_;
  Values roots_, chirp_, filter_;
};

/// In place along one dimension, times `scale`.
template <class T>
void transform(const Tensor& t, int64_t dim, bool forward, double scale) {
  const int64_t length = size_along(t, dim), step = stride_along(t, dim);
  const Transform plan(length);
  using R = typename T::value_type;
  for_each_line<1>(t.sizes(), dim, {t.strides()}, 64 * length, [&](const Offsets<1>& at) {
    static thread_local Values line;
    line.resize(static_cast<size_t>(length));
    T* const data = t.data<T>() + at[0];
    for (int64_t i = 0; i < length; ++i) {
      const Value value(data[i * step].real(), data[i * step].imag());
      line[static_cast<size_t>(i)] = forward ? value : conjugate(value);
    }
    plan(line);
    for (int64_t i = 0; i < length; ++i) {
      const Value value = line[static_cast<size_t>(i)] * scale;
      data[i * step] =
          T(static_cast<R>(value.real()), static_cast<R>(forward ? value.imag() : -value.imag()));
    }
  });
}

Ints wrapped(const int64_t* dims, int64_t count, int64_t rank) {
  Ints result(dims, count);
  Ints seen = Ints::filled(std::max<int64_t>(rank, 1), 0);
  for (int64_t& dim : result) {
    dim = wrap_dim(dim, rank);
    require(seen[dim]++ == 0, "dimension ", dim, " occurs twice in ", Ints(dims, count));
  }
  return result;
}

/// 0: none, 1: by the root of the number of elements, 2: by their number.
double scale_of(int64_t normalization, const Tensor& t, const Ints& dims) {
  double count = 1;
  for (const int64_t dim : dims) count *= static_cast<double>(size_along(t, dim));
  require(normalization >= 0 && normalization <= 2, "normalization ", normalization);
  return normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(count) : 1 / count;
}

/// The layout that ATen's transforms promise: the other dimensions outside, in the order of the
/// input's strides, then the transformed ones; `ordered` says how many of those are sorted too.
Tensor empty_result(const Tensor& input, const Ints& sizes, const Ints& dims, int64_t ordered,
                    DType dtype) {
  Ints order, transformed = dims;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  }
  const auto by_stride = [&](int64_t a, int64_t b) { return input.stride(a) > input.stride(b); };
  std::stable_sort(order.begin(), order.end(), by_stride);
  std::stable_sort(transformed.begin(), transformed.begin() + ordered, by_stride);
  for (const int64_t d : transformed) order.push_back(d);
  std::reverse(order.begin(), order.end());
  return empty_strided(sizes, strides_in_order(sizes, order), dtype);
}

void transform_all(const Tensor& t, const Ints& dims, bool forward, double scale) {
  dispatch(Complexes{}, t.dtype(), [&](auto type) {
    for (int64_t i = 0; i < dims.size(); ++i) {
      transform<typename decltype(type)::type>(t, dims[i], forward, i == 0 ? scale : 1);
    }
  });
}

Tensor complex_transform(const Tensor& t, const Ints& dims, int64_t normalization, bool forward) {
  if (dims.empty()) return clone(t);
  Tensor out = empty_result(t, t.sizes(), dims, dims.size(), t.dtype());
  copy(out, t);
  transform_all(out, dims, forward, scale_of(normalization, t, dims));
  return out;
}

/// What real numbers' transform has no imaginary part for, with the sign of zero that ATen gives.
void make_real(const Tensor& t, int64_t dim, int64_t at) {
  if (at >= size_along(t, dim)) return;
  const Tensor bin = t.dim() == 0 ? t : narrow(t, dim, at, 1);
  dispatch(Complexes{}, t.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    elementwise<T, T>([](T value) { return T(value.real(), 0); }, bin, bin);
  });
}

Tensor real_transform(const Tensor& t, const Ints& dims, int64_t normalization, bool onesided) {
  require(!dims.empty(), "no dimension to transform");
  require(t.dtype() == DType::Float || t.dtype() == DType::Double, "no kernel for ",
          name_of(t.dtype()));
  const DType dtype = t.dtype() == DType::Float ? DType::ComplexFloat : DType::ComplexDouble;
  const Tensor whole = to(t, dtype);
  Ints sizes = t.sizes(), others = dims;
  const int64_t last = dims.back();
  others.erase(dims.size() - 1);
  transform_all(whole, {last}, true, scale_of(normalization, t, dims));
  make_real(whole, last, 0);
  if (sizes[last] % 2 == 0) make_real(whole, last, sizes[last] / 2);
  transform_all(whole, others, true, 1);
  if (onesided) sizes[last] = sizes[last] / 2 + 1;
  Tensor out = empty_result(t, sizes, dims, dims.size() - 1, dtype);
  copy(out, narrow(whole, last, 0, sizes[last]));
  return out;
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu__fft_c2c(AtenTensorHandle self, const int64_t* dim, int64_t dim_len_,
                                       int64_t normalization, int32_t forward,
                                       AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(self);
    *ret0 =
        release(complex_transform(t, wrapped(dim, dim_len_, t.dim()), normalization, forward != 0));
  });
}

AOTITorchError aoti_torch_cpu__fft_r2c(AtenTensorHandle self, const int64_t* dim, int64_t dim_len_,
                                       int64_t normalization, int32_t onesided,
                                       AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(self);
    *ret0 =
        release(real_transform(t, wrapped(dim, dim_len_, t.dim()), normalization, onesided != 0));
  });
}
