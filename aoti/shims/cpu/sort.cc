#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <utility>
#include <vector>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"

// Order within the lines of a tensor. A NaN is larger than every number.

namespace executorch_backends::aoti {
namespace {

template <class T>
using Entries = std::vector<std::pair<T, int64_t>>;  // value and position in its line

template <class T>
bool less(T a, T b) {
  if constexpr (is_float<T>) {
    return static_cast<Compute<T>>(a) < static_cast<Compute<T>>(b) || (is_nan(b) && !is_nan(a));
  } else {
    return a < b;
  }
}

template <class T>
struct Rising {
  bool operator()(const std::pair<T, int64_t>& a, const std::pair<T, int64_t>& b) const {
    return less(a.first, b.first);
  }
};

template <class T>
struct Falling {
  bool operator()(const std::pair<T, int64_t>& a, const std::pair<T, int64_t>& b) const {
    return less(b.first, a.first);
  }
};

/// Sizes with dimension `dim` of size `size`, or without it.
Ints resized(const Tensor& t, int64_t dim, int64_t size) {
  Ints sizes = t.sizes();
  if (!sizes.empty()) sizes[dim] = size;
  return sizes;
}

/// Values and positions of a result, at the start of a line.
template <class T>
struct Line {
  T* values;
  int64_t value_step;
  int64_t* indices;
  int64_t index_step;

  void set(int64_t i, const std::pair<T, int64_t>& entry) const {
    values[i * value_step] = entry.first;
    indices[i * index_step] = entry.second;
  }
};

/// Calls `f(entries, result line)` for every line of `t` along `dim`; `values` and `indices` have
/// its rank.
template <class F>
void for_each_entries(const Tensor& t, int64_t dim, const Tensor& values, const Tensor& indices,
                      F&& f) {
  const int64_t length = size_along(t, dim), step = stride_along(t, dim);
  dispatch(RealsAndBool{}, t.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_line<3>(t.sizes(), dim, {t.strides(), values.strides(), indices.strides()}, 8 * length,
                     [&](const Offsets<3>& at) {
                       static thread_local Entries<T> entries;
                       entries.resize(static_cast<size_t>(length));
                       const T* const from = t.data<T>() + at[0];
                       for (int64_t i = 0; i < length; ++i) {
                         entries[static_cast<size_t>(i)] = {from[i * step], i};
                       }
                       f(entries,
                         Line<T>{values.data<T>() + at[1], stride_along(values, dim),
                                 indices.data<int64_t>() + at[2], stride_along(indices, dim)});
                     });
  });
}

void sort(const Tensor& t, int64_t dim, bool descending, AtenTensorHandle* ret0,
          AtenTensorHandle* ret1) {
  dim = wrap_dim(dim, t.dim());
  Tensor values = empty_like(t), indices = empty_like(t, DType::Long);
  for_each_entries(t, dim, values, indices, [&](auto& entries, auto line) {
    using T = decltype(entries[0].first);
    if (descending) {
      std::stable_sort(entries.begin(), entries.end(), Falling<T>{});
    } else {
      std::stable_sort(entries.begin(), entries.end(), Rising<T>{});
    }
    for (size_t i = 0; i < entries.size(); ++i) line.set(static_cast<int64_t>(i), entries[i]);
  });
  *ret0 = release(std::move(values));
  *ret1 = release(std::move(indices));
}

/// The first `k` entries by `before`; which of equal ones are taken, and in which order, is as the
/// standard library's algorithms leave it, which ATen uses too.
template <class Entries, class Before>
void select_first(Entries& entries, int64_t k, bool sorted, Before before) {
  const auto begin = entries.begin(), end = entries.end();
  if (k * 64 <= static_cast<int64_t>(entries.size())) {
    std::partial_sort(begin, begin + k, end, before);
  } else {
    std::nth_element(begin, begin + k - 1, end, before);
    if (sorted) std::sort(begin, begin + k - 1, before);
  }
}

void topk(const Tensor& t, int64_t k, int64_t dim, bool largest, bool sorted,
          AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  dim = wrap_dim(dim, t.dim());
  require(k >= 0 && k <= size_along(t, dim), "k is ", k, ", dimension ", dim, " has ",
          size_along(t, dim), " elements");
  const Ints sizes = resized(t, dim, k);
  if (t.dim() == 0) k = 1;  // as ATen's, whatever it was
  Tensor values = empty(sizes, t.dtype()), indices = empty(sizes, DType::Long);
  if (k > 0) {
    for_each_entries(t, dim, values, indices, [&](auto& entries, auto line) {
      using T = decltype(entries[0].first);
      if (largest) {
        select_first(entries, k, sorted, Falling<T>{});
      } else {
        select_first(entries, k, sorted, Rising<T>{});
      }
      for (int64_t i = 0; i < k; ++i) line.set(i, entries[static_cast<size_t>(i)]);
    });
  }
  *ret0 = release(std::move(values));
  *ret1 = release(std::move(indices));
}

/// One entry per line: what `pick(entries)` returns.
template <class Pick>
void pick_one(const Tensor& t, int64_t dim, bool keepdim, AtenTensorHandle* ret0,
              AtenTensorHandle* ret1, Pick&& pick) {
  const Ints sizes = resized(t, dim, 1);
  Tensor values = empty(sizes, t.dtype()), indices = empty(sizes, DType::Long);
  for_each_entries(t, dim, values, indices,
                   [&](auto& entries, auto line) { line.set(0, pick(entries)); });
  const bool drop = !keepdim && t.dim() > 0;
  *ret0 = release(drop ? select(values, dim, 0) : std::move(values));
  *ret1 = release(drop ? select(indices, dim, 0) : std::move(indices));
}

void kthvalue(const Tensor& t, int64_t k, int64_t dim, bool keepdim, AtenTensorHandle* ret0,
              AtenTensorHandle* ret1) {
  dim = wrap_dim(dim, t.dim());
  require(k >= 1 && k <= size_along(t, dim), "k is ", k, ", dimension ", dim, " has ",
          size_along(t, dim), " elements");
  pick_one(t, dim, keepdim, ret0, ret1, [&](auto& entries) {
    using T = decltype(entries[0].first);
    std::nth_element(entries.begin(), entries.begin() + k - 1, entries.end(), Rising<T>{});
    return entries[static_cast<size_t>(k - 1)];
  });
}

/// The smallest of the values that occur most often, and where it occurs last.
template <class Entries>
auto most_frequent(Entries& entries) {
  using T = decltype(entries[0].first);
  std::stable_sort(entries.begin(), entries.end(), Rising<T>{});
  auto best = entries[0];
  size_t most = 0, begin = 0;
  for (size_t i = 1; i <= entries.size(); ++i) {
    if (i < entries.size() && !less(entries[i - 1].first, entries[i].first)) continue;
    if (i - begin > most) {
      most = i - begin;
      best = entries[i - 1];
    }
    begin = i;
  }
  return best;
}

void mode(const Tensor& t, int64_t dim, bool keepdim, AtenTensorHandle* ret0,
          AtenTensorHandle* ret1) {
  dim = wrap_dim(dim, t.dim());
  require(size_along(t, dim) > 0, "dimension ", dim, " has no element");
  pick_one(t, dim, keepdim, ret0, ret1, [](auto& entries) { return most_frequent(entries); });
}

/// The lower median of all elements; a NaN, if there is one that is not to be ignored.
Tensor median(const Tensor& t, bool ignore_nan) {
  Tensor result = empty({}, t.dtype());
  dispatch(Reals{}, t.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    std::vector<T> values;
    T nan = T(0);
    bool has_nan = false;
    for_each_in_order<1>(t.sizes(), {t.strides()}, [&](const Offsets<1>& at) {
      const T value = t.data<T>()[at[0]];
      if (is_nan(value)) {
        has_nan = true;
        nan = value;
      } else {
        values.push_back(value);
      }
    });
    T& to = *result.data<T>();
    if (values.empty() || (has_nan && !ignore_nan)) {
      if constexpr (is_float<T>) {
        to = has_nan ? nan : static_cast<T>(std::numeric_limits<float>::quiet_NaN());
      } else {
        to = std::numeric_limits<T>::lowest();  // as ATen converts a NaN
      }
      return;
    }
    const auto middle = values.begin() + static_cast<int64_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), middle, values.end(), less<T>);
    to = *middle;
  });
  return result;
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_sort(AtenTensorHandle self, int64_t dim, int32_t descending,
                                   AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return shim(__func__, [&] {
    executorch_backends::aoti::sort(tensor_of(self), dim, descending != 0, ret0, ret1);
  });
}

