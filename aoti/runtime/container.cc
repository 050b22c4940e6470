#include "executorch_backends/aoti/runtime/container.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "executorch_backends/aoti/runtime/constants.h"
#include "executorch_backends/common/checked/checked.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {
namespace {

using executorch::runtime::Error;

template <typename Function>
bool find(const Code& code, const char* name, Function* out, std::string* missing) {
  *out = reinterpret_cast<Function>(code.find(name));
  if (*out == nullptr) *missing = name;
  return *out != nullptr;
}

/// A program returns one handle twice for a value that is two of its outputs: each gets its own,
/// or null where there is no memory for it, which is an error as soon as it is looked at.
void own_repeated_outputs(std::vector<AtenTensorHandle>* outputs) {
  for (auto output = outputs->begin(); output != outputs->end(); ++output) {
    if (*output == nullptr || std::find(outputs->begin(), output, *output) == output) continue;
    AtenTensorHandle own = nullptr;
    if (aoti_torch_new_tensor_handle(*output, &own) != AOTI_TORCH_SUCCESS) own = nullptr;
    *output = own;
  }
}

}  // namespace

Container::Container(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

Error Container::find_api() {
  std::string missing;
  const bool all =
      find(*code_, "AOTInductorModelContainerCreateWithDevice", &api_.create, &missing) &&
      find(*code_, "AOTInductorModelContainerDelete", &api_.destroy, &missing) &&
      find(*code_, "AOTInductorModelContainerGetNumInputs", &api_.inputs, &missing) &&
      find(*code_, "AOTInductorModelContainerGetNumOutputs", &api_.outputs, &missing) &&
      find(*code_, "AOTInductorModelContainerGetNumConstants", &api_.constants, &missing) &&
      find(*code_, "AOTInductorModelContainerGetConstantFromFolded", &api_.constant_is_folded,
           &missing) &&
      find(*code_, "AOTInductorModelContainerGetConstantDataSize", &api_.constant_bytes,
           &missing) &&
      find(*code_, "AOTInductorModelContainerGetConstantName", &api_.constant_name, &missing) &&
      find(*code_, "AOTInductorModelUpdateConstantsFromBlob", &api_.set_constants, &missing) &&
      find(*code_, "AOTInductorModelContainerExtractConstantsMapEntries", &api_.constants_set,
           &missing) &&
      find(*code_, "AOTInductorModelContainerUpdateUserManagedConstantBufferPairs",
           &api_.share_constants, &missing) &&
      find(*code_, "AOTInductorModelContainerRun", &api_.run, &missing) &&
      find(*code_, "AOTInductorGetLastError", &api_.last_error, &missing);
  ETB_REQUIRE(all, DelegateInvalidCompatibility,
              "AOTI: the program's code lacks %s; lower again with this version of "
              "executorch_backends",
              missing.c_str());
  return Error::Ok;
}

std::string Container::reason() const {
  const std::string shims = executorch_backends_aoti_last_error();
  const char* text = nullptr;
  const bool told = api_.last_error(&text) == 0 && text != nullptr && *text != '\0';
  // The program repeats only that a shim has failed, with the place in its generated source.
  if (!shims.empty()) return told ? shims + " (" + text + ")" : shims;
  return told ? text : "no reason is given";
}

Error Container::create(std::shared_ptr<const Code> code, const char* device,
                        std::unique_ptr<Container>* out) {
  std::unique_ptr<Container> container(new Container(std::move(code)));
  ETB_TRY(container->find_api());
  const Api& api = container->api_;
  executorch_backends_aoti_clear_error();
  ETB_REQUIRE(api.create(&container->handle_, 1, device, nullptr) == 0 &&
                  container->handle_ != nullptr &&
                  api.inputs(container->handle_, &container->inputs_) == 0 &&
                  api.outputs(container->handle_, &container->outputs_) == 0,
              Internal, "AOTI: the program's code cannot be set up for '%s': %s", device,
              container->reason().c_str());
  *out = std::move(container);
  return Error::Ok;
}

Container::~Container() {
  if (handle_ == nullptr) return;
  executorch_backends_aoti_clear_error();
  if (api_.destroy(handle_) != 0) {
    ETB_NOTE("AOTI: a program was not freed: %s", reason().c_str());
  }
}

Error Container::list_constants(std::vector<Constant>* out) const {
  size_t count = 0;
  bool good = api_.constants(handle_, &count) == 0;
  for (size_t i = 0; good && i < count; ++i) {
    bool folded = false;
    const char* name = nullptr;
    Constant constant;
    good = api_.constant_is_folded(handle_, i, &folded) == 0 &&
           api_.constant_name(handle_, i, &name) == 0 && name != nullptr &&
           api_.constant_bytes(handle_, i, &constant.bytes) == 0;
    if (!good || folded) continue;
    constant.name = name;
    out->push_back(std::move(constant));
  }
  ETB_REQUIRE(good, InvalidProgram, "AOTI: the program's code does not say its constants: %s",
              reason().c_str());
  return Error::Ok;
}

Error Container::set_constants(const void* bytes, size_t size) {
  std::vector<Constant> all;
  executorch_backends_aoti_clear_error();
  ETB_TRY(list_constants(&all));
  size_t needed = 0;
  bool good = true;
  for (const Constant& each : all) good = good && !checked::add(needed, each.bytes, &needed);
  ETB_REQUIRE(good && needed == size, InvalidProgram,
              "AOTI: the program's code reads %zu bytes of constants, and the payload's weights "
              "have %zu",
              needed, size);
  if (all.empty()) return Error::Ok;
  static constexpr uint8_t kNothing = 0;  // constants without elements are made of it
  const auto* from = bytes != nullptr ? static_cast<const uint8_t*>(bytes) : &kNothing;
  ETB_REQUIRE(
      api_.set_constants(handle_, from) == 0 && *executorch_backends_aoti_last_error() == '\0',
      Internal, "AOTI: the program's code cannot take its constants: %s", reason().c_str());
  return Error::Ok;
}

Error Container::constants(std::vector<Constant>* out) const {
  std::vector<Constant> all;
  executorch_backends_aoti_clear_error();
  ETB_TRY(list_constants(&all));
  const ConstantEntry* entries = nullptr;
  size_t count = 0;
  bool good =
      api_.constants_set(handle_, &entries, &count, /*inactive=*/false) == 0 && count == all.size();
  for (size_t i = 0; good && i < count; ++i) {
    AtenTensorHandle tensor = nullptr;
    good = aoti_torch_new_tensor_handle(entries[i].tensor, &tensor) == AOTI_TORCH_SUCCESS;
    all[i].tensor.reset(tensor);
  }
  ETB_REQUIRE(good, InvalidProgram, "AOTI: the program's code has %zu constants, and shows %zu: %s",
              all.size(), count, reason().c_str());
  *out = std::move(all);
  return Error::Ok;
}

Error Container::share_constants(std::shared_ptr<const Constants> constants) {
  std::vector<ConstantEntry> entries;
  for (const Constant& each : constants->all()) {
    entries.push_back({each.name.c_str(), each.tensor.get()});
  }
  constants_ = std::move(constants);
  executorch_backends_aoti_clear_error();
  ETB_REQUIRE(api_.share_constants(handle_, entries.data(), entries.size(), /*inactive=*/false,
                                   /*all=*/true) == 0 &&
                  *executorch_backends_aoti_last_error() == '\0',
              Internal, "AOTI: the program's code cannot take its constants: %s", reason().c_str());
  return Error::Ok;
}

Error Container::run(std::vector<OwnedTensor>* inputs, std::vector<OwnedTensor>* outputs,
                     void* stream) {
  // What is released below must not be lost to a failed allocation.
  raw_inputs_.assign(inputs->size(), nullptr);
  raw_outputs_.assign(outputs_, nullptr);
  outputs->clear();
  outputs->reserve(outputs_);
  for (size_t i = 0; i < inputs->size(); ++i) raw_inputs_[i] = (*inputs)[i].release();
  executorch_backends_aoti_clear_error();
  bool failed = true;
  try {
    failed = api_.run(handle_, raw_inputs_.data(), raw_inputs_.size(), raw_outputs_.data(),
                      raw_outputs_.size(), stream, nullptr) != 0;
  } catch (const std::exception& exception) {  // before its own handlers begin
    executorch_backends_aoti_set_error(exception.what());
  } catch (...) {
    executorch_backends_aoti_set_error("the program threw an exception of an unknown type");
  }
  // A program takes its inputs one by one and leaves null; those that an early failure has left
  // are still ours.
  for (size_t i = 0; i < inputs->size(); ++i) (*inputs)[i].reset(raw_inputs_[i]);
  inputs->clear();
  own_repeated_outputs(&raw_outputs_);
  for (AtenTensorHandle output : raw_outputs_) outputs->emplace_back(output);
  // It ignores what some shims return: those have left a text.
  ETB_REQUIRE(!failed && *executorch_backends_aoti_last_error() == '\0', Internal,
              "AOTI: the run failed: %s", reason().c_str());
  return Error::Ok;
}

}  // namespace executorch_backends::aoti
