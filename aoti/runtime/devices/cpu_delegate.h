/// What the delegate's library shows to whoever loads it; everything else in it is hidden.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// 0 when this library's delegate is the one that runs `AotiCpuBackend` programs, else
/// ExecuTorch's error code, when another library registered the id first.
int executorch_backends_aoti_cpu_registration_error(void);

#ifdef __cplusplus
}
#endif
