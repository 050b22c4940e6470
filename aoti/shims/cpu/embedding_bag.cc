#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <limits>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"
#include "executorch_backends/aoti/shims/cpu/workspace.h"

namespace executorch_backends::aoti {
namespace {

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

struct BagSums;

/// What training would need beside the output, in the offsets' dtype: the sizes are counted for the
/// mean and the largest, and stand in place of the indices for the mean.
struct Bags {
  Tensor output, offset2bag, bag_size, max_indices;
};

/// Before they are converted to the offsets' dtype: an index may be too large for it.
void require_rows(const Tensor& indices, int64_t rows, DType dtype) {
  const int64_t most = dtype == DType::Int ? std::numeric_limits<int32_t>::max()
                                           : std::numeric_limits<int64_t>::max();
  dispatch(Indices{}, indices.dtype(), [&](auto type) {
    using I = typename decltype(type)::type;
    for (int64_t i = 0; i < indices.numel(); ++i) {
      const int64_t index = indices.data<I>()[i * indices.stride(0)];
      require(index >= 0 && index < rows, "index ", index, " is outside of ", rows, " rows");
      require(index <= most, "index ", index, " does not fit ", name_of(dtype));
    }
  });
}

template <class T, class Index>
void reduce_bags(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
                 const Tensor* weights, int64_t padding, bool by_offsets, const Bags& bags) {
  using A = std::conditional_t<is_reduced_float<T>, float, T>;
  const int64_t width = weight.size(1), count = indices.numel();
  const auto index = [&](int64_t i) {
    return static_cast<int64_t>(indices.data<Index>()[i * indices.stride(0)]);
  };
  const auto offset = [&](int64_t b) {
    return static_cast<int64_t>(offsets.data<Index>()[b * offsets.stride(0)]);
  };
  const int64_t bag_count = bags.output.size(0);
  for (int64_t b = 0; b < offsets.size(0); ++b) {
    require(offset(b) >= (b == 0 ? 0 : offset(b - 1)) && offset(b) <= count &&
                (b > 0 || offset(0) == 0),
            "offset ", offset(b), " of ", count, " indices: they must begin at 0 and not fall");
  }
  parallel_for(bag_count, kGrain / std::max<int64_t>(width, 1), [&](int64_t bag0, int64_t bag1) {
    A* const sums = workspace<BagSums, A>(width);
    for (int64_t bag = bag0; bag < bag1; ++bag) {
      const int64_t begin = offset(bag);
      // The last bag has all that remains, though ATen's fast way sums up what lies before the last
      // offset only.
      const int64_t end = bag + 1 < bag_count ? offset(bag + 1) : count;
      const int64_t summed = by_offsets && bag + 1 < offsets.size(0) ? offset(bag + 1) : end;
      Index* const winners = mode == kMax ? bags.max_indices.data<Index>() + bag * width : nullptr;
      std::fill(sums, sums + width, A(0));
      if (winners) std::fill(winners, winners + width, Index(0));
      int64_t size = 0;
      for (int64_t i = begin; i < end; ++i) {
        if (bags.offset2bag.numel() > 0) bags.offset2bag.data<Index>()[i] = static_cast<Index>(bag);
        if (index(i) == padding) continue;
        const T* const row = weight.data<T>() + index(i) * weight.stride(0);
        const int64_t step = weight.stride(1);
        if (mode == kMax) {
          for (int64_t d = 0; d < width; ++d) {
            const A value = static_cast<A>(row[d * step]);
            if (size == 0 || value > sums[d]) {
              sums[d] = value;
              winners[d] = static_cast<Index>(index(i));
            }
          }
        } else if (i < summed) {
          const A scale =
              weights ? static_cast<A>(weights->data<T>()[i * weights->stride(0)]) : A(1);
          for (int64_t d = 0; d < width; ++d) sums[d] += scale * static_cast<A>(row[d * step]);
        }
        ++size;
      }
      const A divisor = mode == kMean && size > 0 ? static_cast<A>(size) : A(1);
      T* const to = bags.output.data<T>() + bag * width;
      for (int64_t d = 0; d < width; ++d) to[d] = static_cast<T>(sums[d] / divisor);
      if (mode != kSum) bags.bag_size.data<Index>()[bag] = static_cast<Index>(size);
    }
  });
}

Bags embedding_bag(const Tensor& weight, const Tensor& given_indices, const Tensor& given_offsets,
                   int64_t mode, const Tensor* weights, bool include_last, int64_t padding,
                   bool forward_only) {
  require(weight.dim() == 2 && given_indices.dim() == 1 && given_offsets.dim() == 1, "ranks are ",
          weight.dim(), ", ", given_indices.dim(), " and ", given_offsets.dim());
  require(mode == kSum || mode == kMean || mode == kMax, "mode ", mode, " is none of 0, 1, 2");
  require(!weights || (mode == kSum && weights->dtype() == weight.dtype() && weights->dim() == 1 &&
                       weights->numel() == given_indices.numel()),
          "weights of the samples do not fit");
  const DType dtype = given_offsets.dtype();
  require_rows(given_indices, weight.size(0), dtype);
  const Tensor indices = to(given_indices, dtype), &offsets = given_offsets;
  const int64_t bags = offsets.size(0) - (include_last ? 1 : 0);
  require(bags >= 0, "no offsets, but the last one should be among them");
  const bool by_offsets = mode != kMax && padding < 0 && weight.stride(1) == 1 &&
                          weight.dtype() != DType::Double && (!weights || weights->stride(0) == 1);
  const bool fast = by_offsets && mode == kSum && weight.dtype() != DType::BFloat16;
  Bags result{empty({bags, weight.size(1)}, weight.dtype()),
              empty({fast ? 0 : indices.numel()}, dtype),
              empty({forward_only ? offsets.size(0) : bags}, dtype),
              mode == kMax ? empty({bags, weight.size(1)}, dtype) : empty({bags}, dtype)};
  for (const Tensor* t : {&result.offset2bag, &result.bag_size, &result.max_indices}) fill_zero(*t);
  dispatch(Floats{}, weight.dtype(), [&](auto type) {
    dispatch(Indices{}, dtype, [&](auto index_type) {
      reduce_bags<typename decltype(type)::type, typename decltype(index_type)::type>(
          weight, indices, offsets, mode, weights, padding, by_offsets, result);
    });
  });
  if (mode == kMean) copy(result.max_indices, narrow(result.bag_size, 0, 0, bags));
  return result;
}

AOTITorchError embedding_bag(const char* name, AtenTensorHandle weight, AtenTensorHandle indices,
                             AtenTensorHandle offsets, int64_t mode,
                             AtenTensorHandle* per_sample_weights, bool include_last,
                             int64_t padding, bool forward_only, AtenTensorHandle* ret0,
                             AtenTensorHandle* ret1, AtenTensorHandle* ret2,
                             AtenTensorHandle* ret3) {
  return shim(name, [&] {
    Bags bags =
        embedding_bag(tensor_of(weight), tensor_of(indices), tensor_of(offsets), mode,
                      optional_tensor_of(per_sample_weights), include_last, padding, forward_only);
    *ret0 = release(std::move(bags.output));
    *ret1 = release(std::move(bags.offset2bag));
    *ret2 = release(std::move(bags.bag_size));
    *ret3 = release(std::move(bags.max_indices));
  });
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu__embedding_bag(AtenTensorHandle weight, AtenTensorHandle indices,
                                             AtenTensorHandle offsets, int32_t, int64_t mode,
                                             int32_t, AtenTensorHandle* per_sample_weights,
                                             int32_t include_last_offset, int64_t padding_idx,
                                             AtenTensorHandle* ret0, AtenTensorHandle* ret1,
                                             AtenTensorHandle* ret2, AtenTensorHandle* ret3) {
  return embedding_bag(__func__, weight, indices, offsets, mode, per_sample_weights,
                       include_last_offset != 0, padding_idx, false, ret0, ret1, ret2, ret3);
}

AOTITorchError aoti_torch_cpu__embedding_bag_forward_only(
    AtenTensorHandle weight, AtenTensorHandle indices, AtenTensorHandle offsets, int32_t,
    int64_t mode, int32_t, AtenTensorHandle* per_sample_weights, int32_t include_last_offset,
    int64_t padding_idx, AtenTensorHandle* ret0, AtenTensorHandle* ret1, AtenTensorHandle* ret2,
    AtenTensorHandle* ret3) {
  return embedding_bag(__func__, weight, indices, offsets, mode, per_sample_weights,
                       include_last_offset != 0, padding_idx, true, ret0, ret1, ret2, ret3);
}
