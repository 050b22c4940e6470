// Tensors made, looked at, viewed and freed: what every compiled program calls.

#include <cstring>

#include "executorch_backends/aoti/shims/common/tensor.h"

using namespace executorch_backends::aoti;  // NOLINT: this file is the interface to it

namespace {

constexpr int32_t kCpu = 0;
constexpr int32_t kStrided = 0;

template <class Value, class Get>
AOTITorchError get(const char* name, AtenTensorHandle handle, Value* result, Get&& read) {
  return shim(name, [&] { *result = read(tensor_of(handle)); });
}

/// The device argument of a shim that makes a tensor.
void require_cpu(int32_t device_type) {
  require(device_type == kCpu, "device type is ", device_type, ", this library's is ", kCpu);
}

AOTITorchError borrow(const char* name, void* data, int64_t ndim, const int64_t* sizes,
                      const int64_t* strides, int64_t offset, int32_t dtype, int32_t device_type,
                      AtenTensorHandle* result) {
  return shim(name, [&] {
    require_cpu(device_type);
    const Ints all_sizes(sizes, ndim), all_strides(strides, ndim);
    // Nobody says how large the blob is: as large as the layout needs.
    const size_t span = span_bytes(all_sizes, all_strides, offset, dtype_from(dtype));
    *result = release(Tensor(std::make_shared<Storage>(data, span), all_sizes, all_strides, offset,
                             dtype_from(dtype)));
  });
}

}  // namespace

// ---- numbers ----

int32_t aoti_torch_device_type_cpu() { return kCpu; }
int32_t aoti_torch_device_type_cuda() { return 1; }
int32_t aoti_torch_device_type_xpu() { return 12; }
int32_t aoti_torch_device_type_mps() { return 13; }
int32_t aoti_torch_device_type_meta() { return 14; }
int32_t aoti_torch_device_type_privateuse1() { return 20; }

#define DTYPE_NUMBER(name, dtype) \
  int32_t aoti_torch_dtype_##name() { return static_cast<int32_t>(DType::dtype); }
DTYPE_NUMBER(float8_e5m2, Float8_e5m2)
DTYPE_NUMBER(float8_e4m3fn, Float8_e4m3fn)
DTYPE_NUMBER(float8_e5m2fnuz, Float8_e5m2fnuz)
DTYPE_NUMBER(float8_e4m3fnuz, Float8_e4m3fnuz)
DTYPE_NUMBER(float8_e8m0fnu, Float8_e8m0fnu)
DTYPE_NUMBER(float4_e2m1fn_x2, Float4_e2m1fn_x2)
DTYPE_NUMBER(bfloat16, BFloat16)
DTYPE_NUMBER(float16, Half)
DTYPE_NUMBER(float32, Float)
DTYPE_NUMBER(float64, Double)
DTYPE_NUMBER(uint8, Byte)
DTYPE_NUMBER(uint16, UInt16)
DTYPE_NUMBER(uint32, UInt32)
DTYPE_NUMBER(uint64, UInt64)
DTYPE_NUMBER(int8, Char)
DTYPE_NUMBER(int16, Short)
DTYPE_NUMBER(int32, Int)
DTYPE_NUMBER(int64, Long)
DTYPE_NUMBER(bool, Bool)
DTYPE_NUMBER(complex32, ComplexHalf)
DTYPE_NUMBER(complex64, ComplexFloat)
DTYPE_NUMBER(complex128, ComplexDouble)
#undef DTYPE_NUMBER

size_t aoti_torch_dtype_element_size(int32_t dtype) {
  size_t bytes = 0;
  shim(__func__, [&] { bytes = item_size(dtype_from(dtype)); });
  return bytes;
}

int32_t aoti_torch_layout_strided() { return kStrided; }
int32_t aoti_torch_layout_sparse_coo() { return 1; }
int32_t aoti_torch_layout_sparse_csr() { return 2; }
int32_t aoti_torch_layout__mkldnn() { return 3; }
int32_t aoti_torch_layout_sparse_csc() { return 4; }
int32_t aoti_torch_layout_sparse_bsr() { return 5; }
int32_t aoti_torch_layout_sparse_bsc() { return 6; }
int32_t aoti_torch_layout_jagged() { return 7; }

