#include <torch/csrc/inductor/aoti_torch/generated/c_shim_aten.h>
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"
#include "executorch_backends/common/checked/checked.h"

namespace executorch_backends::aoti {
namespace {

Tensor permute(const Tensor& t, const Ints& dims) {
  require(dims.size() == t.dim(), dims.size(), " dimensions for a rank of ", t.dim());
  Ints sizes, strides, seen = Ints::filled(t.dim(), 0);
  for (const int64_t dim : dims) {
    const int64_t d = wrap_dim(dim, t.dim());
    require(seen[d]++ == 0, "dimension ", d, " occurs twice in ", dims);
    sizes.push_back(t.size(d));
    strides.push_back(t.stride(d));
  }
  return t.view(sizes, strides, t.offset());
}

/// As Python slices: what lies outside is cut off.
Tensor slice(const Tensor& t, int64_t dim, const int64_t* start, const int64_t* end, int64_t step) {
  require(t.dim() > 0, "cannot slice a tensor of rank 0");
  require(step > 0, "a step of ", step);
  dim = wrap_dim(dim, t.dim());
  const int64_t size = t.size(dim);
  const auto inside = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  const int64_t first = start ? inside(*start) : 0;
  const int64_t last = std::max(end ? inside(*end) : size, first);
  Ints sizes = t.sizes(), strides = t.strides();
  sizes[dim] = ceil_div(last - first, step);
  require(!checked::mul(strides[dim], step, &strides[dim]), "a step of ", step);
  return t.view(sizes, strides, t.offset() + first * t.stride(dim));
}

/// Sizes with the one that is -1 computed.
Ints inferred(const Ints& sizes, int64_t count) {
  Ints result = sizes;
  int64_t unknown = -1, known = 1;
  for (int64_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1) {
      require(unknown < 0, "sizes ", sizes, ": only one can be -1");
      unknown = d;
    } else {
      require(sizes[d] >= 0 && !checked::mul(known, sizes[d], &known), "sizes ", sizes);
    }
  }
  if (unknown >= 0) {
    require(known > 0 && count % known == 0, "sizes ", sizes, " for ", count, " elements");
    result[unknown] = count / known;
  }
  require(numel_of(result) == count, "sizes ", sizes, " for ", count, " elements");
  return result;
}

/// The strides of a view of other sizes; false where it takes a copy.
bool view_strides(const Tensor& t, const Ints& sizes, Ints* strides) {
  *strides = sizes;
  if (t.numel() == 0) {
    *strides = t.sizes() == sizes ? t.strides() : contiguous_strides(sizes);
    return true;
  }
  int64_t to = sizes.size() - 1;
  int64_t run = 1, taken = 1;  // elements of this run in the tensor and in the view
  int64_t base = t.dim() == 0 ? 1 : t.strides().back();
  for (int64_t d = t.dim(); d-- > 0;) {
    run *= t.size(d);
    if (d > 0 && (t.size(d - 1) == 1 || t.stride(d - 1) == run * base)) continue;
    while (to >= 0 && (taken < run || sizes[to] == 1)) {
      (*strides)[to] = taken * base;
      taken *= sizes[to--];
    }
    if (taken != run) return false;
    if (d > 0) {
      base = t.stride(d - 1);
      run = taken = 1;
    }
  }
  for (; to >= 0; --to) (*strides)[to] = taken * base;  // sizes of 1
  return true;
}

Tensor reshape(const Tensor& t, const Ints& wanted) {
  const Ints sizes = inferred(wanted, t.numel());
  Ints strides;
  if (view_strides(t, sizes, &strides)) return t.view(sizes, strides, t.offset());
  const Tensor dense = empty(t.sizes(), t.dtype());
  copy(dense, t);
  return dense.view(sizes, contiguous_strides(sizes), 0);
}

/// The same bytes in another dtype; the last dimension grows or shrinks with its width.
Tensor view_dtype(const Tensor& t, DType dtype) {
  const auto from = static_cast<int64_t>(t.item_size());
  const auto to = static_cast<int64_t>(item_size(dtype));
  Ints sizes = t.sizes(), strides = t.strides();
  if (from == to) return Tensor(t.storage(), sizes, strides, t.offset(), dtype);
  require(t.dim() > 0 && strides.back() == 1,
          "a view of another width needs a dense last dimension");
  const int64_t last = t.dim() - 1;
  const auto scaled = [&](int64_t n) {
    require(n * from % to == 0, n, " elements of ", from, " bytes are no elements of ", to);
    return n * from / to;
  };
  sizes[last] = scaled(sizes[last]);
  for (int64_t d = 0; d < last; ++d) strides[d] = scaled(strides[d]);
  return Tensor(t.storage(), sizes, strides, scaled(t.offset()), dtype);
}

Tensor view_as_real(const Tensor& t) {
  require(t.dtype() == DType::ComplexFloat || t.dtype() == DType::ComplexDouble, "no kernel for ",
          name_of(t.dtype()));
  Ints sizes = t.sizes(), strides = t.strides();
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return Tensor(t.storage(), sizes, strides, 2 * t.offset(),
                t.dtype() == DType::ComplexFloat ? DType::Float : DType::Double);
}

Tensor view_as_complex(const Tensor& t) {
  require(t.dtype() == DType::Float || t.dtype() == DType::Double, "no kernel for ",
          name_of(t.dtype()));
  require(t.dim() > 0 && t.sizes().back() == 2 && t.strides().back() == 1, "sizes ", t.sizes(),
          ", strides ", t.strides(), ": the last dimension must be two numbers side by side");
  Ints sizes = t.sizes(), strides = t.strides();
  sizes.erase(t.dim() - 1);
  strides.erase(t.dim() - 1);
  for (int64_t& stride : strides) {
    require(stride % 2 == 0, "strides ", t.strides(), ": not in pairs");
    stride /= 2;
  }
  require(t.offset() % 2 == 0, "an offset of ", t.offset(), ": not in pairs");
  return Tensor(t.storage(), sizes, strides, t.offset() / 2,
                t.dtype() == DType::Float ? DType::ComplexFloat : DType::ComplexDouble);
}

Tensor cat(const AtenTensorHandle* tensors, int64_t count, int64_t dim) {
  require(count > 0, "nothing to join");
  // Empty tensors of rank 1 join with everything.
  const auto counts = [](const Tensor& t) { return t.dim() != 1 || t.numel() > 0; };
  const Tensor* model = nullptr;
  for (int64_t i = 0; i < count && !model; ++i) {
    if (counts(tensor_of(tensors[i]))) model = &tensor_of(tensors[i]);
  }
  if (!model) return empty({0}, tensor_of(tensors[0]).dtype());
  require(model->dim() > 0, "tensors of rank 0 cannot be joined");
  dim = wrap_dim(dim, model->dim());
  Ints sizes = model->sizes();
  sizes[dim] = 0;
  bool last = true;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& t = tensor_of(tensors[i]);
    require(t.dtype() == model->dtype(), "dtypes are ", name_of(model->dtype()), " and ",
            name_of(t.dtype()));
    if (!counts(t)) continue;
    last = last && is_channels_last(t);
    for (int64_t d = 0; d < sizes.size(); ++d) {
      require(t.dim() == model->dim() && (d == dim || t.size(d) == model->size(d)), "sizes ",
              model->sizes(), " and ", t.sizes(), " do not join along ", dim);
    }
    require(!checked::add(sizes[dim], t.size(dim), &sizes[dim]), "dimension ", dim,
            " becomes too large");
  }
  Tensor out = last ? empty_channels_last(sizes, model->dtype()) : empty(sizes, model->dtype());
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& t = tensor_of(tensors[i]);
    if (!counts(t)) continue;
    copy(narrow(out, dim, at, t.size(dim)), t);
    at += t.size(dim);
  }
  return out;
}

