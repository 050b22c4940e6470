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
  if (innermost != nullptr) innermost->add(is_error, message, length);
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

void LogCapture::add(bool is_error, const char* message, size_t length) {
  std::string& lines = is_error ? text_ : notes_;
  if (!lines.empty()) lines += '\n';
  lines.append(message, length);
}

}  // namespace executorch_backends::runtime
