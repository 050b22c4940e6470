#include "executorch_backends/openvino/runtime/fuzz/calls.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "executorch_backends/openvino/runtime/element_type.h"
#include "executorch_backends/openvino/runtime/testing/payload_builder.h"

namespace executorch_backends::openvino::fuzz {
namespace {

using executorch::aten::ScalarType;
using executorch::aten::TensorImpl;
using executorch::aten::TensorShapeDynamism;
using executorch::runtime::EValue;
using executorch_backends::fuzz::count;
using executorch_backends::fuzz::order_of;

constexpr ScalarType kTypes[] = {ScalarType::Bool,   ScalarType::Byte,         ScalarType::Char,
                                 ScalarType::Short,  ScalarType::Int,          ScalarType::Long,
                                 ScalarType::Half,   ScalarType::BFloat16,     ScalarType::Float,
                                 ScalarType::Double, ScalarType::UInt16,       ScalarType::UInt32,
                                 ScalarType::UInt64, ScalarType::ComplexFloat, ScalarType::QInt8};

constexpr size_t kMostElements = 4096;

ScalarType scalar_type_of(ov_element_type_e type) {
  for (const ScalarType known : kTypes) {
    if (element_type_of(known) == type) return known;
  }
  return ScalarType::Float;
}

/// Sizes within the bounds, while these are not too large. Those of one number are equal: they are
/// often one size of the program.
std::vector<int32_t> sizes_of(const std::vector<ValueSpec::Bounds>& dims, bool most,
                              Random* random) {
  std::vector<int32_t> sizes;
  for (const ValueSpec::Bounds& bounds : dims) {
    const int64_t low = std::min<int64_t>(bounds.min, 8);
    const int64_t high =
        std::max(low, bounds.max == -1 ? int64_t{8} : std::min<int64_t>(bounds.max, 18));
    const auto range = static_cast<size_t>(high - low + 1);
    sizes.push_back(
        static_cast<int32_t>(most ? high : low + static_cast<int64_t>(random->below(range))));
    if (count(sizes) > kMostElements) sizes.back() = 1;
  }
  return sizes;
}

}  // namespace

Call::Call(const std::vector<ValueSpec>& inputs, const std::vector<ValueSpec>& outputs,
           Random* random)
    : inputs_(inputs) {
  for (const ValueSpec& spec : inputs) values_.push_back(make(spec, true, random));
  for (const ValueSpec& spec : outputs) values_.push_back(make(spec, false, random));
  note_inputs();
}

Call::Value Call::make(const ValueSpec& spec, bool input, Random* random) {
  Value value;
  value.spec = spec;
  // The program may hand in an int.
  if (input && spec.type == I64 && spec.dims.empty() && random->one_in(2)) {
    value.value = EValue(static_cast<int64_t>(random->below(9)));
    return value;
  }
  // What an output needs at most; inputs of one call have any sizes.
  replace(&value, scalar_type_of(spec.type), sizes_of(spec.dims, !input, random), true, random);
  if (input) value.tensor->fill(random);
  return value;
}

void Call::replace(Value* value, ScalarType type, std::vector<int32_t> sizes, bool has_memory,
                   Random* random) {
  static constexpr TensorShapeDynamism kDynamisms[] = {TensorShapeDynamism::DYNAMIC_BOUND,
                                                       TensorShapeDynamism::DYNAMIC_UNBOUND,
                                                       TensorShapeDynamism::STATIC};
  const size_t rank = sizes.size();
  value->tensor = std::make_unique<AnyTensor>(type, std::move(sizes), order_of(rank, random),
                                              random->pick(kDynamisms), has_memory);
  value->value = EValue(value->tensor->tensor());
}

void Call::note_inputs() {
  sum_ = 0;
  for (size_t i = 0; i < values_.size() && i < inputs_.size(); ++i) {
    Value& value = values_[i];
    value.before = value.tensor != nullptr ? value.tensor->bytes() : "";
    std::string added = value.before;
    if (value.value.isInt()) testing::append(&added, value.value.toInt());
    for (const char byte : added) sum_ = static_cast<uint8_t>(sum_ + static_cast<uint8_t>(byte));
  }
}

bool Call::exceed(Random* random) {
  if (inputs_.empty()) return false;
  const size_t index = random->below(std::min(inputs_.size(), values_.size()));
  Value& value = values_[index];
  if (value.tensor == nullptr || value.spec.type != I64) return false;
  const executorch::aten::Tensor tensor = value.tensor->tensor();
  if (tensor.numel() == 0 || tensor.scalar_type() != ScalarType::Long) return false;
  if (tensor.const_data_ptr() == nullptr) return false;
  const size_t at = random->below(static_cast<size_t>(tensor.numel()));
  tensor.mutable_data_ptr<int64_t>()[at] = int64_t{1} << (31 + random->below(32));
  beyond_ = value.tensor.get();
  note_inputs();
  return true;
}

bool Call::spoil(Random* random) {
  if (random->one_in(3) && exceed(random)) return true;
  if (values_.empty() || random->one_in(10)) {  // their number
    if (random->one_in(2) && !values_.empty()) {
      values_.pop_back();
    } else {
      values_.emplace_back();
    }
    return true;
  }
  const size_t index = random->below(values_.size());
  const bool input = index < inputs_.size();
  Value& value = values_[index];
  const ValueSpec& spec = value.spec;
  const ScalarType type = scalar_type_of(spec.type);
  std::vector<int32_t> sizes = sizes_of(spec.dims, false, random);
  bool refused = true;
  switch (random->below(9)) {
    case 0: {
      const ScalarType other = random->pick(kTypes);
      replace(&value, other, std::move(sizes), true, random);
      refused = element_type_of(other) != spec.type;
      break;
    }
    case 1:
      sizes.push_back(1);
      replace(&value, type, std::move(sizes), true, random);
      break;
    case 2:
      refused = !sizes.empty();
      if (!sizes.empty()) sizes.pop_back();
      replace(&value, type, std::move(sizes), true, random);
      break;
    case 3:  // some size; of an output, the run may change it
      if (!sizes.empty()) {
        random->pick(sizes) = random->one_in(3) ? 0 : static_cast<int32_t>(random->below(20));
      }
      replace(&value, type, std::move(sizes), true, random);
      refused = false;
      break;
    case 4:
      value = Value();
      value.value = random->one_in(2) ? EValue() : EValue(0.5);
      break;
    case 5: {
      refused = !input || spec.type != I64 || spec.dims.size() > 1;
      const bool far = random->one_in(2);
      const auto number = static_cast<int64_t>(far ? random->next() : random->below(9));
      refused = refused || number != static_cast<int32_t>(number);
      value = Value();
      value.value = EValue(number);
      break;
    }
    case 6:
      value.absent = true;
      break;
    case 7:  // memory that the program forgot
      replace(&value, type, sizes, false, random);
      refused = count(sizes) != 0;
      break;
    default:  // one value twice
      refused = false;
      if (index + 1 < values_.size()) {
        values_[index + 1].value = value.value;
        aliased_ = true;
      }
  }
  note_inputs();
  return refused;
}

bool Call::mend(Random* random) {
  if (beyond_ == nullptr) return false;
  beyond_->fill(random);
  beyond_ = nullptr;
  note_inputs();
  return true;
}

std::vector<EValue*> Call::values() {
  std::vector<EValue*> all;
  for (Value& value : values_) all.push_back(value.absent ? nullptr : &value.value);
  return all;
}

std::vector<std::string> Call::bytes() {
  std::vector<std::string> all;
  for (Value& value : values_) {
    all.push_back(value.value.isTensor() && value.tensor != nullptr ? value.tensor->bytes() : "");
  }
  return all;
}

bool Call::inputs_are_unchanged() {
  for (size_t i = 0; i < values_.size() && i < inputs_.size(); ++i) {
    Value& value = values_[i];
    if (value.tensor != nullptr && value.tensor->bytes() != value.before) return false;
  }
  return true;
}

}  // namespace executorch_backends::openvino::fuzz
