#pragma once

#include "executorch_backends/aoti/shims/common/tensor.h"
#include "executorch_backends/aoti/shims/cpu/gemm.h"

namespace executorch_backends::aoti {

/// A matrix of a tensor's last two dimensions, from `data` on.
template <class T>
Matrix<T> matrix(const Tensor& t, T* data) {
  const int64_t rank = t.dim();
  return {data, t.size(rank - 2), t.size(rank - 1), t.stride(rank - 2), t.stride(rank - 1)};
}

/// out = beta out + alpha a b, for matrices or batches of them; out is not read where beta is 0,
/// and may share memory with the operands.
/// Fails where the sizes or dtypes do not fit.
void matmul(const Tensor& out, const Tensor& a, const Tensor& b, double alpha = 1, double beta = 0);

}  // namespace executorch_backends::aoti
