#include "executorch_backends/aoti/runtime/model.h"

#include <string>
#include <utility>

#include "executorch_backends/common/layout/copy_plan.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {
namespace {

using executorch::aten::ScalarType;
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

}  // namespace

Model::Model(Device* device, std::unique_ptr<Container> container, Payload payload,
             RandomState random)
    : device_(device),
      container_(std::move(container)),
      outputs_(std::move(payload.outputs)),
      random_(std::move(random)) {
  for (payload::Value& spec : payload.inputs) {
    inputs_.emplace_back();
    inputs_.back().spec = std::move(spec);
  }
}

Error Model::create(Device* device, std::unique_ptr<Container> container, Payload payload,
                    RandomState random, std::unique_ptr<Model>* out) {
  ETB_REQUIRE(payload.inputs.size() == container->inputs() &&
                  payload.outputs.size() == container->outputs(),
              InvalidProgram,
              "AOTI: the payload declares %zu inputs and %zu outputs, and the program's code has "
              "%zu and %zu",
              payload.inputs.size(), payload.outputs.size(), container->inputs(),
              container->outputs());
  std::unique_ptr<Model> model(
      new Model(device, std::move(container), std::move(payload), std::move(random)));
  ETB_TRY(device->make_stream(&model->stream_));
  *out = std::move(model);
  return Error::Ok;
}

Error Model::take_input(size_t index, const EValue& value) {
  Input& input = inputs_[index];
  OwnedTensor& argument = arguments_[index];
  if (value.isInt()) {
    ETB_REQUIRE(input.spec.type == ScalarType::Long && input.spec.dims.empty(), InvalidArgument,
                "AOTI: input %zu is an int, and the program takes a tensor of rank %zu", index,
                input.spec.dims.size());
    input.integer = value.toInt();
    layout::Layout scalar;
    scalar.item_size = sizeof(input.integer);
    return borrow(&input.integer, sizeof(input.integer), scalar, ScalarType::Long, &argument);
  }
  Given given;
  ETB_TRY(check_input(index, input.spec, value, &given));
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
  return borrow(given.data, given.bytes, given.wanted, input.spec.type, &argument);
}

Error Model::run() {
  executorch_backends_aoti_seed(random_.number);
  ETB_TRY(container_->run(&arguments_, &results_, stream_->native()));
  random_.number = executorch_backends_aoti_random_state();
  return Error::Ok;
}

Error Model::deliver(size_t index, Values values) {
  const payload::Value& spec = outputs_[index];
  EValue* value = values[inputs_.size() + index];
  if (!spec.computed()) {
    const size_t source =
        spec.same_as_input ? *spec.same_as_input : inputs_.size() + *spec.same_as_output;
    ETB_REQUIRE(value->isTensor() && values[source]->isTensor(), InvalidArgument,
                "AOTI: output %zu is to equal a value that is not a tensor", index);
    return assign(index, value->toTensor(), values[source]->toTensor());
  }
  Returned returned;
  ETB_TRY(describe(index, results_[index], &returned));
  Given target;
  if (spec.symbolic_integer) {
    int64_t integer = 0;
    target.data = &integer;
    target.bytes = sizeof(integer);
    target.layout.item_size = sizeof(integer);
    ETB_REQUIRE(returned.type == ScalarType::Long && returned.layout.rank == 0, InvalidProgram,
                "AOTI: output %zu came with rank %zu, and an int was promised", index,
                returned.layout.rank);
    ETB_TRY(copy(index, returned, target));
    *value = EValue(integer);
    return Error::Ok;
  }
  ETB_TRY(shape_output(index, spec, returned, *value, &target));
  return copy(index, returned, target);
}

Error Model::execute(Values values) {
  std::lock_guard<std::mutex> lock(mutex_);
  ETB_REQUIRE(values.size() == inputs_.size() + outputs_.size(), InvalidArgument,
              "AOTI: got %zu values, and the program has %zu inputs and %zu outputs", values.size(),
              inputs_.size(), outputs_.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ETB_REQUIRE(values[i] != nullptr, InvalidArgument, "AOTI: value %zu of the call is null", i);
  }
  arguments_.clear();
  arguments_.resize(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) ETB_TRY(take_input(i, *values[i]));
  ETB_TRY(run());
  for (size_t i = 0; i < outputs_.size(); ++i) ETB_TRY(deliver(i, values));
  results_.clear();
  return Error::Ok;
}

}  // namespace executorch_backends::aoti
