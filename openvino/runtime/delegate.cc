#include "executorch_backends/openvino/runtime/delegate.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/error.h>

#include <memory>
#include <string>
#include <utility>

#include "executorch_backends/common/runtime/delegate.h"
#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/openvino/runtime/compiled.h"
#include "executorch_backends/openvino/runtime/model.h"
#include "executorch_backends/openvino/runtime/openvino_api.h"
#include "executorch_backends/openvino/runtime/options.h"
#include "executorch_backends/openvino/runtime/payload.h"
#include "executorch_backends/openvino/runtime/weights.h"

namespace executorch_backends::openvino {
namespace {

using executorch::runtime::ArrayRef;
using executorch::runtime::BackendExecutionContext;
using executorch::runtime::BackendInitContext;
using executorch::runtime::BackendInterface;
using executorch::runtime::CompileSpec;
using executorch::runtime::DelegateHandle;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Result;
using executorch::runtime::Span;

constexpr char kName[] = "OpenVINO";
constexpr char kBackendId[] = "OpenvinoBackend";

Error create(const BackendInitContext& context, FreeableBuffer* processed,
             ArrayRef<CompileSpec> compile_specs, std::unique_ptr<Model>* out) {
  Options options;
  ETB_TRY(read_options(compile_specs, context.runtime_specs(), &options));
  std::string reason;
  auto api = load_openvino(options.library, &reason);
  ETB_REQUIRE(api != nullptr, NotFound, "OpenVINO: %s", reason.c_str());
  Payload payload;
  ETB_TRY(parse_payload(processed->data(), processed->size(), &payload));
  std::shared_ptr<const WeightsLease> lease;
  std::shared_ptr<const Weights> weights;
  if (payload.weights) {
    ETB_TRY(lease_weights(context.get_named_data_map(), *payload.weights, &lease));
    weights = lease->weights;
  } else if (!payload.has_envelope) {
    weights = std::make_shared<const Weights>(std::move(*processed));
  }
  std::shared_ptr<const Compiled> compiled;
  ETB_TRY(Compiled::make(std::move(api), options, payload, weights, &compiled));
  if (options.give_back && weights != nullptr && !weights->give_back(&reason)) {
    ETB_NOTE("OpenVINO: the weights stay in memory: %s", reason.c_str());
  }
  if (!compiled->reads_weights()) lease.reset();
  ETB_TRY(Model::create(std::move(compiled), std::move(lease), payload, options.profile, out));
  processed->Free();
  return Error::Ok;
}

class OpenvinoDelegate final : public BackendInterface {
 public:
  // Whether the library can be found is said by init, with a reason, and may change.
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec> compile_specs) const override {
    std::unique_ptr<Model> model;
    const Error error =
        runtime::guarded(kName, [&] { return create(context, processed, compile_specs, &model); });
    if (error != Error::Ok) return error;
    return static_cast<DelegateHandle*>(model.release());  // destroy() takes it back
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle,
                Span<EValue*> values) const override {
    return runtime::guarded(kName, [&]() -> Error {
      ETB_REQUIRE(handle != nullptr, DelegateInvalidHandle, "OpenVINO: the handle is null");
      return static_cast<Model*>(handle)->execute(values, context.event_tracer());
    });
  }

  void destroy(DelegateHandle* handle) const override {
    std::unique_ptr<Model> model(static_cast<Model*>(handle));
  }
};

Error register_delegate() {
  static auto* const delegate = new OpenvinoDelegate;  // handles may be freed after statics are
  return runtime::register_delegate(kName, kBackendId, delegate);
}

const Error registration_error = register_delegate();

}  // namespace
}  // namespace executorch_backends::openvino

extern "C" {

void executorch_backends_openvino_set_library(const char* path) {
  executorch_backends::openvino::set_library_path(path != nullptr ? path : "");
}

int executorch_backends_openvino_registration_error(void) {
  return static_cast<int>(executorch_backends::openvino::registration_error);
}

const char* executorch_backends_openvino_version(void) {
  return executorch_backends::openvino::loaded_version();
}

}  // extern "C"
