#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <vector>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"
#include "executorch_backends/aoti/shims/cpu/gemm.h"

// What remains of a linear system when its matrix has been factorised.

namespace executorch_backends::aoti {
namespace {

using Fields = Types<float, double, ComplexFloat, ComplexDouble>;

/// Solves a x = b in place for a triangular matrix; `unit` takes its diagonal as ones.
template <class T>
void substitute(Matrix<const T> a, Matrix<T> x, bool upper, bool unit) {
  const int64_t n = a.rows;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = upper ? n - 1 - step : step;
    const int64_t begin = upper ? i + 1 : 0, end = upper ? n : i;
    for (int64_t j = 0; j < x.columns; ++j) {
      T value = x(i, j);
      for (int64_t k = begin; k < end; ++k) value -= a(i, k) * x(k, j);
      x(i, j) = unit ? value : value / a(i, i);
    }
  }
}

int64_t rows(const Tensor& t) { return t.size(t.dim() - 2); }
int64_t columns(const Tensor& t) { return t.size(t.dim() - 1); }

Ints batch_of(const Tensor& t) { return Ints(t.sizes().data(), t.dim() - 2); }

/// A batch of column-major matrices.
Tensor column_major(const Ints& batch, int64_t row_count, int64_t column_count, DType dtype) {
  Ints sizes = batch;
  sizes.push_back(column_count);
  sizes.push_back(row_count);
  return transpose(empty(sizes, dtype), -1, -2);
}

Tensor column_major(const Tensor& t, const Ints& batch) {
  Tensor out = column_major(batch, rows(t), columns(t), t.dtype());
  copy(out, t);
  return out;
}

/// Calls `f(matrix of a, matrix of b)` for every pair of two batches of the same sizes.
template <class T, class F>
void for_each_matrix(const Tensor& a, const Tensor& b, F&& f) {
  if (a.numel() == 0 && b.numel() == 0) return;  // there may be many without an element
  const int64_t rank = a.dim();
  const Ints batch = batch_of(a);
  const auto leading = [&](const Tensor& t) { return Ints(t.strides().data(), rank - 2); };
  const auto matrix = [&](const Tensor& t, int64_t offset) {
    return Matrix<T>{t.data<T>() + offset, rows(t), columns(t), t.stride(rank - 2),
                     t.stride(rank - 1)};
  };
  for_each_in_order<2>(batch, {leading(a), leading(b)},
                       [&](const Offsets<2>& at) { f(matrix(a, at[0]), matrix(b, at[1])); });
}

void require_system(const Tensor& a, const Tensor& b) {
  require(a.dim() >= 2 && b.dim() >= 2, "ranks are ", a.dim(), " and ", b.dim());
  require(rows(a) == columns(a) && rows(a) == rows(b), "sizes ", a.sizes(), " and ", b.sizes(),
          " are no system");
  require(a.dtype() == b.dtype(), "dtypes are ", name_of(a.dtype()), " and ", name_of(b.dtype()));
}

Tensor conjugate(const Tensor& t) {
  const Tensor out = empty_like(t);
  dispatch(Fields{}, t.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    elementwise<T, T>(
        [](T z) {
          if constexpr (is_complex<T>) {
            return T(z.real(), -z.imag());
          } else {
            return z;
          }
        },
        out, t);
  });
  return out;
}

/// x = (l l^H)^-1 b in place, from a lower or, as u^H u, an upper factor.
void cholesky_solve(const Tensor& factor, const Tensor& x, bool upper) {
  const Tensor conjugated = conjugate(factor);
  dispatch(Fields{}, x.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const auto solve = [&](bool adjoint) {
      for_each_matrix<T>(adjoint ? conjugated : factor, x, [&](Matrix<T> a, Matrix<T> b) {
        substitute<T>(adjoint ? a.transposed() : a, b, adjoint ? !upper : upper, false);
      });
    };
    solve(upper);
    solve(!upper);
  });
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_triangular_solve(AtenTensorHandle self, AtenTensorHandle A,
                                               int32_t upper, int32_t transpose,
                                               int32_t unitriangular, AtenTensorHandle* ret0,
                                               AtenTensorHandle* ret1) {
  return shim(__func__, [&] {
    const Tensor &a = tensor_of(A), &b = tensor_of(self);
    require_system(a, b);
    const Ints batch = broadcast(batch_of(a), batch_of(b));
    Tensor factor = column_major(a, batch), x = column_major(b, batch);
    dispatch(Fields{}, x.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      for_each_matrix<T>(factor, x, [&](Matrix<T> l, Matrix<T> r) {
        substitute<T>(transpose ? l.transposed() : l, r, (upper != 0) != (transpose != 0),
                      unitriangular != 0);
      });
    });
    *ret0 = release(std::move(x));
    *ret1 = release(std::move(factor));
  });
}

