#include "executorch_backends/aoti/shims/cpu/indexing.h"

#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <optional>
#include <vector>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"

namespace executorch_backends::aoti {
namespace {

/// Calls `f(offset)` for the elements of a mask that are set, in row-major order.
template <class F>
void for_each_set(const Tensor& mask, F&& f) {
  dispatch(decltype(Everything{} + WideUnsigned{}){}, mask.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const T* const values = mask.data<T>();
    for_each_in_order<2>(mask.sizes(), {mask.strides(), contiguous_strides(mask.sizes())},
                         [&](const Offsets<2>& at) {
                           if (values[at[0]] != T(0)) f(at[1]);
                         });
  });
}

int64_t count_set(const Tensor& mask) {
  int64_t count = 0;
  for_each_set(mask, [&](int64_t) { ++count; });
  return count;
}

/// Fills the rows of [count, rank] with the first `count` indices of what is set.
void fill_nonzero(const Tensor& t, const Tensor& result) {
  int64_t row = 0;
  int64_t* const to = result.data<int64_t>();
  for_each_set(t, [&](int64_t position) {
    if (row >= result.size(0)) return;
    for (int64_t d = t.dim(); d-- > 0; position /= t.size(d)) {
      to[row * result.stride(0) + d * result.stride(1)] = position % t.size(d);
    }
    ++row;
  });
}

/// Advanced indexing: a result, each element of which is an element of the indexed tensor.
struct Indexing {
  Ints sizes;                     // of the result
  int64_t first;                  // the result's dimensions from here on are the indices',
  int64_t rank;                   // so many
  Ints kept_sizes, kept_strides;  // the result's other dimensions, in the indexed tensor
  std::vector<int64_t> offsets;   // what the indices add, in row-major order
  Ints index_sizes;

  /// A tensor of the result's sizes, without the indices' dimensions.
  Ints kept(const Ints& of) const {
    Ints result;
    for (int64_t d = 0; d < of.size(); ++d) {
      if (d < first || d >= first + rank) result.push_back(of[d]);
    }
    return result;
  }
};

using OptionalTensors = std::vector<std::optional<Tensor>>;

/// Masks become the indices of what they select.
OptionalTensors without_masks(const OptionalTensors& indices, const Tensor& self) {
  OptionalTensors result;
  for (const std::optional<Tensor>& index : indices) {
    if (!index || (index->dtype() != DType::Bool && index->dtype() != DType::Byte)) {
      result.push_back(index);
      continue;
    }
    for (int64_t d = 0; d < index->dim(); ++d) {
      const auto at = static_cast<int64_t>(result.size()) + d;
      require(at < self.dim() && index->size(d) == self.size(at), "a mask of sizes ",
              index->sizes(), " for a tensor of ", self.sizes());
    }
    const Tensor places = nonzero(*index);
    for (int64_t d = 0; d < index->dim(); ++d) result.push_back(select(places, 1, d));
    require(index->dim() > 0, "a mask of rank 0 is not supported");
  }
  return result;
}

Indexing indexing_of(const Tensor& self, const OptionalTensors& given) {
  OptionalTensors indices = without_masks(given, self);
  require(static_cast<int64_t>(indices.size()) <= self.dim(), indices.size(),
          " indices for a tensor of rank ", self.dim());
  indices.resize(static_cast<size_t>(self.dim()));
  Indexing result;
  int64_t first = -1, last = -1, count = 0;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const std::optional<Tensor>& index = indices[static_cast<size_t>(d)];
    if (!index) continue;
    result.index_sizes =
        count == 0 ? index->sizes() : broadcast(result.index_sizes, index->sizes());
    if (first < 0) first = d;
    last = d;
    ++count;
  }
  require(count > 0, "no indices");
  // Indices next to each other stay in their place; else their dimensions come first.
  result.first = last - first + 1 == count ? first : 0;
  result.rank = result.index_sizes.size();
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (indices[static_cast<size_t>(d)]) continue;
    result.kept_sizes.push_back(self.size(d));
    result.kept_strides.push_back(self.stride(d));
  }
  result.sizes = result.kept_sizes;
  for (int64_t d = 0; d < result.rank; ++d) {
    result.sizes.insert(result.first + d, result.index_sizes[d]);
  }
  result.offsets.assign(static_cast<size_t>(numel_of(result.index_sizes)), 0);
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!indices[static_cast<size_t>(d)]) continue;
    const Tensor index = expand(*indices[static_cast<size_t>(d)], result.index_sizes);
    const int64_t size = self.size(d), stride = self.stride(d);
    dispatch(Indices{}, index.dtype(), [&](auto type) {
      using I = typename decltype(type)::type;
      const I* const places = index.data<I>();
      size_t i = 0;
      for_each_in_order<1>(index.sizes(), {index.strides()}, [&](const Offsets<1>& at) {
        const int64_t place = places[at[0]];
        require(-size <= place && place < size, "index ", place, " is outside of dimension ", d,
                " of size ", size);
        result.offsets[i++] += (place < 0 ? place + size : place) * stride;
      });
    });
  }
  return result;
}

