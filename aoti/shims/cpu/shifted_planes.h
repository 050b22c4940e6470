#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "executorch_backends/aoti/shims/common/ints.h"
#include "executorch_backends/aoti/shims/common/parallel.h"
#include "executorch_backends/aoti/shims/cpu/gemm.h"
#include "executorch_backends/aoti/shims/cpu/gemm_tiles.h"
#include "executorch_backends/aoti/shims/cpu/geometry.h"
#include "executorch_backends/aoti/shims/cpu/workspace.h"

namespace executorch_backends::aoti {

/// A convolution as a product of the weights with planes that are only shifted.
///
/// The input is copied once, with its padding, into planes: for each channel one for each remainder
/// of the coordinates by the stride that a tap meets. In a plane neighbouring outputs meet
/// neighbours, so what a tap meets for all outputs is its plane from some element on, and the
/// product reads it where it lies. Outputs are counted as a plane's elements are; those that are
/// past the end of a row are computed and dropped.
template <class T>
class ShiftedPlanes {
 public:
  using A = Sum<T>;

  ShiftedPlanes(const Geometry& g, int64_t channels) : g_(g), channels_(channels) {
    const int64_t rank = g.rank();
    for (int64_t d = 0; d < rank; ++d) {
      sizes_.push_back(g.output[d] + most_shift(g, d));
      phases_.push_back(std::min(period(g, d), g.kernel[d]));
    }
    steps_ = contiguous_strides(sizes_);
    plane_ = numel_of(sizes_);
    for (int64_t d = 0; d < rank; ++d) extent_ += (g.output[d] - 1) * steps_[d];
    find_shifts();
  }

  /// Whether few of the outputs counted are dropped, for a product of so many rows, and the planes
  /// are about as large as what they are made of.
  static bool fits(const Geometry& g, int64_t rows) {
    if (g.transposed) return false;
    double counted = 1, planes = 1;
    for (int64_t d = 0; d < g.rank(); ++d) {
      const double size = static_cast<double>(g.output[d]) + static_cast<double>(most_shift(g, d));
      planes *= size * static_cast<double>(std::min(period(g, d), g.kernel[d]));
      counted *= d == 0 ? static_cast<double>(g.output[d]) : size;
    }
    const double most = kMostCounted + kRowsOfPacking / static_cast<double>(rows);
    return counted <= most * static_cast<double>(numel_of(g.output)) &&
           planes <= 4 * static_cast<double>(numel_of(g.input) + numel_of(g.output));
  }

