// Every kernel with arguments that fit together badly or not at all: sizes that overflow, indices
// outside, missing names, results over their operands. It must refuse them, or compute something,
// and touch no memory but its tensors'.

#include <gtest/gtest.h>
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>
#include <torch/headeronly/core/ScalarType.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "executorch_backends/aoti/shims/shims.h"

// What cannot be allocated is an error of the call, not the end of the process.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace {

using c10::ScalarType;

// Calls of each kernel: until so many have succeeded, but not for ever.
constexpr int kLeast = 500, kMost = 50'000, kWanted = 20;

/// The arguments of one call, and what they point to.
class Arguments {
 public:
  explicit Arguments(uint64_t seed) : random_(seed), mild_(one_in(2)) {
    dtype_ = pick({ScalarType::Float, ScalarType::Float, ScalarType::Double, ScalarType::Half,
                   ScalarType::Long, ScalarType::Int, ScalarType::Byte, ScalarType::Bool,
                   ScalarType::ComplexFloat});
    for (int64_t d = below(6); d-- > 0;) sizes_.push_back(pick<int64_t>({0, 1, 2, 2, 3, 3, 4, 5}));
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() {
    for (AtenTensorHandle handle : handles_) aoti_torch_delete_tensor_object(handle);
    for (AtenTensorHandle handle : results_) aoti_torch_delete_tensor_object(handle);
  }

  /// The next argument: a list's length comes after the list.
  template <class P>
  P make(bool is_result) {
    if constexpr (std::is_same_v<P, AtenTensorHandle>) {
      return tensor();
    } else if constexpr (std::is_same_v<P, AtenTensorHandle*>) {
      if (is_result) return &results_.emplace_back(nullptr);
      return one_in(3) ? nullptr : &pointers_.emplace_back(tensor());
    } else if constexpr (std::is_same_v<P, const AtenTensorHandle*>) {
      length_ = below(4);
      auto& list = lists_.emplace_back();
      for (int64_t i = 0; i < length_; ++i) list.push_back(one_in(20) ? nullptr : tensor());
      return list.data();
    } else if constexpr (std::is_same_v<P, const AtenTensorHandle**>) {
      length_ = below(4);
      auto& list = optional_lists_.emplace_back();
      for (int64_t i = 0; i < length_; ++i) {
        list.push_back(one_in(4) ? nullptr : &pointers_.emplace_back(tensor()));
      }
      return list.data();
    } else if constexpr (std::is_same_v<P, const int64_t*>) {
      length_ = one_in(6) ? below(20) : 1 + below(4);
      auto& list = integers_.emplace_back();
      for (int64_t i = 0; i < std::max<int64_t>(length_, 1); ++i) list.push_back(integer());
      return list.data();
    } else if constexpr (std::is_same_v<P, int64_t*>) {
      return one_in(2) ? nullptr : integers_.emplace_back(1, integer()).data();
    } else if constexpr (std::is_same_v<P, int64_t> || std::is_same_v<P, uint32_t>) {
      if (length_ < 0) return static_cast<P>(integer());
      return static_cast<P>(std::exchange(length_, -1));
    } else if constexpr (std::is_same_v<P, int32_t>) {
      return one_in(8) ? 99 : static_cast<int32_t>(below(2));
    } else if constexpr (std::is_same_v<P, bool>) {
      return one_in(2);
    } else if constexpr (std::is_same_v<P, int32_t*>) {
      const int32_t value = one_in(8) ? 99 : static_cast<int32_t>(below(12));
      return one_in(2) ? nullptr : &numbers_.emplace_back(value);
    } else if constexpr (std::is_same_v<P, double>) {
      return real();
    } else if constexpr (std::is_same_v<P, double*>) {
      return one_in(2) ? nullptr : &reals_.emplace_back(real());
    } else if constexpr (std::is_same_v<P, const char*>) {
      return pick<const char*>({nullptr, "", "sum", "prod", "mean", "amax", "amin", "constant"});
    } else if constexpr (std::is_same_v<P, const char**>) {
      return one_in(2) ? nullptr : &names_.emplace_back(pick<const char*>({"left", "right", "x"}));
    } else {
      static_assert(std::is_same_v<P, AtenGeneratorHandle*>);
      return nullptr;
    }
  }

  const std::deque<AtenTensorHandle>& results() const { return results_; }

 private:
  int64_t below(int64_t count) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(count));
  }
  bool one_in(int64_t count) { return below(count) == 0; }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<int64_t>(from.size()))];
  }

  int64_t integer() {
    if (mild_ && !one_in(40)) return pick<int64_t>({0, 0, 1, 1, 1, 1, 2, -1});
    if (!one_in(6)) return pick<int64_t>({0, 0, 1, 1, 1, 2, 2, 3, 4, -1, -1, -2});
    using Limits = std::numeric_limits<int64_t>;
    return pick<int64_t>({9, -9, int64_t{1} << 45, int64_t{1} << 62, -(int64_t{1} << 62),
                          Limits::max(), Limits::max() - 1, Limits::min(), Limits::min() + 1});
  }
  double real() {
    return pick<double>({0, 0, 1, 1, 2, 0.5, -1, 1e5, 1e300, -1e300, INFINITY, NAN, 0x1p63});
  }

  /// Borrowed memory, of exactly the bytes that the layout needs.
  AtenTensorHandle tensor() {
    if (!handles_.empty() && one_in(8))
      return handles_[static_cast<size_t>(below(static_cast<int64_t>(handles_.size())))];
    std::vector<int64_t> sizes = sizes_;
    if (one_in(mild_ ? 6 : 2)) {
      sizes.clear();
      for (int64_t d = pick<int64_t>({0, 1, 1, 1, 2, 2, 3, 4, 5}); d-- > 0;) {
        sizes.push_back(pick<int64_t>({0, 1, 2, 3, 4, 5}));
      }
    }
    if (!sizes.empty() && one_in(20)) sizes[0] = one_in(2) ? 0 : 1;
    std::vector<int64_t> strides(sizes.size());
    int64_t step = 1;
    const bool reversed = one_in(3);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const size_t d = reversed ? i : sizes.size() - 1 - i;
      strides[d] = one_in(8) ? 0 : step;
      step = std::max<int64_t>(step,
                               strides[d] * std::max<int64_t>(sizes[d], 1) + below(2) * below(2));
    }
    // Without an element, the other sizes and the strides may be anything.
    const bool none = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    if (none && one_in(3)) {
      const size_t d = static_cast<size_t>(below(static_cast<int64_t>(sizes.size())));
      strides[d] = int64_t{1} << 62;
      if (sizes[d] != 0) sizes[d] = int64_t{1} << 62;
    }
    const ScalarType dtype = one_in(mild_ ? 6 : 3)
                                 ? pick({ScalarType::Long, ScalarType::Int, ScalarType::Bool,
                                         ScalarType::Byte, ScalarType::Char})
                                 : dtype_;
    int64_t count = 1;
    for (size_t d = 0; d < sizes.size(); ++d) count += none ? 0 : (sizes[d] - 1) * strides[d];
    const size_t bytes = none ? 0
                              : static_cast<size_t>(count) *
                                    aoti_torch_dtype_element_size(static_cast<int32_t>(dtype));
    AtenTensorHandle handle = nullptr;
    EXPECT_EQ(executorch_backends_aoti_borrow(
                  memory(dtype, bytes), bytes, static_cast<int64_t>(sizes.size()), sizes.data(),
                  strides.data(), 0, static_cast<int32_t>(dtype), &handle),
              AOTI_TORCH_SUCCESS)
        << executorch_backends_aoti_last_error();
    return handles_.emplace_back(handle);
  }

  void* memory(ScalarType dtype, size_t bytes) {
    auto& words = memory_.emplace_back(new std::byte[bytes]);
    const auto fill = [&](auto* to) {
      using T = std::remove_pointer_t<decltype(to)>;
      for (size_t i = 0; i < bytes / sizeof(T); ++i) {
        if constexpr (std::is_floating_point_v<T>) {
          to[i] = static_cast<T>(one_in(8) ? real() : static_cast<double>(below(7)) / 2 - 1);
        } else {
          to[i] = static_cast<T>(one_in(16) ? integer() : below(3));
        }
      }
    };
    void* const data = words.get();
    switch (dtype) {
      case ScalarType::Long:
        fill(static_cast<int64_t*>(data));
        break;
      case ScalarType::Int:
        fill(static_cast<int32_t*>(data));
        break;
      case ScalarType::Double:
        fill(static_cast<double*>(data));
        break;
      case ScalarType::Float:
      case ScalarType::ComplexFloat:
        fill(static_cast<float*>(data));
        break;
      case ScalarType::Half:
        for (size_t i = 0; i < bytes / 2; ++i) {
          static_cast<c10::Half*>(data)[i] = static_cast<c10::Half>(static_cast<float>(real()));
        }
        break;
      case ScalarType::Byte:
        fill(static_cast<uint8_t*>(data));
        break;
      default:
        for (size_t i = 0; i < bytes; ++i) static_cast<uint8_t*>(data)[i] = one_in(2) ? 1 : 0;
    }
    return data;
  }

  std::mt19937_64 random_;
  bool mild_;  // most of the arguments fit together
  ScalarType dtype_;
  std::vector<int64_t> sizes_;
  int64_t length_ = -1;  // of the list before
  std::deque<AtenTensorHandle> handles_, pointers_, results_;
  std::deque<std::vector<AtenTensorHandle>> lists_;
  std::deque<std::vector<const AtenTensorHandle*>> optional_lists_;
  std::deque<std::vector<int64_t>> integers_;
  std::deque<int32_t> numbers_;
  std::deque<double> reals_;
  std::deque<const char*> names_;
  std::deque<std::unique_ptr<std::byte[]>> memory_;
};

