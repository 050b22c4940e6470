#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "executorch_backends/aoti/shims/common/tensor.h"

namespace executorch_backends::aoti {

/// Memory for intermediate values of a kernel, uninitialised, kept by the thread for its next use
/// under the same tag. A kernel that calls another must use another tag.
template <class Tag, class T>
T* workspace(int64_t count) {
  static thread_local std::unique_ptr<Storage> kept;
  const size_t bytes = static_cast<size_t>(count) * sizeof(T);
  if (kept == nullptr || kept->bytes() < bytes) {
    kept.reset();
    kept = std::make_unique<Storage>(bytes);
  }
  return reinterpret_cast<T*>(kept->data());
}

}  // namespace executorch_backends::aoti
