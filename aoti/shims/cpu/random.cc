#include "executorch_backends/aoti/shims/common/random.h"

#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <cmath>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"

namespace executorch_backends::aoti {
namespace {

/// [0, 1), in as many bits as T's mantissa has.
template <class T>
T unit(uint64_t bits) {
  constexpr int kBits = std::is_same_v<T, double>  ? 53
                        : std::is_same_v<T, float> ? 24
                        : std::is_same_v<T, Half>  ? 11
                                                   : 8;
  return static_cast<T>(std::ldexp(static_cast<double>(bits >> (64 - kBits)), -kBits));
}

double unit(uint64_t bits) { return unit<double>(bits); }

/// Standard normal, by Box and Muller, from two random numbers.
double normal(uint64_t a, uint64_t b) {
  return std::sqrt(-2 * std::log1p(-unit(a))) * std::cos(2 * M_PI * unit(b));
}

/// Sets every element to `f(i-th random number, …)`, where each has `Each` of its own, in an order
/// that no number of threads changes.
template <class T, int Each = 1, class F>
void generate(const Tensor& out, F&& f) {
  const RandomStream stream = take_random(Each * out.numel());
  const Walk<1> walk(out.sizes(), {out.strides()}, Order::kLogical);
  T* const to = out.data<T>();
  parallel_for(walk.count(), kGrain / 8, [&](int64_t begin, int64_t end) {
    int64_t i = begin;
    walk.visit(begin, end, [&](const Offsets<1>& at, const Offsets<1>& steps, int64_t length) {
      for (int64_t k = 0; k < length; ++k, ++i) {
        T& value = to[at[0] + k * steps[0]];
        if constexpr (Each == 1) {
          value = f(stream(i));
        } else {
          value = f(stream(2 * i), stream(2 * i + 1));
        }
      }
    });
  });
}

void fill_uniform(const Tensor& out, double from, double to) {
  require(from <= to, "from ", from, " to ", to, " is no range");
  dispatch(Floats{}, out.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const bool standard = from == 0 && to == 1;
    generate<T>(out, [&](uint64_t bits) {
      if (standard) return unit<T>(bits);
      const T value = static_cast<T>(from + unit(bits) * (to - from));
      return static_cast<double>(value) < to || from == to ? value : static_cast<T>(from);
    });
  });
}

void fill_normal(const Tensor& out, double mean, double deviation) {
  require(deviation >= 0, "a standard deviation of ", deviation);
  dispatch(decltype(Floats{} + Complexes{}){}, out.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (is_complex<T>) {
      // Each part has half of the variance.
      using R = typename T::value_type;
      generate<T, 2>(out, [&](uint64_t a, uint64_t b) {
        const double radius = deviation * std::sqrt(-std::log1p(-unit(a)));
        const double angle = 2 * M_PI * unit(b);
        return T(static_cast<R>(mean + radius * std::cos(angle)),
                 static_cast<R>(radius * std::sin(angle)));
      });
    } else {
      generate<T, 2>(out, [&](uint64_t a, uint64_t b) {
        return static_cast<T>(mean + deviation * normal(a, b));
      });
    }
  });
}

void fill_integers(const Tensor& out, int64_t low, int64_t high) {
  require(low < high, "from ", low, " to ", high, " there is no integer");
  const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  dispatch(RealsAndBool{}, out.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    generate<T>(out, [&](uint64_t bits) {
      const auto offset =
          static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * count) >> 64);
      return static_cast<T>(static_cast<int64_t>(static_cast<uint64_t>(low) + offset));
    });
  });
}

template <class P>
void fill_bernoulli(const Tensor& out, P&& probability) {
  dispatch(RealsAndBool{}, out.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const Tensor p = probability(out.sizes());  // float64, of the same sizes
    const Tensor drawn = empty(out.sizes(), DType::Double);
    generate<double>(drawn, [](uint64_t bits) { return unit(bits); });
    elementwise<T, double, double>(
        [](double u, double limit) { return static_cast<T>(u < limit ? 1 : 0); }, out, drawn, p);
  });
}

void require_probability(double p) { require(p >= 0 && p <= 1, p, " is no probability"); }

Tensor constant(double value) {
  Tensor t = empty({}, DType::Double);
  *t.data<double>() = value;
  return t;
}

DType dtype_or(const int32_t* dtype, DType otherwise) {
  return dtype ? dtype_from(*dtype) : otherwise;
}

/// As at::empty_like with a dtype and a memory format: preserved unless it says contiguous.
Tensor like(const Tensor& self, const int32_t* dtype, const int32_t* memory_format) {
  const DType wanted = dtype_or(dtype, self.dtype());
  if (memory_format == nullptr || *memory_format == 1) return empty_like(self, wanted);
  require(*memory_format == 0 || *memory_format == 2 || *memory_format == 3, "memory format ",
          *memory_format);
  return *memory_format == 0 ? empty(self.sizes(), wanted)
                             : empty_channels_last(self.sizes(), wanted);
}

