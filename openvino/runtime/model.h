/// A delegate handle: a request to a compiled model, and the binding of a call's tensors to it.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/span.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "executorch_backends/openvino/runtime/compiled.h"
#include "executorch_backends/openvino/runtime/ov_objects.h"
#include "executorch_backends/openvino/runtime/payload.h"
#include "executorch_backends/openvino/runtime/weights.h"

namespace executorch_backends::openvino {

/// `execute` may be called from several threads; calls take turns. Handles that share a compiled
/// model each have a request of their own, so that their states and tensors are apart.
class Model {
 public:
  /// `lease` is null for a program without weights, and for a bare blob.
  static executorch::runtime::Error create(std::shared_ptr<const Compiled> compiled,
                                           std::shared_ptr<const WeightsLease> lease,
                                           const Payload& payload, bool profile,
                                           std::unique_ptr<Model>* out);

  /// Runs on `values`: the inputs, then the outputs, which are resized and filled. The call, and
  /// where `profile` was set its layers, become events of `tracer`, which may be null.
  executorch::runtime::Error execute(executorch::runtime::Span<executorch::runtime::EValue*> values,
                                     executorch::runtime::EventTracer* tracer);

 private:
  /// Where an output is after a run. A static one can be in the program's memory, unless it
  /// shares its tensor with an input or with another output: to set that tensor would replace
  /// the other's. The payload says which outputs are another value, but only where the program
  /// does: OpenVINO finds more of them.
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

  Model(std::shared_ptr<const Compiled> compiled, std::shared_ptr<const WeightsLease> lease,
        bool profile);

  executorch::runtime::Error describe_ports(const Payload& payload);
  executorch::runtime::Error describe_port(bool input, size_t port, ValueSpec* out);
  /// Takes a new model in place of the one that a failed run has spoilt.
  executorch::runtime::Error recover();
  executorch::runtime::Error run(executorch::runtime::EventTracer* tracer);
  executorch::runtime::Error bind_input(size_t index, const executorch::runtime::EValue& value);
  executorch::runtime::Error bind_integer(size_t index, int64_t integer);
  executorch::runtime::Error check_range(size_t index, const int64_t* numbers, size_t count) const;
  executorch::runtime::Error bind_output(size_t index, const executorch::runtime::EValue& value);
  executorch::runtime::Error bind(bool input, size_t index, Slot* slot, void* data);
  /// After the first run, in which no output was bound.
  executorch::runtime::Error learn_where_outputs_are();
  executorch::runtime::Error collect_output(size_t index, const executorch::runtime::EValue& value);
  executorch::runtime::Error fetch_output(size_t index, const executorch::runtime::EValue& value);
  /// An output that is another value: from `values`, which are the call's.
  executorch::runtime::Error copy_output(
      size_t index, executorch::runtime::Span<executorch::runtime::EValue*> values);

  std::shared_ptr<const OpenvinoApi> api_;
  std::shared_ptr<const WeightsLease> lease_;
  bool profile_;
  // Destroyed from the last to the first: the request before its model.
  std::shared_ptr<const Compiled> compiled_;
  OwnedInferRequest request_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  bool learned_ = false;
  bool spoilt_ = false;  // see Compiled::dynamic
  std::mutex mutex_;
};

}  // namespace executorch_backends::openvino