int32_t aoti_torch_memory_format_contiguous_format() { return 0; }
int32_t aoti_torch_memory_format_preserve_format() { return 1; }
int32_t aoti_torch_memory_format_channels_last() { return 2; }
int32_t aoti_torch_memory_format_channels_last_3d() { return 3; }

uint64_t aoti_torch_abi_version() { return TORCH_ABI_VERSION; }

// Nothing here records gradients.
bool aoti_torch_grad_mode_is_enabled() { return false; }
void aoti_torch_grad_mode_set_enabled(bool) {}

// ---- properties ----

AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle t, void** result) {
  return get(__func__, t, result, [](const Tensor& x) { return x.raw(); });
}
AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle t, int64_t* result) {
  return get(__func__, t, result,
             [](const Tensor& x) { return static_cast<int64_t>(x.storage()->bytes()); });
}
AOTITorchError aoti_torch_get_storage_numel(AtenTensorHandle t, int64_t* result) {
  return get(__func__, t, result, [](const Tensor& x) {
    return static_cast<int64_t>(x.storage()->bytes() / x.item_size());
  });
}
AOTITorchError aoti_torch_get_dim(AtenTensorHandle t, int64_t* result) {
  return get(__func__, t, result, [](const Tensor& x) { return x.dim(); });
}
AOTITorchError aoti_torch_get_numel(AtenTensorHandle t, int64_t* result) {
  return get(__func__, t, result, [](const Tensor& x) { return x.numel(); });
}
AOTITorchError aoti_torch_get_sizes(AtenTensorHandle t, int64_t** result) {
  return get(__func__, t, result, [](Tensor& x) { return x.sizes().data(); });
}
AOTITorchError aoti_torch_get_strides(AtenTensorHandle t, int64_t** result) {
  return get(__func__, t, result, [](Tensor& x) { return x.strides().data(); });
}
AOTITorchError aoti_torch_get_size(AtenTensorHandle t, int64_t d, int64_t* result) {
  return get(__func__, t, result, [d](const Tensor& x) {
    require(x.dim() > 0, "rank 0 has no sizes");
    return x.size(wrap_dim(d, x.dim()));
  });
}
AOTITorchError aoti_torch_get_stride(AtenTensorHandle t, int64_t d, int64_t* result) {
  return get(__func__, t, result, [d](const Tensor& x) {
    require(x.dim() > 0, "rank 0 has no strides");
    return x.stride(wrap_dim(d, x.dim()));
  });
}
AOTITorchError aoti_torch_get_dtype(AtenTensorHandle t, int32_t* result) {
  return get(__func__, t, result, [](const Tensor& x) { return static_cast<int32_t>(x.dtype()); });
}
AOTITorchError aoti_torch_get_device_type(AtenTensorHandle t, int32_t* result) {
  return get(__func__, t, result, [](const Tensor&) { return kCpu; });
}
AOTITorchError aoti_torch_get_device_index(AtenTensorHandle t, int32_t* result) {
  return get(__func__, t, result, [](const Tensor&) { return -1; });
}
AOTITorchError aoti_torch_get_layout(AtenTensorHandle t, int32_t* result) {
  return get(__func__, t, result, [](const Tensor&) { return kStrided; });
}
AOTITorchError aoti_torch_get_storage_offset(AtenTensorHandle t, int64_t* result) {
  return get(__func__, t, result, [](const Tensor& x) { return x.offset(); });
}
AOTITorchError aoti_torch_is_contiguous(AtenTensorHandle t, bool* result) {
  return get(__func__, t, result, [](const Tensor& x) { return x.is_contiguous(); });
}
AOTITorchError aoti_torch_is_defined(AtenTensorHandle t, bool* result) {
  return shim(__func__, [&] { *result = t != nullptr && reinterpret_cast<Tensor*>(t)->defined(); });
}

// ---- made and freed ----

AOTITorchError executorch_backends_aoti_borrow(void* data, size_t storage_bytes, int64_t ndim,
                                               const int64_t* sizes, const int64_t* strides,
                                               int64_t storage_offset, int32_t dtype,
                                               AtenTensorHandle* out) {
  return shim(__func__, [&] {
    *out = release(Tensor(std::make_shared<Storage>(data, storage_bytes), Ints(sizes, ndim),
                          Ints(strides, ndim), storage_offset, dtype_from(dtype)));
  });
}