template <class... P, size_t... I>
AOTITorchError call(AOTITorchError (*kernel)(P...), Arguments& arguments, size_t results,
                    std::index_sequence<I...>) {
  // Braces: the arguments are made from left to right.
  const std::tuple<P...> made{arguments.make<P>(I + results >= sizeof...(P))...};
  return std::apply(kernel, made);
}

/// How many of the calls succeeded.
template <class... P>
int attack(const char* name, AOTITorchError (*kernel)(P...), size_t results) {
  int succeeded = 0;
  for (int round = 0; round < kMost && (round < kLeast || succeeded < kWanted); ++round) {
    SCOPED_TRACE(std::string(name) + ", round " + std::to_string(round));
    Arguments arguments(static_cast<uint64_t>(round) * 1000003 + std::hash<std::string>()(name));
    executorch_backends_aoti_clear_error();
    const AOTITorchError code = call(kernel, arguments, results, std::index_sequence_for<P...>{});
    const std::string text = executorch_backends_aoti_last_error();
    EXPECT_EQ(text.empty(), code == AOTI_TORCH_SUCCESS) << text;
    if (code != AOTI_TORCH_SUCCESS) continue;
    ++succeeded;
    for (AtenTensorHandle result : arguments.results()) {
      // Reads every element; a view without any may be too large to be copied.
      AtenTensorHandle copy = nullptr;
      aoti_torch_clone(result, &copy);
      aoti_torch_delete_tensor_object(copy);
    }
  }
  return succeeded;
}