  /// Copies an image into planes, which stay until this thread's next call. `steps` are the
  /// image's, for the channel and the spatial dimensions.
  const A* copied(const T* image, const Ints& steps) const {
    const int64_t count = numel_of(phases_) * channels_;
    const int64_t beyond = ceil_div(tiles<A>().columns, plane_);  // which the last tile reads
    A* const planes = workspace<Copies, A>(count + beyond, plane_);
    parallel_for(count, kGrain / plane_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        copy_plane(i / channels_, image + i % channels_ * steps[0], steps, planes + i * plane_);
      }
    });
    std::fill(planes + count * plane_, planes + (count + beyond) * plane_, A{0});
    return planes;
  }

  /// out[row, position] = alpha (weights * planes) + bias[row], added to what is there if so
  /// wanted. `weights` are dense: (row, channel, taps); `bias` may be null.
  void multiply(const T* weights, const T* bias, int64_t rows, const A* planes, T* out,
                int64_t row_step, const Ints& out_steps, A alpha, bool accumulate) const {
    const Tiles<A>& kernel = tiles<A>();
    const int64_t width = kernel.columns, height = kernel.rows, depth = this->depth();
    const int64_t bands = ceil_div(rows, height), strips = ceil_div(extent_, width);
    A* const left = workspace<Filters, A>(bands, height, depth);
    const Rows<T> filters({weights, rows, depth, depth, 1});
    parallel_for(bands, kGrain / (height * depth), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        filters.pack(left + b * height * depth, height, b * height,
                     std::min(height, rows - b * height), 0, depth);
      }
    });
    // Rows are divided among threads where there are few strips.
    const int64_t threads = omp_get_max_threads();
    const int64_t parts = strips >= 4 * threads ? 1 : std::min(threads, bands);
    const int64_t work = width * depth * ceil_div(rows, parts);
    parallel_for(strips * parts, kSerialWork / work, [&](int64_t begin, int64_t end) {
      alignas(64) A tile[kMostInTile + kReadBeyond];
      while (begin < end) {
        const int64_t part = begin / strips, first = begin % strips;
        const int64_t count = std::min({strips - first, end - begin, kStripsAtOnce});
        for (int64_t b = part * bands / parts; b < (part + 1) * bands / parts; ++b) {
          const int64_t height_here = std::min(height, rows - b * height);
          for (int64_t strip = first; strip < first + count; ++strip) {
            kernel.shifted_product(height_here, depth, left + b * height * depth,
                                   planes + strip * width, shifts_, tile);
            if (bias) add(bias + b * height, height_here, tile);
            store(tile, strip * width, height_here, out + b * height * row_step, row_step,
                  out_steps, alpha, accumulate);
          }
        }
        begin += count;
      }
    });
  }

 private:
  struct Copies;
  struct Filters;
  struct Shifts;

  static constexpr int64_t kReadBeyond = 8;  // elements, by `copy`
  static constexpr double kMostCounted = 1.5;
  static constexpr double kRowsOfPacking = 32;  // as many are multiplied while patches are packed
  static constexpr int64_t kStripsAtOnce = 8;   // for which a band of the filters is read once

  /// After so many taps along `d` the remainders of their coordinates by the stride are the same.
  static int64_t period(const Geometry& g, int64_t d) {
    return g.stride[d] / std::gcd(g.stride[d], g.dilation[d]);
  }
  static int64_t most_shift(const Geometry& g, int64_t d) {
    return (g.kernel[d] - 1) * g.dilation[d] / g.stride[d];
  }
  int64_t depth() const { return channels_ * numel_of(g_.kernel); }

  /// Tap k along `d` is in the plane `k % period`, at the shift `k * dilation / stride`.
  void find_shifts() {
    shifts_ = workspace<Shifts, int64_t>(depth());
    const int64_t taps = numel_of(g_.kernel);
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t rest = tap, phase = 0, shift = 0, phases = 1;
      for (int64_t d = g_.rank(); d-- > 0; rest /= g_.kernel[d]) {
        const int64_t k = rest % g_.kernel[d];
        phase += k % period(g_, d) * phases;
        phases *= phases_[d];
        shift += k * g_.dilation[d] / g_.stride[d] * steps_[d];
      }
      for (int64_t c = 0; c < channels_; ++c) {
        shifts_[c * taps + tap] = (phase * channels_ + c) * plane_ + shift;
      }
    }
  }

  void copy_plane(int64_t phase, const T* channel, const Ints& steps, A* plane) const {
    const int64_t last = g_.rank() - 1;
    Ints first = sizes_;  // the input's coordinates of the plane's first element
    for (int64_t d = last + 1; d-- > 0; phase /= phases_[d]) {
      first[d] = phase % phases_[d] * g_.dilation[d] % g_.stride[d] - g_.padding[d];
    }
    const int64_t stride = g_.stride[last], step = steps[1 + last], width = sizes_[last];
    const int64_t left = g_.input[last] - first[last];
    const int64_t begin = first[last] < 0 ? std::min(ceil_div(-first[last], stride), width) : 0;
    const int64_t end = left <= 0 ? begin : std::clamp(ceil_div(left, stride), begin, width);
    int64_t at[3] = {};
    for (int64_t row = 0; row < plane_ / width; ++row, plane += width) {
      int64_t offset = first[last] * step;
      bool inside = true;
      for (int64_t d = 0; d < last; ++d) {
        const int64_t from = first[d] + at[d] * g_.stride[d];
        inside = inside && from >= 0 && from < g_.input[d];
        offset += from * steps[1 + d];
      }
      for (int64_t d = last; d-- > 0 && ++at[d] == sizes_[d];) at[d] = 0;
      const int64_t from = inside ? begin : width, to = inside ? end : width;
      for (int64_t i = 0; i < from; ++i) plane[i] = 0;
      if (stride * step == 1) {
        for (int64_t i = from; i < to; ++i) plane[i] = static_cast<A>(channel[offset + i]);
      } else {
        for (int64_t i = from; i < to; ++i) {
          plane[i] = static_cast<A>(channel[offset + i * stride * step]);
        }
      }
      for (int64_t i = to; i < width; ++i) plane[i] = 0;
    }
  }

  static void add(const T* bias, int64_t rows, A* tile) {
    const int64_t width = tiles<A>().columns;
    for (int64_t i = 0; i < rows; ++i, tile += width) {
      const A value = static_cast<A>(bias[i]);
      for (int64_t j = 0; j < width; ++j) tile[j] += value;
    }
  }

  /// The outputs of a tile, whose first one is counted as `first`.
  void store(const A* tile, int64_t first, int64_t rows, T* out, int64_t row_step,
             const Ints& out_steps, A alpha, bool accumulate) const {
    const int64_t width = tiles<A>().columns, last = g_.rank() - 1, step = out_steps[last];
    const int64_t end = std::min(first + width, extent_);
    for (int64_t at = first; at < end;) {
      int64_t rest = at / sizes_[last], offset = at % sizes_[last] * step;
      bool real = true;
      for (int64_t d = last; d-- > 0; rest /= sizes_[d]) {
        const int64_t o = rest % sizes_[d];
        real = real && o < g_.output[d];
        offset += o * out_steps[d];
      }
      const int64_t o = at % sizes_[last], run = std::min(sizes_[last] - o, end - at);
      const int64_t count = real ? std::clamp<int64_t>(g_.output[last] - o, 0, run) : 0;
      const A* const from = tile + (at - first);
      if (row_step == 1) {
        for (int64_t j = 0; j < count; ++j) {
          put(from + j, width, out + offset + j * step, 1, rows, alpha, accumulate);
        }
      } else {
        for (int64_t i = 0; i < rows; ++i) {
          put(from + i * width, 1, out + offset + i * row_step, step, count, alpha, accumulate);
        }
      }
      at += run;
    }
  }

  static void put(const A* from, int64_t from_step, T* to, int64_t step, int64_t count, A alpha,
                  bool accumulate) {
    if constexpr (std::is_same_v<T, float>) {
      if (from_step == 1 && step == 1 && alpha == 1 && !accumulate) return copy(from, count, to);
    }
    for (int64_t i = 0; i < count; ++i) {
      T& value = to[i * step];
      const A before = accumulate ? static_cast<A>(value) : A{0};
      value = static_cast<T>(alpha * from[i * from_step] + before);
    }
  }

  /// `from` can be read to the end of its last vector.
  static void copy(const float* from, int64_t count, float* to) {
    constexpr int64_t kLanes = 8;
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) _mm256_storeu_ps(to + i, _mm256_loadu_ps(from + i));
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i rest = _mm256_set1_epi32(static_cast<int>(count - i));
    _mm256_maskstore_ps(to + i, _mm256_cmpgt_epi32(rest, lanes), _mm256_loadu_ps(from + i));
  }

  const Geometry& g_;
  int64_t channels_;
  Ints sizes_, steps_, phases_;  // of a plane, and how many there are, for each dimension
  int64_t plane_;                // elements
  int64_t extent_ = 1;           // outputs counted
  int64_t* shifts_;              // of each row of the product; this thread's workspace
};

}  // namespace executorch_backends::aoti
