#include "executorch_backends/common/layout/layout.h"

#include <algorithm>
#include <vector>

namespace executorch_backends::layout {
namespace {

constexpr size_t kMaxMarkedElements = size_t{1} << 27;

bool is_empty(const Layout& layout) {
  const auto end = layout.sizes.begin() + static_cast<ptrdiff_t>(layout.rank);
  return std::find(layout.sizes.begin(), end, size_t{0}) != end;
}

bool is_permutation(const DimOrder& order, size_t rank) {
  uint32_t seen = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (order[i] >= rank) return false;
    seen |= uint32_t{1} << order[i];
  }
  return seen == (uint32_t{1} << rank) - 1;
}

// Index of the last element, counted from the storage's start. No size is 0.
bool last_element(const Layout& layout, size_t* last) {
  size_t sum = layout.offset;
  for (size_t d = 0; d < layout.rank; ++d) {
    size_t reach = 0;
    if (checked::mul(layout.sizes[d] - 1, layout.strides[d], &reach) ||
        checked::add(sum, reach, &sum)) {
      return false;
    }
  }
  *last = sum;
  return true;
}

// Marks the places of the elements from dimension d on and says whether one was marked before.
bool marks_twice(const Layout& layout, size_t d, size_t at, std::vector<bool>* marked) {
  if (d == layout.rank) {
    const bool before = (*marked)[at];
    (*marked)[at] = true;
    return before;
  }
  for (size_t i = 0; i < layout.sizes[d]; ++i) {
    if (marks_twice(layout, d + 1, at + i * layout.strides[d], marked)) return true;
  }
  return false;
}

std::string list(const Dims& values, size_t rank) {
  std::string text = "[";
  for (size_t d = 0; d < rank; ++d) {
    if (d != 0) text += ", ";
    text += std::to_string(values[d]);
  }
  return text + "]";
}

}  // namespace

bool element_count(const Layout& layout, size_t* count) {
  if (layout.rank > kMaxRank) return false;
  size_t product = 1;
  if (is_empty(layout)) {
    product = 0;
  } else {
    for (size_t d = 0; d < layout.rank; ++d) {
      if (checked::mul(product, layout.sizes[d], &product)) return false;
    }
  }
  *count = product;
  return true;
}

bool span_bytes(const Layout& layout, size_t* bytes) {
  if (layout.rank > kMaxRank) return false;
  if (is_empty(layout)) {
    *bytes = 0;
    return true;
  }
  size_t elements = 0;
  size_t span = 0;
  if (!last_element(layout, &elements) || checked::add(elements, size_t{1}, &elements) ||
      checked::mul(elements, layout.item_size, &span)) {
    return false;
  }
  *bytes = span;
  return true;
}

bool is_contiguous(const Layout& layout, const DimOrder& order) {
  if (layout.rank > kMaxRank || !is_permutation(order, layout.rank)) return false;
  if (is_empty(layout)) return true;
  size_t expected = 1;
  for (size_t i = layout.rank; i-- != 0;) {
    const size_t d = order[i];
    if (layout.sizes[d] == 1) continue;
    if (layout.strides[d] != expected) return false;
    if (checked::mul(expected, layout.sizes[d], &expected)) return false;
  }
  return true;
}

bool strides_from_dim_order(size_t rank, const Dims& sizes, const DimOrder& order, Dims* strides) {
  if (rank > kMaxRank || !is_permutation(order, rank)) return false;
  Dims found{};
  size_t stride = 1;
  for (size_t i = rank; i-- != 0;) {
    const size_t d = order[i];
    found[d] = stride;
    // The product is a stride only if a dimension is left that it is the stride of.
    if (i != 0 && checked::mul(stride, std::max<size_t>(sizes[d], 1), &stride)) return false;
  }
  *strides = found;
  return true;
}

DimOrder dim_order_from_strides(const Layout& layout) {
  DimOrder order = kDefaultDimOrder;
  if (layout.rank > kMaxRank || is_contiguous(layout, order)) return order;
  std::stable_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(layout.rank),
                   [&](uint8_t a, uint8_t b) { return layout.strides[a] > layout.strides[b]; });
  return order;
}

bool may_overlap(const Layout& a, const Layout& b) {
  size_t a_start = 0, a_end = 0, b_start = 0, b_end = 0;
  if (!span_bytes(a, &a_end) || !span_bytes(b, &b_end)) return true;
  if (a_end == 0 || b_end == 0) return false;
  // A first element is not behind the last one, whose end did not overflow.
  if (checked::mul(a.offset, a.item_size, &a_start) ||
      checked::mul(b.offset, b.item_size, &b_start)) {
    return true;
  }
  return a_start < b_end && b_start < a_end;
}

bool overlaps_itself(const Layout& layout) {
  if (layout.rank > kMaxRank) return true;
  if (is_empty(layout)) return false;

  Layout at_zero;  // without offset and dimensions of size 1, by rising stride
  std::array<uint8_t, kMaxRank> by_stride = kDefaultDimOrder;
  std::sort(by_stride.begin(), by_stride.begin() + static_cast<ptrdiff_t>(layout.rank),
            [&](uint8_t a, uint8_t b) { return layout.strides[a] < layout.strides[b]; });
  bool nests = true;  // each stride steps over all that the smaller ones reach
  size_t reach = 0;   // index of the last element
  for (size_t i = 0; i < layout.rank; ++i) {
    const size_t size = layout.sizes[by_stride[i]];
    const size_t stride = layout.strides[by_stride[i]];
    if (size == 1) continue;
    if (stride == 0) return true;
    nests = nests && stride > reach;
    size_t step = 0;
    if (checked::mul(size - 1, stride, &step) || checked::add(reach, step, &reach)) return true;
    at_zero.sizes[at_zero.rank] = size;
    at_zero.strides[at_zero.rank] = stride;
    ++at_zero.rank;
  }
  if (nests) return false;
  if (reach >= kMaxMarkedElements) return true;
  std::vector<bool> marked(reach + 1);
  return marks_twice(at_zero, 0, 0, &marked);
}

std::string to_string(const Layout& layout) {
  const size_t rank = std::min(layout.rank, kMaxRank);
  return "sizes " + list(layout.sizes, rank) + ", strides " + list(layout.strides, rank) +
         ", offset " + std::to_string(layout.offset) + ", " + std::to_string(layout.item_size) +
         " bytes each";
}

}  // namespace executorch_backends::layout
