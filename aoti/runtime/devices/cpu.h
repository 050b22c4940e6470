/// The processor that this process runs on.
#pragma once

#include "executorch_backends/aoti/runtime/devices/device.h"

namespace executorch_backends::aoti {

class CpuDevice : public Device {
 public:
  const char* name() const override { return "cpu"; }
  const char* container_name() const override { return "cpu"; }
  executorch::runtime::Error check_isa(const std::string& isa) const override;
  bool shares_memory() const override { return true; }
  executorch::runtime::Error allocate(size_t bytes, void** out) override;
  void release(void* memory) override;
  executorch::runtime::Error make_stream(std::unique_ptr<Stream>* out) override;
};

}  // namespace executorch_backends::aoti
