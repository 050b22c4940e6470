/// The processor that this process runs on.
#pragma once

#include <executorch/runtime/core/error.h>

#include <string>

#include "executorch_backends/aoti/runtime/devices/device.h"

namespace executorch_backends::aoti {

class CpuDevice final : public Device {
 public:
  const char* name() const override { return "cpu"; }
  const char* container_name() const override { return "cpu"; }
  executorch::runtime::Error check_isa(const std::string& isa) const override;
};

}  // namespace executorch_backends::aoti
