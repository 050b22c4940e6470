/// OpenVINO's C API, found at run time.
#pragma once

#include <openvino/c/openvino.h>

#include <memory>
#include <string>

#include "executorch_backends/common/runtime/library_loader.h"

namespace executorch_backends::openvino {

/// Every function that the delegate calls.
#define EXECUTORCH_BACKENDS_OPENVINO_FUNCTIONS(X) \
  X(ov_available_devices_free)                    \
  X(ov_compiled_model_create_infer_request)       \
  X(ov_compiled_model_free)                       \
  X(ov_compiled_model_input_by_index)             \
  X(ov_compiled_model_inputs_size)                \
  X(ov_compiled_model_output_by_index)            \
  X(ov_compiled_model_outputs_size)               \
  X(ov_core_compile_model)                        \
  X(ov_core_create)                               \
  X(ov_core_free)                                 \
  X(ov_core_get_available_devices)                \
  X(ov_core_import_model)                         \
  X(ov_core_read_model_from_memory_buffer)        \
  X(ov_core_set_property)                         \
  X(ov_free)                                      \
  X(ov_get_last_err_msg)                          \
  X(ov_get_openvino_version)                      \
  X(ov_infer_request_free)                        \
  X(ov_infer_request_get_output_tensor_by_index)  \
  X(ov_infer_request_get_profiling_info)          \
  X(ov_infer_request_infer)                       \
  X(ov_infer_request_set_input_tensor_by_index)   \
  X(ov_infer_request_set_output_tensor_by_index)  \
  X(ov_model_free)                                \
  X(ov_output_const_port_free)                    \
  X(ov_partial_shape_free)                        \
  X(ov_port_get_element_type)                     \
  X(ov_port_get_partial_shape)                    \
  X(ov_profiling_info_list_free)                  \
  X(ov_shape_free)                                \
  X(ov_tensor_create_from_host_ptr)               \
  X(ov_tensor_data)                               \
  X(ov_tensor_free)                               \
  X(ov_tensor_get_byte_size)                      \
  X(ov_tensor_get_shape)                          \
  X(ov_version_free)

/// The version of a runtime or of a blob, `2026.4.1`.
struct Version {
  int year = 0;
  int minor = 0;
  std::string text;

  /// Reads `2026.4.1-22982-e213a147257-releases/2026/4`; year 0 when it is no version.
  static Version parse(const std::string& build_number);

  /// From 2026.4 on a blob is read in place for as long as the compiled model lives, and is
  /// bound to the version that wrote it.
  bool binds_blobs() const { return year > 2026 || (year == 2026 && minor >= 4); }
};

/// The loaded library. Its function members bear the C functions' names.
struct OpenvinoApi {
#define EXECUTORCH_BACKENDS_DECLARE(name) decltype(&::name) name = nullptr;
  EXECUTORCH_BACKENDS_OPENVINO_FUNCTIONS(EXECUTORCH_BACKENDS_DECLARE)
#undef EXECUTORCH_BACKENDS_DECLARE

  std::unique_ptr<runtime::Library> library;
  Version version;

  /// OpenVINO's text for the last failure; never empty.
  std::string last_error() const;
};

/// Where the library is looked for, from now on: `path`, then OPENVINO_LIB_PATH, then the names
/// that the dynamic linker knows. Has no effect on a library that is loaded already.
void set_library_path(const std::string& path);

/// The library, loaded by the first call that can load it; null with a reason otherwise. Where a
/// path is preferred, no other is tried. A failure is not remembered: the next call looks again.
/// Safe from several threads.
std::shared_ptr<const OpenvinoApi> load_openvino(const std::string& preferred_path,
                                                 std::string* error);

/// The version of the library that is loaded, or an empty text.
const char* loaded_version();

}  // namespace executorch_backends::openvino