/// Calls `f(self offset, other offset)` for every element of the result; `other` has its sizes.
/// In parallel over the indices unless they may name an element twice.
template <class F>
void for_each_indexed(const Indexing& indexing, const Tensor& other, bool parallel, F&& f) {
  const Walk<2> kept(indexing.kept_sizes, {indexing.kept_strides, indexing.kept(other.strides())});
  const int64_t slice = kept.count();
  if (slice == 0) return;
  Ints index_strides;
  for (int64_t d = 0; d < indexing.rank; ++d) {
    index_strides.push_back(other.stride(indexing.first + d));
  }
  const Walk<1> indices(indexing.index_sizes, {index_strides}, Order::kLogical);
  const auto range = [&](int64_t begin, int64_t end) {
    int64_t i = begin;
    indices.visit(begin, end, [&](const Offsets<1>& at, const Offsets<1>& steps, int64_t length) {
      for (int64_t n = 0; n < length; ++n, ++i) {
        const int64_t self_offset = indexing.offsets[static_cast<size_t>(i)];
        const int64_t other_offset = at[0] + n * steps[0];
        if (slice == 1) {
          f(self_offset, other_offset);
          continue;
        }
        kept.visit(0, slice, [&](const Offsets<2>& o, const Offsets<2>& s, int64_t run) {
          for (int64_t k = 0; k < run; ++k) {
            f(self_offset + o[0] + k * s[0], other_offset + o[1] + k * s[1]);
          }
        });
      }
    });
  };
  if (parallel) {
    parallel_for(indices.count(), kGrain / slice, range);
  } else {
    range(0, indices.count());
  }
}

Tensor index(const Tensor& self, const OptionalTensors& indices) {
  const Indexing indexing = indexing_of(self, indices);
  // The strides that TensorIterator gives: by the indexed tensor's, where the indices have none.
  Ints strides;
  for (int64_t d = 0, kept = 0; d < indexing.sizes.size(); ++d) {
    const bool of_index = d >= indexing.first && d < indexing.first + indexing.rank;
    strides.push_back(of_index ? 0 : indexing.kept_strides[kept++]);
  }
  Tensor out =
      self.numel() == 0
          ? empty(indexing.sizes, self.dtype())
          : empty_strided(indexing.sizes, dense_strides(indexing.sizes, {strides}), self.dtype());
  dispatch_width(self.item_size(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* const to = out.data<T>();
    const T* const from = self.data<T>();
    for_each_indexed(indexing, out, true, [&](int64_t s, int64_t o) { to[o] = from[s]; });
  });
  return out;
}

void index_put(const Tensor& self, const OptionalTensors& indices, const Tensor& given,
               bool accumulate) {
  const Indexing indexing = indexing_of(self, indices);
  require(given.dtype() == self.dtype(), "dtypes are ", name_of(self.dtype()), " and ",
          name_of(given.dtype()));
  const Tensor values = expand(given, indexing.sizes);
  if (!accumulate) {
    return dispatch_width(self.item_size(), [&](auto type) {
      using T = typename decltype(type)::type;
      T* const to = self.data<T>();
      const T* const from = values.data<T>();
      for_each_indexed(indexing, values, false, [&](int64_t s, int64_t v) { to[s] = from[v]; });
    });
  }
  dispatch(Everything{}, self.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* const to = self.data<T>();
    const T* const from = values.data<T>();
    for_each_indexed(indexing, values, false,
                     [&](int64_t s, int64_t v) { to[s] = static_cast<T>(to[s] + from[v]); });
  });
}

OptionalTensors optional_tensors(const AtenTensorHandle** handles, int64_t count) {
  OptionalTensors result;
  for (int64_t i = 0; i < count; ++i) {
    const bool given = handles[i] != nullptr && *handles[i] != nullptr;
    result.push_back(given ? std::optional<Tensor>(tensor_of(*handles[i])) : std::nullopt);
  }
  return result;
}

