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
  /// Where an output is after a run. A static one can be in the program's memory, unless it
  /// shares its tensor with an input, which the model passes through, or with another output:
  /// to set that tensor would replace the other's.
  enum class Kept { kByOpenvino, kByProgram };

  /// What a slot of the infer request is bound to, so that an equal call binds nothing.
  struct Slot {
    ValueSpec spec;
    bool bound = false;
    const void* data = nullptr;  // of the tensor
    void* storage = nullptr;     // what was bound: the tensor's data, `staging` or `integer`
    std::vector<int32_t> sizes;
    bool strided = false;  // not in the default dim order: goes through `staging`
    std::vector<uint8_t> staging;
    int64_t integer = 0;            // of an input that is an int
    Kept kept = Kept::kByOpenvino;  // of an output

    bool holds(const executorch::aten::Tensor& tensor) const;
    void take(const executorch::aten::Tensor& tensor);
  };

  explicit Model(std::shared_ptr<const OpenvinoApi> api);

  executorch::runtime::Error import(const Payload& payload, const std::string& device);
  executorch::runtime::Error describe_ports(const Payload& payload);
  executorch::runtime::Error describe_port(bool input, size_t index, ValueSpec* out);
  executorch::runtime::Error bind_input(size_t index, const executorch::runtime::EValue& value);
  executorch::runtime::Error bind_integer(size_t index, int64_t integer);
  executorch::runtime::Error check_range(size_t index, const int64_t* numbers, size_t count) const;
  executorch::runtime::Error bind_output(size_t index, const executorch::runtime::EValue& value);
  executorch::runtime::Error bind(bool input, size_t index, Slot* slot, void* data);
  /// After the first run, in which no output was bound.
  executorch::runtime::Error learn_where_outputs_are();
  executorch::runtime::Error collect_output(size_t index, const executorch::runtime::EValue& value);
  executorch::runtime::Error fetch_output(size_t index, const executorch::runtime::EValue& value);

  std::shared_ptr<const OpenvinoApi> api_;
  // Destroyed from the last to the first: the request before its model, the model before the
  // bytes that it reads.
  std::optional<executorch::runtime::FreeableBuffer> blob_;
  std::shared_ptr<OwnedCore> core_;
  OwnedCompiledModel compiled_;
  OwnedInferRequest request_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  bool learned_ = false;
  std::mutex mutex_;
};

}  // namespace executorch_backends::openvino
