/// Bytes that a payload keeps in ExecuTorch's named data.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>

#include <optional>

#include "executorch_backends/common/payload/sections.h"

namespace executorch_backends::runtime {

/// The bytes that `wanted` names, of the size that it says. `what` they are, "weights", and the
/// backend's name are for messages. Logs and returns InvalidProgram where the data lack them.
executorch::runtime::Error read_named_data(const char* backend,
                                           const executorch::runtime::NamedDataMap* programs_data,
                                           const payload::NamedData& wanted, const char* what,
                                           std::optional<executorch::runtime::FreeableBuffer>* out);

}  // namespace executorch_backends::runtime
