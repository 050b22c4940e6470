/// A compiled model, the bytes that it reads, and the binding of a call's tensors to it.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/span.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executorch_backends/openvino/runtime/ov_objects.h"
#include "executorch_backends/openvino/runtime/payload.h"

namespace executorch_backends::openvino {

/// OpenVINO's core, one for the process, shared by every model; null with a reason when it
/// cannot be made. The next call tries again.
std::shared_ptr<OwnedCore> shared_core(const std::shared_ptr<const OpenvinoApi>& api,
                                       std::string* error);

/// One delegate handle. `execute` may be called from several threads; calls take turns.
class Model {
 public:
  /// Imports the payload's blob on `device`. Runtimes from 2026.4 on read the blob in place for
  /// as long as the model lives, so it is moved into the model; older ones copy it, and it is
  /// freed here. On failure the error is logged and `*blob` is left to the caller.
  static executorch::runtime::Error create(std::shared_ptr<const OpenvinoApi> api,
                                           const std::string& device,
                                           executorch::runtime::FreeableBuffer* blob,
                                           std::unique_ptr<Model>* out);

  /// Runs on `values`: the inputs, then the outputs, which are resized and filled.
  executorch::runtime::Error execute(
      executorch::runtime::Span<executorch::runtime::EValue*> values);

 private:
  /// What a slot of the infer request is bound to, so that an equal call binds nothing.
  struct Slot {
    ValueSpec spec;
    const void* data = nullptr;
    bool bound = false;
    bool strided = false;  // not in the default dim order: goes through `staging`
    bool fetched = false;  // an output that OpenVINO keeps in a tensor of its own
    bool settled = false;  // an output of which `fetched` is known
    std::vector<int32_t> sizes;
    std::vector<uint8_t> staging;
  };

  explicit Model(std::shared_ptr<const OpenvinoApi> api);

  executorch::runtime::Error import(const Payload& payload, const std::string& device);
  executorch::runtime::Error describe_ports(const Payload& payload);
  executorch::runtime::Error describe_port(bool input, size_t index, ValueSpec* out);
  executorch::runtime::Error bind_input(size_t index, executorch::runtime::EValue* value);
  executorch::runtime::Error bind_output(size_t index, executorch::runtime::EValue* value);
  executorch::runtime::Error bind(bool input, size_t index, Slot* slot, void* data);
  executorch::runtime::Error settle_output(size_t index, executorch::runtime::EValue* value);
  executorch::runtime::Error fetch_output(size_t index, executorch::runtime::EValue* value);

  std::shared_ptr<const OpenvinoApi> api_;
  // Destroyed from the last to the first: the request before its model, the model before the
  // bytes that it reads.
  std::optional<executorch::runtime::FreeableBuffer> blob_;
  std::shared_ptr<OwnedCore> core_;
  OwnedCompiledModel compiled_;
  OwnedInferRequest request_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  std::mutex mutex_;
};

}  // namespace executorch_backends::openvino
