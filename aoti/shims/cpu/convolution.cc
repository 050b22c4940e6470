#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"
#include "executorch_backends/aoti/shims/cpu/gemm.h"
#include "executorch_backends/aoti/shims/cpu/workspace.h"

// A convolution is one product of matrices for each image and group: the weights times the patches
// of the image that they meet. The patches are never stored: they are gathered into the panels
// that the product reads.

namespace executorch_backends::aoti {
namespace {

/// Which elements of the input an element of the output meets; numbers per spatial dimension.
struct Geometry {
  Ints stride, padding, dilation;
  bool transposed;
  Ints input, output, kernel;  // sizes

  int64_t rank() const { return kernel.size(); }

  /// The input's coordinate that tap `k` of output `o` reads along `d`; -1 for none.
  int64_t source(int64_t d, int64_t o, int64_t k) const {
    if (!transposed) {
      const int64_t at = o * stride[d] - padding[d] + k * dilation[d];
      return at < input[d] ? at : -1;  // negative ones are below all
    }
    const int64_t at = o + padding[d] - k * dilation[d];
    return at >= 0 && at % stride[d] == 0 && at / stride[d] < input[d] ? at / stride[d] : -1;
  }
};

/// The patches of some channels of an image: row = position in the output, depth = channel and tap.
template <class T>
class Patches final : public Panels<Sum<T>> {
 public:
  /// `steps` are the input's, for the channel and the spatial dimensions.
  Patches(const T* image, const Ints& steps, const Geometry& geometry)
      : image_(image), steps_(steps), geometry_(geometry), taps_(numel_of(geometry.kernel)) {}

  void pack(Sum<T>* to, int64_t width, int64_t first, int64_t lanes, int64_t depth0,
            int64_t depth) const override {
    Run runs[kMostLanes];
    const int64_t count = split(first, lanes, runs);
    for (int64_t tap = 0; tap < taps_; ++tap) {
      for (int64_t r = 0; r < count; ++r) meet(tap, &runs[r]);
      int64_t channel = depth0 <= tap ? 0 : (depth0 - tap + taps_ - 1) / taps_;
      for (; channel * taps_ + tap < depth0 + depth; ++channel) {
        Sum<T>* row = to + (channel * taps_ + tap - depth0) * width;
        const T* const from = image_ + channel * steps_[0];
        for (const Run* run = runs; run < runs + count; row += run->length, ++run) {
          copy_run(*run, from, row);
        }
        for (int64_t l = lanes; l < width; ++l) *row++ = 0;
      }
    }
  }

 private:
  static constexpr int64_t kMostLanes = 32;

  /// Positions next to each other in a row of the output, and what a tap reads for them.
  struct Run {
    int64_t length;
    int64_t at[3];       // the first one's coordinates in the output
    int64_t begin, end;  // those that the tap meets inside of the image
    int64_t offset;      // of the first one's element, if it is inside
  };

  /// One position is a run of its own where neighbours do not read neighbours.
  int64_t split(int64_t first, int64_t lanes, Run* runs) const {
    const int64_t last = geometry_.rank() - 1;
    int64_t count = 0;
    for (int64_t l = 0; l < lanes; l += runs[count++].length) {
      Run& run = runs[count];
      int64_t rest = first + l;
      for (int64_t d = last + 1; d-- > 0; rest /= geometry_.output[d]) {
        run.at[d] = rest % geometry_.output[d];
      }
      run.length =
          geometry_.transposed ? 1 : std::min(lanes - l, geometry_.output[last] - run.at[last]);
    }
    return count;
  }

  void meet(int64_t tap, Run* run) const {
    const int64_t last = geometry_.rank() - 1;
    int64_t rest = tap;
    bool inside = true;
    run->offset = run->begin = 0;
    run->end = run->length;
    for (int64_t d = last + 1; d-- > 0; rest /= geometry_.kernel[d]) {
      const int64_t k = rest % geometry_.kernel[d];
      if (d == last && !geometry_.transposed) {
        const int64_t stride = geometry_.stride[d];
        const int64_t start =
            run->at[d] * stride - geometry_.padding[d] + k * geometry_.dilation[d];
        const int64_t left = geometry_.input[d] - start;
        run->begin = start < 0 ? std::min((-start + stride - 1) / stride, run->length) : 0;
        run->end = left <= 0 ? 0 : std::min((left + stride - 1) / stride, run->length);
        run->offset += start * steps_[1 + d];
      } else {
        const int64_t source = geometry_.source(d, run->at[d], k);
        inside = inside && source >= 0;
        run->offset += source * steps_[1 + d];
      }
    }
    if (!inside || run->end < run->begin) run->begin = run->end = run->length;
  }

