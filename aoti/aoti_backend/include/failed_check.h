#pragma once
// A check that fails keeps its text in the shim library, and ends what was being computed.

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <exception>

namespace executorch_backends {

struct FailedCheck : std::exception {
  const char* what() const noexcept override { return "a check of the program failed"; }
};

[[noreturn]] inline void fail(const char* function, unsigned line, const char* text) {
  aoti_torch_check(false, function, "", line, text);
  throw FailedCheck();
}

}  // namespace executorch_backends

#undef AOTI_TORCH_CHECK
#define AOTI_TORCH_CHECK(condition, text) \
  if (!(condition)) ::executorch_backends::fail(__func__, __LINE__, text)
