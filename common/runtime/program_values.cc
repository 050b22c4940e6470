#include "executorch_backends/common/runtime/program_values.h"

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include "executorch_backends/common/checked/checked.h"
#include "executorch_backends/common/runtime/tensors.h"

namespace executorch_backends::runtime {

namespace et = executorch::runtime;
namespace ea = executorch::aten;
using et::Error;

namespace {

constexpr int32_t kMaxRank = 16;

const char* kind_name(int32_t kind) {
  static const char* const names[] = {"None",    "a tensor", "an int",
                                      "a float", "a bool",   "another kind of value"};
  return kind >= 0 && kind <= EXECUTORCH_BACKENDS_OTHER ? names[kind] : "no kind of value";
}

}  // namespace

int32_t kind_of(et::Tag tag) {
  switch (tag) {
    case et::Tag::None:
      return EXECUTORCH_BACKENDS_NONE;
    case et::Tag::Tensor:
      return EXECUTORCH_BACKENDS_TENSOR;
    case et::Tag::Int:
      return EXECUTORCH_BACKENDS_INT;
    case et::Tag::Double:
      return EXECUTORCH_BACKENDS_DOUBLE;
    case et::Tag::Bool:
      return EXECUTORCH_BACKENDS_BOOL;
    default:
      return EXECUTORCH_BACKENDS_OTHER;
  }
}

void describe(const et::TensorInfo& info, executorch_backends_value* out) {
  out->kind = EXECUTORCH_BACKENDS_TENSOR;
  out->dtype = static_cast<int32_t>(info.scalar_type());
  out->rank = static_cast<int32_t>(info.sizes().size());
  out->sizes = info.sizes().data();
  out->dim_order = info.dim_order().data();
  out->bytes = info.nbytes();
}

/// Empty when `value` fits input `index`, else what disagrees.
std::string mismatch(const et::MethodMeta& meta, size_t index,
                     const executorch_backends_value& value) {
  const std::string where = "input " + std::to_string(index) + ": ";
  auto tag = meta.input_tag(index);
  if (!tag.ok()) return where + "the program does not say what it is";
  const int32_t expected = kind_of(*tag);
  if (value.kind != expected) {
    return where + "expected " + kind_name(expected) + ", got " + kind_name(value.kind);
  }
  if (expected != EXECUTORCH_BACKENDS_TENSOR) return "";
  auto info = meta.input_tensor_meta(index);
  if (!info.ok()) return where + "the program does not describe the tensor";
  if (value.dtype != static_cast<int32_t>(info->scalar_type())) {
    const bool known =
        value.dtype >= 0 && value.dtype < static_cast<int32_t>(ea::ScalarType::NumOptions);
    return where + "expected dtype " + et::toString(info->scalar_type()) + ", got " +
           (known ? et::toString(static_cast<ea::ScalarType>(value.dtype))
                  : std::to_string(value.dtype).c_str());
  }
  const size_t rank = info->sizes().size();
  if (value.rank < 0 || value.rank > kMaxRank || static_cast<size_t>(value.rank) != rank) {
    return where + "expected rank " + std::to_string(rank) + ", shape " +
           text_of(info->sizes().data(), rank) + ", got rank " + std::to_string(value.rank);
  }
  size_t bytes = et::elementSize(info->scalar_type());
  for (size_t d = 0; d < rank; ++d) {
    // Static and dynamic sizes look alike in the metadata: its sizes are upper bounds, and
    // the runtime itself refuses another size where the dimension is static.
    if (value.sizes[d] < 0 || value.sizes[d] > info->sizes()[d]) {
      return where + "expected shape " + text_of(info->sizes().data(), rank) +
             " (or smaller where a dimension is dynamic), got " + text_of(value.sizes, rank);
    }
    if (checked::mul(bytes, static_cast<size_t>(value.sizes[d]), &bytes)) {
      return where + "the size in bytes of " + text_of(value.sizes, rank) + " overflows";
    }
    if (value.dim_order[d] != info->dim_order()[d]) {
      return where + "expected dimension " + std::to_string(info->dim_order()[d]) + " at place " +
             std::to_string(d) + " of the dim order, got " + std::to_string(value.dim_order[d]);
    }
  }
  if (bytes != value.bytes || (bytes != 0 && value.data == nullptr)) {
    return where + "expected " + std::to_string(bytes) + " bytes, got " +
           std::to_string(value.data == nullptr ? 0 : value.bytes);
  }
  return "";
}

Error BorrowedTensor::make(const executorch_backends_value& value, BorrowedTensor* out) {
  const size_t rank = static_cast<size_t>(value.rank);
  out->sizes_.assign(value.sizes, value.sizes + rank);
  out->dim_order_.assign(value.dim_order, value.dim_order + rank);
  out->strides_.resize(rank);
  const Error error = et::dim_order_to_stride(out->sizes_.data(), out->dim_order_.data(), rank,
                                              out->strides_.data());
  if (error != Error::Ok) return error;
  out->impl_ = std::make_unique<ea::TensorImpl>(
      static_cast<ea::ScalarType>(value.dtype), static_cast<ssize_t>(rank), out->sizes_.data(),
      value.data, out->dim_order_.data(), out->strides_.data());
  return Error::Ok;
}

}  // namespace executorch_backends::runtime
