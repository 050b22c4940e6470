#include "executorch_backends/aoti/shims/common/failure.h"

#include <string>

namespace executorch_backends::aoti {
namespace {

thread_local std::string first_error;

}  // namespace

void keep_error(const char* name, const char* what) noexcept {
  if (!first_error.empty()) return;
  try {
    first_error = std::string(name) + ": " + what;
  } catch (const std::bad_alloc&) {
    first_error = "out of memory";  // short enough to need none
  }
}

}  // namespace executorch_backends::aoti

using executorch_backends::aoti::first_error;

uint32_t executorch_backends_aoti_shims_version() { return 1; }

const char* executorch_backends_aoti_last_error() { return first_error.c_str(); }

void executorch_backends_aoti_clear_error() { first_error.clear(); }

void executorch_backends_aoti_set_error(const char* text) {
  executorch_backends::aoti::shim(__func__, [&] {
    if (first_error.empty() && text != nullptr) first_error = text;
  });
}
