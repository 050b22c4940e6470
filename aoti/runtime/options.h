/// What the caller of a program asks of the delegate.
#pragma once

#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>

#include <cstdint>

namespace executorch_backends::aoti {

struct Options {
  uint64_t seed = 0;   // of random operators: equal seeds give equal numbers
  bool graphs = true;  // work may be recorded and replayed
};

/// Logs and returns InvalidArgument for an option that does not exist or a value that it cannot
/// have. `graphs` exists where the device has work that can be recorded.
executorch::runtime::Error read_options(
    executorch::runtime::Span<const executorch::runtime::BackendOption> runtime_options,
    bool records, Options* out);

}  // namespace executorch_backends::aoti
