#include "executorch_backends/common/runtime/tensors.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch_backends::runtime {

using executorch::aten::SizesType;
using executorch::aten::Tensor;

std::string text_of(const SizesType* sizes, size_t rank) {
  std::string text = "[";
  for (size_t d = 0; d < rank; ++d) text += (d != 0 ? ", " : "") + std::to_string(sizes[d]);
  return text + "]";
}

std::string text_of(const Tensor& tensor) {
  return text_of(tensor.sizes().data(), tensor.sizes().size());
}

bool fits(const Tensor& tensor, const std::vector<payload::Bounds>& dims) {
  if (static_cast<size_t>(tensor.dim()) != dims.size()) return false;
  for (size_t d = 0; d < dims.size(); ++d) {
    const SizesType size = tensor.sizes()[d];
    if (size < dims[d].min || (dims[d].max != -1 && size > dims[d].max)) return false;
  }
  return true;
}

bool layout_of(const Tensor& tensor, layout::Layout* out) {
  return layout::make_layout(tensor.sizes().data(), tensor.strides().data(),
                             static_cast<size_t>(tensor.dim()), 0,
                             executorch::runtime::elementSize(tensor.scalar_type()), out);
}

bool has_memory(const Tensor& tensor) {
  return tensor.nbytes() == 0 || tensor.const_data_ptr() != nullptr;
}

}  // namespace executorch_backends::runtime
