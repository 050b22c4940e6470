/// What a delegate's payload says, before OpenVINO sees any of it.
#pragma once

#include <executorch/runtime/core/error.h>
#include <openvino/c/ov_common.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace executorch_backends::openvino {

/// An input or output as the program declares it.
struct ValueSpec {
  ov_element_type_e type = DYNAMIC;
  bool symbolic_integer = false;  // an int of the program, not a tensor
  struct Bounds {
    int64_t min = 0;
    int64_t max = 0;  // -1: no upper bound
  };
  std::vector<Bounds> dims;

  /// Whether a dimension may change from call to call.
  bool dynamic() const;
};

/// Views into the payload's bytes, except for the texts and specs.
struct Payload {
  const void* blob = nullptr;
  size_t blob_size = 0;
  // What compiled the blob. One of stock ExecuTorch says the first two from OpenVINO 2026.4 on.
  std::string version;  // `2026.4.1`
  std::string isa;
  std::string device;
  // Of an envelope of ours; a blob of stock ExecuTorch has none.
  bool has_envelope = false;
  std::vector<ValueSpec> inputs;
  std::vector<ValueSpec> outputs;
};

/// Reads a payload: an envelope with the sections target, io and blob, whose hashes are checked,
/// or, where the magic is absent, a blob alone. Logs and returns InvalidProgram for bytes that
/// are neither.
executorch::runtime::Error parse_payload(const void* data, size_t size, Payload* out);

}  // namespace executorch_backends::openvino
