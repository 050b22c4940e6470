#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "executorch_backends/common/checked/checked.h"

// Where the elements of a strided tensor lie. Nothing else in this repository multiplies sizes with
// strides: here every product and sum is checked, so that sizes from a file cannot reach outside
// a storage.
//
// Functions that can overflow return false when they do, and then leave their outputs alone.

namespace executorch_backends::layout {

/// ExecuTorch's limit on a tensor's rank.
inline constexpr size_t kMaxRank = 16;

/// A number for each dimension, of which the first `rank` count.
using Dims = std::array<size_t, kMaxRank>;

/// The dimensions from the outermost to the innermost in memory, of which the first `rank` count;
/// 0, 1, 2, ... is the default order. The element type is ExecuTorch's.
using DimOrder = std::array<uint8_t, kMaxRank>;

inline constexpr DimOrder kDefaultDimOrder = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/// A tensor's elements inside a storage. Sizes and strides are never negative. A stride counts for
/// nothing where the size is 1; a stride of 0 repeats an element. Rank 0 is one element.
struct Layout {
  size_t rank = 0;       // at most kMaxRank: every function fails or says no for more
  Dims sizes{};          // in elements
  Dims strides{};        // in elements
  size_t offset = 0;     // of the first element from the storage's start, in elements
  size_t item_size = 1;  // of an element, in bytes
};

/// The layout with these signed or unsigned numbers, which are in the units of Layout. False when
/// one is negative, does not fit, or the rank exceeds kMaxRank. For rank 0 the pointers are not
/// looked at.
template <class Size, class Stride>
[[nodiscard]] bool make_layout(const Size* sizes, const Stride* strides, size_t rank, size_t offset,
                               size_t item_size, Layout* out) {
  if (rank > kMaxRank) return false;
  Layout layout;
  layout.rank = rank;
  layout.offset = offset;
  layout.item_size = item_size;
  for (size_t d = 0; d < rank; ++d) {
    if (checked::narrow(sizes[d], &layout.sizes[d]) ||
        checked::narrow(strides[d], &layout.strides[d])) {
      return false;
    }
  }
  *out = layout;
  return true;
}

/// Number of elements: 1 for rank 0, and 0 when any size is 0, however large the others are.
[[nodiscard]] bool element_count(const Layout& layout, size_t* count);

/// Bytes from the storage's start to the end of the last element that the layout reaches; 0 when
/// it has no element, whatever its offset.
[[nodiscard]] bool span_bytes(const Layout& layout, size_t* bytes);

/// Whether the elements lie in the given order without a gap. The offset does not matter, nor do
/// the strides of dimensions of size 1. A layout without elements is contiguous in every order.
/// False when `order` is not a permutation of the dimensions.
[[nodiscard]] bool is_contiguous(const Layout& layout, const DimOrder& order);

/// The strides, in elements, that make a tensor of these sizes contiguous in the given order. A
/// size of 0 counts as 1, as in PyTorch's default order. False on overflow or when `order` is not a
/// permutation.
[[nodiscard]] bool strides_from_dim_order(size_t rank, const Dims& sizes, const DimOrder& order,
                                          Dims* strides);

/// The dimensions by falling stride; equal strides stay in the default order. Where the layout is
/// contiguous in the default order that is the answer, whatever strides its dimensions of size 1
/// have. If a layout is contiguous in any order, it is in this one.
DimOrder dim_order_from_strides(const Layout& layout);

/// Whether two layouts over the same storage may share a byte. It compares the ranges from the
/// first to the last byte: layouts that interleave without touching, such as the even and the odd
/// columns, count as overlapping, and so do those whose span overflows.
[[nodiscard]] bool may_overlap(const Layout& a, const Layout& b);

/// Whether two elements lie at the same place, for instance because a stride is 0. Exact for
/// everything that slicing, transposing and expanding make, and for any layout that spans up to
/// 2^27 elements; for the others, and when the span overflows, true if in doubt.
[[nodiscard]] bool overlaps_itself(const Layout& layout);

/// "sizes [2, 3], strides [3, 1], offset 0, 4 bytes each", for messages.
std::string to_string(const Layout& layout);

}  // namespace executorch_backends::layout
