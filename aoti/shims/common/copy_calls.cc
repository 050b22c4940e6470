// Elements copied, read and checked.

#include <cmath>
#include <cstdio>
#include <string>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"

using namespace executorch_backends::aoti;  // NOLINT: this file is the interface to it

namespace {

template <class T>
AOTITorchError item(const char* name, AtenTensorHandle handle, T* result) {
  return shim(name, [&] {
    const Tensor& t = tensor_of(handle);
    require(t.numel() == 1, "sizes ", t.sizes(), " are not one element");
    require(t.dtype() == dtype_of<T>, "dtype is ", name_of(t.dtype()), ", asked for is ",
            name_of(dtype_of<T>));
    *result = *t.data<T>();
  });
}

template <class T>
AOTITorchError scalar(const char* name, T value, AtenTensorHandle* result) {
  return shim(name, [&] {
    Tensor t = empty({}, dtype_of<T>);
    *t.data<T>() = value;
    *result = release(std::move(t));
  });
}

void copy_into(const Tensor& to, const Tensor& from) {
  require_single_elements(to);
  copy(to, from);
}

void print(AtenTensorHandle handle, const char* message) {
  shim("aoti_torch_print_tensor_handle", [&] {
    const Tensor& t = tensor_of(handle);
    std::ostringstream text;
    text << (message ? message : "") << " " << name_of(t.dtype()) << " sizes " << t.sizes()
         << " strides " << t.strides() << " offset " << t.offset();
    std::fprintf(stderr, "%s\n", text.str().c_str());
  });
}

}  // namespace

#define ITEM(name, T)                                                            \
  AOTITorchError aoti_torch_item_##name(AtenTensorHandle tensor, T* ret_value) { \
    return item(__func__, tensor, ret_value);                                    \
  }
ITEM(float16, c10::Half)
ITEM(float32, float)
ITEM(float64, double)
ITEM(uint8, uint8_t)
ITEM(uint16, uint16_t)
ITEM(uint32, uint32_t)
ITEM(uint64, uint64_t)
ITEM(int8, int8_t)
ITEM(int16, int16_t)
ITEM(int32, int32_t)
ITEM(int64, int64_t)
ITEM(bool, bool)
ITEM(bfloat16, c10::BFloat16)
ITEM(complex64, c10::complex<float>)
#undef ITEM

#define SCALAR(name, T)                                                                      \
  AOTITorchError aoti_torch_scalar_to_tensor_##name(T value, AtenTensorHandle* ret_tensor) { \
    return scalar(__func__, value, ret_tensor);                                              \
  }
SCALAR(float32, float)
SCALAR(float64, double)
SCALAR(uint8, uint8_t)
SCALAR(uint16, uint16_t)
SCALAR(uint32, uint32_t)
SCALAR(uint64, uint64_t)
SCALAR(int8, int8_t)
SCALAR(int16, int16_t)
SCALAR(int32, int32_t)
SCALAR(int64, int64_t)
SCALAR(bool, bool)
SCALAR(complex64, c10::complex<float>)
SCALAR(complex128, c10::complex<double>)
#undef SCALAR

// Programs do not look at what this returns for an output: a null handle is what remains then.
AOTITorchError aoti_torch_clone(AtenTensorHandle self, AtenTensorHandle* ret) {
  *ret = nullptr;
  return shim(__func__, [&] { *ret = release(clone(tensor_of(self))); });
}

AOTITorchError aoti_torch_clone_preserve_strides(AtenTensorHandle self, AtenTensorHandle* ret) {
  *ret = nullptr;
  return shim(__func__, [&] {
    // As at::as_strided over the cloned storage: overlapping elements stay overlapping.
    const Tensor& t = tensor_of(self);
    Tensor result = empty_strided(t.sizes(), t.strides(), t.dtype());
    copy(result, t);
    *ret = release(std::move(result));
  });
}

AOTITorchError aoti_torch_copy_(AtenTensorHandle self, AtenTensorHandle src, int32_t) {
  return shim(__func__, [&] { copy_into(tensor_of(self), tensor_of(src)); });
}

AOTITorchError aoti_torch_tensor_copy_(AtenTensorHandle src, AtenTensorHandle dst) {
  return shim(__func__, [&] { copy_into(tensor_of(dst), tensor_of(src)); });
}

AOTITorchError aoti_torch_zero_(AtenTensorHandle self) {
  return shim(__func__, [&] {
    require_single_elements(tensor_of(self));
    fill_zero(tensor_of(self));
  });
}

AOTITorchError aoti_torch_check_inf_and_nan(const char* tensor_name, AtenTensorHandle handle) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(handle);
    bool finite = true;
    dispatch(decltype(Everything{} + WideUnsigned{}){}, t.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      if constexpr (is_float<T> || is_complex<T>) {
        for_each_in_order<1>(t.sizes(), {t.strides()}, [&](const Offsets<1>& at) {
          const T value = t.data<T>()[at[0]];
          if constexpr (is_complex<T>) {
            finite = finite && std::isfinite(value.real()) && std::isfinite(value.imag());
          } else {
            finite = finite && std::isfinite(static_cast<Compute<T>>(value));
          }
        });
      }
    });
    require(finite, tensor_name ? tensor_name : "a tensor", " has an infinity or a NaN");
  });
}

void aoti_torch_check(bool cond, const char* func, const char* file, uint32_t line,
                      const char* msg) {
  if (cond) return;
  shim(__func__, [&] {
    fail(msg ? msg : "a check failed", " (", func ? func : "?", ", ", file ? file : "?", ":", line,
         ")");
  });
}

void aoti_torch_warn(const char*, const char* file, uint32_t line, const char* msg) {
  std::fprintf(stderr, "%s:%u: %s\n", file ? file : "?", line, msg ? msg : "");
}

void aoti_torch_print_tensor_handle(AtenTensorHandle self, const char* msg) { print(self, msg); }
