#pragma once

#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>

#include "executorch_backends/aoti/shims/shims.h"

namespace executorch_backends::aoti {

/// Why a shim cannot do what it is asked. It never leaves the C interface: see `shim`.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Failure(text.str());
}

/// Throws what the parts say, unless `holds`: what it is, and the two values that disagree.
template <class... Parts>
void require(bool holds, const Parts&... parts) {
  if (__builtin_expect(!holds, false)) fail(parts...);
}

/// Keeps "<name>: <what>" as this thread's error, unless there is one.
void keep_error(const char* name, const char* what) noexcept;

/// The body of every shim: runs it, and turns what it throws into an error code and a text.
template <class Body>
AOTITorchError shim(const char* name, Body&& body) noexcept {
  try {
    body();
    return AOTI_TORCH_SUCCESS;
  } catch (const std::exception& error) {
    keep_error(name, error.what());
  } catch (...) {
    keep_error(name, "an unknown exception");
  }
  return AOTI_TORCH_FAILURE;
}

}  // namespace executorch_backends::aoti