AOTITorchError aoti_torch_cpu_sort_stable(AtenTensorHandle self, int32_t*, int64_t dim,
                                          int32_t descending, AtenTensorHandle* ret0,
                                          AtenTensorHandle* ret1) {
  return aoti_torch_cpu_sort(self, dim, descending, ret0, ret1);
}

AOTITorchError aoti_torch_cpu_topk(AtenTensorHandle self, int64_t k, int64_t dim, int32_t largest,
                                   int32_t sorted, AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return shim(__func__,
              [&] { topk(tensor_of(self), k, dim, largest != 0, sorted != 0, ret0, ret1); });
}

AOTITorchError aoti_torch_cpu_kthvalue(AtenTensorHandle self, int64_t k, int64_t dim,
                                       int32_t keepdim, AtenTensorHandle* ret0,
                                       AtenTensorHandle* ret1) {
  return shim(__func__, [&] { kthvalue(tensor_of(self), k, dim, keepdim != 0, ret0, ret1); });
}

AOTITorchError aoti_torch_cpu_mode(AtenTensorHandle self, int64_t dim, int32_t keepdim,
                                   AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return shim(__func__, [&] { mode(tensor_of(self), dim, keepdim != 0, ret0, ret1); });
}

AOTITorchError aoti_torch_cpu_median(AtenTensorHandle self, AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(median(tensor_of(self), false)); });
}

AOTITorchError aoti_torch_cpu_nanmedian(AtenTensorHandle self, AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(median(tensor_of(self), true)); });
}
