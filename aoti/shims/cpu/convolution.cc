#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"
#include "executorch_backends/aoti/shims/cpu/gemm.h"
#include "executorch_backends/aoti/shims/cpu/geometry.h"
#include "executorch_backends/aoti/shims/cpu/shifted_planes.h"
#include "executorch_backends/aoti/shims/cpu/workspace.h"
#include "executorch_backends/common/checked/checked.h"

// A convolution is one product of matrices for each image and group: the weights times what they
// meet of the image, which is read from shifted planes, or gathered into the panels that a product
// reads.

namespace executorch_backends::aoti {
namespace {

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
        run->begin = start < 0 ? std::min(ceil_div(-start, stride), run->length) : 0;
        run->end = left <= 0 ? 0 : std::min(ceil_div(left, stride), run->length);
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
struct ChannelwiseWeights;

Ints tail(const Ints& ints, int64_t from) { return Ints(ints.data() + from, ints.size() - from); }

template <class A>
using Vector __attribute__((vector_size(32))) = A;
template <class A>
using Unaligned __attribute__((vector_size(32), aligned(sizeof(A)), may_alias)) = A;
template <class A>
constexpr int64_t kLanes = 32 / sizeof(A);

template <class A, class T>
Vector<A> load(const T* from) {
  if constexpr (std::is_same_v<A, T>) {
    return *reinterpret_cast<const Unaligned<A>*>(from);
  } else {
    Vector<A> result;
    for (int64_t l = 0; l < kLanes<A>; ++l) result[l] = static_cast<A>(from[l]);
    return result;
  }
}

/// One filter for each channel, where channels lie next to each other: vectors of channels.
template <class T>
class ChannelwiseLast {
 public:
  using A = Sum<T>;

  /// `weight` is dense: (channel, taps).
  ChannelwiseLast(const Tensor& out, const Tensor& input, const Tensor& weight, const Geometry& g,
                  A alpha, bool accumulate)
      : out_(out),
        input_(input),
        g_(g),
        channels_(out.size(1)),
        taps_(numel_of(g.kernel)),
        alpha_(alpha),
        accumulate_(accumulate),
        by_tap_(workspace<ChannelwiseWeights, A>(taps_, channels_)) {
    const T* const from = weight.data<T>();
    for (int64_t tap = 0; tap < taps_; ++tap) {
      for (int64_t c = 0; c < channels_; ++c) {
        by_tap_[tap * channels_ + c] = static_cast<A>(from[c * taps_ + tap]);
      }
    }
  }

  void operator()() const {
    const int64_t last = g_.rank() - 1;
    int64_t lines = out_.size(0);
    for (int64_t d = 0; d < last; ++d) lines *= g_.output[d];
    const int64_t work = g_.output[last] * channels_ * taps_ / 4;
    parallel_for(lines, kGrain / std::max<int64_t>(work, 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) line(i);
    });
  }

 private:
  static constexpr int64_t kMostRows = 256;  // of taps at once

  /// Taps that differ in the last dimension only: what they read for its coordinate 0.
  struct Row {
    const T* image;
    const A* weight;
  };

  void line(int64_t index) const {
    const int64_t last = g_.rank() - 1;
    int64_t at[3] = {}, rest = index;
    T* to = out_.data<T>();
    for (int64_t d = last; d-- > 0; rest /= g_.output[d]) {
      at[d] = rest % g_.output[d];
      to += at[d] * out_.stride(2 + d);
    }
    to += rest * out_.stride(0);
    const T* const image = input_.data<T>() + rest * input_.stride(0);
    const int64_t width = g_.kernel[last], count = taps_ / width;
    Row rows[kMostRows];
    int64_t inside = 0;
    for (int64_t r = 0; r < count; ++r) {
      int64_t offset = 0, taps = r;
      bool outside = false;
      for (int64_t d = last; d-- > 0; taps /= g_.kernel[d]) {
        const int64_t source = g_.source(d, at[d], taps % g_.kernel[d]);
        outside = outside || source < 0;
        offset += source * input_.stride(2 + d);
      }
      if (!outside) rows[inside++] = {image + offset, by_tap_ + r * width * channels_};
    }
    const int64_t step = out_.stride(2 + last);
    for (int64_t o = 0; o < g_.output[last];) {
      const Taps taps = taps_of(o);
      if (taps.count == width && o + 1 < g_.output[last] && taps_of(o + 1).count == width) {
        pixels<2>(rows, inside, taps, to + o * step);
        o += 2;
      } else {
        pixels<1>(rows, inside, taps, to + o * step);
        ++o;
      }
    }
  }