  void copy_run(const Run& run, const T* from, Sum<T>* to) const {
    const int64_t last = geometry_.rank() - 1;
    const int64_t step = geometry_.stride[last] * steps_[1 + last];
    const T* const first = from + run.offset;
    for (int64_t l = 0; l < run.begin; ++l) to[l] = 0;
    if (step == 1) {
      for (int64_t l = run.begin; l < run.end; ++l) to[l] = static_cast<Sum<T>>(first[l]);
    } else {
      for (int64_t l = run.begin; l < run.end; ++l) to[l] = static_cast<Sum<T>>(first[l * step]);
    }
    for (int64_t l = run.end; l < run.length; ++l) to[l] = 0;
  }

  const T* image_;
  Ints steps_;
  const Geometry& geometry_;
  int64_t taps_;
};

struct WideImage;
struct DepthwiseRow;

Ints tail(const Ints& ints, int64_t from) { return Ints(ints.data() + from, ints.size() - from); }

/// One channel of the output from one of the input: runs along the last dimension.
template <class T>
void convolve_channel(const T* image, const Ints& steps, const T* weight, const Geometry& g, T* out,
                      const Ints& out_steps, Sum<T> alpha, bool accumulate) {
  using A = Sum<T>;
  const int64_t last = g.rank() - 1;
  const int64_t width = g.output[last], step = steps[last], stride = g.stride[last];
  const int64_t taps = numel_of(g.kernel);
  Ints lines = g.output;
  lines[last] = 1;
  A* const sums = workspace<DepthwiseRow, A>(width);
  for (int64_t line = 0; line < numel_of(lines); ++line) {
    int64_t at[3], rest = line, out_offset = 0;
    for (int64_t d = last; d-- > 0; rest /= g.output[d]) {
      at[d] = rest % g.output[d];
      out_offset += at[d] * out_steps[d];
    }
    std::fill(sums, sums + width, A{0});
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t k = tap % g.kernel[last];
      int64_t offset = 0, taps_left = tap / g.kernel[last];
      bool outside = false;
      for (int64_t d = last; d-- > 0; taps_left /= g.kernel[d]) {
        const int64_t source = g.source(d, at[d], taps_left % g.kernel[d]);
        outside = outside || source < 0;
        offset += source * steps[d];
      }
      if (outside) continue;
      // Input `o * stride + shift` for the outputs begin … end.
      const int64_t shift = k * g.dilation[last] - g.padding[last];
      const int64_t begin = shift < 0 ? std::min((-shift + stride - 1) / stride, width) : 0;
      const int64_t inside = g.input[last] - shift;
      const int64_t end = inside <= 0 ? 0 : std::min((inside + stride - 1) / stride, width);
      const T* const from = image + offset + shift * step;
      const A factor = static_cast<A>(weight[tap]);
      if (step * stride == 1) {
        for (int64_t o = begin; o < end; ++o) sums[o] += factor * static_cast<A>(from[o]);
      } else {
        for (int64_t o = begin; o < end; ++o) {
          sums[o] += factor * static_cast<A>(from[o * step * stride]);
        }
      }
    }
    for (int64_t o = 0; o < width; ++o) {
      T& to = out[out_offset + o * out_steps[last]];
      to = static_cast<T>(alpha * sums[o] + (accumulate ? static_cast<A>(to) : A{0}));
    }
  }
}

/// out = alpha (weight * input), added to what is in `out` if so wanted. `weight` is dense:
/// (output channel, input channel of the group, taps).
template <class T>
void convolve(const Tensor& out, const Tensor& input, const Tensor& weight, const Geometry& g,
              int64_t groups, double alpha, bool accumulate) {
  using A = Sum<T>;
  const int64_t channels = input.size(1) / groups, out_channels = out.size(1) / groups;
  const int64_t positions = numel_of(g.output);
  const int64_t depth = channels * numel_of(g.kernel);
  const int64_t images = out.size(0) * groups;
  if (images == 0 || out_channels == 0 || positions == 0) return;
  const Ints steps = tail(input.strides(), 1), out_steps = tail(out.strides(), 1);
  const Ints pixel_steps = tail(out_steps, 1);
  const A factor = static_cast<A>(alpha), keep = accumulate ? A{1} : A{0};
  // Positions as one dimension: dense in the default order and in channels last.
  bool flat = true;
  for (int64_t d = 0; d + 1 < g.rank(); ++d) {
    flat = flat && (g.output[d] == 1 || pixel_steps[d] == pixel_steps[d + 1] * g.output[d + 1]);
  }
  const int64_t work = out_channels * positions * depth;
  const bool apart = images >= 2 * omp_get_max_threads() || work < (1 << 18);
  const int64_t grain =
      apart ? std::max<int64_t>((1 << 16) / std::max<int64_t>(work, 1), 1) : images;
  parallel_for(images, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / groups, group = i % groups;
      const T* const image =
          input.data<T>() + n * input.stride(0) + group * channels * input.stride(1);
      T* const result = out.data<T>() + n * out.stride(0) + group * out_channels * out.stride(1);
      const T* const filters = weight.data<T>() + group * out_channels * depth;
      if (channels == 1 && !g.transposed) {
        parallel_for(out_channels, kGrain / std::max<int64_t>(depth * positions, 1),
                     [&](int64_t c0, int64_t c1) {
                       for (int64_t c = c0; c < c1; ++c) {
                         convolve_channel(image, tail(steps, 1), filters + c * depth, g,
                                          result + c * out.stride(1), pixel_steps, factor,
                                          accumulate);
                       }
                     });
        continue;
      }
      const Patches<T> patches(image, steps, g);
      const Rows<T> rows({filters, out_channels, depth, depth, 1});
      const auto product = [&](Matrix<A> c) {
        if (c.column_step == 1 || c.row_step != 1) {
          multiply<A>(rows, patches, depth, c, factor, keep);
        } else {
          multiply<A>(patches, rows, depth, c.transposed(), factor, keep);
        }
      };
      if constexpr (std::is_same_v<T, A>) {
        if (flat) {
          product({result, out_channels, positions, out.stride(1), pixel_steps.back()});
          continue;
        }
      }
      const Matrix<A> wide{workspace<WideImage, A>(out_channels * positions), out_channels,
                           positions, positions, 1};
      const Ints sizes = tail(out.sizes(), 1);
      Ints group_sizes = sizes;
      group_sizes[0] = out_channels;
      const std::array<Ints, 2> strides{contiguous_strides(group_sizes), out_steps};
      const auto each = [&](auto&& f) {
        for_each_in_order<2>(group_sizes, strides,
                             [&](const Offsets<2>& at) { f(wide.data[at[0]], result[at[1]]); });
      };
      if (accumulate) each([](A& sum, T& value) { sum = static_cast<A>(value); });
      product(wide);
      each([](A& sum, T& value) { value = static_cast<T>(sum); });
    }
  });
}

