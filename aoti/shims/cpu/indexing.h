#pragma once

#include "executorch_backends/aoti/shims/common/tensor.h"

namespace executorch_backends::aoti {

/// The indices, in row-major order, of the elements that are not zero: int64 [count, rank].
Tensor nonzero(const Tensor& t);

}  // namespace executorch_backends::aoti
