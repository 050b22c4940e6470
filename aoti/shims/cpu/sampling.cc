#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <cmath>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"

namespace executorch_backends::aoti {
namespace {

enum Interpolation : int64_t { kLinear = 0, kNearest = 1 };
enum Outside : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

/// A coordinate of -1 … 1 in elements, moved inside as `outside` says.
template <class T>
T element_coordinate(T x, int64_t size, int64_t outside, bool align_corners) {
  const T n = static_cast<T>(size);
  T at = align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  if (outside == kReflection) {
    // Between the outermost elements' centres, or their outer edges.
    const T low = align_corners ? T(0) : T(-0.5), span = align_corners ? n - 1 : n;
    if (span <= 0) {
      at = 0;
    } else {
      const T distance = std::abs(at - low);
      const T extra = std::fmod(distance, span);
      const bool even = std::fmod(std::floor(distance / span), T(2)) == 0;
      at = (even ? extra : span - extra) + low;
    }
  }
  return outside == kZeros ? at : std::min(n - 1, std::max(at, T(0)));
}

Tensor grid_sampler_3d(const Tensor& input, const Tensor& grid, int64_t interpolation,
                       int64_t outside, bool align_corners) {
  require(input.dim() == 5 && grid.dim() == 5 && grid.size(4) == 3 && grid.size(0) == input.size(0),
          "an input of sizes ", input.sizes(), ", a grid of ", grid.sizes());
  require(input.dtype() == grid.dtype(), "dtypes are ", name_of(input.dtype()), " and ",
          name_of(grid.dtype()));
  require(interpolation == kLinear || interpolation == kNearest, "interpolation ", interpolation);
  require(outside >= kZeros && outside <= kReflection, "padding mode ", outside);
  for (int64_t d = 2; d < 5; ++d) require(input.size(d) > 0, "an input of sizes ", input.sizes());
  const int64_t channels = input.size(1);
  Tensor out =
      empty({input.size(0), channels, grid.size(1), grid.size(2), grid.size(3)}, input.dtype());
  const Tensor places = select(grid, 4, 0), first_channel = select(out, 1, 0);
  const Ints images{input.stride(0), 0, 0, 0};
  dispatch(Types<float, double>{}, input.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const auto sample = [&](const Offsets<3>& at) {
      int64_t low[3];
      T fraction[3];  // of the element above `low`
      for (int64_t d = 0; d < 3; ++d) {
        // A grid names the innermost dimension first.
        const T x = grid.data<T>()[at[0] + (2 - d) * grid.stride(4)];
        const T place = element_coordinate(x, input.size(2 + d), outside, align_corners);
        const T base = interpolation == kNearest ? std::nearbyint(place) : std::floor(place);
        // Far outside, or not a number: nothing there.
        const bool sane = base >= -2 && base <= static_cast<T>(input.size(2 + d)) + 1;
        low[d] = sane ? static_cast<int64_t>(base) : -2;
        fraction[d] = interpolation == kNearest ? T(0) : place - base;
      }
      T* const to = out.data<T>() + at[1];
      for (int64_t c = 0; c < channels; ++c) to[c * out.stride(1)] = 0;
      for (int corner = 0; corner < (interpolation == kNearest ? 1 : 8); ++corner) {
        T weight = 1;
        int64_t offset = at[2];
        bool inside = true;
        for (int64_t d = 0; d < 3; ++d) {
          const int64_t above = corner >> (2 - d) & 1, place = low[d] + above;
          inside = inside && place >= 0 && place < input.size(2 + d);
          weight *= above ? fraction[d] : 1 - fraction[d];
          offset += place * input.stride(2 + d);
        }
        if (!inside) continue;
        for (int64_t c = 0; c < channels; ++c) {
          to[c * out.stride(1)] += weight * input.data<T>()[offset + c * input.stride(1)];
        }
      }
    };
    for_each_run<3>(
        first_channel.sizes(), {places.strides(), first_channel.strides(), images},
        [&](const Offsets<3>& offsets, const Offsets<3>& steps, int64_t length) {
          Offsets<3> at = offsets;
          for (int64_t i = 0; i < length; ++i) {
            sample(at);
            for (size_t t = 0; t < 3; ++t) at[t] += steps[t];
          }
        },
        std::max<int64_t>(kGrain / (8 * std::max<int64_t>(channels, 1)), 1));
  });
  return out;
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_grid_sampler_3d(AtenTensorHandle input, AtenTensorHandle grid,
                                              int64_t interpolation_mode, int64_t padding_mode,
                                              int32_t align_corners, AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    *ret0 = release(grid_sampler_3d(tensor_of(input), tensor_of(grid), interpolation_mode,
                                    padding_mode, align_corners != 0));
  });
}