/// A test of a family: each kernel and how many tensors it returns. Some of the calls must fit, or
/// nothing but the first check would be tested.
#define ATTACK(kernel, results) \
  EXPECT_GT(attack(#kernel, aoti_torch_##kernel, results), 0) << #kernel << " refuses everything"

TEST(Hostile, Arithmetic) {
  ATTACK(cpu_abs, 1);
  ATTACK(cpu_add_Scalar, 1);
  ATTACK(cpu_add_Tensor, 1);
  ATTACK(cpu_angle, 1);
  ATTACK(cpu_fill__Scalar, 0);
  ATTACK(cpu_gcd, 1);
  ATTACK(cpu_mul_Scalar, 1);
  ATTACK(cpu_mul_Tensor, 1);
  ATTACK(cpu_polar, 1);
  ATTACK(cpu_pow_Scalar, 1);
  ATTACK(cpu_pow_Tensor_Scalar, 1);
  ATTACK(cpu_pow_Tensor_Tensor, 1);
}

TEST(Hostile, Attention) { ATTACK(cpu__scaled_dot_product_flash_attention_for_cpu, 2); }

TEST(Hostile, Convolution) { ATTACK(cpu_convolution, 1); }

TEST(Hostile, Distance) {
  ATTACK(cpu__cdist_forward, 1);
  ATTACK(cpu__pdist_forward, 1);
}

TEST(Hostile, EmbeddingBag) {
  // Random tensors never fit each other here: only that nothing worse than a refusal happens.
  attack("_embedding_bag", aoti_torch_cpu__embedding_bag, 4);
  attack("_embedding_bag_forward_only", aoti_torch_cpu__embedding_bag_forward_only, 4);
}

TEST(Hostile, Fft) {
  ATTACK(cpu__fft_c2c, 1);
  ATTACK(cpu__fft_r2c, 1);
}

TEST(Hostile, Indexing) {
  ATTACK(cpu_index_Tensor, 1);
  ATTACK(cpu_index_put, 1);
  ATTACK(cpu_masked_scatter, 1);
  ATTACK(cpu_masked_select, 1);
  ATTACK(cpu_nonzero, 1);
  ATTACK(cpu_nonzero_static, 1);
  ATTACK(index_put_out, 0);
}

TEST(Hostile, LinearAlgebra) {
  ATTACK(cpu_cholesky_inverse, 1);
  ATTACK(cpu_cholesky_solve, 1);
  ATTACK(cpu_lu_unpack, 3);
  ATTACK(cpu_triangular_solve, 2);
}

TEST(Hostile, Matmul) {
  ATTACK(cpu__addmm_activation, 1);
  ATTACK(cpu__int_mm_out, 0);
  ATTACK(cpu_addbmm, 1);
  ATTACK(cpu_addmm_out, 0);
  ATTACK(cpu_addmv, 1);
  ATTACK(cpu_baddbmm_out, 0);
  ATTACK(cpu_bmm_out, 0);
  ATTACK(cpu_mm_out, 0);
  ATTACK(_mm_plus_mm_out, 0);
}

TEST(Hostile, Pooling) {
  ATTACK(cpu__adaptive_avg_pool2d, 1);
  ATTACK(cpu__adaptive_avg_pool3d, 1);
  ATTACK(cpu_adaptive_max_pool2d, 2);
  ATTACK(cpu_adaptive_max_pool3d, 2);
  ATTACK(cpu_avg_pool2d, 1);
  ATTACK(cpu_avg_pool3d, 1);
  ATTACK(cpu_max_pool2d_with_indices, 2);
  ATTACK(cpu_max_pool3d_with_indices, 2);
  ATTACK(cpu_max_unpool2d, 1);
  ATTACK(cpu_max_unpool3d, 1);
}

TEST(Hostile, Random) {
  ATTACK(cpu_bernoulli__Tensor, 0);
  ATTACK(cpu_bernoulli__float, 0);
  ATTACK(cpu_exponential, 1);
  ATTACK(cpu_native_dropout, 2);
  ATTACK(cpu_normal_functional, 1);
  ATTACK(cpu_rand, 1);
  ATTACK(cpu_rand_generator, 1);
  ATTACK(cpu_rand_like, 1);
  ATTACK(cpu_rand_like_generator, 1);
  ATTACK(cpu_randint, 1);
  ATTACK(cpu_randint_generator, 1);
  ATTACK(cpu_randint_like, 1);
  ATTACK(cpu_randint_like_low_dtype, 1);
  ATTACK(cpu_randint_low, 1);
  ATTACK(cpu_randint_low_out, 0);
  ATTACK(cpu_randn, 1);
  ATTACK(cpu_randn_generator, 1);
  ATTACK(cpu_randn_like, 1);
  ATTACK(cpu_randn_like_generator, 1);
  ATTACK(cpu_randperm, 1);
  ATTACK(cpu_uniform, 1);
}

TEST(Hostile, Sampling) { ATTACK(cpu_grid_sampler_3d, 1); }

TEST(Hostile, Scan) {
  ATTACK(cpu_cummax, 2);
  ATTACK(cpu_cummin, 2);
  ATTACK(cpu_cumprod, 1);
  ATTACK(cpu_cumsum, 1);
  ATTACK(cpu_logcumsumexp, 1);
}

TEST(Hostile, Scatter) {
  ATTACK(cpu_index_reduce, 1);
  ATTACK(cpu_scatter_reduce_two_out, 0);
  ATTACK(cpu_scatter_src_out, 0);
  ATTACK(cpu_scatter_value_out, 0);
  ATTACK(scatter_out, 0);
  ATTACK(scatter_reduce_out, 0);
}

TEST(Hostile, Search) {
  ATTACK(cpu_bucketize_Tensor, 1);
  ATTACK(cpu_searchsorted_Scalar, 1);
  ATTACK(cpu_searchsorted_Tensor, 1);
}

TEST(Hostile, Sort) {
  ATTACK(cpu_kthvalue, 2);
  ATTACK(cpu_median, 1);
  ATTACK(cpu_mode, 2);
  ATTACK(cpu_nanmedian, 1);
  ATTACK(cpu_sort, 2);
  ATTACK(cpu_sort_stable, 2);
  ATTACK(cpu_topk, 2);
}

TEST(Hostile, Statistics) {
  ATTACK(cpu_histc, 1);
  ATTACK(cpu_segment_reduce, 1);
}

TEST(Hostile, Views) {
  ATTACK(cpu_cat, 1);
  ATTACK(cpu_narrow, 1);
  ATTACK(cpu_pad, 1);
  ATTACK(cpu_permute, 1);
  ATTACK(cpu_repeat_interleave_Tensor, 1);
  ATTACK(cpu_reshape, 1);
  ATTACK(cpu_slice_Tensor, 1);
  ATTACK(cpu_squeeze_dim, 1);
  ATTACK(cpu_view_as_complex, 1);
  ATTACK(cpu_view_as_real, 1);
  ATTACK(cpu_view_dtype, 1);
}

TEST(Hostile, Copies) {
  ATTACK(copy_, 0);
  ATTACK(clone, 1);
  ATTACK(clone_preserve_strides, 1);
  ATTACK(zero_, 0);
  ATTACK(check_inf_and_nan, 0);
}

}  // namespace
