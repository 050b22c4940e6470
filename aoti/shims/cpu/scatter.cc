#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <atomic>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"
#include "executorch_backends/aoti/shims/cpu/reduce_into.h"

namespace executorch_backends::aoti {
namespace {

/// Calls `f(out offset, source offset)` for every element of `index`, line by line along `dim`:
/// lines in parallel, since they write to different places.
template <class F>
void for_each_target(const Tensor& out, int64_t dim, const Tensor& index, const Tensor* source,
                     F&& f) {
  const int64_t size = size_along(out, dim), length = size_along(index, dim);
  const Ints none = Ints::filled(index.dim(), 0);
  std::atomic<int64_t> outside{-1};
  std::atomic<bool> failed{false};
  dispatch(Indices{}, index.dtype(), [&](auto type) {
    using I = typename decltype(type)::type;
    const I* const places = index.data<I>();
    const int64_t out_step = stride_along(out, dim), index_step = stride_along(index, dim);
    const int64_t source_step = source ? stride_along(*source, dim) : 0;
    for_each_line<3>(index.sizes(), dim,
                     {out.strides(), index.strides(), source ? source->strides() : none}, length,
                     [&](const Offsets<3>& at) {
                       for (int64_t i = 0; i < length; ++i) {
                         const int64_t place = places[at[1] + i * index_step];
                         if (place < 0 || place >= size) {
                           outside = place;
                           failed = true;
                           return;
                         }
                         f(at[0] + place * out_step, at[2] + i * source_step);
                       }
                     });
  });
  require(!failed, "index ", outside.load(), " is outside of dimension ", dim, " of size ", size);
}

void check_sizes(const Tensor& out, int64_t dim, const Tensor& index, const Tensor* source) {
  require_single_elements(out);
  require_apart(out, index);
  if (source) require_apart(out, *source);
  require(std::max<int64_t>(index.dim(), 1) == std::max<int64_t>(out.dim(), 1),
          "an index of sizes ", index.sizes(), " for ", out.sizes());
  for (int64_t d = 0; d < std::min(index.dim(), out.dim()); ++d) {
    require(d == dim || index.size(d) <= out.size(d), "an index of sizes ", index.sizes(), " for ",
            out.sizes());
  }
  if (!source) return;
  require(source->dtype() == out.dtype(), "dtypes are ", name_of(out.dtype()), " and ",
          name_of(source->dtype()));
  require(std::max<int64_t>(source->dim(), 1) == std::max<int64_t>(index.dim(), 1),
          "a source of sizes ", source->sizes(), " for an index of ", index.sizes());
  for (int64_t d = 0; d < std::min(index.dim(), source->dim()); ++d) {
    require(index.size(d) <= source->size(d), "a source of sizes ", source->sizes(),
            " for an index of ", index.sizes());
  }
}

/// A tensor of rank 0 as one of rank 1: then every line has a dimension.
Tensor with_rank(const Tensor& t) { return t.dim() == 0 ? unsqueeze(t, 0) : t; }

void scatter(const Tensor& out0, const Tensor& self, int64_t dim, const Tensor& index0,
             const Tensor& source0) {
  copy(out0, self);
  if (index0.numel() == 0) return;
  const Tensor out = with_rank(out0), index = with_rank(index0), source = with_rank(source0);
  dim = wrap_dim(dim, out.dim());
  check_sizes(out, dim, index, &source);
  dispatch_width(out.item_size(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* const to = out.data<T>();
    const T* const from = source.data<T>();
    for_each_target(out, dim, index, &source, [&](int64_t o, int64_t s) { to[o] = from[s]; });
  });
}

void scatter_value(const Tensor& out0, const Tensor& self, int64_t dim, const Tensor& index0,
                   const Tensor& value) {
  copy(out0, self);
  if (index0.numel() == 0) return;
  const Tensor out = with_rank(out0), index = with_rank(index0);
  dim = wrap_dim(dim, out.dim());
  check_sizes(out, dim, index, nullptr);
  const Tensor converted = to(value, out.dtype());
  dispatch_width(out.item_size(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* const to = out.data<T>();
    const T filled = *converted.data<T>();
    for_each_target(out, dim, index, nullptr, [&](int64_t o, int64_t) { to[o] = filled; });
  });
}

/// Each element of `out` divided by how many values it is the sum of; integers round down.
template <class T>
void divide_by_counts(const Tensor& out, const Tensor& counts) {
  elementwise<T, T, int64_t>(
      [](T sum, int64_t count) {
        if (count <= 1) return sum;
        if constexpr (std::is_same_v<T, bool>) {
          return sum;
        } else if constexpr (std::is_integral_v<T>) {
          const auto n = static_cast<T>(count);  // wraps, as ATen counts in the sums' dtype
          if (n == 0) return sum;
          if constexpr (std::is_signed_v<T>) {
            if (n == T(-1)) return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(sum));
          }
          const auto quotient = static_cast<T>(sum / n);
          return static_cast<T>(sum % n != 0 && (sum < 0) != (n < 0) ? quotient - 1 : quotient);
        } else if constexpr (is_complex<T>) {
          return sum / static_cast<typename T::value_type>(count);
        } else {
          return static_cast<T>(static_cast<Compute<T>>(sum) / static_cast<Compute<T>>(count));
        }
      },
      out, out, counts);
}

void scatter_reduce(const Tensor& result, const Tensor& self, int64_t dim, const Tensor& index0,
                    const Tensor& source0, Reduction reduction, bool include_self) {
  copy(result, self);
  if (index0.numel() == 0) return;
  require(source0.dtype() == result.dtype(), "dtypes are ", name_of(result.dtype()), " and ",
          name_of(source0.dtype()));
  // 16-bit sums are kept in 32 bits until all is added.
  const bool narrow = result.dtype() == DType::Half || result.dtype() == DType::BFloat16;
  const Tensor out = with_rank(narrow ? to(result, DType::Float) : result);
  const Tensor source = with_rank(narrow ? to(source0, DType::Float) : source0);
  const Tensor index = with_rank(index0);
  dim = wrap_dim(dim, out.dim());
  check_sizes(out, dim, index, &source);
  dispatch(decltype(Types<float, double>{} + Integers{} + Complexes{} + Types<bool>{}){},
           out.dtype(), [&](auto type) {
             using T = typename decltype(type)::type;
             T* const to = out.data<T>();
             const T* const from = source.data<T>();
             if (!include_self) {
               const T identity = identity_of<T>(reduction);
               for_each_target(out, dim, index, nullptr,
                               [&](int64_t o, int64_t) { to[o] = identity; });
             }
             with_reduction<T>(reduction, [&](auto combine) {
               for_each_target(out, dim, index, &source,
                               [&](int64_t o, int64_t s) { to[o] = combine(to[o], from[s]); });
             });
             if (reduction != Reduction::kMean) return;
             const Tensor counts = empty(out.sizes(), DType::Long);
             int64_t* const n = counts.data<int64_t>();
             std::fill(n, n + counts.numel(), include_self ? 1 : 0);
             for_each_target(counts, dim, index, nullptr, [&](int64_t o, int64_t) { ++n[o]; });
             divide_by_counts<T>(out, counts);
           });
  if (narrow)
    copy(result,
         out.view(result.sizes(), result.dim() == 0 ? Ints{} : out.strides(), out.offset()));
}

/// As `scatter_reduce`, where one index stands for a whole slice.
Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    Reduction reduction, bool include_self) {
  Tensor out = empty(self.sizes(), self.dtype());
  copy(out, self);
  if (out.numel() == 0 || index.numel() == 0) return out;
  const Tensor slices = with_rank(source);
  dim = wrap_dim(dim, out.dim());
  require(index.dim() <= 1 && size_along(slices, dim) == index.numel(), "an index of sizes ",
          index.sizes(), " for a source of ", source.sizes());
  Ints sizes = with_rank(out).sizes();
  sizes[dim] = index.numel();
  Ints strides = Ints::filled(sizes.size(), 0);
  strides[dim] = index.dim() == 0 ? 1 : index.stride(0);
  require(slices.sizes() == sizes, "a source of sizes ", slices.sizes(), ", not ", sizes);
  scatter_reduce(out, out, dim, index.view(sizes, strides, index.offset()), slices, reduction,
                 include_self);
  return out;
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_scatter_out(AtenTensorHandle out, AtenTensorHandle self, int64_t dim,
                                      AtenTensorHandle index, AtenTensorHandle src) {
  return shim(__func__, [&] {
    scatter(tensor_of(out), tensor_of(self), dim, tensor_of(index), tensor_of(src));
  });
}

AOTITorchError aoti_torch_cpu_scatter_src_out(AtenTensorHandle out, AtenTensorHandle self,
                                              int64_t dim, AtenTensorHandle index,
                                              AtenTensorHandle src) {
  return shim(__func__, [&] {
    scatter(tensor_of(out), tensor_of(self), dim, tensor_of(index), tensor_of(src));
  });
}

AOTITorchError aoti_torch_cpu_scatter_value_out(AtenTensorHandle out, AtenTensorHandle self,
                                                int64_t dim, AtenTensorHandle index, double value) {
  return shim(__func__, [&] {
    const Tensor number = empty({}, DType::Double);
    *number.data<double>() = value;
    scatter_value(tensor_of(out), tensor_of(self), dim, tensor_of(index), number);
  });
}

AOTITorchError aoti_torch_scatter_reduce_out(AtenTensorHandle out, AtenTensorHandle self,
                                             int64_t dim, AtenTensorHandle index,
                                             AtenTensorHandle src, const char* reduce,
                                             int32_t include_self) {
  return shim(__func__, [&] {
    scatter_reduce(tensor_of(out), tensor_of(self), dim, tensor_of(index), tensor_of(src),
                   reduction_of(reduce), include_self != 0);
  });
}

AOTITorchError aoti_torch_cpu_scatter_reduce_two_out(AtenTensorHandle out, AtenTensorHandle self,
                                                     int64_t dim, AtenTensorHandle index,
                                                     AtenTensorHandle src, const char* reduce,
                                                     int32_t include_self) {
  return shim(__func__, [&] {
    scatter_reduce(tensor_of(out), tensor_of(self), dim, tensor_of(index), tensor_of(src),
                   reduction_of(reduce), include_self != 0);
  });
}

AOTITorchError aoti_torch_cpu_index_reduce(AtenTensorHandle self, int64_t dim,
                                           AtenTensorHandle index, AtenTensorHandle source,
                                           const char* reduce, int32_t include_self,
                                           AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    *ret0 = release(index_reduce(tensor_of(self), dim, tensor_of(index), tensor_of(source),
                                 reduction_of(reduce), include_self != 0));
  });
}