/// The parts of a complex tensor, where they lie.
template <class R>
Tensor part(const Tensor& t, int64_t imaginary) {
  Ints strides = t.strides();
  for (int64_t& stride : strides) stride *= 2;
  return Tensor(t.storage(), t.sizes(), strides, 2 * t.offset() + imaginary, dtype_of<R>);
}

/// Each number, or the one there is, for every spatial dimension.
Ints each_dimension(const int64_t* values, int64_t count, int64_t rank, int64_t least,
                    const char* name) {
  require(count == rank || count == 1, name, " has ", count, " numbers for ", rank, " dimensions");
  Ints result;
  for (int64_t d = 0; d < rank; ++d) {
    result.push_back(values[count == 1 ? 0 : d]);
    require(result[d] >= least, name, " is ", result[d], ", at least ", least, " is possible");
  }
  return result;
}

/// (output channel, input channel of the group, taps), dense; of a transposed convolution's
/// (input channel, output channel of the group, taps).
Tensor by_output_channel(const Tensor& weight, bool transposed, int64_t groups) {
  if (!transposed) return contiguous(weight);
  const int64_t channels = weight.size(0) / groups, out_channels = weight.size(1);
  Ints sizes{groups, out_channels, channels},
      strides{channels * weight.stride(0), weight.stride(1), weight.stride(0)};
  Ints merged{groups * out_channels, channels};
  for (int64_t d = 2; d < weight.dim(); ++d) {
    sizes.push_back(weight.size(d));
    strides.push_back(weight.stride(d));
    merged.push_back(weight.size(d));
  }
  Tensor result = empty(merged, weight.dtype());
  copy(result.view(sizes, contiguous_strides(sizes), 0),
       weight.view(sizes, strides, weight.offset()));
  return result;
}

