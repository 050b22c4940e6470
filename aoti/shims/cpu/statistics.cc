#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <cmath>
#include <limits>
#include <vector>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"
#include "executorch_backends/aoti/shims/cpu/reduce_into.h"
#include "executorch_backends/common/checked/checked.h"

namespace executorch_backends::aoti {
namespace {

/// How many elements lie in each of `bins` equal parts of low … high; without a range, of the
/// elements' own.
Tensor histc(const Tensor& t, int64_t bins, double low, double high) {
  require(bins > 0, bins, " bins");
  require(low <= high && std::isfinite(low) && std::isfinite(high), "from ", low, " to ", high,
          " is no range");
  Tensor out = empty({bins}, t.dtype());
  fill_zero(out);
  dispatch(Floats{}, t.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    using C = Compute<T>;
    C first = static_cast<C>(low), last = static_cast<C>(high);
    const auto each = [&](auto&& f) {
      for_each_in_order<1>(t.sizes(), {t.strides()},
                           [&](const Offsets<1>& at) { f(static_cast<C>(t.data<T>()[at[0]])); });
    };
    if (low == high && t.numel() > 0) {
      first = std::numeric_limits<C>::infinity();
      last = -first;
      each([&](C x) {
        first = std::min(first, x);
        last = std::max(last, x);
      });
      require(std::isfinite(first) && std::isfinite(last), "a range of ", first, " to ", last,
              " is not finite");
    }
    if (first == last) {
      first -= 1;
      last += 1;
    }
    std::vector<int64_t> counts(static_cast<size_t>(bins), 0);
    each([&](C x) {
      if (!(x >= first && x <= last)) return;
      // A range that overflows puts all into the first bin, as ATen's does.
      const C place = (x - first) * static_cast<C>(bins) / (last - first);
      const int64_t bin = std::isfinite(place) ? static_cast<int64_t>(place) : 0;
      ++counts[static_cast<size_t>(std::min(bin, bins - 1))];
    });
    for (int64_t i = 0; i < bins; ++i) {
      out.data<T>()[i] = static_cast<T>(static_cast<C>(counts[static_cast<size_t>(i)]));
    }
  });
  return out;
}

/// Each segment of the lines along `axis` reduced to one element.
Tensor segment_reduce(const Tensor& given, Reduction reduction, const Tensor& limits, bool lengths,
                      int64_t axis, const double* initial) {
  const Tensor data = contiguous(given), ends = contiguous(to(limits, DType::Long));
  axis = wrap_dim(axis, data.dim());
  require(data.dim() > 0 && ends.dim() == axis + 1, "segments of rank ", ends.dim(), " along ",
          axis, " of a rank of ", data.dim());
  const int64_t segments = ends.size(axis) - (lengths ? 0 : 1);
  require(segments >= 0, "no offsets");
  Ints sizes;
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < data.dim(); ++d) {
    require(d >= axis || ends.size(d) == data.size(d), "segments of sizes ", ends.sizes(), " for ",
            data.sizes());
    sizes.push_back(d == axis ? segments : data.size(d));
    (d < axis ? outer : inner) *= d == axis ? 1 : data.size(d);
  }
  Tensor out = empty(sizes, data.dtype());
  dispatch(Floats{}, data.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    using C = Compute<T>;
    const C start = initial                         ? static_cast<C>(*initial)
                    : reduction == Reduction::kMean ? C(0)
                                                    : identity_of<C>(reduction);
    with_reduction<C>(reduction, [&](auto combine) {
      for (int64_t o = 0; o < outer; ++o) {
        const int64_t* const limit = ends.data<int64_t>() + o * ends.size(axis);
        int64_t begin = lengths || segments == 0 ? 0 : limit[0];
        for (int64_t s = 0; s < segments; ++s) {
          int64_t end = lengths ? 0 : limit[s + 1];
          require(!lengths || !checked::add(begin, limit[s], &end), "a segment of ", limit[s],
                  " from ", begin);
          require(begin >= 0 && begin <= end && end <= data.size(axis), "a segment from ", begin,
                  " to ", end, " of ", data.size(axis), " elements");
          for (int64_t i = 0; i < inner; ++i) {
            C value = start;
            for (int64_t k = begin; k < end; ++k) {
              value = combine(
                  value, static_cast<C>(data.data<T>()[(o * data.size(axis) + k) * inner + i]));
            }
            if (reduction == Reduction::kMean) {
              if (end > begin) {
                value /= static_cast<C>(end - begin);
              } else if (!initial) {
                value = std::numeric_limits<C>::quiet_NaN();
              }
            }
            out.data<T>()[(o * segments + s) * inner + i] = static_cast<T>(value);
          }
          begin = end;
        }
      }
    });
  });
  return out;
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_histc(AtenTensorHandle self, int64_t bins, double min, double max,
                                    AtenTensorHandle* ret0) {
  return shim(__func__, [&] { *ret0 = release(histc(tensor_of(self), bins, min, max)); });
}

AOTITorchError aoti_torch_cpu_segment_reduce(AtenTensorHandle data, const char* reduce,
                                             AtenTensorHandle* lengths, AtenTensorHandle* indices,
                                             AtenTensorHandle* offsets, int64_t axis, int32_t,
                                             double* initial, AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor *by_length = optional_tensor_of(lengths), *by_offset = optional_tensor_of(offsets);
    require(!optional_tensor_of(indices), "indices are not supported");
    require(by_length || by_offset, "neither lengths nor offsets");
    *ret0 = release(segment_reduce(tensor_of(data), reduction_of(reduce),
                                   by_offset ? *by_offset : *by_length, !by_offset, axis, initial));
  });
}
