#include "executorch_backends/aoti/runtime/fuzz/trial.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "executorch_backends/aoti/runtime/delegate.h"
#include "executorch_backends/aoti/runtime/payload.h"
#include "executorch_backends/aoti/runtime/testing/test_device.h"
#include "executorch_backends/common/runtime/delegate.h"
#include "executorch_backends/common/runtime/fuzz/any_tensor.h"
#include "executorch_backends/common/runtime/log_capture.h"

namespace executorch_backends::aoti::fuzz {
namespace {

namespace et = executorch::runtime;

using executorch::aten::ScalarType;
using executorch::aten::TensorShapeDynamism;
using executorch_backends::fuzz::AnyTensor;
using testing::DelegateDriver;
using testing::TestDevice;
using testing::TestProgram;

constexpr ScalarType kTypes[] = {ScalarType::Bool, ScalarType::Byte,        ScalarType::Long,
                                 ScalarType::Half, ScalarType::Float,       ScalarType::Double,
                                 ScalarType::Int,  ScalarType::ComplexFloat};
constexpr size_t kMostElements = 4096;

std::atomic<int> containers{0};

TestDevice& device() {
  static auto* const made = new TestDevice;
  return *made;
}

const char* backend(bool on_test_device) {
  if (!on_test_device) return "AotiCpuBackend";
  static auto* const delegate = new Delegate(&device());
  static const et::Error error = runtime::register_delegate("AOTI", "AotiTestBackend", delegate);
  return error == et::Error::Ok ? "AotiTestBackend" : "";
}

/// Sizes within the bounds, while these are not too large.
std::vector<int32_t> sizes_of(const std::vector<payload::Bounds>& dims, bool most, Random* random) {
  std::vector<int32_t> sizes;
  for (const payload::Bounds& bounds : dims) {
    const int64_t low = std::min<int64_t>(bounds.min, 8);
    const int64_t high =
        std::max(low, bounds.max == -1 ? int64_t{8} : std::min<int64_t>(bounds.max, 18));
    const auto range = static_cast<size_t>(high - low + 1);
    sizes.push_back(
        static_cast<int32_t>(most ? high : low + static_cast<int64_t>(random->below(range))));
    if (executorch_backends::fuzz::count(sizes) > kMostElements) sizes.back() = 1;
  }
  return sizes;
}

/// The values of one call.
class Call {
 public:
  Call(const Payload& declared, Random* random) : declared_(declared) {
    for (const payload::Value& spec : declared.inputs) add(spec, true, random);
    for (const payload::Value& spec : declared.outputs) add(spec, false, random);
    note_inputs();
  }

  /// Makes it wrong somewhere. True where the delegate has to refuse it.
  bool spoil(Random* random) {
    if (values_.empty() || random->one_in(10)) {
      if (values_.empty() || random->one_in(2)) {
        add({}, true, random);
      } else {
        values_.pop_back();
      }
      return true;
    }
    const size_t index = random->below(values_.size());
    const bool input = index < declared_.inputs.size();
    const payload::Value& spec =
        input ? declared_.inputs[index] : declared_.outputs[index - declared_.inputs.size()];
    if (spec.symbolic_integer) return false;
    Value& value = values_[index];
    std::vector<int32_t> sizes = sizes_of(spec.dims, false, random);
    bool refused = true;
    switch (random->below(6)) {
      case 0: {
        const ScalarType other = random->pick(kTypes);
        refused = other != spec.type;
        set(&value, other, std::move(sizes), true, random);
        break;
      }
      case 1:
        sizes.push_back(1);
        set(&value, spec.type, std::move(sizes), true, random);
        break;
      case 2:
        value.tensor.reset();
        value.value = random->one_in(2) ? et::EValue() : et::EValue(0.5);
        break;
      case 3:
        value.absent = true;
        break;
      case 4:
        refused = input && executorch_backends::fuzz::count(sizes) != 0;
        set(&value, spec.type, std::move(sizes), false, random);
        break;
      default:  // some size
        refused = false;
        if (!sizes.empty()) random->pick(sizes) = static_cast<int32_t>(random->below(20));
        set(&value, spec.type, std::move(sizes), true, random);
    }
    note_inputs();
    return refused;
  }

