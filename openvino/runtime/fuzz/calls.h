/// Calls of the delegate: tensors that fit what a payload declares, and some that do not.
#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "executorch_backends/common/runtime/fuzz/any_tensor.h"
#include "executorch_backends/common/runtime/fuzz/random.h"
#include "executorch_backends/openvino/runtime/payload.h"

namespace executorch_backends::openvino::fuzz {

using executorch_backends::fuzz::AnyTensor;
using executorch_backends::fuzz::Random;

/// The values of one call. Numbers are small, so that int64 ones are in the delegate's range.
class Call {
 public:
  /// Values that `inputs` and `outputs` allow; of a bare blob's, which declares none, of none.
  Call(const std::vector<ValueSpec>& inputs, const std::vector<ValueSpec>& outputs, Random* random);

  /// Makes it wrong somewhere. True where the delegate has to refuse it.
  bool spoil(Random* random);
  /// Puts other numbers where one was too large, into the same memory. False where none was.
  bool mend(Random* random);

  std::vector<executorch::runtime::EValue*> values();
  /// What the inputs' bytes add up to, and the bytes of each value.
  uint8_t sum() const { return sum_; }
  size_t inputs() const { return inputs_.size(); }
  std::vector<std::string> bytes();
  /// Whether one value stands in two places, so that a run may write to what another reads.
  bool aliased() const { return aliased_; }
  /// Whether each input is as it was made.
  bool inputs_are_unchanged();

 private:
  struct Value {
    ValueSpec spec;
    std::unique_ptr<AnyTensor> tensor;  // null for what is no tensor
    executorch::runtime::EValue value;
    std::string before;
    bool absent = false;  // a null pointer
  };
  Value make(const ValueSpec& spec, bool input, Random* random);
  void replace(Value* value, executorch::aten::ScalarType type, std::vector<int32_t> sizes,
               bool has_memory, Random* random);
  /// Puts a number beyond 32 bits into an int64 input. False where none is chosen.
  bool exceed(Random* random);
  void note_inputs();

  std::vector<ValueSpec> inputs_;
  std::vector<Value> values_;
  uint8_t sum_ = 0;
  bool aliased_ = false;
  AnyTensor* beyond_ = nullptr;  // has a number that does not fit
};

}  // namespace executorch_backends::openvino::fuzz