AOTITorchError aoti_torch_cpu_cholesky_solve(AtenTensorHandle self, AtenTensorHandle input2,
                                             int32_t upper, AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor &a = tensor_of(input2), &b = tensor_of(self);
    require_system(a, b);
    const Ints batch = broadcast(batch_of(a), batch_of(b));
    Tensor x = column_major(b, batch);
    cholesky_solve(column_major(a, batch), x, upper != 0);
    *ret0 = release(std::move(x));
  });
}

AOTITorchError aoti_torch_cpu_cholesky_inverse(AtenTensorHandle self, int32_t upper,
                                               AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor& a = tensor_of(self);
    require_system(a, a);
    Tensor x = column_major(batch_of(a), rows(a), rows(a), a.dtype());
    fill_zero(x);
    dispatch(Fields{}, x.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      for_each_matrix<T>(x, x, [](Matrix<T> one, Matrix<T>) {
        for (int64_t i = 0; i < one.rows; ++i) one(i, i) = T(1);
      });
    });
    cholesky_solve(a, x, upper != 0);
    *ret0 = release(std::move(x));
  });
}

AOTITorchError aoti_torch_cpu_lu_unpack(AtenTensorHandle LU_data, AtenTensorHandle LU_pivots,
                                        int32_t unpack_data, int32_t unpack_pivots,
                                        AtenTensorHandle* ret0, AtenTensorHandle* ret1,
                                        AtenTensorHandle* ret2) {
  return shim(__func__, [&] {
    const Tensor& lu = tensor_of(LU_data);
    require(lu.dim() >= 2, "rank is ", lu.dim());
    const int64_t m = rows(lu), n = columns(lu), k = std::min(m, n);
    const auto batch_with = [&](int64_t r, int64_t c) {
      Ints sizes = batch_of(lu);
      sizes.push_back(r);
      sizes.push_back(c);
      const Tensor t = empty(sizes, lu.dtype());
      fill_zero(t);
      return t;
    };
    Tensor p = empty({0}, lu.dtype()), l = p, u = p;
    dispatch(Fields{}, lu.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      if (unpack_data) {
        l = batch_with(m, k);
        u = batch_with(k, n);
        for_each_matrix<T>(lu, l, [&](Matrix<T> from, Matrix<T> to) {
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < std::min(i, k); ++j) to(i, j) = from(i, j);
            if (i < k) to(i, i) = T(1);
          }
        });
        for_each_matrix<T>(lu, u, [&](Matrix<T> from, Matrix<T> to) {
          for (int64_t i = 0; i < k; ++i) {
            for (int64_t j = i; j < n; ++j) to(i, j) = from(i, j);
          }
        });
      }
      if (unpack_pivots) {
        const Tensor& given = tensor_of(LU_pivots);
        require(
            given.dtype() == DType::Int && given.dim() == lu.dim() - 1 && given.sizes().back() == k,
            "pivots of sizes ", given.sizes(), " for ", lu.sizes());
        Ints sizes = batch_of(lu);
        sizes.push_back(k);
        const Tensor pivots = contiguous(expand(given, sizes));
        p = batch_with(m, m);
        const int32_t* pivot = pivots.data<int32_t>();
        for_each_matrix<T>(p, p, [&](Matrix<T> to, Matrix<T>) {
          std::vector<int64_t> order;
          for (int64_t i = 0; i < m; ++i) order.push_back(i);
          for (int64_t i = 0; i < k; ++i, ++pivot) {
            require(*pivot >= 1 && *pivot <= m, "pivot ", *pivot, " of ", m, " rows");
            std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(*pivot - 1)]);
          }
          for (int64_t i = 0; i < m; ++i) to(order[static_cast<size_t>(i)], i) = T(1);
        });
      }
    });
    *ret0 = release(std::move(p));
    *ret1 = release(std::move(l));
    *ret2 = release(std::move(u));
  });
}
