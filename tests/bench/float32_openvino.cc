// OpenVINO's C library with float32 as the CPU's precision. The wheel's delegate does not ask for
// it, and computes in bfloat16 on a CPU that can, with half the memory for weights: through this
// library both sides do the same work.
#include <dlfcn.h>
#include <openvino/c/openvino.h>

extern "C" __attribute__((visibility("default"))) ov_status_e ov_core_create(ov_core_t** core) {
  const auto create =
      reinterpret_cast<decltype(&ov_core_create)>(dlsym(RTLD_NEXT, "ov_core_create"));
  if (create == nullptr) return ov_status_e::NOT_FOUND;
  const ov_status_e status = create(core);
  if (status != ov_status_e::OK) return status;
  return ov_core_set_property(*core, "CPU", "INFERENCE_PRECISION_HINT", "f32");
}
