/// Errors of our C++ code: logged with what, where and the values that disagreed, then returned.
#pragma once

#include <executorch/runtime/core/error.h>

#include <cstdarg>
#include <string>

namespace executorch_backends::runtime {

/// printf into a string of any length.
std::string format(const char* text, ...) __attribute__((format(printf, 1, 2)));

/// Logs an error through ExecuTorch's platform layer. ET_LOG cuts a message at 256 bytes, and
/// the texts of OpenVINO and of the linker are longer.
void log_error(const char* file, int line, const char* function, const std::string& message);

/// The same for what is no error, and worth knowing: at the level Info.
void log_note(const char* file, int line, const char* function, const std::string& message);

}  // namespace executorch_backends::runtime

/// Logs and returns `code`, an enumerator of executorch::runtime::Error.
#define ETB_FAIL(code, ...)                                                                 \
  do {                                                                                      \
    ::executorch_backends::runtime::log_error(                                              \
        __FILE__, __LINE__, __func__, ::executorch_backends::runtime::format(__VA_ARGS__)); \
    return ::executorch::runtime::Error::code;                                              \
  } while (false)

/// Logs a note.
#define ETB_NOTE(...)                                                    \
  ::executorch_backends::runtime::log_note(__FILE__, __LINE__, __func__, \
                                           ::executorch_backends::runtime::format(__VA_ARGS__))

/// Logs and returns `code` unless `condition` holds.
#define ETB_REQUIRE(condition, code, ...) \
  do {                                    \
    if (!(condition)) {                   \
      ETB_FAIL(code, __VA_ARGS__);        \
    }                                     \
  } while (false)

/// Returns the error of `expression`, which has logged it, unless it is Ok.
#define ETB_TRY(expression)                                              \
  do {                                                                   \
    const ::executorch::runtime::Error etb_error = (expression);         \
    if (etb_error != ::executorch::runtime::Error::Ok) return etb_error; \
  } while (false)
