/// What a delegate's payload says, before OpenVINO sees any of it.
#pragma once

#include <executorch/runtime/core/error.h>
#include <openvino/c/ov_common.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "executorch_backends/common/payload/io_table.h"
#include "executorch_backends/common/payload/sections.h"

namespace executorch_backends::openvino {

/// Bytes that belong to someone else.
struct Bytes {
  const uint8_t* data = nullptr;
  size_t size = 0;
};

/// An input or output as the program declares it.
struct ValueSpec {
  ov_element_type_e type = DYNAMIC;
  using Bounds = payload::Bounds;
  std::vector<Bounds> dims;
  // Of an output that is another value unchanged: that input, or that earlier output.
  std::optional<size_t> same_as_input;
  std::optional<size_t> same_as_output;

  /// Whether a dimension may change from call to call.
  bool dynamic() const;
  /// Whether the run computes it; otherwise it is copied.
  bool computed() const { return !same_as_input && !same_as_output; }
};

/// Views into the payload's bytes, except for the texts and specs.
///
///   target   `key=value` lines: backend, device, openvino; with a blob blob_device and isa
///   io       payload::IoTable
///   ir       the model as XML; its constants are ranges of the weights
///   weights  payload::NamedData
///   blob     u32 version 1, u32 0, u64 offset, u64 size: a compiled model inside the weights
///   code     u32 version 1, u32 count, count times {u64 offset, u64 size} of the blob, SHA-256
///            of those ranges
///
/// A bare blob of stock ExecuTorch has none of these: it is its own weights.
struct Payload {
  bool has_envelope = false;
  std::string version;  // of the OpenVINO that made it, `2026.4.1`; stock says it from 2026.4 on
  std::string device;   // the one that it was lowered for
  std::vector<ValueSpec> inputs;
  std::vector<ValueSpec> outputs;
  Bytes ir;

  std::optional<payload::NamedData> weights;  // the digest is for a full check

  struct Blob {
    uint64_t offset = 0;  // in the weights
    uint64_t size = 0;
    std::string device;
    std::string isa;
    Bytes code;  // the section
  };
  std::optional<Blob> blob;
};

/// Reads a payload: an envelope, whose hashes are checked, or, where the magic is absent, a blob
/// alone. Logs and returns InvalidProgram for bytes that are neither.
executorch::runtime::Error parse_payload(const void* data, size_t size, Payload* out);

/// Checks what of the blob is not weights, by the hash in the section `code`. Weights are hashed
/// only by a full check, as `pte run` makes.
executorch::runtime::Error check_code(const Payload::Blob& blob, Bytes weights);

}  // namespace executorch_backends::openvino
