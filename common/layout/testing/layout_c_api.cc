// The layout functions behind a C ABI, for the Python tests to call through ctypes. Functions that
// answer a question return 0 or 1; those that can fail return 1 when they succeed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "executorch_backends/common/layout/copy_plan.h"
#include "executorch_backends/common/layout/layout.h"

namespace layout = executorch_backends::layout;

#define EXPORT extern "C" __attribute__((visibility("default")))

struct CLayout {
  size_t rank;
  int64_t sizes[layout::kMaxRank];
  int64_t strides[layout::kMaxRank];
  size_t offset;
  size_t item_size;
};

namespace {

bool convert(const CLayout& from, layout::Layout* to) {
  return layout::make_layout(from.sizes, from.strides, from.rank, from.offset, from.item_size, to);
}

layout::DimOrder dim_order(const uint8_t* dims, size_t rank) {
  layout::DimOrder order{};
  std::copy(dims, dims + rank, order.begin());
  return order;
}

}  // namespace

EXPORT int layout_span_bytes(const CLayout* c, size_t* bytes) {
  layout::Layout it;
  return convert(*c, &it) && layout::span_bytes(it, bytes);
}

EXPORT int layout_element_count(const CLayout* c, size_t* count) {
  layout::Layout it;
  return convert(*c, &it) && layout::element_count(it, count);
}

EXPORT int layout_is_contiguous(const CLayout* c, const uint8_t* dims) {
  layout::Layout it;
  return convert(*c, &it) && layout::is_contiguous(it, dim_order(dims, it.rank));
}

EXPORT int layout_dim_order_from_strides(const CLayout* c, uint8_t* dims) {
  layout::Layout it;
  if (!convert(*c, &it)) return 0;
  const layout::DimOrder order = layout::dim_order_from_strides(it);
  std::copy(order.begin(), order.begin() + static_cast<ptrdiff_t>(it.rank), dims);
  return 1;
}

EXPORT int layout_strides_from_dim_order(const CLayout* c, const uint8_t* dims, size_t* strides) {
  layout::Layout it;
  layout::Dims found{};
  if (!convert(*c, &it) ||
      !layout::strides_from_dim_order(it.rank, it.sizes, dim_order(dims, it.rank), &found)) {
    return 0;
  }
  std::copy(found.begin(), found.begin() + static_cast<ptrdiff_t>(it.rank), strides);
  return 1;
}

EXPORT int layout_overlaps_itself(const CLayout* c) {
  layout::Layout it;
  return convert(*c, &it) && layout::overlaps_itself(it);
}

EXPORT int layout_may_overlap(const CLayout* a, const CLayout* b) {
  layout::Layout first;
  layout::Layout second;
  return convert(*a, &first) && convert(*b, &second) && layout::may_overlap(first, second);
}

EXPORT int layout_copy(const CLayout* dst, void* to, size_t to_bytes, const CLayout* src,
                       const void* from, size_t from_bytes, char* error, size_t capacity) {
  layout::Layout dst_layout;
  layout::Layout src_layout;
  layout::CopyPlan plan;
  std::string text = "copy: a layout has a negative size or stride, or too many dimensions";
  const bool ok = convert(*dst, &dst_layout) && convert(*src, &src_layout) &&
                  layout::plan_copy(dst_layout, src_layout, &plan, &text) &&
                  layout::execute(plan, to, to_bytes, from, from_bytes, &text);
  const size_t length = std::min(text.size(), capacity - 1);
  std::memcpy(error, text.data(), length);
  error[length] = '\0';
  return ok ? 1 : 0;
}
