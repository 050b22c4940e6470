/// What a delegate's payload says, before any of its code is loaded.
#pragma once

#include <executorch/runtime/core/error.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "executorch_backends/common/payload/io_table.h"
#include "executorch_backends/common/payload/sections.h"

namespace executorch_backends::aoti {

/// An envelope with these sections:
///
///   target   `key=value` lines: backend=aoti, device, isa, torch, shims
///   io       payload::IoTable
///   code     payload::NamedData: a shared library that AOTInductor wrote
///   weights  payload::NamedData: its constants, one after the other; absent when it has none
struct Payload {
  std::string device;  // `cpu`
  std::string isa;     // `avx2`, `avx512` or `native:` and the processor's flags
  std::string shims;   // the version of shims.h that the code was linked to
  std::vector<payload::Value> inputs;
  std::vector<payload::Value> outputs;  // the code returns each of them
  payload::NamedData code;
  std::optional<payload::NamedData> weights;
};

/// Reads a payload, whose hashes are checked. Logs and returns InvalidProgram for bytes that are
/// none.
executorch::runtime::Error parse_payload(const void* data, size_t size, Payload* out);

}  // namespace executorch_backends::aoti