/// Padding by a value; negative numbers cut off. Other modes are decomposed before.
Tensor pad(const Tensor& t, const Ints& padding, std::string_view mode, const double* value) {
  require(mode == "constant", "mode '", mode, "' is not supported, only constant");
  require(padding.size() % 2 == 0 && padding.size() / 2 <= t.dim(), padding.size(),
          " numbers for a rank of ", t.dim());
  Tensor source = t;
  Ints sizes = t.sizes(), before = Ints::filled(t.dim(), 0);
  for (int64_t i = 0; i < padding.size() / 2; ++i) {
    const int64_t d = t.dim() - 1 - i;
    const int64_t left = padding[2 * i], right = padding[2 * i + 1];
    require(!checked::add(left, sizes[d], &sizes[d]) && !checked::add(right, sizes[d], &sizes[d]) &&
                left > std::numeric_limits<int64_t>::min() &&
                right > std::numeric_limits<int64_t>::min(),
            "padding ", padding, " of ", t.sizes());
    require(sizes[d] >= 0, "padding ", padding, " leaves nothing of ", t.sizes());
    const int64_t cut = std::max<int64_t>(-left, 0);
    source = narrow(source, d, cut, t.size(d) - cut - std::max<int64_t>(-right, 0));
    before[d] = std::max<int64_t>(left, 0);
  }
  Tensor out =
      is_channels_last(t) ? empty_channels_last(sizes, t.dtype()) : empty(sizes, t.dtype());
  const Tensor filled = empty({}, DType::Double);
  *filled.data<double>() = value ? *value : 0;
  copy(out, to(filled, t.dtype()));
  Tensor inside = out;
  for (int64_t d = 0; d < t.dim(); ++d) inside = narrow(inside, d, before[d], source.size(d));
  copy(inside, source);
  return out;
}