void masked_scatter(const Tensor& out, const Tensor& mask, const Tensor& source) {
  require(mask.dtype() == DType::Bool, "the mask's dtype is ", name_of(mask.dtype()), ", not bool");
  require(source.dtype() == out.dtype(), "dtypes are ", name_of(out.dtype()), " and ",
          name_of(source.dtype()));
  const Tensor values = contiguous(source);
  const int64_t wanted = count_set(mask);
  require(wanted <= values.numel(), "the mask selects ", wanted, " elements, the source has ",
          values.numel());
  dispatch_width(out.item_size(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* const to = out.data<T>();
    const T* from = values.data<T>();
    const bool* const set = mask.data<bool>();
    for_each_in_order<2>(out.sizes(), {out.strides(), mask.strides()}, [&](const Offsets<2>& at) {
      if (set[at[1]]) to[at[0]] = *from++;
    });
  });
}

}  // namespace

Tensor nonzero(const Tensor& t) {
  const Tensor result = empty({count_set(t), t.dim()}, DType::Long);
  fill_nonzero(t, result);
  return result;
}

}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_index_Tensor(AtenTensorHandle self, const AtenTensorHandle** indices,
                                           int64_t indices_len_, AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    *ret0 = release(index(tensor_of(self), optional_tensors(indices, indices_len_)));
  });
}

AOTITorchError aoti_torch_index_put_out(AtenTensorHandle out, AtenTensorHandle self,
                                        const AtenTensorHandle* indices, uint32_t num_indices,
                                        AtenTensorHandle values, bool accumulate) {
  return shim(__func__, [&] {
    OptionalTensors all;
    for (uint32_t i = 0; i < num_indices; ++i) {
      all.push_back(indices[i] ? std::optional<Tensor>(tensor_of(indices[i])) : std::nullopt);
    }
    copy(tensor_of(out), tensor_of(self));
    index_put(tensor_of(out), all, tensor_of(values), accumulate);
  });
}

AOTITorchError aoti_torch_cpu_index_put(AtenTensorHandle self, const AtenTensorHandle** indices,
                                        int64_t indices_len_, AtenTensorHandle values,
                                        int32_t accumulate, AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    Tensor out = clone(tensor_of(self));
    index_put(out, optional_tensors(indices, indices_len_), tensor_of(values), accumulate != 0);
    *ret0 = release(std::move(out));
  });
}

AOTITorchError aoti_torch_cpu_nonzero(AtenTensorHandle self, AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(nonzero(tensor_of(self))); });
}

AOTITorchError aoti_torch_cpu_nonzero_static(AtenTensorHandle self, int64_t size,
                                             int64_t fill_value, AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(self);
    Tensor out = empty({size, t.dim()}, DType::Long);
    std::fill(out.data<int64_t>(), out.data<int64_t>() + out.numel(), fill_value);
    fill_nonzero(t, out);
    *ret0 = release(std::move(out));
  });
}

AOTITorchError aoti_torch_cpu_masked_select(AtenTensorHandle self, AtenTensorHandle mask,
                                            AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Ints sizes = broadcast(tensor_of(self).sizes(), tensor_of(mask).sizes());
    const Tensor values = expand(tensor_of(self), sizes), set = expand(tensor_of(mask), sizes);
    require(set.dtype() == DType::Bool, "the mask's dtype is ", name_of(set.dtype()), ", not bool");
    Tensor out = empty({count_set(set)}, values.dtype());
    dispatch_width(values.item_size(), [&](auto type) {
      using T = typename decltype(type)::type;
      T* to = out.data<T>();
      const T* const from = values.data<T>();
      const bool* const wanted = set.data<bool>();
      for_each_in_order<2>(sizes, {values.strides(), set.strides()}, [&](const Offsets<2>& at) {
        if (wanted[at[1]]) *to++ = from[at[0]];
      });
    });
    *ret0 = release(std::move(out));
  });
}

AOTITorchError aoti_torch_cpu_masked_scatter(AtenTensorHandle self, AtenTensorHandle mask,
                                             AtenTensorHandle source, AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Ints sizes = broadcast(tensor_of(self).sizes(), tensor_of(mask).sizes());
    const Tensor values = expand(tensor_of(self), sizes);
    Tensor out = empty(sizes, values.dtype());
    copy(out, values);
    masked_scatter(out, expand(tensor_of(mask), sizes), tensor_of(source));
    *ret0 = release(std::move(out));
  });
}
