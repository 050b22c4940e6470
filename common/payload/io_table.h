/// The section `io` of a payload: what goes into a delegate and what comes out of it.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "executorch_backends/common/payload/envelope.h"

namespace executorch_backends::payload {

/// The sizes that a dimension may have.
struct Bounds {
  int64_t min = 0;
  int64_t max = 0;  // -1: no upper bound
};

/// "[2, 1..4]", for messages.
std::string text_of(const std::vector<Bounds>& dims);

/// An input or output as the program declares it.
struct Value {
  executorch::aten::ScalarType type = executorch::aten::ScalarType::Long;  // also of an int
  bool symbolic_integer = false;  // an int of the program, not a tensor
  std::vector<Bounds> dims;
  // The dimensions from the outermost to the innermost in memory, at export.
  std::vector<uint8_t> dim_order;
  // Of an output that is another value unchanged: that input, or that earlier output.
  std::optional<size_t> same_as_input;
  std::optional<size_t> same_as_output;

  /// Whether a dimension may change from call to call.
  bool dynamic() const;
  /// Whether the run computes it; otherwise it is copied.
  bool computed() const { return !same_as_input && !same_as_output; }
};

///   u32 version 2, u32 inputs, u32 outputs; per value u32 dtype (ExecuTorch's, or 255 for an
///   int), u32 rank, u32 flags (1 dynamic, 2 an input unchanged, 4 equal to an earlier output),
///   u32 which one, rank times {i64 least, i64 most or -1}, rank times u32 dim order
///
/// `backend_common/io_table.py` writes it.
struct IoTable {
  std::vector<Value> inputs;
  std::vector<Value> outputs;

  /// False, with one line in `*error` that names the values which disagree, for bytes that are no
  /// such table; then `*out` is left alone.
  [[nodiscard]] static bool parse(const Section& section, IoTable* out, std::string* error);
};

}  // namespace executorch_backends::payload
