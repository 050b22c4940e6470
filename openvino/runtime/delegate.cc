#include "executorch_backends/openvino/runtime/delegate.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/openvino/runtime/model.h"
#include "executorch_backends/openvino/runtime/openvino_api.h"

namespace executorch_backends::openvino {
namespace {

using executorch::runtime::ArrayRef;
using executorch::runtime::Backend;
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

constexpr char kBackendId[] = "OpenvinoBackend";

/// Runs `body`; OpenVINO's C API throws nothing, the standard library may.
template <typename Body>
Error guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    ETB_FAIL(MemoryAllocationFailed, "OpenVINO: out of memory");
  } catch (const std::exception& exception) {
    ETB_FAIL(Internal, "OpenVINO: %s", exception.what());
  } catch (...) {
    ETB_FAIL(Internal, "OpenVINO: an exception of an unknown type");
  }
}

/// The text of a runtime option, or an empty one.
Error text_option(const BackendInitContext& context, const char* key, std::string* out) {
  auto value = context.get_runtime_spec<const char*>(key);
  if (value.ok()) {
    *out = *value;
  } else if (value.error() != Error::NotFound) {
    ETB_FAIL(InvalidArgument, "OpenVINO: the option '%s' is not a text", key);
  }
  return Error::Ok;
}

Error check_options(const BackendInitContext& context) {
  for (const auto& option : context.runtime_specs()) {
    ETB_REQUIRE(std::strcmp(option.key, "device") == 0 || std::strcmp(option.key, "library") == 0,
                InvalidArgument,
                "OpenVINO has no runtime option '%s'; its options are device, library", option.key);
  }
  return Error::Ok;
}

Error create(BackendInitContext& context, FreeableBuffer* processed,
             ArrayRef<CompileSpec> compile_specs, std::unique_ptr<Model>* out) {
  ETB_TRY(check_options(context));
  std::string device, library;
  ETB_TRY(text_option(context, "device", &device));
  ETB_TRY(text_option(context, "library", &library));
  for (const CompileSpec& spec : compile_specs) {
    if (device.empty() && std::strcmp(spec.key, "device") == 0) {
      const char* text = static_cast<const char*>(spec.value.buffer);
      // Stock programs end it with a NUL, ours do not.
      device.assign(text, strnlen(text, spec.value.nbytes));
    }
  }
  std::string reason;
  auto api = load_openvino(library, &reason);
  ETB_REQUIRE(api != nullptr, NotFound, "OpenVINO: %s", reason.c_str());
  return Model::create(std::move(api), device, processed, out);
}

class OpenvinoDelegate final : public BackendInterface {
 public:
  // Whether the library can be found is said by init, with a reason, and may change.
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec> compile_specs) const override {
    std::unique_ptr<Model> model;
    const Error error = guarded([&] { return create(context, processed, compile_specs, &model); });
    if (error != Error::Ok) return error;
    return static_cast<DelegateHandle*>(model.release());  // destroy() takes it back
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle,
                Span<EValue*> values) const override {
    return guarded([&]() -> Error {
      ETB_REQUIRE(handle != nullptr, DelegateInvalidHandle, "OpenVINO: the handle is null");
      return static_cast<Model*>(handle)->execute(values);
    });
  }

  void destroy(DelegateHandle* handle) const override {
    std::unique_ptr<Model> model(static_cast<Model*>(handle));
  }
};

Error register_delegate() {
  static OpenvinoDelegate delegate;
  const Error error = executorch::runtime::register_backend(Backend{kBackendId, &delegate});
  if (error != Error::Ok) {
    executorch::runtime::runtime_init();  // for the log, this early
    runtime::log_error(
        __FILE__, __LINE__, __func__,
        runtime::format("executorch_backends' OpenVINO delegate is not in use (error 0x%x): "
                        "another library has registered %s before it. Load ours first, before "
                        "ExecuTorch's Python bindings are imported",
                        static_cast<unsigned>(error), kBackendId));
  }
  return error;
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
