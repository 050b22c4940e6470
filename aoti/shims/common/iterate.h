#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "executorch_backends/aoti/shims/common/ints.h"
#include "executorch_backends/aoti/shims/common/parallel.h"
#include "executorch_backends/aoti/shims/common/tensor.h"

// How every kernel walks over its tensors.

namespace executorch_backends::aoti {

template <size_t N>
using Offsets = std::array<int64_t, N>;  // of N tensors, in elements from their first

enum class Order {
  kLogical,  // row-major by index
  kMemory,   // along the first tensor's memory
};

/// Visits the same index of N tensors of equal sizes, as runs along which every offset grows by a
/// constant step. Dimensions that can be walked as one are one.
template <size_t N>
class Walk {
 public:
  Walk(const Ints& sizes, const std::array<Ints, N>& strides, Order order = Order::kMemory) {
    count_ = numel_of(sizes);
    if (count_ == 0) return;
    for (int64_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1) continue;
      Dimension dimension{sizes[d], {}};
      for (size_t i = 0; i < N; ++i) dimension.steps[i] = strides[i][d];
      dimensions_[rank_++] = dimension;
    }
    if (order == Order::kMemory) {
      std::stable_sort(
          dimensions_.begin(), dimensions_.begin() + rank_,
          [](const Dimension& a, const Dimension& b) { return a.steps[0] > b.steps[0]; });
    }
    merge();
  }

  int64_t count() const { return count_; }

  /// Calls `f(offsets, steps, length)` for the runs of the elements begin … end.
  template <class F>
  void visit(int64_t begin, int64_t end, F&& f) const {
    const Dimension inner = rank_ ? dimensions_[rank_ - 1] : Dimension{1, {}};
    while (begin < end) {
      Offsets<N> offsets{};
      int64_t rest = begin / inner.size;
      const int64_t first = begin % inner.size;
      for (size_t i = 0; i < N; ++i) offsets[i] = first * inner.steps[i];
      for (size_t d = rank_; d-- > 1;) {
        const Dimension& outer = dimensions_[d - 1];
        const int64_t at = rest % outer.size;
        rest /= outer.size;
        for (size_t i = 0; i < N; ++i) offsets[i] += at * outer.steps[i];
      }
      const int64_t length = std::min(inner.size - first, end - begin);
      f(offsets, inner.steps, length);
      begin += length;
    }
  }

 private:
  struct Dimension {
    int64_t size;
    Offsets<N> steps;
  };

  void merge() {
    size_t kept = 0;
    for (size_t d = 0; d < rank_; ++d) {
      if (kept > 0) {
        Dimension& outer = dimensions_[kept - 1];
        bool one = true;
        for (size_t i = 0; i < N; ++i) {
          one = one && outer.steps[i] == dimensions_[d].steps[i] * dimensions_[d].size;
        }
        if (one) {
          outer.size *= dimensions_[d].size;
          outer.steps = dimensions_[d].steps;
          continue;
        }
      }
      dimensions_[kept++] = dimensions_[d];
    }
    rank_ = kept;
  }

  std::array<Dimension, layout::kMaxRank> dimensions_;  // the innermost last
  size_t rank_ = 0;
  int64_t count_ = 0;
};

/// Runs over all elements, in parallel.
template <size_t N, class F>
void for_each_run(const Ints& sizes, const std::array<Ints, N>& strides, F&& f,
                  int64_t grain = kGrain) {
  const Walk<N> walk(sizes, strides);
  parallel_for(walk.count(), grain, [&](int64_t begin, int64_t end) { walk.visit(begin, end, f); });
}

namespace internal {

template <class Out, class... In, class F, size_t... I>
void elementwise(F&& f, const Tensor& out, const std::array<Tensor, sizeof...(In)>& in,
                 std::index_sequence<I...>) {
  Out* const to = out.data<Out>();
  const std::tuple<const In*...> from{in[I].template data<In>()...};
  for_each_run<1 + sizeof...(In)>(
      out.sizes(), {out.strides(), in[I].strides()...},
      [&](const auto& offsets, const auto& steps, int64_t length) {
        Out* const o = to + offsets[0];
        const std::tuple<const In*...> p{std::get<I>(from) + offsets[I + 1]...};
        if (steps[0] == 1 && ((steps[I + 1] == 1) && ...)) {
          for (int64_t i = 0; i < length; ++i) o[i] = f(std::get<I>(p)[i]...);
        } else {
          for (int64_t i = 0; i < length; ++i) {
            o[i * steps[0]] = f(std::get<I>(p)[i * steps[I + 1]]...);
          }
        }
      });
}

}  // namespace internal

/// out = f(in...), element by element, in parallel; the inputs broadcast to `out`.
template <class Out, class... In, class F, class... Tensors>
void elementwise(F&& f, const Tensor& out, const Tensors&... in) {
  static_assert(sizeof...(In) == sizeof...(Tensors));
  internal::elementwise<Out, In...>(f, out,
                                    std::array<Tensor, sizeof...(In)>{expand(in, out.sizes())...},
                                    std::index_sequence_for<In...>{});
}

/// Calls `f(offsets)` at the first element of every line along `dim` of N tensors which have
/// `sizes`, except along `dim`; in parallel, where `work` is what one line costs.
template <size_t N, class F>
void for_each_line(const Ints& sizes, int64_t dim, const std::array<Ints, N>& strides, int64_t work,
                   F&& f) {
  if (numel_of(sizes) == 0) return;  // there may be many lines without an element
  Ints lines = sizes;
  if (!lines.empty()) lines[dim] = 1;
  for_each_run<N>(
      lines, strides,
      [&](const Offsets<N>& offsets, const Offsets<N>& steps, int64_t length) {
        Offsets<N> at = offsets;
        for (int64_t i = 0; i < length; ++i) {
          f(static_cast<const Offsets<N>&>(at));
          for (size_t t = 0; t < N; ++t) at[t] += steps[t];
        }
      },
      std::max<int64_t>(kGrain / std::max<int64_t>(work, 1), 1));
}

/// Calls `f(offsets)` for every element of N tensors in row-major order, on this thread.
template <size_t N, class F>
void for_each_in_order(const Ints& sizes, const std::array<Ints, N>& strides, F&& f) {
  const Walk<N> walk(sizes, strides, Order::kLogical);
  walk.visit(0, walk.count(),
             [&](const Offsets<N>& offsets, const Offsets<N>& steps, int64_t length) {
               Offsets<N> at = offsets;
               for (int64_t i = 0; i < length; ++i) {
                 f(static_cast<const Offsets<N>&>(at));
                 for (size_t t = 0; t < N; ++t) at[t] += steps[t];
               }
             });
}

}  // namespace executorch_backends::aoti