  std::vector<et::EValue*> values() {
    std::vector<et::EValue*> all;
    for (Value& value : values_) all.push_back(value.absent ? nullptr : &value.value);
    return all;
  }
  bool inputs_are_unchanged() {
    for (size_t i = 0; i < values_.size() && i < declared_.inputs.size(); ++i) {
      const Value& value = values_[i];
      if (value.tensor != nullptr && value.tensor->bytes() != value.before) return false;
    }
    return true;
  }

  /// Input 0 as the program sees it; none where it is no f32.
  std::vector<float> memory() {
    if (declared_.inputs.empty() || values_[0].tensor == nullptr) return {};
    const auto tensor = values_[0].tensor->tensor();
    if (tensor.scalar_type() != ScalarType::Float) return {};
    // In the order that the program was compiled for.
    const std::vector<uint8_t>& order = declared_.inputs[0].dim_order;
    std::vector<float> all(static_cast<size_t>(tensor.numel()));
    for (size_t i = 0; i < all.size(); ++i) {
      size_t left = i, place = 0;
      for (size_t d = order.size(); d-- > 0;) {
        const auto size = static_cast<size_t>(tensor.size(order[d]));
        place += left % size * static_cast<size_t>(tensor.strides()[order[d]]);
        left /= size;
      }
      all[i] = tensor.const_data_ptr<float>()[place];
    }
    return all;
  }
  int64_t rows() {
    if (declared_.inputs.empty() || values_[0].tensor == nullptr) return 0;
    const auto tensor = values_[0].tensor->tensor();
    return tensor.dim() != 0 ? tensor.size(0) : 0;
  }
  bool has_input() const { return !declared_.inputs.empty(); }

  /// An f32 output in logical order, or none.
  std::optional<std::vector<float>> result(size_t index) {
    Value& value = values_[declared_.inputs.size() + index];
    if (value.tensor == nullptr) return std::nullopt;
    const auto tensor = value.tensor->tensor();
    if (tensor.scalar_type() != ScalarType::Float) return std::nullopt;
    std::vector<float> all(static_cast<size_t>(tensor.numel()));
    for (size_t i = 0; i < all.size(); ++i) {
      size_t left = i, place = 0;
      for (ssize_t d = tensor.dim(); d-- > 0;) {
        const auto size = static_cast<size_t>(tensor.size(d));
        place += left % size * static_cast<size_t>(tensor.strides()[static_cast<size_t>(d)]);
        left /= size;
      }
      all[i] = tensor.const_data_ptr<float>()[place];
    }
    return all;
  }

 private:
  struct Value {
    std::unique_ptr<AnyTensor> tensor;  // null for what is no tensor
    et::EValue value;
    std::string before;
    bool absent = false;  // a null pointer
  };

  void add(const payload::Value& spec, bool input, Random* random) {
    values_.emplace_back();
    Value& value = values_.back();
    if (spec.symbolic_integer) {
      if (input) value.value = et::EValue(static_cast<int64_t>(random->next()));
      return;
    }
    set(&value, spec.type, sizes_of(spec.dims, !input, random), true, random);
    if (input) value.tensor->fill(random);
    if (!input || value.tensor->tensor().scalar_type() != ScalarType::Float) return;
    auto* numbers = value.tensor->tensor().mutable_data_ptr<float>();
    for (ssize_t i = 0; i < value.tensor->tensor().numel(); ++i) {
      numbers[i] = static_cast<float>(random->below(1000));
    }
  }
  static void set(Value* value, ScalarType type, std::vector<int32_t> sizes, bool has_memory,
                  Random* random) {
    // Of outputs, so that a run can say their sizes; a size that does not fit is an error.
    static constexpr TensorShapeDynamism kDynamisms[] = {TensorShapeDynamism::DYNAMIC_BOUND,
                                                         TensorShapeDynamism::DYNAMIC_UNBOUND};
    const size_t rank = sizes.size();
    value->tensor = std::make_unique<AnyTensor>(type, std::move(sizes),
                                                executorch_backends::fuzz::order_of(rank, random),
                                                random->pick(kDynamisms), has_memory);
    value->value = et::EValue(value->tensor->tensor());
  }
  void note_inputs() {
    for (size_t i = 0; i < values_.size() && i < declared_.inputs.size(); ++i) {
      values_[i].before = values_[i].tensor != nullptr ? values_[i].tensor->bytes() : "";
    }
  }

