#include "executorch_backends/openvino/runtime/delegate.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>

int main() {
  executorch::runtime::runtime_init();
  const bool there = executorch::runtime::get_backend_class("OpenvinoBackend") != nullptr;
  return there && executorch_backends_openvino_registration_error() == 0 ? 0 : 1;
}
