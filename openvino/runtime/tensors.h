/// ExecuTorch's tensors as the delegate looks at them.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "executorch_backends/common/payload/io_table.h"
#include "executorch_backends/openvino/runtime/payload.h"

namespace executorch_backends::openvino {

/// "[2, 3]"; for messages, as that of bounds is.
std::string text_of(const int32_t* sizes, size_t rank);
using payload::text_of;

/// Whether the tensor's rank and sizes are what `dims` allows.
bool fits(const executorch::aten::Tensor& tensor, const std::vector<ValueSpec::Bounds>& dims);

/// Whether the tensor's elements lie in the default dim order, as OpenVINO expects them.
bool in_default_order(const executorch::aten::Tensor& tensor);

/// Whether the elements, if there are any, are somewhere: an input that a program was not given may
/// have no memory.
bool has_memory(const executorch::aten::Tensor& tensor);

/// Copies a tensor, in whatever dim order, to or from `packed`, which holds it in the default
/// one. Logs and returns an error when the sizes do not agree.
executorch::runtime::Error pack(const executorch::aten::Tensor& tensor, void* packed,
                                size_t packed_bytes);
executorch::runtime::Error unpack(const void* packed, size_t packed_bytes,
                                  const executorch::aten::Tensor& tensor);

/// Copies `from` to `to`, which has its sizes and dtype and maybe another dim order.
executorch::runtime::Error assign(const executorch::aten::Tensor& to,
                                  const executorch::aten::Tensor& from);

/// The index of the first number that does not fit 32 bits, or `count`.
size_t first_beyond_int32(const int64_t* numbers, size_t count);

}  // namespace executorch_backends::openvino
