/// Values of the C ABI as ExecuTorch has them.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/tag.h>
#include <executorch/runtime/executor/method_meta.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "executorch_backends/common/runtime/program.h"

namespace executorch_backends::runtime {

/// An executorch_backends_kind.
int32_t kind_of(executorch::runtime::Tag tag);

/// A tensor as a program declares it. Pointers are the program's.
void describe(const executorch::runtime::TensorInfo& info, executorch_backends_value* out);

/// Empty when `value` fits input `index`, else what disagrees.
std::string mismatch(const executorch::runtime::MethodMeta& meta, size_t index,
                     const executorch_backends_value& value);

/// An input tensor whose metadata lives here; the data is the caller's.
class BorrowedTensor {
 public:
  /// Of a value that fits its input.
  static executorch::runtime::Error make(const executorch_backends_value& value,
                                         BorrowedTensor* out);
  executorch::runtime::EValue value() const {
    return executorch::runtime::EValue(executorch::aten::Tensor(impl_.get()));
  }

 private:
  std::vector<executorch::aten::SizesType> sizes_;
  std::vector<executorch::aten::DimOrderType> dim_order_;
  std::vector<executorch::aten::StridesType> strides_;
  std::unique_ptr<executorch::aten::TensorImpl> impl_;
};

}  // namespace executorch_backends::runtime
