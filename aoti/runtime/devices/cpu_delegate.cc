// Registers the delegate of programs for the CPU when the library is loaded.
#include "executorch_backends/aoti/runtime/devices/cpu_delegate.h"

#include "executorch_backends/aoti/runtime/delegate.h"
#include "executorch_backends/aoti/runtime/devices/cpu.h"
#include "executorch_backends/common/runtime/delegate.h"

namespace executorch_backends::aoti {
namespace {

executorch::runtime::Error register_cpu() {
  static auto* const delegate = new Delegate(new CpuDevice);  // outlives statics, as handles may
  return runtime::register_delegate("AOTI", "AotiCpuBackend", delegate);
}

const executorch::runtime::Error registration_error = register_cpu();

}  // namespace
}  // namespace executorch_backends::aoti

extern "C" int executorch_backends_aoti_cpu_registration_error(void) {
  return static_cast<int>(executorch_backends::aoti::registration_error);
}