  const Payload& declared_;
  std::vector<Value> values_;
};

/// Compares what a good call gave with what its program computes.
void compare(const Case& tried, const Payload& declared, Call* call, Outcome* outcome) {
  if (!tried.code_is_intact) return;
  const std::vector<float> memory = call->memory();
  if (call->has_input() && memory.empty()) return;
  const auto weights = tried.built.data.find(testing::kWeightsKey);
  const bool has_weights = declared.weights && weights != tried.built.data.end();
  const uint8_t added = has_weights && !weights->second.empty()
                            ? static_cast<uint8_t>(weights->second[0])
                            : uint8_t{0};
  const Oracle oracle(tried.recipe.script, memory, call->rows(), added);
  for (size_t i = 0; i < declared.outputs.size(); ++i) {
    const auto expected = oracle.output(i), actual = call->result(i);
    if (!expected || !actual) continue;
    ++outcome->compared;
    if (*expected != *actual) outcome->failure = "output " + std::to_string(i) + " is wrong";
  }
}

void call_once(const DelegateDriver::Handle& handle, const Case& tried, const Payload& declared,
               bool on_test_device, bool vary, DelegateDriver* driver, Random* random,
               Outcome* outcome) {
  static const char* const kCalls[] = {"allocate", "upload",        "download",    "copy",
                                       "launch",   "begin_capture", "end_capture", "synchronise"};
  Call call(declared, random);
  const bool refused = vary && random->one_in(4) && call.spoil(random);
  if (on_test_device && vary && random->one_in(4)) {
    device().fail(random->pick(kCalls), static_cast<int>(random->below(4)));
  }
  ++outcome->calls;
  const et::Error error = driver->execute(handle, call.values());
  if (error == et::Error::Ok) {
    ++outcome->executed;
    if (refused) outcome->failure = "a call that has to be refused is not";
    if (!refused) compare(tried, declared, &call, outcome);
  } else {
    outcome->log = driver->log();
    if (outcome->log.empty()) outcome->failure = "an error without a text";
    if (outcome->log.find("AOTI: an exception of an unknown type") != std::string::npos)
      outcome->failure = outcome->log;
  }
  if (!call.inputs_are_unchanged()) outcome->failure = "an input is written";
}

}  // namespace

Outcome run(const Case& tried, bool on_test_device, bool vary, Random* random) {
  setenv(testing::kFakeContainersVariable,
         std::to_string(reinterpret_cast<uintptr_t>(&containers)).c_str(), 1);
  DelegateDriver driver(backend(on_test_device));
  device().reset();
  device().set_others_first(random->one_in(2));
  Outcome outcome;
  Payload declared;
  {
    runtime::LogCapture capture;
    const std::string& bytes = tried.built.payload;
    outcome.validated = parse_payload(bytes.data(), bytes.size(), &declared) == et::Error::Ok;
  }
  TestProgram program(tried.built);
  {
    std::vector<et::BackendOption> options;
    if (vary && on_test_device && random->one_in(8)) {
      options.push_back(DelegateDriver::value_option("graphs", random->one_in(2)));
    }
    if (vary && random->one_in(16)) {
      options.push_back(DelegateDriver::value_option("seed", static_cast<int>(random->next())));
    }
    const auto handle = driver.init(program.buffer(), &program.data(), options);
    outcome.loaded = handle != nullptr;
    outcome.log = driver.log();
    if (!outcome.loaded && outcome.log.empty()) outcome.failure = "a refusal without a text";
    if (outcome.loaded && !outcome.validated) outcome.failure = "loads what it cannot read";
    for (size_t i = 0; outcome.loaded && i < 8 && outcome.failure.empty(); ++i) {
      call_once(handle, tried, declared, on_test_device, vary, &driver, random, &outcome);
    }
  }
  if (containers != 0) outcome.failure = "a container is left";
  if (device().live_bytes() != 0) outcome.failure = "memory of the device is left";
  for (const std::string& fault : device().faults()) outcome.failure = fault;
  if (program.data().freed() != program.data().reads()) outcome.failure = "named data are left";
  return outcome;
}

}  // namespace executorch_backends::aoti::fuzz
