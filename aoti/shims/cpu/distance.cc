#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <cmath>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"
#include "executorch_backends/common/checked/checked.h"

namespace executorch_backends::aoti {
namespace {

/// Calls `f(distance)`, where distance(a, b, width) is the p-norm of the difference of two dense
/// rows. A NaN makes it NaN, except for p = infinity unless `nan_is_largest`.
template <class T, class F>
void with_distance(double p, bool nan_is_largest, F&& f) {
  const auto sum = [](const T* a, const T* b, int64_t width, auto&& term) {
    T total = 0;
    for (int64_t d = 0; d < width; ++d) total += term(std::abs(a[d] - b[d]));
    return total;
  };
  if (p == 0) {
    return f([&](const T* a, const T* b, int64_t n) {
      return sum(a, b, n, [](T x) { return x != x ? x : static_cast<T>(x != 0); });
    });
  }
  if (p == 1) {
    return f(
        [&](const T* a, const T* b, int64_t n) { return sum(a, b, n, [](T x) { return x; }); });
  }
  if (p == 2) {
    return f([&](const T* a, const T* b, int64_t n) {
      return std::sqrt(sum(a, b, n, [](T x) { return x * x; }));
    });
  }
  if (std::isinf(p)) {
    return f([nan_is_largest](const T* a, const T* b, int64_t n) {
      T most = 0;
      for (int64_t d = 0; d < n; ++d) {
        const T x = std::abs(a[d] - b[d]);
        most = x > most || (nan_is_largest && x != x) ? x : most;
      }
      return most;
    });
  }
  const T exponent = static_cast<T>(p);
  f([&](const T* a, const T* b, int64_t n) {
    return std::pow(sum(a, b, n, [&](T x) { return std::pow(x, exponent); }), 1 / exponent);
  });
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p) {
  const int64_t rank1 = x1.dim(), rank2 = x2.dim();
  require(rank1 >= 2 && rank2 >= 2, "ranks are ", rank1, " and ", rank2);
  require(x1.dtype() == x2.dtype(), "dtypes are ", name_of(x1.dtype()), " and ",
          name_of(x2.dtype()));
  const int64_t width = x1.size(rank1 - 1), rows = x1.size(rank1 - 2), columns = x2.size(rank2 - 2);
  require(x2.size(rank2 - 1) == width, "rows of ", width, " and ", x2.size(rank2 - 1));
  require(p >= 0, "p is ", p);
  const Ints batch =
      broadcast(Ints(x1.sizes().data(), rank1 - 2), Ints(x2.sizes().data(), rank2 - 2));
  const auto batched = [&](const Tensor& t, int64_t count) {
    Ints sizes = batch;
    sizes.push_back(count);
    sizes.push_back(width);
    return contiguous(expand(t, sizes));
  };
  const Tensor a = batched(x1, rows), b = batched(x2, columns);
  Ints sizes = batch;
  sizes.push_back(rows);
  sizes.push_back(columns);
  Tensor out = empty(sizes, x1.dtype());
  if (out.numel() == 0) return out;
  dispatch(Types<float, double>{}, x1.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    with_distance<T>(p, false, [&](auto distance) {
      const int64_t lines = numel_of(batch) * rows;
      const int64_t work = columns * std::max<int64_t>(width, 1);
      parallel_for(lines, kGrain / std::max<int64_t>(work, 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* const others = b.data<T>() + i / rows * columns * width;
          for (int64_t j = 0; j < columns; ++j) {
            out.data<T>()[i * columns + j] =
                distance(a.data<T>() + i * width, others + j * width, width);
          }
        }
      });
    });
  });
  return out;
}

/// The distances of all pairs of rows, (0, 1), (0, 2), …
Tensor pdist(const Tensor& self, double p) {
  require(self.dim() == 2, "rank is ", self.dim(), ", not 2");
  require(p >= 0, "p is ", p);
  const Tensor x = contiguous(self);
  const int64_t rows = x.size(0), width = x.size(1);
  int64_t twice = 0;
  require(!checked::mul(rows, std::max<int64_t>(rows - 1, 0), &twice), "all pairs of ", rows,
          " rows");
  Tensor out = empty({twice / 2}, x.dtype());
  dispatch(Types<float, double>{}, x.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* to = out.data<T>();
    with_distance<T>(p, true, [&](auto distance) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = i + 1; j < rows; ++j) {
          *to++ = distance(x.data<T>() + i * width, x.data<T>() + j * width, width);
        }
      }
    });
  });
  return out;
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu__cdist_forward(AtenTensorHandle x1, AtenTensorHandle x2, double p,
                                             int64_t*, AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(cdist(tensor_of(x1), tensor_of(x2), p)); });
}

AOTITorchError aoti_torch_cpu__pdist_forward(AtenTensorHandle self, double p,
                                             AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(pdist(tensor_of(self), p)); });
}
