/// ExecuTorch's tensors as delegates look at them.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <string>
#include <vector>

#include "executorch_backends/common/layout/layout.h"
#include "executorch_backends/common/payload/io_table.h"

namespace executorch_backends::runtime {

/// "[2, 3]", for messages.
std::string text_of(const executorch::aten::SizesType* sizes, size_t rank);
std::string text_of(const executorch::aten::Tensor& tensor);

/// Whether the tensor's rank and sizes are what `dims` allows.
bool fits(const executorch::aten::Tensor& tensor, const std::vector<payload::Bounds>& dims);

/// How the tensor lies in its memory; false where that is out of range.
bool layout_of(const executorch::aten::Tensor& tensor, layout::Layout* out);

/// Whether the elements, if there are any, are somewhere: an input that a program was not given may
/// have no memory.
bool has_memory(const executorch::aten::Tensor& tensor);

}  // namespace executorch_backends::runtime
