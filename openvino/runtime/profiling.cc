#include "executorch_backends/openvino/runtime/profiling.h"

#include <executorch/runtime/platform/platform.h>

#include <string>

#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/openvino/runtime/ov_objects.h"

namespace executorch_backends::openvino {
namespace {

using executorch::runtime::Error;
using executorch::runtime::kUnsetDelegateDebugIntId;

et_timestamp_t ticks_of(int64_t microseconds) {
  const auto ns_per_tick = executorch::runtime::pal_ticks_to_ns_multiplier();
  return static_cast<et_timestamp_t>(microseconds) * 1000 * ns_per_tick.denominator /
         ns_per_tick.numerator;
}

}  // namespace

Error CallProfile::finish(const std::shared_ptr<const OpenvinoApi>& api,
                          const ov_infer_request_t* request) {
  call_.finish("OpenVINO");
  if (call_.tracer() == nullptr || request == nullptr) return Error::Ok;
  OwnedProfile layers(api);
  ETB_REQUIRE(api->ov_infer_request_get_profiling_info(request, layers.out()) == ov_status_e::OK,
              Internal, "OpenVINO: cannot read the layers' times: %s", api->last_error().c_str());
  et_timestamp_t start = call_.start();
  for (size_t i = 0; i < layers.get().size; ++i) {
    const ov_profiling_info_t& layer = layers.get().profiling_infos[i];
    if (layer.status != ov_profiling_info_t::EXECUTED) continue;
    const std::string metadata = std::string("type=") + layer.node_type +
                                 " exec=" + layer.exec_type +
                                 " cpu_us=" + std::to_string(layer.cpu_time);
    const et_timestamp_t end = start + ticks_of(layer.real_time);
    call_.tracer()->log_profiling_delegate(layer.node_name, kUnsetDelegateDebugIntId, start, end,
                                           metadata.data(), metadata.size());
    start = end;
  }
  return Error::Ok;
}

}  // namespace executorch_backends::openvino
