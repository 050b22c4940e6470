/// What the delegate's library shows to whoever loads it; everything else in it is hidden.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// Where OpenVINO's C library is, for loads from now on; before OPENVINO_LIB_PATH.
void executorch_backends_openvino_set_library(const char* path);

/// 0 when this library's delegate is the one that runs `OpenvinoBackend` programs, else
/// ExecuTorch's error code: 0x12 and the like when another library registered the id first.
int executorch_backends_openvino_registration_error(void);

/// The version of the loaded OpenVINO, or an empty text before one was loaded.
const char* executorch_backends_openvino_version(void);

#ifdef __cplusplus
}
#endif
