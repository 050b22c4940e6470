#include "executorch_backends/common/runtime/error.h"

#include <executorch/runtime/platform/platform.h>

#include <cstdio>
#include <cstring>

namespace executorch_backends::runtime {

std::string format(const char* text, ...) {
  va_list arguments;
  va_start(arguments, text);
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, text, arguments);
  va_end(arguments);
  std::string out(length < 0 ? 0 : static_cast<size_t>(length), '\0');
  if (!out.empty()) std::vsnprintf(out.data(), out.size() + 1, text, again);
  va_end(again);
  return out;
}

namespace {

void emit(et_pal_log_level_t level, const char* file, int line, const char* function,
          const std::string& message) {
  const char* slash = std::strrchr(file, '/');
  executorch::runtime::pal_emit_log_message(
      executorch::runtime::pal_current_ticks(), level, slash ? slash + 1 : file, function,
      static_cast<size_t>(line), message.c_str(), message.size());
}

}  // namespace

void log_error(const char* file, int line, const char* function, const std::string& message) {
  emit(et_pal_log_level_t::kError, file, line, function, message);
}

void log_note(const char* file, int line, const char* function, const std::string& message) {
  emit(et_pal_log_level_t::kInfo, file, line, function, message);
}

}  // namespace executorch_backends::runtime
