#include "executorch_backends/aoti/runtime/devices/cpu.h"

#include "executorch_backends/aoti/runtime/isa.h"

namespace executorch_backends::aoti {

executorch::runtime::Error CpuDevice::check_isa(const std::string& isa) const {
  return aoti::check_isa(isa, processor_flags());
}

}  // namespace executorch_backends::aoti
