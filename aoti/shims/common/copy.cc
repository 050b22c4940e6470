#include <emmintrin.h>

#include <cstring>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"

namespace executorch_backends::aoti {
namespace {

/// What a conversion goes through, so that N dtypes need 5 N loops instead of N²: wide enough that
/// every step but the last is exact.
template <class T>
using Wide = std::conditional_t<
    is_complex<T>, ComplexDouble,
    std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t,
                       std::conditional_t<std::is_integral_v<T>, int64_t, double>>>;

using Wides = Types<int64_t, uint64_t, double, ComplexDouble>;
using Convertible = decltype(Everything{} + WideUnsigned{} +
                             Types<c10::Float8_e5m2, c10::Float8_e4m3fn, c10::Float8_e5m2fnuz,
                                   c10::Float8_e4m3fnuz>{});

template <class To, class From>
To convert(From value) {
  if constexpr (is_complex<From>) {
    if constexpr (is_complex<To>) {
      return static_cast<To>(value);
    } else if constexpr (std::is_same_v<To, bool>) {
      return value.real() != 0 || value.imag() != 0;
    } else {
      return convert<To>(value.real());
    }
  } else if constexpr (is_complex<To>) {
    return To(static_cast<typename To::value_type>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != 0;
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_integral_v<To>) {
    // What does not fit is undefined in C++; this is what ATen's conversions do on x86: through
    // int32 or int64 as the processor converts, which has one number for all that is outside.
    constexpr bool kThroughInt32 =
        std::is_same_v<To, int32_t> || sizeof(To) == 2 || std::is_same_v<To, int8_t>;
    if constexpr (std::is_floating_point_v<From> && kThroughInt32) {
      return static_cast<To>(_mm_cvttsd_si32(_mm_set_sd(value)));
    } else if constexpr (std::is_floating_point_v<From> && !std::is_same_v<To, uint64_t>) {
      return static_cast<To>(_mm_cvttsd_si64(_mm_set_sd(value)));
    } else {
      return static_cast<To>(value);
    }
  } else {
    return static_cast<To>(static_cast<float>(value));  // 16- and 8-bit floats
  }
}

template <class T>
Wide<T> widen(T value) {
  if constexpr (is_complex<T> || std::is_arithmetic_v<T>) {
    return static_cast<Wide<T>>(value);
  } else {
    return static_cast<float>(value);
  }
}

constexpr int64_t kBlock = 256;
using Block = std::aligned_storage_t<kBlock * sizeof(ComplexDouble), 16>;

/// Elements, `step` apart, to a block of the dtype that is returned: one of Wides.
DType load(Block* block, const Tensor& src, int64_t offset, int64_t step, int64_t count) {
  DType wide = DType::Undefined;
  dispatch(Convertible{}, src.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const T* const from = src.data<T>() + offset;
    auto* const to = reinterpret_cast<Wide<T>*>(block);
    for (int64_t i = 0; i < count; ++i) to[i] = widen(from[i * step]);
    wide = dtype_of<Wide<T>>;
  });
  return wide;
}

template <class From>
void store(const Block& block, const Tensor& dst, int64_t offset, int64_t step, int64_t count) {
  dispatch(Convertible{}, dst.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* const to = dst.data<T>() + offset;
    const auto* const from = reinterpret_cast<const From*>(&block);
    for (int64_t i = 0; i < count; ++i) to[i * step] = convert<T>(from[i]);
  });
}

void copy_converted(const Tensor& dst, const Tensor& src) {
  for_each_run<2>(dst.sizes(), {dst.strides(), src.strides()},
                  [&](const Offsets<2>& offsets, const Offsets<2>& steps, int64_t length) {
                    Block block;
                    for (int64_t done = 0; done < length; done += kBlock) {
                      const int64_t count = std::min(kBlock, length - done);
                      const DType wide =
                          load(&block, src, offsets[1] + done * steps[1], steps[1], count);
                      dispatch(Wides{}, wide, [&](auto type) {
                        store<typename decltype(type)::type>(
                            block, dst, offsets[0] + done * steps[0], steps[0], count);
                      });
                    }
                  });
}

}  // namespace

void copy(const Tensor& dst, const Tensor& unexpanded) {
  const Tensor expanded = expand(unexpanded, dst.sizes());
  if (dst.numel() == 0) return;
  if (dst.dtype() == expanded.dtype() && dst.raw() == expanded.raw() &&
      dst.strides() == expanded.strides()) {
    return;
  }
  const Tensor src = apart(expanded, dst);
  if (dst.dtype() != src.dtype()) return copy_converted(dst, src);
  dispatch_width(dst.item_size(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* const to = dst.data<T>();
    const T* const from = src.data<T>();
    for_each_run<2>(dst.sizes(), {dst.strides(), src.strides()},
                    [&](const Offsets<2>& offsets, const Offsets<2>& steps, int64_t length) {
                      T* const q = to + offsets[0];
                      const T* const p = from + offsets[1];
                      if (steps[0] == 1 && steps[1] == 1) {
                        std::memmove(q, p, static_cast<size_t>(length) * sizeof(T));
                      } else if (steps[0] == 1 && steps[1] == 0) {
                        std::fill(q, q + length, *p);
                      } else if (steps[0] == 1) {
                        for (int64_t i = 0; i < length; ++i) q[i] = p[i * steps[1]];
                      } else {
                        for (int64_t i = 0; i < length; ++i) q[i * steps[0]] = p[i * steps[1]];
                      }
                    });
  });
}

Tensor contiguous(const Tensor& t) {
  if (t.is_contiguous()) return t;
  Tensor result = empty(t.sizes(), t.dtype());
  copy(result, t);
  return result;
}

Tensor clone(const Tensor& t) {
  Tensor result = empty_like(t);
  copy(result, t);
  return result;
}

Tensor to(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  Tensor result = empty_like(t, dtype);
  copy(result, t);
  return result;
}

void fill_zero(const Tensor& t) {
  for_each_run<1>(t.sizes(), {t.strides()},
                  [&](const Offsets<1>& offsets, const Offsets<1>& steps, int64_t length) {
                    std::byte* at = t.data<std::byte>() + offsets[0] * t.item_size();
                    if (steps[0] == 1) {
                      std::memset(at, 0, length * t.item_size());
                    } else {
                      for (int64_t i = 0; i < length; ++i, at += steps[0] * t.item_size()) {
                        std::memset(at, 0, t.item_size());
                      }
                    }
                  });
}

}  // namespace executorch_backends::aoti
