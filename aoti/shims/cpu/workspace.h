#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "executorch_backends/aoti/shims/common/tensor.h"
#include "executorch_backends/common/checked/checked.h"

namespace executorch_backends::aoti {

/// Memory for the product of `counts` intermediate values of a kernel, uninitialised, kept by the
/// thread for its next use under the same tag. A kernel that calls another must use another tag.
template <class Tag, class T, class... Counts>
T* workspace(Counts... counts) {
  static thread_local std::unique_ptr<Storage> kept;
  size_t bytes = sizeof(T);
  require(((counts >= 0 && !checked::mul(bytes, static_cast<size_t>(counts), &bytes)) && ...),
          "too large: the product of ", Ints{int64_t{counts}...}, " values");
  if (kept == nullptr || kept->bytes() < bytes) {
    kept.reset();
    kept = std::make_unique<Storage>(bytes);
  }
  return reinterpret_cast<T*>(kept->data());
}

}  // namespace executorch_backends::aoti