/// i, repeats[i] times.
Tensor repeat_interleave(const Tensor& repeats, const int64_t* output_size) {
  require(repeats.dim() == 1, "repeats of rank ", repeats.dim());
  int64_t total = 0;
  dispatch(Indices{}, repeats.dtype(), [&](auto type) {
    using I = typename decltype(type)::type;
    for (int64_t i = 0; i < repeats.size(0); ++i) {
      const int64_t n = repeats.data<I>()[i * repeats.stride(0)];
      require(n >= 0, "repeats of ", n);
      require(!checked::add(total, n, &total), "repeats sum up to more than int64 holds");
    }
  });
  require(!output_size || *output_size == total, "repeats sum up to ", total, ", not to ",
          output_size ? *output_size : 0);
  Tensor out = empty({total}, repeats.dtype());
  dispatch(Indices{}, repeats.dtype(), [&](auto type) {
    using I = typename decltype(type)::type;
    I* to = out.data<I>();
    for (int64_t i = 0; i < repeats.size(0); ++i) {
      to = std::fill_n(to, repeats.data<I>()[i * repeats.stride(0)], static_cast<I>(i));
    }
  });
  return out;
}

AOTITorchError make(const char* name, AtenTensorHandle self, const int64_t* size, int64_t size_len,
                    const int32_t* dtype, AtenTensorHandle* result) {
  return shim(name, [&] {
    const DType wanted = dtype ? dtype_from(*dtype) : tensor_of(self).dtype();
    Tensor out = empty(Ints(size, size_len), wanted);
    fill_zero(out);
    *result = release(std::move(out));
  });
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_permute(AtenTensorHandle self, const int64_t* dims, int64_t dims_len_,
                                      AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(permute(tensor_of(self), Ints(dims, dims_len_))); });
}

AOTITorchError aoti_torch_cpu_reshape(AtenTensorHandle self, const int64_t* shape,
                                      int64_t shape_len_, AtenTensorHandle* ret0) {
  return shim(__func__,
              [&] { *ret0 = release(reshape(tensor_of(self), Ints(shape, shape_len_))); });
}

AOTITorchError aoti_torch_cpu_narrow(AtenTensorHandle self, int64_t dim, int64_t start,
                                     int64_t length, AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(narrow(tensor_of(self), dim, start, length)); });
}

AOTITorchError aoti_torch_aten_narrow(AtenTensorHandle self, int64_t dim, int64_t start,
                                      int64_t length, AtenTensorHandle* ret0) {
  return aoti_torch_cpu_narrow(self, dim, start, length, ret0);
}

AOTITorchError aoti_torch_cpu_slice_Tensor(AtenTensorHandle self, int64_t dim, int64_t* start,
                                           int64_t* end, int64_t step, AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(slice(tensor_of(self), dim, start, end, step)); });
}

AOTITorchError aoti_torch_cpu_squeeze_dim(AtenTensorHandle self, int64_t dim,
                                          AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(self);
    const int64_t d = wrap_dim(dim, t.dim());
    *ret0 = release(t.dim() > 0 && t.size(d) == 1 ? select(t, d, 0) : Tensor(t));
  });
}

AOTITorchError aoti_torch_cpu_view_dtype(AtenTensorHandle self, int32_t dtype,
                                         AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(view_dtype(tensor_of(self), dtype_from(dtype))); });
}

AOTITorchError aoti_torch_cpu_view_as_real(AtenTensorHandle self, AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(view_as_real(tensor_of(self))); });
}

AOTITorchError aoti_torch_cpu_view_as_complex(AtenTensorHandle self, AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(view_as_complex(tensor_of(self))); });
}

AOTITorchError aoti_torch_cpu_cat(const AtenTensorHandle* tensors, int64_t tensors_len_,
                                  int64_t dim, AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(cat(tensors, tensors_len_, dim)); });
}

AOTITorchError aoti_torch_cpu_pad(AtenTensorHandle self, const int64_t* pad_, int64_t pad_len_,
                                  const char* mode, double* value, AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    *ret0 = release(pad(tensor_of(self), Ints(pad_, pad_len_), mode ? mode : "constant", value));
  });
}

AOTITorchError aoti_torch_aten_pad(AtenTensorHandle self, const int64_t* pad, int64_t pad_len_,
                                   const char* mode, double* value, AtenTensorHandle* ret0) {
  return aoti_torch_cpu_pad(self, pad, pad_len_, mode, value, ret0);
}

AOTITorchError aoti_torch_cpu_repeat_interleave_Tensor(AtenTensorHandle repeats,
                                                       int64_t* output_size,
                                                       AtenTensorHandle* ret0) {
  return shim(__func__,
              [&] { *ret0 = release(repeat_interleave(tensor_of(repeats), output_size)); });
}

AOTITorchError aoti_torch_aten_new_zeros(AtenTensorHandle self, const int64_t* size,
                                         int64_t size_len_, int32_t* dtype, int32_t*, int32_t*,
                                         int32_t, int32_t*, AtenTensorHandle* ret0) {
  return make(__func__, self, size, size_len_, dtype, ret0);
}

AOTITorchError aoti_torch_aten_new_empty(AtenTensorHandle self, const int64_t* size,
                                         int64_t size_len_, int32_t* dtype, int32_t*, int32_t*,
                                         int32_t, int32_t*, AtenTensorHandle* ret0) {
  return make(__func__, self, size, size_len_, dtype, ret0);
}