  /// The taps of a row that output `o` meets inside of the image.
  struct Taps {
    int64_t first, count;
    int64_t offset;  // of the first one's element
  };

  Taps taps_of(int64_t o) const {
    const int64_t last = g_.rank() - 1, dilation = g_.dilation[last];
    const int64_t start = o * g_.stride[last] - g_.padding[last];
    const int64_t left = g_.input[last] - start;
    const int64_t first = start < 0 ? ceil_div(-start, dilation) : 0;
    const int64_t end = left <= 0 ? 0 : std::min(ceil_div(left, dilation), g_.kernel[last]);
    return {first, std::max<int64_t>(end - first, 0),
            (start + first * dilation) * input_.stride(2 + last)};
  }

  /// All channels of so many outputs next to each other, which meet the same taps.
  template <int Outputs>
  void pixels(const Row* rows, int64_t count, const Taps& taps, T* to) const {
    int64_t c = 0;
    for (; c + 4 * kLanes<A> <= channels_; c += 4 * kLanes<A>) {
      block<4, Outputs>(rows, count, taps, to, c);
    }
    for (; c + kLanes<A> <= channels_; c += kLanes<A>) block<1, Outputs>(rows, count, taps, to, c);
    for (; c < channels_; ++c) channel<Outputs>(rows, count, taps, to, c);
  }

  template <int Outputs>
  void channel(const Row* rows, int64_t count, const Taps& taps, T* to, int64_t c) const {
    const int64_t last = g_.rank() - 1, step = input_.stride(2 + last);
    for (int o = 0; o < Outputs; ++o, to += out_.stride(2 + last)) {
      A sum{0};
      for (int64_t r = 0; r < count; ++r) {
        const T* const from = rows[r].image + taps.offset + o * g_.stride[last] * step + c;
        for (int64_t k = 0; k < taps.count; ++k) {
          sum += rows[r].weight[(taps.first + k) * channels_ + c] *
                 static_cast<A>(from[k * g_.dilation[last] * step]);
        }
      }
      store(sum, to + c);
    }
  }

  template <int Vectors, int Outputs>
  void block(const Row* rows, int64_t count, const Taps& taps, T* to, int64_t c) const {
    const int64_t last = g_.rank() - 1, step = input_.stride(2 + last);
    const int64_t tap_step = g_.dilation[last] * step, out_step = g_.stride[last] * step;
    Vector<A> sums[Outputs][Vectors] = {};
    for (int64_t r = 0; r < count; ++r) {
      const A* weight = rows[r].weight + taps.first * channels_ + c;
      const T* from = rows[r].image + taps.offset + c;
      for (int64_t k = 0; k < taps.count; ++k, weight += channels_, from += tap_step) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) {
          const Vector<A> factor = load<A>(weight + v * kLanes<A>);
#pragma GCC unroll 2
          for (int o = 0; o < Outputs; ++o) {
            sums[o][v] += factor * load<A>(from + o * out_step + v * kLanes<A>);
          }
        }
      }
    }
#pragma GCC unroll 2
    for (int o = 0; o < Outputs; ++o, to += out_.stride(2 + last)) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        T* const at = to + c + v * kLanes<A>;
        if constexpr (std::is_same_v<A, T>) {
          const Vector<A> before = accumulate_ ? load<A>(at) : Vector<A>{};
          *reinterpret_cast<Unaligned<A>*>(at) = alpha_ * sums[o][v] + before;
        } else {
          for (int64_t l = 0; l < kLanes<A>; ++l) store(static_cast<A>(sums[o][v][l]), at + l);
        }
      }
    }
  }

  void store(A sum, T* to) const {
    *to = static_cast<T>(alpha_ * sum + (accumulate_ ? static_cast<A>(*to) : A{0}));
  }

  const Tensor &out_, &input_;
  const Geometry& g_;
  int64_t channels_, taps_;
  A alpha_;
  bool accumulate_;
  A* by_tap_;  // this thread's workspace

 public:
  static bool fits(const Tensor& out, const Tensor& input, const Geometry& g, int64_t groups) {
    return !g.transposed && input.size(1) == groups && out.size(1) == groups && groups > 1 &&
           input.stride(1) == 1 && out.stride(1) == 1 &&
           numel_of(g.kernel) / g.kernel[g.rank() - 1] <= kMostRows;
  }
};

