#include "executorch_backends/aoti/runtime/delegate.h"

#include <executorch/runtime/core/named_data_map.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "executorch_backends/aoti/runtime/code.h"
#include "executorch_backends/aoti/runtime/constants.h"
#include "executorch_backends/aoti/runtime/container.h"
#include "executorch_backends/aoti/runtime/model.h"
#include "executorch_backends/aoti/runtime/options.h"
#include "executorch_backends/aoti/runtime/payload.h"
#include "executorch_backends/aoti/runtime/program.h"
#include "executorch_backends/aoti/runtime/random_state.h"
#include "executorch_backends/aoti/shims/shims.h"
#include "executorch_backends/common/runtime/delegate.h"
#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/common/runtime/named_data.h"
#include "executorch_backends/common/runtime/shared_values.h"

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
using executorch::runtime::NamedDataMap;
using executorch::runtime::Result;
using executorch::runtime::Span;

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

/// Gives the container its constants: those that other handles of the program have, if there are
/// any. An accelerator's containers copy them to its memory.
Error set_constants(Device* device, const NamedDataMap* data, const Payload& payload,
                    const std::shared_ptr<const Code>& code, Container* container) {
  if (!payload.weights || payload.weights->size == 0) return container->set_constants(nullptr, 0);
  const payload::NamedData& wanted = *payload.weights;
  std::optional<FreeableBuffer> weights;
  if (device->accelerator() != nullptr) {
    ETB_TRY(runtime::read_named_data("AOTI", data, wanted, "weights", &weights));
    return container->set_constants(weights->data(), weights->size());
  }
  using Key = std::tuple<const NamedDataMap*, payload::Digest, std::string, uint64_t>;
  static auto* const shared = new runtime::SharedValues<Key, const Constants>;
  std::shared_ptr<const Constants> constants;
  const auto make = [&](std::shared_ptr<const Constants>* out) {
    ETB_TRY(runtime::read_named_data("AOTI", data, wanted, "weights", &weights));
    std::unique_ptr<Container> probe;
    ETB_TRY(Container::create(code, device->container_name(), &probe));
    return Constants::make(std::move(probe), std::move(*weights), out);
  };
  ETB_TRY(shared->get({data, payload.code.digest, wanted.key, wanted.size}, make, &constants));
  return container->share_constants(std::move(constants));
}

Error create(Device* device, const BackendInitContext& context, FreeableBuffer* processed,
             std::unique_ptr<Model>* out) {
  Options options;
  const bool records = device->accelerator() != nullptr;
  ETB_TRY(read_options(context.runtime_specs(), records, &options));
  Payload payload;
  ETB_TRY(parse_payload(processed->data(), processed->size(), &payload));
  ETB_TRY(check_target(*device, payload));
  const NamedDataMap* data = context.get_named_data_map();
  std::shared_ptr<const Code> code;
  ETB_TRY(Code::load(data, payload.code, &code));
  std::unique_ptr<Container> container;
  ETB_TRY(Container::create(code, device->container_name(), &container));
  ETB_TRY(set_constants(device, data, payload, code, container.get()));
  std::unique_ptr<Program> program(
      new Program{device->accelerator(), RandomState(data, payload.code.digest, options.seed),
                  std::move(payload.inputs), std::move(payload.outputs), options.graphs,
                  std::move(container), nullptr});
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
  const Error error =
      runtime::guarded("AOTI", [&] { return create(device_, context, processed, &model); });
  if (error != Error::Ok) return error;
  return static_cast<DelegateHandle*>(model.release());  // destroy() takes it back
}

Error Delegate::execute(BackendExecutionContext& context, DelegateHandle* handle,
                        Span<EValue*> values) const {
  return runtime::guarded("AOTI", [&]() -> Error {
    ETB_REQUIRE(handle != nullptr, DelegateInvalidHandle, "AOTI: the handle is null");
    return static_cast<Model*>(handle)->execute(values, context.event_tracer());
  });
}

void Delegate::destroy(DelegateHandle* handle) const {
  std::unique_ptr<Model> model(static_cast<Model*>(handle));
}

}  // namespace executorch_backends::aoti
