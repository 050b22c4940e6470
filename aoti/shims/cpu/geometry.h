#pragma once

#include <cstdint>

#include "executorch_backends/aoti/shims/common/ints.h"

namespace executorch_backends::aoti {

/// Which elements of the input an element of a convolution's output meets; numbers per spatial
/// dimension, of which there are 1 to 3.
struct Geometry {
  Ints stride, padding, dilation;
  bool transposed;
  Ints input, output, kernel;  // sizes

  int64_t rank() const { return kernel.size(); }

  /// The input's coordinate that tap `k` of output `o` reads along `d`; -1 for none.
  int64_t source(int64_t d, int64_t o, int64_t k) const {
    if (!transposed) {
      const int64_t at = o * stride[d] - padding[d] + k * dilation[d];
      return at < input[d] ? at : -1;  // negative ones are below all
    }
    const int64_t at = o + padding[d] - k * dilation[d];
    return at >= 0 && at % stride[d] == 0 && at / stride[d] < input[d] ? at / stride[d] : -1;
  }
};

}  // namespace executorch_backends::aoti