/// Every channel of `out` as its number in `bias`.
void fill(const Tensor& out, const Tensor& bias) {
  Tensor channelwise = bias;
  while (channelwise.dim() < out.dim() - 1) channelwise = unsqueeze(channelwise, channelwise.dim());
  copy(out, channelwise);
}

/// out = alpha (weight * input) + bias, added to what is in `out` if so wanted. `weight` is dense:
/// (output channel, input channel of the group, taps); so is `bias`, if there is one.
template <class T>
void convolve(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor* bias,
              const Geometry& g, int64_t groups, double alpha, bool accumulate) {
  using A = Sum<T>;
  const int64_t channels = input.size(1) / groups, out_channels = out.size(1) / groups;
  const int64_t positions = numel_of(g.output);
  const int64_t depth = channels * numel_of(g.kernel);
  const int64_t images = out.size(0) * groups;
  if (images == 0 || out_channels == 0 || positions == 0) return;
  const bool channelwise_last = ChannelwiseLast<T>::fits(out, input, g, groups);
  const bool shifted = !channelwise_last && ShiftedPlanes<T>::fits(g, out_channels);
  if (bias && !shifted) {
    fill(out, *bias);
    accumulate = true;
  }
  if (channelwise_last) {
    return ChannelwiseLast<T>(out, input, weight, g, static_cast<A>(alpha), accumulate)();
  }
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
      if (shifted) {
        const ShiftedPlanes<T> planes(g, channels);
        planes.multiply(filters, bias ? bias->data<T>() + group * out_channels : nullptr,
                        out_channels, planes.copied(image, steps), result, out.stride(1),
                        pixel_steps, factor, accumulate);
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
      const Matrix<A> wide{workspace<WideImage, A>(out_channels, positions), out_channels,
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

/// The size of the output along `d`, of the input's and the kernel's.
int64_t output_size(const Geometry& g, int64_t d, int64_t output_padding, const Ints& sizes) {
  const int64_t in = g.input[d], kernel = g.kernel[d];
  int64_t reach = 0, padded = 0, out = 0;
  require(kernel > 0 && !checked::mul(g.dilation[d], kernel - 1, &reach) &&
              !checked::add(reach, int64_t{1}, &reach) &&
              !checked::mul(g.padding[d], int64_t{2}, &padded),
          "a kernel of ", kernel, ", dilation ", g.dilation[d], ", padding ", g.padding[d]);
  if (g.transposed) {
    require(!checked::mul(in - 1, g.stride[d], &out) && !checked::sub(out, padded, &out) &&
                !checked::add(out, reach, &out) && !checked::add(out, output_padding, &out),
            "an input of sizes ", sizes, ", stride ", g.stride[d], ", padding ", g.padding[d]);
    require(out > 0, "an input of sizes ", sizes, " leaves an output of ", out);
    return out;
  }
  require(!checked::add(in, padded, &out), "an input of sizes ", sizes, ", padding ", g.padding[d]);
  require(out >= reach, "an input of sizes ", sizes, " is smaller than the kernel's reach of ",
          reach);
  return (out - reach) / g.stride[d] + 1;
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
    g.input.push_back(in);
    g.kernel.push_back(kernel);
    g.output.push_back(output_size(g, d, output_padding[d], input.sizes()));
    sizes.push_back(g.output[d]);
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
  }
  if (channels == 0) {
    bias ? fill(out, *bias) : fill_zero(out);
    return out;
  }
  const Tensor addends = bias ? contiguous(*bias) : Tensor();
  const Tensor filters = by_output_channel(weight, g.transposed, groups);
  dispatch(Numbers{}, input.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (is_complex<T>) {
      using R = typename T::value_type;
      const auto product = [&](int to, int image, int filter, double sign, bool accumulate) {
        convolve<R>(part<R>(out, to), part<R>(input, image), contiguous(part<R>(filters, filter)),
                    nullptr, g, groups, sign, accumulate);
      };
      if (bias) fill(out, addends);
      product(0, 0, 0, 1, bias != nullptr);
      product(0, 1, 1, -1, true);
      product(1, 0, 1, 1, bias != nullptr);
      product(1, 1, 0, 1, true);
    } else {
      convolve<T>(out, input, filters, bias ? &addends : nullptr, g, groups, 1, false);
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
