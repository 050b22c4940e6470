/// OpenVINO's cores and the devices that they know.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "executorch_backends/openvino/runtime/options.h"
#include "executorch_backends/openvino/runtime/ov_objects.h"

namespace executorch_backends::openvino {

/// The core of the process in which `device` has these properties. The C API's import takes no
/// properties, and one core's would be everybody's; a further core costs a millisecond. Null,
/// with a reason, when it cannot be made; the next call tries again.
std::shared_ptr<const OwnedCore> core_with(const std::shared_ptr<const OpenvinoApi>& api,
                                           const std::string& device, const Properties& properties,
                                           std::string* error);

/// "CPU", "GPU.0"; none where OpenVINO cannot say.
std::vector<std::string> devices_of(const OpenvinoApi& api, const ov_core_t* core);

/// What of a device's name, `AUTO:GPU,CPU`, stands for a device that is none of `devices`.
std::vector<std::string> missing_devices(const std::string& device,
                                         const std::vector<std::string>& devices);

/// `AUTO:GPU,CPU` with the devices that are there, `AUTO:CPU`; empty where that is the same, or
/// where none is left, or for another kind of name: only AUTO leaves the choice to OpenVINO.
std::string with_devices_that_are_there(const std::string& device,
                                        const std::vector<std::string>& devices);

std::string joined(const std::vector<std::string>& names);

}  // namespace executorch_backends::openvino
