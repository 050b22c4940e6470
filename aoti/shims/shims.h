#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <cstddef>
#include <cstdint>

// What a shim library shows: torch's `aoti_torch_*` for programs that AOTInductor compiled, and
// these few calls for the delegate that runs them. Nothing here throws or aborts.
//
// A shim that fails returns AOTI_TORCH_FAILURE and keeps one line of text for its thread until it
// is cleared, because compiled programs ignore what some calls return: scatter, index_put, the
// clone of an output. Whoever runs a program clears the text before and looks at it after.

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this interface; what a program's payload calls `shims=`.
AOTI_TORCH_EXPORT uint32_t executorch_backends_aoti_shims_version(void);

/// This thread's first failure since it was cleared, "" when there is none. Valid until this
/// thread's next clear or failure.
AOTI_TORCH_EXPORT const char* executorch_backends_aoti_last_error(void);
AOTI_TORCH_EXPORT void executorch_backends_aoti_clear_error(void);
/// Keeps `text` unless there is a failure already.
AOTI_TORCH_EXPORT void executorch_backends_aoti_set_error(const char* text);

/// A tensor over memory that stays the caller's and must outlive every tensor made of it. Sizes
/// and strides are in elements; fails when the layout reaches beyond `storage_bytes`, or when the
/// rank exceeds 16. To be freed with aoti_torch_delete_tensor_object.
AOTI_TORCH_EXPORT AOTITorchError executorch_backends_aoti_borrow(
    void* data, size_t storage_bytes, int64_t ndim, const int64_t* sizes, const int64_t* strides,
    int64_t storage_offset, int32_t dtype, AtenTensorHandle* out);

/// The state of this thread's random kernels is one number: to be set before a run, and to be
/// read after it to carry on from there in the next.
AOTI_TORCH_EXPORT void executorch_backends_aoti_seed(uint64_t state);
AOTI_TORCH_EXPORT uint64_t executorch_backends_aoti_random_state(void);

#ifdef __cplusplus
}  // extern "C"
#endif
