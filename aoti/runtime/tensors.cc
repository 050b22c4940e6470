#include "executorch_backends/aoti/runtime/tensors.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <algorithm>
#include <array>
#include <utility>

#include "executorch_backends/common/checked/checked.h"
#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/common/runtime/tensors.h"

namespace executorch_backends::aoti {
namespace {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::toString;
using runtime::text_of;

/// Whether both reach the same elements; the stride of a single one counts for nothing.
bool agree(const layout::Layout& a, const layout::Layout& b) {
  bool same = true;
  for (size_t d = 0; d < a.rank; ++d) {
    if (a.sizes[d] == 0) return true;
    same = same && (a.sizes[d] == 1 || a.strides[d] == b.strides[d]);
  }
  return same;
}

Error memory_of(const char* kind, size_t index, const Tensor& tensor, Given* out) {
  ETB_REQUIRE(runtime::layout_of(tensor, &out->layout), InvalidArgument,
              "AOTI: sizes or strides of %s %zu, of shape %s, are out of range", kind, index,
              text_of(tensor).c_str());
  out->data = tensor.mutable_data_ptr();
  out->bytes = tensor.nbytes();
  ETB_REQUIRE(runtime::has_memory(tensor), InvalidArgument, "AOTI: %s %zu has no memory", kind,
              index);
  return Error::Ok;
}

Given scalar(int64_t* integer) {
  Given given;
  given.data = integer;
  given.bytes = given.layout.item_size = sizeof(*integer);
  given.wanted = given.layout;
  given.as_wanted = true;
  return given;
}

}  // namespace

Error check_input(size_t index, const payload::Value& spec, const EValue& value, int64_t* integer,
                  Given* out) {
  if (value.isInt()) {
    ETB_REQUIRE(spec.type == ScalarType::Long && spec.dims.empty(), InvalidArgument,
                "AOTI: input %zu is an int, and the program takes %s of rank %zu", index,
                toString(spec.type), spec.dims.size());
    *integer = value.toInt();
    *out = scalar(integer);
    return Error::Ok;
  }
  ETB_REQUIRE(value.isTensor(), InvalidArgument, "AOTI: input %zu is no tensor, and %s is wanted",
              index, spec.symbolic_integer ? "an int" : toString(spec.type));
  const Tensor& tensor = value.toTensor();
  ETB_REQUIRE(tensor.scalar_type() == spec.type, InvalidArgument,
              "AOTI: input %zu has dtype %s, and the program takes %s", index,
              toString(tensor.scalar_type()), toString(spec.type));
  ETB_REQUIRE(runtime::fits(tensor, spec.dims), InvalidArgument,
              "AOTI: input %zu has shape %s, and the program takes %s", index,
              text_of(tensor).c_str(), payload::text_of(spec.dims).c_str());
  ETB_TRY(memory_of("input", index, tensor, out));
  layout::DimOrder order{};
  std::copy(spec.dim_order.begin(), spec.dim_order.end(), order.begin());
  out->wanted = out->layout;
  ETB_REQUIRE(layout::strides_from_dim_order(out->layout.rank, out->layout.sizes, order,
                                             &out->wanted.strides),
              InvalidArgument, "AOTI: input %zu, of shape %s, is too large", index,
              text_of(tensor).c_str());
  out->as_wanted = agree(out->layout, out->wanted);
  return Error::Ok;
}

Error borrow(void* data, size_t bytes, const layout::Layout& layout, ScalarType type,
             OwnedTensor* out) {
  std::array<int64_t, layout::kMaxRank> sizes{}, strides{};
  bool good = true;
  for (size_t d = 0; d < layout.rank; ++d) {
    good = good && !checked::narrow(layout.sizes[d], &sizes[d]) &&
           !checked::narrow(layout.strides[d], &strides[d]);
  }
  AtenTensorHandle handle = nullptr;
  executorch_backends_aoti_clear_error();  // of a call before
  ETB_REQUIRE(
      good && executorch_backends_aoti_borrow(
                  data, bytes, static_cast<int64_t>(layout.rank), sizes.data(), strides.data(), 0,
                  static_cast<int32_t>(type), &handle) == AOTI_TORCH_SUCCESS,
      InvalidArgument, "AOTI: cannot give a tensor to the program: %s",
      executorch_backends_aoti_last_error());
  out->reset(handle);
  return Error::Ok;
}

Error describe(size_t index, const OwnedTensor& tensor, Returned* out) {
  ETB_REQUIRE(tensor != nullptr, Internal, "AOTI: the program has not returned output %zu", index);
  int32_t dtype = 0;
  int64_t rank = 0, offset = 0, bytes = 0;
  int64_t *sizes = nullptr, *strides = nullptr;
  void* data = nullptr;
  const AtenTensorHandle handle = tensor.get();
  ETB_REQUIRE(aoti_torch_get_dtype(handle, &dtype) == AOTI_TORCH_SUCCESS &&
                  aoti_torch_get_dim(handle, &rank) == AOTI_TORCH_SUCCESS &&
                  aoti_torch_get_sizes(handle, &sizes) == AOTI_TORCH_SUCCESS &&
                  aoti_torch_get_strides(handle, &strides) == AOTI_TORCH_SUCCESS &&
                  aoti_torch_get_storage_offset(handle, &offset) == AOTI_TORCH_SUCCESS &&
                  aoti_torch_get_storage_size(handle, &bytes) == AOTI_TORCH_SUCCESS &&
                  aoti_torch_get_data_ptr(handle, &data) == AOTI_TORCH_SUCCESS,
              Internal, "AOTI: cannot look at output %zu: %s", index,
              executorch_backends_aoti_last_error());
  ETB_REQUIRE(dtype >= 0 && dtype < static_cast<int32_t>(ScalarType::Undefined), InvalidProgram,
              "AOTI: output %zu came with dtype %d, which is none of ExecuTorch's", index, dtype);
  out->type = static_cast<ScalarType>(dtype);
  const size_t item = executorch::runtime::elementSize(out->type);
  size_t start = 0;
  ETB_REQUIRE(rank >= 0 && !checked::narrow(offset, &out->layout.offset) &&
                  layout::make_layout(sizes, strides, static_cast<size_t>(rank), out->layout.offset,
                                      item, &out->layout) &&
                  !checked::mul(out->layout.offset, item, &start) &&
                  !checked::narrow(bytes, &out->storage_bytes),
              InvalidProgram,
              "AOTI: output %zu came with rank %lld, offset %lld and sizes or "
              "strides that are out of range",
              index, static_cast<long long>(rank), static_cast<long long>(offset));
  // The handle says where the first element is, and plans count from the storage's start.
  out->storage = data != nullptr ? static_cast<std::byte*>(data) - start : nullptr;
  return Error::Ok;
}

Error shape_output(size_t index, const payload::Value& spec, const Returned& returned,
                   const EValue& value, int64_t* integer, Given* out) {
  if (spec.symbolic_integer) {
    ETB_REQUIRE(returned.type == ScalarType::Long && returned.layout.rank == 0, InvalidProgram,
                "AOTI: output %zu came as %s of rank %zu, and an int was promised", index,
                toString(returned.type), returned.layout.rank);
    ETB_REQUIRE(value.isInt() || value.isNone(), InvalidArgument,
                "AOTI: output %zu is an int, and the program's value is neither an int nor None",
                index);
    *out = scalar(integer);
    return Error::Ok;
  }
  ETB_REQUIRE(value.isTensor(), InvalidArgument, "AOTI: output %zu is not a tensor", index);
  const Tensor& tensor = value.toTensor();
  ETB_REQUIRE(returned.type == spec.type && returned.layout.rank == spec.dims.size(),
              InvalidProgram,
              "AOTI: output %zu came as %s of rank %zu, and %s of rank %zu was promised", index,
              toString(returned.type), returned.layout.rank, toString(spec.type), spec.dims.size());
  ETB_REQUIRE(tensor.scalar_type() == spec.type, InvalidArgument,
              "AOTI: output %zu has dtype %s, and the program gives %s", index,
              toString(tensor.scalar_type()), toString(spec.type));
  std::array<SizesType, layout::kMaxRank> sizes{};
  bool good = true;
  for (size_t d = 0; d < returned.layout.rank; ++d) {
    good = good && !checked::narrow(returned.layout.sizes[d], &sizes[d]);
  }
  ETB_REQUIRE(good && executorch::runtime::resize_tensor(
                          tensor, {sizes.data(), returned.layout.rank}) == Error::Ok,
              InvalidArgument,
              "AOTI: output %zu came with %s, which does not fit the program's tensor of shape %s",
              index, layout::to_string(returned.layout).c_str(), text_of(tensor).c_str());
  return memory_of("output", index, tensor, out);
}

}  // namespace executorch_backends::aoti
