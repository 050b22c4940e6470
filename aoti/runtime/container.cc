#include "executorch_backends/aoti/runtime/container.h"

#include <exception>
#include <utility>

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

}  // namespace

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
      find(*code_, "AOTInductorModelUpdateConstantsFromBlob", &api_.set_constants, &missing) &&
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

Error Container::bytes_of_constants(size_t* out) const {
  size_t count = 0, total = 0;
  bool good = api_.constants(handle_, &count) == 0;
  for (size_t i = 0; good && i < count; ++i) {
    bool folded = false;
    size_t bytes = 0;
    good = api_.constant_is_folded(handle_, i, &folded) == 0 &&
           api_.constant_bytes(handle_, i, &bytes) == 0 &&
           (folded || !checked::add(total, bytes, &total));
  }
  ETB_REQUIRE(good, InvalidProgram, "AOTI: the program's code does not say its constants: %s",
              reason().c_str());
  *out = total;
  return Error::Ok;
}

Error Container::set_constants(const void* bytes, size_t size) {
  size_t needed = 0;
  executorch_backends_aoti_clear_error();
  ETB_TRY(bytes_of_constants(&needed));
  ETB_REQUIRE(needed == size, InvalidProgram,
              "AOTI: the program's code reads %zu bytes of constants, and the payload's weights "
              "have %zu",
              needed, size);
  if (size == 0) return Error::Ok;
  ETB_REQUIRE(api_.set_constants(handle_, static_cast<const uint8_t*>(bytes)) == 0 &&
                  *executorch_backends_aoti_last_error() == '\0',
              Internal, "AOTI: the program's code cannot take its constants: %s", reason().c_str());
  return Error::Ok;
}

Error Container::run(std::vector<OwnedTensor>* inputs, std::vector<OwnedTensor>* outputs,
                     void* stream) {
  raw_inputs_.clear();
  for (OwnedTensor& input : *inputs) raw_inputs_.push_back(input.release());
  raw_outputs_.assign(outputs_, nullptr);
  executorch_backends_aoti_clear_error();
  bool failed = true;
  try {
    failed = api_.run(handle_, raw_inputs_.data(), raw_inputs_.size(), raw_outputs_.data(),
                      raw_outputs_.size(), stream, nullptr) != 0;
  } catch (const std::exception& exception) {  // before its own handlers begin
    executorch_backends_aoti_set_error(exception.what());
  }
  // A program takes its inputs one by one and leaves null; those that an early failure has left
  // are still ours.
  for (size_t i = 0; i < inputs->size(); ++i) (*inputs)[i].reset(raw_inputs_[i]);
  inputs->clear();
  outputs->clear();
  for (AtenTensorHandle& output : raw_outputs_) outputs->emplace_back(output);
  // It ignores what some shims return: those have left a text.
  ETB_REQUIRE(!failed && *executorch_backends_aoti_last_error() == '\0', Internal,
              "AOTI: the run failed: %s", reason().c_str());
  return Error::Ok;
}

}  // namespace executorch_backends::aoti
