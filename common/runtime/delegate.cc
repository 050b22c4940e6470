#include "executorch_backends/common/runtime/delegate.h"

#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstring>
#include <variant>

namespace executorch_backends::runtime {

using executorch::runtime::Backend;
using executorch::runtime::BackendInterface;
using executorch::runtime::BackendOption;
using executorch::runtime::Error;
using executorch::runtime::EventTracer;
using executorch::runtime::kUnsetDelegateDebugIntId;
using executorch::runtime::pal_current_ticks;

Error register_delegate(const char* backend, const char* id, BackendInterface* delegate) {
  const Error error = executorch::runtime::register_backend(Backend{id, delegate});
  if (error != Error::Ok) {
    executorch::runtime::runtime_init();  // for the log, this early
    log_error(__FILE__, __LINE__, __func__,
              format("executorch_backends' %s delegate is not in use (error 0x%x): another library "
                     "has registered %s before it. Load ours first, before ExecuTorch's Python "
                     "bindings are imported",
                     backend, static_cast<unsigned>(error), id));
  }
  return error;
}

std::string text_of(const BackendOption& option) {
  if (const bool* value = std::get_if<bool>(&option.value)) return *value ? "true" : "false";
  if (const int* value = std::get_if<int>(&option.value)) return std::to_string(*value);
  const auto& text = std::get<2>(option.value);
  return std::string(text.data(), strnlen(text.data(), text.size()));
}

CallEvent::CallEvent(EventTracer* tracer) : tracer_(tracer) {
  if (tracer_ != nullptr) start_ = pal_current_ticks();
}

void CallEvent::finish(const char* backend) const {
  if (tracer_ == nullptr) return;
  tracer_->log_profiling_delegate(backend, kUnsetDelegateDebugIntId, start_, pal_current_ticks());
}

}  // namespace executorch_backends::runtime
