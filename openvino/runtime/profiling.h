/// Calls as events of ExecuTorch's tracer.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/event_tracer.h>

#include <memory>

#include "executorch_backends/common/runtime/delegate.h"
#include "executorch_backends/openvino/runtime/openvino_api.h"

namespace executorch_backends::openvino {

/// The event of one run, `OpenVINO`, from the constructor to `finish`.
class CallProfile {
 public:
  /// A null tracer costs nothing.
  explicit CallProfile(executorch::runtime::EventTracer* tracer) : call_(tracer) {}

  /// Logs the run and, where `request` is not null, an event for each layer that it executed:
  /// named after the layer, with OpenVINO's time of it (the mean of the handle's calls) and
  /// metadata `type=Convolution exec=jit_avx2_f32 cpu_us=12`. OpenVINO does not say when a layer
  /// began: its events lie one after the other from the call's start.
  executorch::runtime::Error finish(const std::shared_ptr<const OpenvinoApi>& api,
                                    const ov_infer_request_t* request);

 private:
  runtime::CallEvent call_;
};

}  // namespace executorch_backends::openvino
