/// Tensors of any kind, for calls of a delegate.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "executorch_backends/common/runtime/fuzz/random.h"

namespace executorch_backends::fuzz {

/// The product.
size_t count(const std::vector<int32_t>& sizes);
/// Often the default one, else any.
std::vector<uint8_t> order_of(size_t rank, Random* random);

/// A tensor whose bytes end where a sanitizer sees it; freed with the object.
class AnyTensor {
 public:
  /// `order` is a permutation of the dimensions. Without memory where `has_memory` is false.
  AnyTensor(executorch::aten::ScalarType type, std::vector<int32_t> sizes,
            std::vector<uint8_t> order, executorch::aten::TensorShapeDynamism dynamism,
            bool has_memory = true);
  AnyTensor(const AnyTensor&) = delete;
  AnyTensor& operator=(const AnyTensor&) = delete;

  executorch::aten::Tensor tensor() { return executorch::aten::Tensor(impl_.get()); }
  /// Those that its present sizes take.
  std::string bytes();
  void fill(Random* random);

 private:
  std::vector<int32_t> sizes_;
  std::vector<uint8_t> order_;
  std::vector<int32_t> strides_;
  std::unique_ptr<uint8_t[]> data_;
  std::unique_ptr<executorch::aten::TensorImpl> impl_;
};

}  // namespace executorch_backends::fuzz
