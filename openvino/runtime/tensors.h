/// ExecuTorch's tensors as OpenVINO wants them.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>

namespace executorch_backends::openvino {

/// Whether the tensor's elements lie in the default dim order, as OpenVINO expects them.
bool in_default_order(const executorch::aten::Tensor& tensor);

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
