#include "executorch_backends/common/runtime/fuzz/any_tensor.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace executorch_backends::fuzz {

using executorch::aten::ScalarType;
using executorch::aten::TensorImpl;
using executorch::aten::TensorShapeDynamism;

size_t count(const std::vector<int32_t>& sizes) {
  size_t elements = 1;
  for (const int32_t size : sizes) elements *= static_cast<size_t>(size);
  return elements;
}

std::vector<uint8_t> order_of(size_t rank, Random* random) {
  std::vector<uint8_t> order(rank);
  std::iota(order.begin(), order.end(), uint8_t{0});
  if (random->one_in(3)) {
    for (size_t d = rank; d > 1; --d) std::swap(order[d - 1], order[random->below(d)]);
  }
  return order;
}

AnyTensor::AnyTensor(ScalarType type, std::vector<int32_t> sizes, std::vector<uint8_t> order,
                     TensorShapeDynamism dynamism, bool has_memory)
    : sizes_(std::move(sizes)), order_(std::move(order)), strides_(sizes_.size()) {
  int32_t stride = 1;
  for (size_t place = order_.size(); place-- > 0;) {
    strides_[order_[place]] = stride;
    stride *= std::max(sizes_[order_[place]], 1);
  }
  const size_t bytes = count(sizes_) * executorch::runtime::elementSize(type);
  if (has_memory) data_.reset(new uint8_t[bytes]());
  impl_ = std::make_unique<TensorImpl>(type, static_cast<ssize_t>(sizes_.size()), sizes_.data(),
                                       data_.get(), order_.data(), strides_.data(), dynamism);
}

std::string AnyTensor::bytes() {
  if (data_ == nullptr) return "";
  return std::string(reinterpret_cast<const char*>(data_.get()), impl_->nbytes());
}

void AnyTensor::fill(Random* random) {
  if (data_ == nullptr) return;
  const size_t item = executorch::runtime::elementSize(impl_->scalar_type());
  std::memset(data_.get(), 0, impl_->nbytes());
  for (size_t i = 0; i < impl_->nbytes(); i += item) {
    data_[i] = static_cast<uint8_t>(random->below(2));
  }
}

}  // namespace executorch_backends::fuzz
