#include "executorch_backends/aoti/shims/cpu/matmul.h"

#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <cmath>

#include "executorch_backends/aoti/shims/common/iterate.h"

namespace executorch_backends::aoti {

void matmul(const Tensor& out, const Tensor& given_a, const Tensor& given_b, double alpha,
            double beta) {
  require_single_elements(out);
  const Tensor a = apart(given_a, out), b = apart(given_b, out);
  const int64_t rank = out.dim();
  require((rank == 2 || rank == 3) && a.dim() == rank && b.dim() == rank, "ranks are ", rank, ", ",
          a.dim(), " and ", b.dim());
  require(a.size(rank - 1) == b.size(rank - 2) && out.size(rank - 2) == a.size(rank - 2) &&
              out.size(rank - 1) == b.size(rank - 1) &&
              (rank == 2 || (out.size(0) == a.size(0) && out.size(0) == b.size(0))),
          "sizes ", a.sizes(), " times ", b.sizes(), " do not make ", out.sizes());
  require(a.dtype() == out.dtype() && b.dtype() == out.dtype(), "dtypes ", name_of(a.dtype()),
          " and ", name_of(b.dtype()), ", result ", name_of(out.dtype()));
  if (alpha == 0 && a.size(rank - 1) != 0) {
    // As BLAS has it: what is multiplied by 0 is not looked at, infinities included.
    matmul(out, narrow(a, rank - 1, 0, 0), narrow(b, rank - 2, 0, 0), 1, beta);
    return;
  }
  dispatch(Numbers{}, out.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const int64_t batch = rank == 3 ? out.size(0) : 1;
    const auto step = [&](const Tensor& t) { return rank == 3 ? t.stride(0) : 0; };
    // Small products share the threads; each large one has them all.
    const int64_t work = out.size(rank - 2) * out.size(rank - 1) * a.size(rank - 1);
    const bool large = work > (1 << 22) || batch == 1;
    parallel_for(batch, large ? batch : (1 << 16) / std::max<int64_t>(work, 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     gemm<T>(matrix<const T>(a, a.data<T>() + i * step(a)),
                             matrix<const T>(b, b.data<T>() + i * step(b)),
                             matrix(out, out.data<T>() + i * step(out)), alpha, beta);
                   }
                 });
  });
}

namespace {

/// out = beta self + alpha a b.
void add_matmul(const Tensor& out, const Tensor& self, const Tensor& given_a, const Tensor& given_b,
                double beta, double alpha) {
  const Tensor a = apart(given_a, out), b = apart(given_b, out);
  if (beta != 0) {
    require(self.dtype() == out.dtype(), "dtypes ", name_of(self.dtype()), " and ",
            name_of(out.dtype()));
    copy(out, self);
  }
  matmul(out, a, b, alpha, beta);
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_mm_out(AtenTensorHandle out, AtenTensorHandle self,
                                     AtenTensorHandle mat2) {
  return shim(__func__, [&] {
    require(tensor_of(out).dim() == 2, "rank is ", tensor_of(out).dim(), ", not 2");
    matmul(tensor_of(out), tensor_of(self), tensor_of(mat2));
  });
}

AOTITorchError aoti_torch_cpu_bmm_out(AtenTensorHandle out, AtenTensorHandle self,
                                      AtenTensorHandle mat2) {
  return shim(__func__, [&] {
    require(tensor_of(out).dim() == 3, "rank is ", tensor_of(out).dim(), ", not 3");
    matmul(tensor_of(out), tensor_of(self), tensor_of(mat2));
  });
}

AOTITorchError aoti_torch_cpu_addmm_out(AtenTensorHandle out, AtenTensorHandle self,
                                        AtenTensorHandle mat1, AtenTensorHandle mat2, double beta,
                                        double alpha) {
  return shim(__func__, [&] {
    add_matmul(tensor_of(out), tensor_of(self), tensor_of(mat1), tensor_of(mat2), beta, alpha);
  });
}

AOTITorchError aoti_torch_cpu_baddbmm_out(AtenTensorHandle out, AtenTensorHandle self,
                                          AtenTensorHandle batch1, AtenTensorHandle batch2,
                                          double beta, double alpha) {
  return shim(__func__, [&] {
    add_matmul(tensor_of(out), tensor_of(self), tensor_of(batch1), tensor_of(batch2), beta, alpha);
  });
}

AOTITorchError aoti_torch_cpu_addbmm(AtenTensorHandle self, AtenTensorHandle batch1,
                                     AtenTensorHandle batch2, double beta, double alpha,
                                     AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor &a = tensor_of(batch1), &b = tensor_of(batch2);
    require(a.dim() == 3 && b.dim() == 3, "ranks are ", a.dim(), " and ", b.dim(), ", not 3");
    require(a.size(0) == b.size(0), "batches are ", a.size(0), " and ", b.size(0));
    Tensor out = empty({a.size(1), b.size(2)}, a.dtype());
    if (beta != 0) {
      copy(out, tensor_of(self));
    } else {
      fill_zero(out);
    }
    for (int64_t i = 0; i < a.size(0); ++i) {
      matmul(out, select(a, 0, i), select(b, 0, i), alpha, i == 0 ? beta : 1);
    }
    if (a.size(0) == 0) {
      const DType dtype = a.dtype();
      matmul(out, empty({a.size(1), 0}, dtype), empty({0, b.size(2)}, dtype), alpha, beta);
    }
    *ret0 = release(std::move(out));
  });
}

