#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <limits>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"
#include "executorch_backends/common/checked/checked.h"

// Pooling over two and three dimensions: two are three with a first one of size 1.

namespace executorch_backends::aoti {
namespace {

/// The elements `begin`, `begin + step`, … below `end` of one dimension.
struct Window {
  int64_t begin, end, step;
  int64_t padded;  // how many it has with those of the padding
};

/// The windows of the outputs along one dimension.
struct Windows {
  int64_t count = 1, size = 1;  // of outputs, of inputs
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  bool adaptive = false;  // equal parts of the input, or as equal as they can be

  Window operator[](int64_t o) const {
    if (adaptive) {
      const auto place = [&](int64_t i) { return static_cast<__int128>(i) * size; };
      const auto begin = static_cast<int64_t>(place(o) / count);
      const auto end = static_cast<int64_t>((place(o + 1) + count - 1) / count);
      return {begin, end, 1, end - begin};
    }
    const int64_t start = o * stride - padding;
    const int64_t skipped = start < 0 ? ceil_div(-start, dilation) * dilation : 0;
    // Of what begins inside of the padding after the input, only that counts.
    const int64_t reach = std::min(dilation * (kernel - 1) + 1, size - start);
    return {start + skipped, start + reach, dilation, std::min(kernel, size + padding - start)};
  }
};

struct Pooling {
  int64_t rank;        // 2 or 3
  Windows windows[3];  // the last `rank` are used
  Ints output;         // sizes, `rank` of them
};

/// A dimension of an image, for a tensor with or without a batch.
int64_t spatial(const Tensor& t, int64_t rank, int64_t d) { return t.size(t.dim() - rank + d); }

void require_image(const Tensor& t, int64_t rank) {
  require(t.dim() == rank + 1 || t.dim() == rank + 2, "an input of sizes ", t.sizes(), " for ",
          rank, " dimensions");
  for (int64_t d = 0; d < rank; ++d) {
    require(spatial(t, rank, d) > 0, "an input of sizes ", t.sizes(), " has no elements to pool");
  }
}

Ints numbers(const int64_t* values, int64_t count, int64_t rank, const char* name) {
  require(count == 1 || count == rank, name, " has ", count, " numbers for ", rank, " dimensions");
  const Ints given(values, count);
  return count == rank ? given : Ints::filled(rank, given[0]);
}

/// The windows along one dimension, with every number they are computed from inside of int64.
Windows windows_of(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                   bool ceil_mode) {
  require(kernel > 0 && stride > 0 && dilation > 0, "kernel ", kernel, ", stride ", stride,
          " or dilation ", dilation, " is not positive");
  int64_t reach = 0, span = 0;
  require(!checked::mul(dilation, kernel - 1, &reach) && !checked::add(reach, int64_t{1}, &reach),
          "a kernel of ", kernel, " with a dilation of ", dilation);
  require(padding >= 0 && padding <= reach / 2, "padding is ", padding,
          ", at most half of the kernel's reach of ", reach, " is possible");
  require(!checked::add(size, 2 * padding, &span), "padding is ", padding, " of ", size);
  span -= reach;
  int64_t count = span < 0 ? 0 : span / stride + 1;
  if (ceil_mode) {
    count = span <= -stride ? 0 : span <= 0 ? 1 : ceil_div(span, stride) + 1;
    // The last window must begin inside of the input or of the padding before it.
    if (count > 0 && (count - 1) * static_cast<__int128>(stride) >= size + padding) --count;
  }
  require(count > 0, "an input of ", size, " is too small for a reach of ", reach);
  return {count, size, kernel, stride, padding, dilation, false};
}

Pooling pooling(const Tensor& input, const Ints& kernel, const Ints& stride, const Ints& padding,
                const Ints& dilation, bool ceil_mode) {
  Pooling result{kernel.size(), {}, {}};
  require_image(input, result.rank);
  int64_t volume = 1;
  for (int64_t d = 0; d < result.rank; ++d) {
    require(!checked::mul(volume, kernel[d], &volume), "a kernel of sizes ", kernel);
    Windows& windows = result.windows[3 - result.rank + d];
    windows = windows_of(spatial(input, result.rank, d), kernel[d], stride[d], padding[d],
                         dilation[d], ceil_mode);
    result.output.push_back(windows.count);
  }
  return result;
}

Pooling adaptive(const Tensor& input, const int64_t* output, int64_t count, int64_t rank) {
  Pooling result{rank, {}, numbers(output, count, rank, "output")};
  require_image(input, rank);
  for (int64_t d = 0; d < rank; ++d) {
    require(result.output[d] >= 0, "an output of sizes ", result.output);
    Windows& windows = result.windows[3 - rank + d];
    windows.count = result.output[d];
    windows.size = spatial(input, rank, d);
    windows.adaptive = true;
  }
  return result;
}

/// The input's sizes with the output's in place of its spatial ones.
Ints output_sizes(const Tensor& input, const Pooling& p) {
  Ints sizes = input.sizes();
  for (int64_t d = 0; d < p.rank; ++d) sizes[input.dim() - p.rank + d] = p.output[d];
  return sizes;
}

/// In channels last where the input is.
Tensor output_like(const Tensor& input, const Pooling& p, DType dtype, bool keeps_format) {
  const Ints sizes = output_sizes(input, p);
  return keeps_format && is_channels_last(input) ? empty_channels_last(sizes, dtype)
                                                 : empty(sizes, dtype);
}

/// Steps of the three spatial dimensions.
std::array<int64_t, 3> steps_of(const Tensor& t, int64_t rank) {
  std::array<int64_t, 3> result{};
  for (int64_t d = 0; d < rank; ++d) {
    result[static_cast<size_t>(3 - rank + d)] = t.stride(t.dim() - rank + d);
  }
  return result;
}

/// Calls `f(plane's offset in the input, offset of the result, windows of the three dimensions)`
/// for every element of `out`, in parallel over images and channels.
template <class F>
void for_each_window(const Tensor& input, const Tensor& out, const Pooling& p, F&& f) {
  const int64_t leading = input.dim() - p.rank;
  Ints sizes, in_strides, out_strides;
  for (int64_t d = 0; d < leading; ++d) {
    sizes.push_back(input.size(d));
    in_strides.push_back(input.stride(d));
    out_strides.push_back(out.stride(d));
  }
  const auto steps = steps_of(out, p.rank);
  const auto& windows = p.windows;
  const auto planes = [&](const Offsets<2>& at) {
    for (int64_t z = 0; z < windows[0].count; ++z) {
      const Window depth = windows[0][z];
      for (int64_t y = 0; y < windows[1].count; ++y) {
        const Window height = windows[1][y];
        for (int64_t x = 0; x < windows[2].count; ++x) {
          f(at[0], at[1] + z * steps[0] + y * steps[1] + x * steps[2], depth, height,
            windows[2][x]);
        }
      }
    }
  };
  const int64_t work = 8 * windows[0].count * windows[1].count * windows[2].count;
  for_each_run<2>(
      sizes, {in_strides, out_strides},
      [&](const Offsets<2>& offsets, const Offsets<2>& run_steps, int64_t length) {
        Offsets<2> at = offsets;
        for (int64_t i = 0; i < length; ++i) {
          planes(at);
          for (size_t t = 0; t < 2; ++t) at[t] += run_steps[t];
        }
      },
      std::max<int64_t>(kGrain / std::max<int64_t>(work, 1), 1));
}

/// Calls `f(offset, position)` for a window's elements: in the input, and as a number in the plane.
template <class F>
void for_each_element(const Window& z, const Window& y, const Window& x,
                      const std::array<int64_t, 3>& steps, int64_t height, int64_t width, F&& f) {
  for (int64_t i = z.begin; i < z.end; i += z.step) {
    for (int64_t j = y.begin; j < y.end; j += y.step) {
      for (int64_t k = x.begin; k < x.end; k += x.step) {
        f(i * steps[0] + j * steps[1] + k * steps[2], (i * height + j) * width + k);
      }
    }
  }
}

void max_pool(const Tensor& input, const Pooling& p, bool keeps_format, AtenTensorHandle* ret0,
              AtenTensorHandle* ret1) {
  Tensor values = output_like(input, p, input.dtype(), keeps_format);
  Tensor indices = output_like(input, p, DType::Long, keeps_format);
  const auto steps = steps_of(input, p.rank);
  const int64_t height = spatial(input, p.rank, p.rank - 2);
  const int64_t width = spatial(input, p.rank, p.rank - 1);
  dispatch(Reals{}, input.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    using Limits = std::numeric_limits<T>;
    for_each_window(
        input, values, p,
        [&](int64_t plane, int64_t to, const Window& z, const Window& y, const Window& x) {
          const T* const from = input.data<T>() + plane;
          T best = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
          int64_t place = (z.begin * height + y.begin) * width + x.begin;
          for_each_element(z, y, x, steps, height, width, [&](int64_t offset, int64_t position) {
            const T value = from[offset];
            if (value > best || is_nan(value)) {
              best = value;
              place = position;
            }
          });
          values.data<T>()[to] = best;
          indices.data<int64_t>()[to] = place;
        });
  });
  *ret0 = release(std::move(values));
  *ret1 = release(std::move(indices));
}

/// How an average's sum is divided.
struct Divisor {
  bool with_padding;
  int64_t fixed;  // 0 where the window's size counts
};

Tensor average_pool(const Tensor& input, const Pooling& p, Divisor divisor, bool keeps_format) {
  Tensor out = output_like(input, p, input.dtype(), keeps_format);
  const auto steps = steps_of(input, p.rank);
  dispatch(Reals{}, input.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    using A = Accumulator<T>;
    for_each_window(
        input, out, p,
        [&](int64_t plane, int64_t to, const Window& z, const Window& y, const Window& x) {
          const T* const from = input.data<T>() + plane;
          A sum = 0;
          int64_t inside = 0;
          for_each_element(z, y, x, steps, 0, 0, [&](int64_t offset, int64_t) {
            sum += static_cast<A>(from[offset]);
            ++inside;
          });
          const int64_t count = divisor.fixed          ? divisor.fixed
                                : divisor.with_padding ? z.padded * y.padded * x.padded
                                                       : inside;
          out.data<T>()[to] = inside == 0 ? T(0) : static_cast<T>(sum / static_cast<A>(count));
        });
  });
  return out;
}

