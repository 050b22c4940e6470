#include "executorch_backends/aoti/shims/common/random.h"

#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"

namespace executorch_backends::aoti {
namespace {

/// With the one that is not stored.
template <class T>
constexpr int kMantissaBits = std::is_same_v<T, double>  ? 53
                              : std::is_same_v<T, float> ? 24
                              : std::is_same_v<T, Half>  ? 11
                                                         : 8;

/// [0, 1), in as many bits as T's mantissa has.
template <class T>
T unit(uint64_t bits) {
  constexpr int kBits = kMantissaBits<T>;
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

void fill_standard(const Tensor& out) { fill_uniform(out, 0, 1); }

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

void fill_standard_normal(const Tensor& out) { fill_normal(out, 0, 1); }

/// Fails unless T holds both integers, if it is a type of integers.
template <class T>
void require_in_range(int64_t low, int64_t high) {
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    require(low >= static_cast<int64_t>(Limits::lowest()) &&
                high <= static_cast<int64_t>(Limits::max()),
            name_of(dtype_of<T>), " does not hold ", low, " to ", high);
  }
}

void fill_integers(const Tensor& out, int64_t low, int64_t high) {
  require(low < high, "from ", low, " to ", high, " there is no integer");
  const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  dispatch(RealsAndBool{}, out.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    require_in_range<T>(low, high - 1);
    generate<T>(out, [&](uint64_t bits) {
      const auto offset =
          static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * count) >> 64);
      return static_cast<T>(static_cast<int64_t>(static_cast<uint64_t>(low) + offset));
    });
  });
}