AOTITorchError aoti_torch_create_tensor_from_blob(
    void* data, int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr,
    int64_t storage_offset, int32_t dtype, int32_t device_type, int32_t, AtenTensorHandle* ret) {
  return borrow(__func__, data, ndim, sizes_ptr, strides_ptr, storage_offset, dtype, device_type,
                ret);
}

AOTITorchError aoti_torch_create_tensor_from_blob_v2(
    void* data, int64_t ndim, const int64_t* sizes_ptr, const int64_t* strides_ptr,
    int64_t storage_offset, int32_t dtype, int32_t device_type, int32_t, AtenTensorHandle* ret,
    int32_t layout, const uint8_t*, int64_t) {
  if (layout != kStrided) {
    return shim(__func__, [&] { fail("layout is ", layout, ", only strided (0) is supported"); });
  }
  return borrow(__func__, data, ndim, sizes_ptr, strides_ptr, storage_offset, dtype, device_type,
                ret);
}

AOTITorchError aoti_torch_new_uninitialized_tensor(AtenTensorHandle* ret) {
  return shim(__func__, [&] { *ret = release(Tensor()); });
}

AOTITorchError aoti_torch_new_tensor_handle(AtenTensorHandle orig, AtenTensorHandle* ret) {
  return shim(__func__, [&] { *ret = release(Tensor(tensor_of(orig))); });
}

AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle t) {
  delete reinterpret_cast<Tensor*>(t);
  return AOTI_TORCH_SUCCESS;
}

AOTITorchError aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes_ptr,
                                        const int64_t* strides_ptr, int32_t dtype,
                                        int32_t device_type, int32_t, AtenTensorHandle* ret) {
  return shim(__func__, [&] {
    require_cpu(device_type);
    *ret =
        release(empty_strided(Ints(sizes_ptr, ndim), Ints(strides_ptr, ndim), dtype_from(dtype)));
  });
}

AOTITorchError aoti_torch_empty_strided_pinned(int64_t ndim, const int64_t* sizes_ptr,
                                               const int64_t* strides_ptr, int32_t dtype,
                                               int32_t device_type, int32_t device_index,
                                               AtenTensorHandle* ret) {
  return aoti_torch_empty_strided(ndim, sizes_ptr, strides_ptr, dtype, device_type, device_index,
                                  ret);
}

AOTITorchError aoti_torch__alloc_from_pool(AtenTensorHandle self, int64_t offset_bytes,
                                           int32_t dtype, int64_t ndim, const int64_t* sizes_ptr,
                                           const int64_t* strides_ptr, AtenTensorHandle* ret) {
  return shim(__func__, [&] {
    const Tensor& pool = tensor_of(self);
    const auto bytes = static_cast<int64_t>(item_size(dtype_from(dtype)));
    require(offset_bytes >= 0 && offset_bytes % bytes == 0, "offset of ", offset_bytes,
            " bytes is no multiple of an element's ", bytes);
    *ret = release(Tensor(pool.storage(), Ints(sizes_ptr, ndim), Ints(strides_ptr, ndim),
                          offset_bytes / bytes, dtype_from(dtype)));
  });
}

// ---- views ----

AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle self, int64_t ndim,
                                              const int64_t* sizes_ptr, const int64_t* strides_ptr,
                                              int64_t offset_increment, AtenTensorHandle* ret) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(self);
    int64_t offset = 0;
    require(!executorch_backends::checked::add(t.offset(), offset_increment, &offset), "offset ",
            t.offset(), " + ", offset_increment, " overflows");
    *ret = release(t.view(Ints(sizes_ptr, ndim), Ints(strides_ptr, ndim), offset));
  });
}

AOTITorchError aoti_torch_as_strided(AtenTensorHandle self, const int64_t* sizes_ptr,
                                     const int64_t* strides_ptr, AtenTensorHandle* ret) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(self);
    *ret = release(t.view(Ints(sizes_ptr, t.dim()), Ints(strides_ptr, t.dim()), t.offset()));
  });
}

AOTITorchError aoti_torch_assign_tensors(AtenTensorHandle src, AtenTensorHandle dst) {
  return shim(__func__, [&] {
    require(dst != nullptr, "a tensor handle is null");
    *reinterpret_cast<Tensor*>(dst) = tensor_of(src);
  });
}

AOTITorchError aoti_torch_assign_tensors_out(AtenTensorHandle src, AtenTensorHandle* ret_dst) {
  return aoti_torch_new_tensor_handle(src, ret_dst);
}