void refuse(const AtenGeneratorHandle* generator) {
  require(generator == nullptr || *generator == nullptr, "generators are not supported");
}

template <class Fill>
AOTITorchError make(const char* name, AtenTensorHandle* result, Fill&& fill) {
  return shim(name, [&] { *result = release(fill()); });
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_rand(const int64_t* size, int64_t size_len_, int32_t* dtype, int32_t*,
                                   int32_t*, int32_t, int32_t*, AtenTensorHandle* ret0) {
  return make(__func__, ret0, [&] {
    Tensor out = empty(Ints(size, size_len_), dtype_or(dtype, DType::Float));
    fill_uniform(out, 0, 1);
    return out;
  });
}

AOTITorchError aoti_torch_cpu_rand_generator(const int64_t* size, int64_t size_len_,
                                             AtenGeneratorHandle* generator, int32_t* dtype,
                                             int32_t* layout, int32_t* device, int32_t index,
                                             int32_t* pin_memory, AtenTensorHandle* ret0) {
  if (generator && *generator) return shim(__func__, [&] { refuse(generator); });
  return aoti_torch_cpu_rand(size, size_len_, dtype, layout, device, index, pin_memory, ret0);
}

AOTITorchError aoti_torch_cpu_rand_like(AtenTensorHandle self, int32_t* dtype, int32_t*, int32_t*,
                                        int32_t, int32_t*, int32_t* memory_format,
                                        AtenTensorHandle* ret0) {
  return make(__func__, ret0, [&] {
    Tensor out = like(tensor_of(self), dtype, memory_format);
    fill_uniform(out, 0, 1);
    return out;
  });
}

AOTITorchError aoti_torch_cpu_randn(const int64_t* size, int64_t size_len_, int32_t* dtype,
                                    int32_t*, int32_t*, int32_t, int32_t*, AtenTensorHandle* ret0) {
  return make(__func__, ret0, [&] {
    Tensor out = empty(Ints(size, size_len_), dtype_or(dtype, DType::Float));
    fill_normal(out, 0, 1);
    return out;
  });
}

AOTITorchError aoti_torch_cpu_randn_generator(const int64_t* size, int64_t size_len_,
                                              AtenGeneratorHandle* generator, int32_t* dtype,
                                              int32_t* layout, int32_t* device, int32_t index,
                                              int32_t* pin_memory, AtenTensorHandle* ret0) {
  if (generator && *generator) return shim(__func__, [&] { refuse(generator); });
  return aoti_torch_cpu_randn(size, size_len_, dtype, layout, device, index, pin_memory, ret0);
}

AOTITorchError aoti_torch_cpu_randn_like(AtenTensorHandle self, int32_t* dtype, int32_t*, int32_t*,
                                         int32_t, int32_t*, int32_t* memory_format,
                                         AtenTensorHandle* ret0) {
  return make(__func__, ret0, [&] {
    Tensor out = like(tensor_of(self), dtype, memory_format);
    fill_normal(out, 0, 1);
    return out;
  });
}

AOTITorchError aoti_torch_cpu_randint_low(int64_t low, int64_t high, const int64_t* size,
                                          int64_t size_len_, int32_t* dtype, int32_t*, int32_t*,
                                          int32_t, int32_t*, AtenTensorHandle* ret0) {
  return make(__func__, ret0, [&] {
    Tensor out = empty(Ints(size, size_len_), dtype_or(dtype, DType::Long));
    fill_integers(out, low, high);
    return out;
  });
}

AOTITorchError aoti_torch_cpu_randint(int64_t high, const int64_t* size, int64_t size_len_,
                                      int32_t* dtype, int32_t* layout, int32_t* device,
                                      int32_t index, int32_t* pin_memory, AtenTensorHandle* ret0) {
  return aoti_torch_cpu_randint_low(0, high, size, size_len_, dtype, layout, device, index,
                                    pin_memory, ret0);
}

AOTITorchError aoti_torch_cpu_randint_generator(int64_t high, const int64_t* size,
                                                int64_t size_len_, AtenGeneratorHandle* generator,
                                                int32_t* dtype, int32_t* layout, int32_t* device,
                                                int32_t index, int32_t* pin_memory,
                                                AtenTensorHandle* ret0) {
  if (generator && *generator) return shim(__func__, [&] { refuse(generator); });
  return aoti_torch_cpu_randint(high, size, size_len_, dtype, layout, device, index, pin_memory,
                                ret0);
}

AOTITorchError aoti_torch_cpu_randint_low_out(AtenTensorHandle out, int64_t low, int64_t high,
                                              const int64_t* size, int64_t size_len_) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(out);
    require(t.sizes() == Ints(size, size_len_), "sizes ", t.sizes(), ", asked for are ",
            Ints(size, size_len_));
    fill_integers(t, low, high);
  });
}

