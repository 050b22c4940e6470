#include "executorch_backends/aoti/runtime/delegate.h"

#include <executorch/runtime/platform/runtime.h>

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "executorch_backends/aoti/runtime/code.h"
#include "executorch_backends/aoti/runtime/container.h"
#include "executorch_backends/aoti/runtime/model.h"
#include "executorch_backends/aoti/runtime/options.h"
#include "executorch_backends/aoti/runtime/payload.h"
#include "executorch_backends/aoti/runtime/program.h"
#include "executorch_backends/aoti/runtime/random_state.h"
#include "executorch_backends/aoti/shims/shims.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {
namespace {

using executorch::runtime::ArrayRef;
using executorch::runtime::BackendExecutionContext;
using executorch::runtime::BackendInitContext;
using executorch::runtime::CompileSpec;
using executorch::runtime::DelegateHandle;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Result;
using executorch::runtime::Span;

/// Runs `body`; what a compiled program or the standard library throws ends here.
template <typename Body>
Error guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    ETB_FAIL(MemoryAllocationFailed, "AOTI: out of memory");
  } catch (const std::exception& exception) {
    ETB_FAIL(Internal, "AOTI: %s", exception.what());
  } catch (...) {
    ETB_FAIL(Internal, "AOTI: an exception of an unknown type");
  }
}

Error check_target(const Device& device, const Payload& payload) {
  ETB_REQUIRE(payload.device == device.name(), InvalidProgram,
              "AOTI: the program was compiled for the device '%s', and this delegate is for '%s'",
              payload.device.c_str(), device.name());
  const std::string shims = std::to_string(executorch_backends_aoti_shims_version());
  ETB_REQUIRE(payload.shims == shims, InvalidProgram,
              "AOTI: the program was linked to version '%s' of the shim library, and this is %s; "
              "lower again, or update executorch_backends",
              payload.shims.c_str(), shims.c_str());
  return device.check_isa(payload.isa);
}

Error create(Device* device, const BackendInitContext& context, FreeableBuffer* processed,
             std::unique_ptr<Model>* out) {
  Options options;
  ETB_TRY(read_options(context.runtime_specs(), &options));
  Payload payload;
  ETB_TRY(parse_payload(processed->data(), processed->size(), &payload));
  ETB_TRY(check_target(*device, payload));
  const auto* data = context.get_named_data_map();
  std::shared_ptr<const Code> code;
  ETB_TRY(Code::load(data, payload.code, &code));
  std::unique_ptr<Container> container;
  ETB_TRY(Container::create(std::move(code), device->container_name(), &container));
  std::optional<FreeableBuffer> weights;
  if (payload.weights) ETB_TRY(read_named_data(data, *payload.weights, "weights", &weights));
  ETB_TRY(
      container->set_constants(weights ? weights->data() : nullptr, weights ? weights->size() : 0));
  weights.reset();  // copied
  std::unique_ptr<Program> program(new Program{
      device, RandomState(data, payload.code.digest, options.seed), std::move(payload.inputs),
      std::move(payload.outputs), options.graphs, std::move(container), nullptr});
  std::unique_ptr<Model> model;
  ETB_TRY(Model::create(std::move(program), &model));
  processed->Free();
  *out = std::move(model);
  return Error::Ok;
}

}  // namespace

Result<DelegateHandle*> Delegate::init(BackendInitContext& context, FreeableBuffer* processed,
                                       ArrayRef<CompileSpec>) const {
  // The compile specs have done their work in the lowering.
  std::unique_ptr<Model> model;
  const Error error = guarded([&] { return create(device_, context, processed, &model); });
  if (error != Error::Ok) return error;
  return static_cast<DelegateHandle*>(model.release());  // destroy() takes it back
}

Error Delegate::execute(BackendExecutionContext&, DelegateHandle* handle,
                        Span<EValue*> values) const {
  return guarded([&]() -> Error {
    ETB_REQUIRE(handle != nullptr, DelegateInvalidHandle, "AOTI: the handle is null");
    return static_cast<Model*>(handle)->execute(values);
  });
}

void Delegate::destroy(DelegateHandle* handle) const {
  std::unique_ptr<Model> model(static_cast<Model*>(handle));
}

Error register_delegate(const char* id, Delegate* delegate) {
  const Error error =
      executorch::runtime::register_backend(executorch::runtime::Backend{id, delegate});
  if (error != Error::Ok) {
    executorch::runtime::runtime_init();  // for the log, this early
    runtime::log_error(
        __FILE__, __LINE__, __func__,
        runtime::format("executorch_backends' AOTI delegate is not in use (error 0x%x): another "
                        "library has registered %s before it",
                        static_cast<unsigned>(error), id));
  }
  return error;
}

}  // namespace executorch_backends::aoti
