#include "executorch_backends/common/runtime/log_capture.h"

#include <executorch/runtime/platform/platform.h>

#include <mutex>

namespace executorch_backends::runtime {
namespace {

thread_local LogCapture* innermost = nullptr;

pal_emit_log_message_method& previous_sink() {
  static pal_emit_log_message_method sink = nullptr;
  return sink;
}

void emit(et_timestamp_t timestamp, et_pal_log_level_t level, const char* file,
          const char* function, size_t line, const char* message, size_t length) {
  const bool is_error = level == et_pal_log_level_t::kError || level == et_pal_log_level_t::kFatal;
  if (innermost != nullptr) {
    // Progress notes of the runtime and its kernels are of no use to a caller that captures.
    if (is_error) innermost->add(message, length);
  }
  // After a fatal message the process ends, and nobody would read the capture.
  if ((innermost == nullptr || level == et_pal_log_level_t::kFatal) && previous_sink() != nullptr) {
    previous_sink()(timestamp, level, file, function, line, message, length);
  }
}

void install() {
  static std::once_flag once;
  std::call_once(once, [] {
    previous_sink() = executorch::runtime::get_pal_impl()->emit_log_message;
    executorch::runtime::register_pal(executorch::runtime::PalImpl::create(emit, __FILE__));
  });
}

}  // namespace

LogCapture::LogCapture() : outer_(innermost) {
  install();
  innermost = this;
}

LogCapture::~LogCapture() { innermost = outer_; }

void LogCapture::add(const char* message, size_t length) {
  if (!text_.empty()) text_ += '\n';
  text_.append(message, length);
}

}  // namespace executorch_backends::runtime