AOTITorchError aoti_torch_cpu_randint_like_low_dtype(AtenTensorHandle self, int64_t low,
                                                     int64_t high, int32_t* dtype, int32_t*,
                                                     int32_t*, int32_t, int32_t*,
                                                     int32_t* memory_format,
                                                     AtenTensorHandle* ret0) {
  return make(__func__, ret0, [&] {
    Tensor out = like(tensor_of(self), dtype, memory_format);
    fill_integers(out, low, high);
    return out;
  });
}

AOTITorchError aoti_torch_cpu_randint_like(AtenTensorHandle self, int64_t high, int32_t* dtype,
                                           int32_t* layout, int32_t* device, int32_t index,
                                           int32_t* pin_memory, int32_t* memory_format,
                                           AtenTensorHandle* ret0) {
  return aoti_torch_cpu_randint_like_low_dtype(self, 0, high, dtype, layout, device, index,
                                               pin_memory, memory_format, ret0);
}

AOTITorchError aoti_torch_cpu_randperm(int64_t n, int32_t* dtype, int32_t*, int32_t*, int32_t,
                                       int32_t*, AtenTensorHandle* ret0) {
  return make(__func__, ret0, [&] {
    Tensor out = empty({n}, dtype_or(dtype, DType::Long));
    dispatch(Reals{}, out.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      T* const to = out.data<T>();
      const RandomStream stream = take_random(n);
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(i);
      for (int64_t i = n; i-- > 1;) {
        const auto bound = static_cast<unsigned __int128>(i + 1);
        std::swap(to[i], to[static_cast<int64_t>((stream(i) * bound) >> 64)]);
      }
    });
    return out;
  });
}

AOTITorchError aoti_torch_cpu_bernoulli__float(AtenTensorHandle self, double p,
                                               AtenGeneratorHandle* generator) {
  return shim(__func__, [&] {
    refuse(generator);
    require_probability(p);
    fill_bernoulli(tensor_of(self), [&](const Ints& sizes) { return expand(constant(p), sizes); });
  });
}

AOTITorchError aoti_torch_cpu_bernoulli__Tensor(AtenTensorHandle self, AtenTensorHandle p,
                                                AtenGeneratorHandle* generator) {
  return shim(__func__, [&] {
    refuse(generator);
    const Tensor wide = to(tensor_of(p), DType::Double);
    for_each_in_order<1>(wide.sizes(), {wide.strides()}, [&](const Offsets<1>& at) {
      require_probability(wide.data<double>()[at[0]]);
    });
    fill_bernoulli(tensor_of(self), [&](const Ints& sizes) { return expand(wide, sizes); });
  });
}

AOTITorchError aoti_torch_cpu_normal_functional(AtenTensorHandle self, double mean, double std,
                                                AtenGeneratorHandle* generator,
                                                AtenTensorHandle* ret0) {
  return make(__func__, ret0, [&] {
    refuse(generator);
    Tensor out = empty_like(tensor_of(self));
    fill_normal(out, mean, std);
    return out;
  });
}

AOTITorchError aoti_torch_cpu_uniform(AtenTensorHandle self, double from, double to,
                                      AtenGeneratorHandle* generator, AtenTensorHandle* ret0) {
  return make(__func__, ret0, [&] {
    refuse(generator);
    Tensor out = empty_like(tensor_of(self));
    fill_uniform(out, from, to);
    return out;
  });
}

AOTITorchError aoti_torch_cpu_exponential(AtenTensorHandle self, double lambd,
                                          AtenGeneratorHandle* generator, AtenTensorHandle* ret0) {
  return make(__func__, ret0, [&] {
    refuse(generator);
    require(lambd > 0, "a rate of ", lambd);
    Tensor out = empty_like(tensor_of(self));
    dispatch(Floats{}, out.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      generate<T>(out, [&](uint64_t bits) {
        // 1 - u is never 0; the smallest value is above 0, as ATen's.
        return static_cast<T>(-std::log1p(-unit(bits | (uint64_t{1} << 11))) / lambd);
      });
    });
    return out;
  });
}

AOTITorchError aoti_torch_cpu_native_dropout(AtenTensorHandle input, double p, int32_t* train,
                                             AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(input);
    require_probability(p);
    Tensor mask = empty_like(t, DType::Bool), out = empty_like(t);
    const double kept = train && !*train ? 1 : 1 - p;
    fill_bernoulli(mask, [&](const Ints& sizes) { return expand(constant(kept), sizes); });
    dispatch(decltype(Floats{} + Complexes{}){}, t.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      const Compute<T> scale = static_cast<Compute<T>>(kept == 0 ? 0 : 1 / kept);
      elementwise<T, T, bool>(
          [&](T value, bool keep) {
            const auto factor = keep ? scale : Compute<T>(0);
            return static_cast<T>(static_cast<Compute<T>>(value) * factor);
          },
          out, t, mask);
    });
    *ret0 = release(std::move(out));
    *ret1 = release(std::move(mask));
  });
}