AOTITorchError aoti_torch_cpu_addmv(AtenTensorHandle self, AtenTensorHandle mat,
                                    AtenTensorHandle vec, double beta, double alpha,
                                    AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor &a = tensor_of(mat), &x = tensor_of(vec);
    require(a.dim() == 2 && x.dim() == 1, "ranks are ", a.dim(), " and ", x.dim());
    Tensor out = empty({a.size(0)}, a.dtype());
    add_matmul(unsqueeze(out, 1), unsqueeze(expand(tensor_of(self), out.sizes()), 1), a,
               unsqueeze(x, 1), beta, alpha);
    *ret0 = release(std::move(out));
  });
}

AOTITorchError aoti_torch__mm_plus_mm_out(AtenTensorHandle out, AtenTensorHandle a,
                                          AtenTensorHandle b, AtenTensorHandle c,
                                          AtenTensorHandle d) {
  return shim(__func__, [&] {
    const Tensor& sum = tensor_of(out);
    const Tensor left = apart(tensor_of(c), sum), right = apart(tensor_of(d), sum);
    matmul(sum, tensor_of(a), tensor_of(b));
    matmul(sum, left, right, 1, 1);
  });
}

AOTITorchError aoti_torch_cpu__int_mm_out(AtenTensorHandle out, AtenTensorHandle self,
                                          AtenTensorHandle mat2) {
  return shim(__func__, [&] {
    const Tensor &result = tensor_of(out), &a = tensor_of(self), &b = tensor_of(mat2);
    require(a.dtype() == DType::Char && result.dtype() == DType::Int &&
                (b.dtype() == DType::Char || b.dtype() == DType::Byte),
            "dtypes ", name_of(a.dtype()), " times ", name_of(b.dtype()), " to ",
            name_of(result.dtype()));
    matmul(result, to(a, DType::Int), to(b, DType::Int));
  });
}

AOTITorchError aoti_torch_cpu__addmm_activation(AtenTensorHandle self, AtenTensorHandle mat1,
                                                AtenTensorHandle mat2, double beta, double alpha,
                                                int32_t use_gelu, AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor &a = tensor_of(mat1), &b = tensor_of(mat2);
    require(a.dim() == 2 && b.dim() == 2, "ranks are ", a.dim(), " and ", b.dim(), ", not 2");
    Tensor out = empty({a.size(0), b.size(1)}, a.dtype());
    add_matmul(out, tensor_of(self), a, b, beta, alpha);
    dispatch(Floats{}, out.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      elementwise<T, T>(
          [&](T value) {
            const auto x = static_cast<Compute<T>>(value);
            return static_cast<T>(use_gelu ? x * (1 + std::erf(x * M_SQRT1_2)) / 2
                                           : (x < 0 ? 0 : x));
          },
          out, out);
    });
    *ret0 = release(std::move(out));
  });
}
