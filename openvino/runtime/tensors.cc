#include "executorch_backends/openvino/runtime/tensors.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "executorch_backends/common/layout/copy_plan.h"
#include "executorch_backends/common/layout/layout.h"
#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/common/runtime/tensors.h"

namespace executorch_backends::openvino {
namespace {

using executorch::aten::Tensor;
using executorch::runtime::Error;

/// The tensor's layout, and the one of the same sizes in the default dim order.
bool layouts_of(const Tensor& tensor, layout::Layout* own, layout::Layout* packed) {
  if (!runtime::layout_of(tensor, own)) return false;
  *packed = *own;
  return layout::strides_from_dim_order(own->rank, own->sizes, layout::kDefaultDimOrder,
                                        &packed->strides);
}

Error copy(const layout::Layout& to_layout, void* to, size_t to_bytes,
           const layout::Layout& from_layout, const void* from, size_t from_bytes) {
  layout::CopyPlan plan;
  std::string reason;
  ETB_REQUIRE(layout::plan_copy(to_layout, from_layout, &plan, &reason) &&
                  layout::execute(plan, to, to_bytes, from, from_bytes, &reason),
              InvalidArgument, "OpenVINO: cannot change the dim order of a tensor: %s",
              reason.c_str());
  return Error::Ok;
}

}  // namespace

bool in_default_order(const Tensor& tensor) {
  const auto order = tensor.dim_order();
  for (size_t d = 0; d < order.size(); ++d) {
    if (order[d] != d) return false;
  }
  return true;
}

Error pack(const Tensor& tensor, void* packed, size_t packed_bytes) {
  layout::Layout own, plain;
  ETB_REQUIRE(layouts_of(tensor, &own, &plain), InvalidArgument,
              "OpenVINO: sizes or strides of a tensor of shape %s are out of range",
              runtime::text_of(tensor).c_str());
  return copy(plain, packed, packed_bytes, own, tensor.const_data_ptr(), tensor.nbytes());
}

Error unpack(const void* packed, size_t packed_bytes, const Tensor& tensor) {
  layout::Layout own, plain;
  ETB_REQUIRE(layouts_of(tensor, &own, &plain), InvalidArgument,
              "OpenVINO: sizes or strides of a tensor of shape %s are out of range",
              runtime::text_of(tensor).c_str());
  return copy(own, tensor.mutable_data_ptr(), tensor.nbytes(), plain, packed, packed_bytes);
}

Error assign(const Tensor& to, const Tensor& from) {
  ETB_REQUIRE(to.nbytes() == from.nbytes() && to.scalar_type() == from.scalar_type(),
              InvalidArgument, "OpenVINO: cannot copy %zu bytes of %s to %zu of %s", from.nbytes(),
              executorch::runtime::toString(from.scalar_type()), to.nbytes(),
              executorch::runtime::toString(to.scalar_type()));
  if (to.numel() == 0) return Error::Ok;
  ETB_REQUIRE(runtime::has_memory(to) && runtime::has_memory(from), InvalidArgument,
              "OpenVINO: cannot copy a tensor of shape %s that has no memory",
              runtime::text_of(to).c_str());
  const auto order = to.dim_order();
  if (std::equal(order.begin(), order.end(), from.dim_order().begin(), from.dim_order().end())) {
    std::memmove(to.mutable_data_ptr(), from.const_data_ptr(), to.nbytes());
    return Error::Ok;
  }
  layout::Layout target, source, plain;
  ETB_REQUIRE(layouts_of(to, &target, &plain) && layouts_of(from, &source, &plain), InvalidArgument,
              "OpenVINO: sizes or strides of a tensor of shape %s are out of range",
              runtime::text_of(to).c_str());
  return copy(target, to.mutable_data_ptr(), to.nbytes(), source, from.const_data_ptr(),
              from.nbytes());
}

size_t first_beyond_int32(const int64_t* numbers, size_t count) {
  // A sum without branches first, which compilers turn into vector code.
  uint64_t beyond = 0;
  for (size_t i = 0; i < count; ++i) {
    beyond |= (static_cast<uint64_t>(numbers[i]) + (uint64_t{1} << 31)) >> 32;
  }
  if (beyond == 0) return count;
  for (size_t i = 0; i < count; ++i) {
    if (numbers[i] < std::numeric_limits<int32_t>::min() ||
        numbers[i] > std::numeric_limits<int32_t>::max()) {
      return i;
    }
  }
  return count;
}

}  // namespace executorch_backends::openvino
