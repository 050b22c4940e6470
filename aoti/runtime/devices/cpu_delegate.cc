// Registers the delegate of programs for the CPU when the library is loaded.
#include "executorch_backends/aoti/runtime/devices/cpu_delegate.h"

#include "executorch_backends/aoti/runtime/delegate.h"
#include "executorch_backends/aoti/runtime/devices/cpu.h"

namespace executorch_backends::aoti {
namespace {

executorch::runtime::Error register_cpu() {
  static CpuDevice device;
  static Delegate delegate(&device);
  return register_delegate("AotiCpuBackend", &delegate);
}

const executorch::runtime::Error registration_error = register_cpu();

}  // namespace
}  // namespace executorch_backends::aoti

extern "C" int executorch_backends_aoti_cpu_registration_error(void) {
  return static_cast<int>(executorch_backends::aoti::registration_error);
}