/// Fails where T does not hold all integers below `n` apart; ATen's limit is the same.
template <class T>
void require_permutation(int64_t n) {
  if constexpr (std::is_integral_v<T>) {
    require_in_range<T>(0, std::max<int64_t>(n - 1, 0));
  } else {
    const int64_t most = (int64_t{1} << kMantissaBits<T>)+1;
    require(n <= most, name_of(dtype_of<T>), " counts up to ", most, " exactly, not to ", n);
  }
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

/// A list of numbers as the C interface passes it.
struct List {
  const int64_t* values;
  int64_t count;
};

DType dtype_or(const int32_t* dtype, DType otherwise) {
  return dtype ? dtype_from(*dtype) : otherwise;
}

void refuse(const AtenGeneratorHandle* generator) {
  require(generator == nullptr || *generator == nullptr, "generators are not supported");
}

/// Makes a tensor of these sizes.
auto sized(List sizes, const int32_t* dtype, DType otherwise) {
  return [=] { return empty(Ints(sizes.values, sizes.count), dtype_or(dtype, otherwise)); };
}

/// Makes a tensor as at::empty_like with a dtype and a memory format: preserved unless it says
/// contiguous or channels last.
auto like(AtenTensorHandle self, const int32_t* dtype, const int32_t* memory_format) {
  return [=] {
    const Tensor& model = tensor_of(self);
    const DType wanted = dtype_or(dtype, model.dtype());
    if (memory_format == nullptr || *memory_format == 1) return empty_like(model, wanted);
    require(*memory_format == 0 || *memory_format == 2 || *memory_format == 3, "memory format ",
            *memory_format);
    return *memory_format == 0 ? empty(model.sizes(), wanted)
                               : empty_channels_last(model.sizes(), wanted);
  };
}

/// Returns `create()`, filled.
template <class Create, class Fill>
AOTITorchError make(const char* name, const AtenGeneratorHandle* generator,
                    AtenTensorHandle* result, Create&& create, Fill&& fill) {
  return shim(name, [&] {
    refuse(generator);
    Tensor out = create();
    fill(out);
    *result = release(std::move(out));
  });
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_rand(const int64_t* size, int64_t size_len_, int32_t* dtype, int32_t*,
                                   int32_t*, int32_t, int32_t*, AtenTensorHandle* ret0) {
  return make(__func__, nullptr, ret0, sized({size, size_len_}, dtype, DType::Float),
              fill_standard);
}

AOTITorchError aoti_torch_cpu_rand_generator(const int64_t* size, int64_t size_len_,
                                             AtenGeneratorHandle* generator, int32_t* dtype,
                                             int32_t*, int32_t*, int32_t, int32_t*,
                                             AtenTensorHandle* ret0) {
  return make(__func__, generator, ret0, sized({size, size_len_}, dtype, DType::Float),
              fill_standard);
}

AOTITorchError aoti_torch_cpu_rand_like(AtenTensorHandle self, int32_t* dtype, int32_t*, int32_t*,
                                        int32_t, int32_t*, int32_t* memory_format,
                                        AtenTensorHandle* ret0) {
  return make(__func__, nullptr, ret0, like(self, dtype, memory_format), fill_standard);
}

AOTITorchError aoti_torch_cpu_rand_like_generator(AtenTensorHandle self,
                                                  AtenGeneratorHandle* generator, int32_t* dtype,
                                                  int32_t*, int32_t*, int32_t, int32_t*,
                                                  int32_t* memory_format, AtenTensorHandle* ret0) {
  return make(__func__, generator, ret0, like(self, dtype, memory_format), fill_standard);
}

AOTITorchError aoti_torch_cpu_randn(const int64_t* size, int64_t size_len_, int32_t* dtype,
                                    int32_t*, int32_t*, int32_t, int32_t*, AtenTensorHandle* ret0) {
  return make(__func__, nullptr, ret0, sized({size, size_len_}, dtype, DType::Float),
              fill_standard_normal);
}

AOTITorchError aoti_torch_cpu_randn_generator(const int64_t* size, int64_t size_len_,
                                              AtenGeneratorHandle* generator, int32_t* dtype,
                                              int32_t*, int32_t*, int32_t, int32_t*,
                                              AtenTensorHandle* ret0) {
  return make(__func__, generator, ret0, sized({size, size_len_}, dtype, DType::Float),
              fill_standard_normal);
}

AOTITorchError aoti_torch_cpu_randn_like(AtenTensorHandle self, int32_t* dtype, int32_t*, int32_t*,
                                         int32_t, int32_t*, int32_t* memory_format,
                                         AtenTensorHandle* ret0) {
  return make(__func__, nullptr, ret0, like(self, dtype, memory_format), fill_standard_normal);
}

AOTITorchError aoti_torch_cpu_randn_like_generator(AtenTensorHandle self,
                                                   AtenGeneratorHandle* generator, int32_t* dtype,
                                                   int32_t*, int32_t*, int32_t, int32_t*,
                                                   int32_t* memory_format, AtenTensorHandle* ret0) {
  return make(__func__, generator, ret0, like(self, dtype, memory_format), fill_standard_normal);
}

AOTITorchError aoti_torch_cpu_randint_low(int64_t low, int64_t high, const int64_t* size,
                                          int64_t size_len_, int32_t* dtype, int32_t*, int32_t*,
                                          int32_t, int32_t*, AtenTensorHandle* ret0) {
  return make(__func__, nullptr, ret0, sized({size, size_len_}, dtype, DType::Long),
              [=](const Tensor& t) { fill_integers(t, low, high); });
}

AOTITorchError aoti_torch_cpu_randint(int64_t high, const int64_t* size, int64_t size_len_,
                                      int32_t* dtype, int32_t*, int32_t*, int32_t, int32_t*,
                                      AtenTensorHandle* ret0) {
  return make(__func__, nullptr, ret0, sized({size, size_len_}, dtype, DType::Long),
              [=](const Tensor& t) { fill_integers(t, 0, high); });
}

AOTITorchError aoti_torch_cpu_randint_generator(int64_t high, const int64_t* size,
                                                int64_t size_len_, AtenGeneratorHandle* generator,
                                                int32_t* dtype, int32_t*, int32_t*, int32_t,
                                                int32_t*, AtenTensorHandle* ret0) {
  return make(__func__, generator, ret0, sized({size, size_len_}, dtype, DType::Long),
              [=](const Tensor& t) { fill_integers(t, 0, high); });
}

AOTITorchError aoti_torch_cpu_randint_like_low_dtype(AtenTensorHandle self, int64_t low,
                                                     int64_t high, int32_t* dtype, int32_t*,
                                                     int32_t*, int32_t, int32_t*,
                                                     int32_t* memory_format,
                                                     AtenTensorHandle* ret0) {
  return make(__func__, nullptr, ret0, like(self, dtype, memory_format),
              [=](const Tensor& t) { fill_integers(t, low, high); });
}

AOTITorchError aoti_torch_cpu_randint_like(AtenTensorHandle self, int64_t high, int32_t* dtype,
                                           int32_t*, int32_t*, int32_t, int32_t*,
                                           int32_t* memory_format, AtenTensorHandle* ret0) {
  return make(__func__, nullptr, ret0, like(self, dtype, memory_format),
              [=](const Tensor& t) { fill_integers(t, 0, high); });
}

AOTITorchError aoti_torch_cpu_randint_low_out(AtenTensorHandle out, int64_t low, int64_t high,
                                              const int64_t* size, int64_t size_len_) {
  return shim(__func__, [&] {
    const Tensor& t = tensor_of(out);
    require(t.sizes() == Ints(size, size_len_), "sizes ", t.sizes(), ", asked for are ",
            Ints(size, size_len_));
    require_single_elements(t);
    fill_integers(t, low, high);
  });
}

AOTITorchError aoti_torch_cpu_randperm(int64_t n, int32_t* dtype, int32_t*, int32_t*, int32_t,
                                       int32_t*, AtenTensorHandle* ret0) {
  return make(__func__, nullptr, ret0, sized({&n, 1}, dtype, DType::Long), [=](const Tensor& out) {
    dispatch(Reals{}, out.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      require_permutation<T>(n);
      T* const to = out.data<T>();
      const RandomStream stream = take_random(n);
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(i);
      for (int64_t i = n; i-- > 1;) {
        const auto bound = static_cast<unsigned __int128>(i + 1);
        std::swap(to[i], to[static_cast<int64_t>((stream(i) * bound) >> 64)]);
      }
    });
  });
}

AOTITorchError aoti_torch_cpu_bernoulli__float(AtenTensorHandle self, double p,
                                               AtenGeneratorHandle* generator) {
  return shim(__func__, [&] {
    refuse(generator);
    require_single_elements(tensor_of(self));
    require_probability(p);
    fill_bernoulli(tensor_of(self), [&](const Ints& sizes) { return expand(constant(p), sizes); });
  });
}

AOTITorchError aoti_torch_cpu_bernoulli__Tensor(AtenTensorHandle self, AtenTensorHandle p,
                                                AtenGeneratorHandle* generator) {
  return shim(__func__, [&] {
    refuse(generator);
    require_single_elements(tensor_of(self));
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
  return make(__func__, generator, ret0, like(self, nullptr, nullptr),
              [=](const Tensor& out) { fill_normal(out, mean, std); });
}

AOTITorchError aoti_torch_cpu_uniform(AtenTensorHandle self, double from, double to,
                                      AtenGeneratorHandle* generator, AtenTensorHandle* ret0) {
  return make(__func__, generator, ret0, like(self, nullptr, nullptr),
              [=](const Tensor& out) { fill_uniform(out, from, to); });
}

AOTITorchError aoti_torch_cpu_exponential(AtenTensorHandle self, double lambd,
                                          AtenGeneratorHandle* generator, AtenTensorHandle* ret0) {
  return make(__func__, generator, ret0, like(self, nullptr, nullptr), [=](const Tensor& out) {
    require(lambd > 0, "a rate of ", lambd);
    dispatch(Floats{}, out.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      // Never 0, though the smallest numbers do not fit 16 bits: samplers divide by it.
      const auto least = static_cast<double>(std::numeric_limits<T>::denorm_min());
      generate<T>(out, [&](uint64_t bits) {
        return static_cast<T>(std::max(-std::log1p(-unit(bits)) / lambd, least));
      });
    });
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