/// A list of numbers as the C interface passes it.
struct List {
  const int64_t* values;
  int64_t count;
};

/// Fixed windows: without strides, the kernel's.
Pooling pooling(AtenTensorHandle self, int64_t rank, List kernel, List stride, List padding,
                List dilation, bool ceil_mode) {
  const auto listed = [&](List list, const char* name) {
    return numbers(list.values, list.count, rank, name);
  };
  const Ints size = listed(kernel, "kernel");
  return pooling(tensor_of(self), size, stride.count == 0 ? size : listed(stride, "stride"),
                 listed(padding, "padding"), listed(dilation, "dilation"), ceil_mode);
}

constexpr int64_t kOne = 1;

AOTITorchError max_pool(const char* name, AtenTensorHandle self, int64_t rank, List kernel,
                        List stride, List padding, List dilation, int32_t ceil_mode,
                        AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return shim(name, [&] {
    const Pooling p = pooling(self, rank, kernel, stride, padding, dilation, ceil_mode != 0);
    max_pool(tensor_of(self), p, true, ret0, ret1);
  });
}

AOTITorchError average_pool(const char* name, AtenTensorHandle self, int64_t rank, List kernel,
                            List stride, List padding, int32_t ceil_mode, int32_t count_include_pad,
                            const int64_t* divisor_override, AtenTensorHandle* ret0) {
  return shim(name, [&] {
    require(!divisor_override || *divisor_override != 0, "a divisor of 0");
    const Pooling p = pooling(self, rank, kernel, stride, padding, {&kOne, 1}, ceil_mode != 0);
    const Divisor divisor{count_include_pad != 0, divisor_override ? *divisor_override : 0};
    *ret0 = release(average_pool(tensor_of(self), p, divisor, rank == 2));
  });
}