bool is_channels_last_image(const Tensor& t) {
  if (t.dim() != 3) return is_channels_last(t) && t.dim() == 4;
  return is_channels_last(unsqueeze(t, 2));  // ATen computes one dimension as two
}

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor* bias, Geometry g,
                   const Ints& output_padding, int64_t groups) {
  const int64_t rank = weight.dim() - 2;
  require(rank >= 1 && rank <= 3 && input.dim() == weight.dim(), "ranks are ", input.dim(), " and ",
          weight.dim());
  require(input.dtype() == weight.dtype() && (!bias || bias->dtype() == input.dtype()),
          "dtypes are ", name_of(input.dtype()), " and ", name_of(weight.dtype()),
          bias ? ", bias " : "", bias ? name_of(bias->dtype()) : "");
  const int64_t channels = input.size(1);
  const int64_t out_channels = g.transposed ? weight.size(1) * groups : weight.size(0);
  require(groups >= 1 && channels % groups == 0 && out_channels % groups == 0 &&
              (g.transposed ? weight.size(0) == channels : weight.size(1) * groups == channels),
          "weights of sizes ", weight.sizes(), " do not fit ", channels, " channels in ", groups,
          " groups");
  Ints sizes{input.size(0), out_channels};
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t in = input.size(d + 2), kernel = weight.size(d + 2);
    const int64_t reach = g.dilation[d] * (kernel - 1) + 1;
    const int64_t out = g.transposed
                            ? (in - 1) * g.stride[d] - 2 * g.padding[d] + reach + output_padding[d]
                            : (in + 2 * g.padding[d] - reach) / g.stride[d] + 1;
    require(kernel > 0 && (g.transposed ? out > 0 : in + 2 * g.padding[d] >= reach),
            "an input of sizes ", input.sizes(), " is smaller than the kernel's reach of ", reach);
    g.input.push_back(in);
    g.kernel.push_back(kernel);
    g.output.push_back(out);
    sizes.push_back(out);
  }
  // What ATen's choice for one dimension, two, and three promises.
  const bool last = rank < 3 && (is_channels_last_image(rank == 1 ? contiguous(input) : input) ||
                                 is_channels_last_image(weight));
  Tensor out;
  if (last && rank == 1) {
    const Tensor image = empty_channels_last({sizes[0], sizes[1], 1, sizes[2]}, input.dtype());
    out = select(image, 2, 0);
  } else {
    out = last ? empty_channels_last(sizes, input.dtype()) : empty(sizes, input.dtype());
  }
  if (bias) {
    require(bias->dim() == 1 && bias->size(0) == out_channels, "a bias of sizes ", bias->sizes(),
            " for ", out_channels, " channels");
    Tensor channelwise = *bias;
    for (int64_t d = 0; d < rank; ++d) channelwise = unsqueeze(channelwise, channelwise.dim());
    copy(out, channelwise);
  }
  if (channels == 0 && !bias) fill_zero(out);
  const Tensor filters = by_output_channel(weight, g.transposed, groups);
  dispatch(Numbers{}, input.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (is_complex<T>) {
      using R = typename T::value_type;
      const auto product = [&](int to, int image, int filter, double sign, bool accumulate) {
        convolve<R>(part<R>(out, to), part<R>(input, image), contiguous(part<R>(filters, filter)),
                    g, groups, sign, accumulate);
      };
      product(0, 0, 0, 1, bias != nullptr);
      product(0, 1, 1, -1, true);
      product(1, 0, 1, 1, bias != nullptr);
      product(1, 1, 0, 1, true);
    } else {
      convolve<T>(out, input, filters, g, groups, 1, bias != nullptr);
    }
  });
  return out;
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_convolution(
    AtenTensorHandle input, AtenTensorHandle weight, AtenTensorHandle* bias, const int64_t* stride,
    int64_t stride_len_, const int64_t* padding, int64_t padding_len_, const int64_t* dilation,
    int64_t dilation_len_, int32_t transposed, const int64_t* output_padding,
    int64_t output_padding_len_, int64_t groups, AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const int64_t rank = tensor_of(weight).dim() - 2;
    Geometry g{each_dimension(stride, stride_len_, rank, 1, "stride"),
               each_dimension(padding, padding_len_, rank, 0, "padding"),
               each_dimension(dilation, dilation_len_, rank, 1, "dilation"),
               transposed != 0,
               {},
               {},
               {}};
    const Ints added = g.transposed ? each_dimension(output_padding, output_padding_len_, rank, 0,
                                                     "output padding")
                                    : Ints::filled(rank, 0);
    *ret0 = release(convolution(tensor_of(input), tensor_of(weight), optional_tensor_of(bias), g,
                                added, groups));
  });
}
