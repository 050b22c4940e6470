#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "executorch_backends/aoti/runtime/program.h"
#include "executorch_backends/aoti/runtime/tensors.h"
#include "executorch_backends/common/layout/copy_plan.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {
namespace {

using executorch::runtime::Error;
using executorch::runtime::EValue;

Error copy(size_t index, const Returned& returned, const Given& target) {
  layout::CopyPlan plan;
  std::string reason;
  ETB_REQUIRE(layout::plan_copy(target.layout, returned.layout, &plan, &reason) &&
                  layout::execute(plan, target.data, target.bytes, returned.storage,
                                  returned.storage_bytes, &reason),
              InvalidProgram, "AOTI: cannot copy output %zu: %s", index, reason.c_str());
  return Error::Ok;
}

class InPlaceRunner final : public Runner {
 public:
  explicit InPlaceRunner(std::unique_ptr<Program> program)
      : program_(std::move(program)), inputs_(program_->inputs.size()) {}

  Error execute(Values values) override {
    arguments_.clear();
    arguments_.resize(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) ETB_TRY(take_input(i, *values[i]));
    bool random = false;
    ETB_TRY(program_->run(&arguments_, &results_, &random));
    const Error error = deliver_all(values);
    results_.clear();
    return error;
  }

 private:
  /// What an input needs beside the caller's tensor.
  struct Input {
    std::vector<std::byte> relaid;  // in the layout that the program was compiled for
    int64_t integer = 0;            // of an int
  };

  Error take_input(size_t index, const EValue& value) {
    const payload::Value& spec = program_->inputs[index];
    Input& input = inputs_[index];
    Given given;
    ETB_TRY(check_input(index, spec, value, &input.integer, &given));
    if (!given.as_wanted) {
      layout::CopyPlan plan;
      std::string reason;
      input.relaid.resize(given.bytes);
      ETB_REQUIRE(layout::plan_copy(given.wanted, given.layout, &plan, &reason) &&
                      layout::execute(plan, input.relaid.data(), input.relaid.size(), given.data,
                                      given.bytes, &reason),
                  InvalidArgument, "AOTI: cannot change the dim order of input %zu: %s", index,
                  reason.c_str());
      given.data = input.relaid.data();
    }
    return borrow(given.data, given.bytes, given.wanted, spec.type, &arguments_[index]);
  }

  Error deliver_all(Values values) {
    for (size_t i = 0; i < results_.size(); ++i) ETB_TRY(deliver(i, values));
    return Error::Ok;
  }

  Error deliver(size_t index, Values values) {
    const payload::Value& spec = program_->outputs[index];
    EValue* value = values[inputs_.size() + index];
    Returned returned;
    Given target;
    int64_t integer = 0;
    ETB_TRY(describe(index, results_[index], &returned));
    ETB_TRY(shape_output(index, spec, returned, *value, &integer, &target));
    ETB_TRY(copy(index, returned, target));
    if (spec.symbolic_integer) *value = EValue(integer);
    return Error::Ok;
  }

  std::unique_ptr<Program> program_;
  std::vector<Input> inputs_;
  std::vector<OwnedTensor> arguments_;
  std::vector<OwnedTensor> results_;
};

}  // namespace

std::unique_ptr<Runner> run_in_place(std::unique_ptr<Program> program) {
  return std::make_unique<InPlaceRunner>(std::move(program));
}

}  // namespace executorch_backends::aoti
