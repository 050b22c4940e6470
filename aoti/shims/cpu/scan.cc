#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <cmath>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"

namespace executorch_backends::aoti {
namespace {

/// What running results of T are kept in: double for float, as on ATen's CPU.
template <class T>
using Running = std::conditional_t<
    std::is_same_v<T, float>, double,
    std::conditional_t<std::is_same_v<T, ComplexFloat>, ComplexDouble, Accumulator<T>>>;

/// out[i] = combine(out[i - 1], t[i]) along `dim`, from `first` on; the dtypes are the same.
template <class T, class F>
void scan(const Tensor& out, const Tensor& t, int64_t dim, Running<T> first, F&& combine) {
  const int64_t length = size_along(t, dim);
  const int64_t step = stride_along(t, dim), out_step = stride_along(out, dim);
  for_each_line<2>(t.sizes(), dim, {t.strides(), out.strides()}, length, [&](const Offsets<2>& at) {
    const T* const from = t.data<T>() + at[0];
    T* const to = out.data<T>() + at[1];
    Running<T> running = first;
    for (int64_t i = 0; i < length; ++i) {
      running = combine(running, static_cast<Running<T>>(from[i * step]));
      to[i * out_step] = static_cast<T>(running);
    }
  });
}

/// A sum or product, in the dtype that is asked for or else in int64 for integers.
Tensor sum_or_product(const Tensor& self, int64_t dim, const int32_t* dtype, bool product) {
  bool whole = false;
  dispatch(Everything{}, self.dtype(),
           [&](auto type) { whole = std::is_integral_v<typename decltype(type)::type>; });
  const DType wanted = dtype ? dtype_from(*dtype) : whole ? DType::Long : self.dtype();
  const Tensor t = to(self, wanted);
  dim = wrap_dim(dim, t.dim());
  Tensor out = empty(t.sizes(), wanted);
  dispatch(Numbers{}, wanted, [&](auto type) {
    using T = typename decltype(type)::type;
    using R = Running<T>;
    if (product) {
      scan<T>(out, t, dim, R(1), [](R a, R b) { return a * b; });
    } else {
      scan<T>(out, t, dim, R(0), [](R a, R b) { return a + b; });
    }
  });
  return out;
}

Tensor logcumsumexp(const Tensor& t, int64_t dim) {
  dim = wrap_dim(dim, t.dim());
  Tensor out = empty(t.sizes(), t.dtype());
  dispatch(Floats{}, t.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    using R = Running<T>;
    scan<T>(out, t, dim, -std::numeric_limits<R>::infinity(), [](R a, R b) {
      if (a != a || b != b) return a + b;
      const R low = std::min(a, b), high = std::max(a, b);
      // Equal infinities are their own sum.
      return low == high && !std::isfinite(low) ? low : high + std::log1p(std::exp(low - high));
    });
  });
  return out;
}

/// The largest or smallest so far and where it is: the last of equal ones; a NaN wins and stays.
template <class Wins>
void running_extreme(const Tensor& t, int64_t dim, AtenTensorHandle* ret0, AtenTensorHandle* ret1,
                     Wins&& wins) {
  dim = wrap_dim(dim, t.dim());
  Tensor values = empty(t.sizes(), t.dtype()), indices = empty(t.sizes(), DType::Long);
  const int64_t length = size_along(t, dim), step = stride_along(t, dim);
  const int64_t value_step = stride_along(values, dim), index_step = stride_along(indices, dim);
  dispatch(RealsAndBool{}, t.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_line<3>(t.sizes(), dim, {t.strides(), values.strides(), indices.strides()}, length,
                     [&](const Offsets<3>& at) {
                       const T* const from = t.data<T>() + at[0];
                       int64_t best = 0;
                       for (int64_t i = 0; i < length; ++i) {
                         const T value = from[i * step], old = from[best * step];
                         if (is_nan(value) || (!is_nan(old) && wins(value, old))) best = i;
                         values.data<T>()[at[1] + i * value_step] = from[best * step];
                         indices.data<int64_t>()[at[2] + i * index_step] = best;
                       }
                     });
  });
  *ret0 = release(std::move(values));
  *ret1 = release(std::move(indices));
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_cumsum(AtenTensorHandle self, int64_t dim, int32_t* dtype,
                                     AtenTensorHandle* ret0) {
  return shim(__func__,
              [&] { *ret0 = release(sum_or_product(tensor_of(self), dim, dtype, false)); });
}

AOTITorchError aoti_torch_cpu_cumprod(AtenTensorHandle self, int64_t dim, int32_t* dtype,
                                      AtenTensorHandle* ret0) {
  return shim(__func__,
              [&] { *ret0 = release(sum_or_product(tensor_of(self), dim, dtype, true)); });
}

AOTITorchError aoti_torch_cpu_logcumsumexp(AtenTensorHandle self, int64_t dim,
                                           AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(logcumsumexp(tensor_of(self), dim)); });
}

AOTITorchError aoti_torch_cpu_cummax(AtenTensorHandle self, int64_t dim, AtenTensorHandle* ret0,
                                     AtenTensorHandle* ret1) {
  return shim(__func__, [&] {
    running_extreme(tensor_of(self), dim, ret0, ret1, [](auto a, auto b) { return a >= b; });
  });
}

AOTITorchError aoti_torch_cpu_cummin(AtenTensorHandle self, int64_t dim, AtenTensorHandle* ret0,
                                     AtenTensorHandle* ret1) {
  return shim(__func__, [&] {
    running_extreme(tensor_of(self), dim, ret0, ret1, [](auto a, auto b) { return a <= b; });
  });
}