AOTITorchError adaptive_average_pool(const char* name, AtenTensorHandle self, int64_t rank,
                                     List output, AtenTensorHandle* ret0) {
  return shim(name, [&] {
    const Tensor& input = tensor_of(self);
    const Pooling p = adaptive(input, output.values, output.count, rank);
    *ret0 = release(average_pool(input, p, {false, 0}, rank == 2));
  });
}

AOTITorchError adaptive_max_pool(const char* name, AtenTensorHandle self, int64_t rank, List output,
                                 AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return shim(name, [&] {
    const Tensor& input = tensor_of(self);
    const Pooling p = adaptive(input, output.values, output.count, rank);
    max_pool(input, p, rank == 2, ret0, ret1);
  });
}

/// Zeros, with each value where its index in the plane says.
Tensor unpool(const Tensor& input, const Tensor& indices, const Ints& output, int64_t rank) {
  require_image(input, rank);
  require(indices.sizes() == input.sizes() && indices.dtype() == DType::Long, "indices of sizes ",
          indices.sizes(), " for ", input.sizes());
  require(output.size() == rank, "an output of sizes ", output, " for ", rank, " dimensions");
  const Tensor values = contiguous(input), places = contiguous(indices);
  Pooling p{rank, {}, output};
  const Ints sizes = output_sizes(input, p);
  const Tensor out = empty(sizes, input.dtype());
  fill_zero(out);
  const int64_t area = numel_of(output);
  int64_t elements = 1;
  for (int64_t d = 0; d < rank; ++d) elements *= spatial(input, rank, d);
  dispatch_width(input.item_size(), [&](auto type) {
    using T = typename decltype(type)::type;
    for (int64_t i = 0; i < values.numel(); ++i) {
      const int64_t place = places.data<int64_t>()[i];
      require(place >= 0 && place < area, "index ", place, " is outside of an output of ", output);
      out.data<T>()[i / elements * area + place] = values.data<T>()[i];
    }
  });
  return out;
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_max_pool2d_with_indices(
    AtenTensorHandle self, const int64_t* kernel_size, int64_t kernel_size_len_,
    const int64_t* stride, int64_t stride_len_, const int64_t* padding, int64_t padding_len_,
    const int64_t* dilation, int64_t dilation_len_, int32_t ceil_mode, AtenTensorHandle* ret0,
    AtenTensorHandle* ret1) {
  return max_pool(__func__, self, 2, {kernel_size, kernel_size_len_}, {stride, stride_len_},
                  {padding, padding_len_}, {dilation, dilation_len_}, ceil_mode, ret0, ret1);
}

AOTITorchError aoti_torch_cpu_max_pool3d_with_indices(
    AtenTensorHandle self, const int64_t* kernel_size, int64_t kernel_size_len_,
    const int64_t* stride, int64_t stride_len_, const int64_t* padding, int64_t padding_len_,
    const int64_t* dilation, int64_t dilation_len_, int32_t ceil_mode, AtenTensorHandle* ret0,
    AtenTensorHandle* ret1) {
  return max_pool(__func__, self, 3, {kernel_size, kernel_size_len_}, {stride, stride_len_},
                  {padding, padding_len_}, {dilation, dilation_len_}, ceil_mode, ret0, ret1);
}

AOTITorchError aoti_torch_cpu_avg_pool2d(AtenTensorHandle self, const int64_t* kernel_size,
                                         int64_t kernel_size_len_, const int64_t* stride,
                                         int64_t stride_len_, const int64_t* padding,
                                         int64_t padding_len_, int32_t ceil_mode,
                                         int32_t count_include_pad, int64_t* divisor_override,
                                         AtenTensorHandle* ret0) {
  return average_pool(__func__, self, 2, {kernel_size, kernel_size_len_}, {stride, stride_len_},
                      {padding, padding_len_}, ceil_mode, count_include_pad, divisor_override,
                      ret0);
}

AOTITorchError aoti_torch_cpu_avg_pool3d(AtenTensorHandle self, const int64_t* kernel_size,
                                         int64_t kernel_size_len_, const int64_t* stride,
                                         int64_t stride_len_, const int64_t* padding,
                                         int64_t padding_len_, int32_t ceil_mode,
                                         int32_t count_include_pad, int64_t* divisor_override,
                                         AtenTensorHandle* ret0) {
  return average_pool(__func__, self, 3, {kernel_size, kernel_size_len_}, {stride, stride_len_},
                      {padding, padding_len_}, ceil_mode, count_include_pad, divisor_override,
                      ret0);
}

AOTITorchError aoti_torch_cpu__adaptive_avg_pool2d(AtenTensorHandle self,
                                                   const int64_t* output_size,
                                                   int64_t output_size_len_,
                                                   AtenTensorHandle* ret0) {
  return adaptive_average_pool(__func__, self, 2, {output_size, output_size_len_}, ret0);
}

AOTITorchError aoti_torch_cpu__adaptive_avg_pool3d(AtenTensorHandle self,
                                                   const int64_t* output_size,
                                                   int64_t output_size_len_,
                                                   AtenTensorHandle* ret0) {
  return adaptive_average_pool(__func__, self, 3, {output_size, output_size_len_}, ret0);
}

AOTITorchError aoti_torch_cpu_adaptive_max_pool2d(AtenTensorHandle self, const int64_t* output_size,
                                                  int64_t output_size_len_, AtenTensorHandle* ret0,
                                                  AtenTensorHandle* ret1) {
  return adaptive_max_pool(__func__, self, 2, {output_size, output_size_len_}, ret0, ret1);
}

AOTITorchError aoti_torch_cpu_adaptive_max_pool3d(AtenTensorHandle self, const int64_t* output_size,
                                                  int64_t output_size_len_, AtenTensorHandle* ret0,
                                                  AtenTensorHandle* ret1) {
  return adaptive_max_pool(__func__, self, 3, {output_size, output_size_len_}, ret0, ret1);
}

AOTITorchError aoti_torch_cpu_max_unpool2d(AtenTensorHandle self, AtenTensorHandle indices,
                                           const int64_t* output_size, int64_t output_size_len_,
                                           AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    *ret0 = release(
        unpool(tensor_of(self), tensor_of(indices), Ints(output_size, output_size_len_), 2));
  });
}

AOTITorchError aoti_torch_cpu_max_unpool3d(AtenTensorHandle self, AtenTensorHandle indices,
                                           const int64_t* output_size, int64_t output_size_len_,
                                           const int64_t*, int64_t, const int64_t*, int64_t,
                                           AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    *ret0 = release(
        unpool(tensor_of(self), tensor_of(indices), Ints(output_size, output_size_len_), 3));
  });
}
