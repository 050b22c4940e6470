#include <immintrin.h>
#include <sleef.h>
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <cmath>
#include <limits>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"
#include "executorch_backends/aoti/shims/cpu/gemm.h"
#include "executorch_backends/aoti/shims/cpu/workspace.h"

namespace executorch_backends::aoti {
namespace {

constexpr int64_t kQueries = 64;  // rows of a block of scores
constexpr int64_t kKeys = 256;    // and columns

struct Scores;
struct Weighted;

/// The largest of `top` and the row's values, a NaN if there is one.
double highest_of(const double* row, int64_t count, double top) {
  for (int64_t j = 0; j < count; ++j) top = row[j] > top || row[j] != row[j] ? row[j] : top;
  return top;
}

float highest_of(const float* row, int64_t count, float top) {
  constexpr int64_t kLanes = 8;
  __m256 most = _mm256_set1_ps(top), unordered = _mm256_setzero_ps();
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    const __m256 value = _mm256_loadu_ps(row + j);
    most = _mm256_max_ps(value, most);
    unordered = _mm256_or_ps(unordered, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  }
  if (_mm256_movemask_ps(unordered)) return std::numeric_limits<float>::quiet_NaN();
  for (int64_t l = 0; l < kLanes; ++l) {
    top = std::max(top, reinterpret_cast<const float*>(&most)[l]);
  }
  for (; j < count; ++j) top = row[j] > top || row[j] != row[j] ? row[j] : top;
  return top;
}

/// row = exp(row - top); returns the sum. What the row has beyond `count` is lost.
double exponentials(double* row, int64_t count, double top) {
  double sum = 0;
  for (int64_t j = 0; j < count; ++j) sum += row[j] = std::exp(row[j] - top);
  return sum;
}

float exponentials(float* row, int64_t count, float top) {
  constexpr int64_t kLanes = 8;
  static_assert(kKeys % kLanes == 0, "a row holds whole vectors");
  const int64_t whole = (count + kLanes - 1) / kLanes * kLanes;
  std::fill(row + count, row + whole, -std::numeric_limits<float>::infinity());
  __m256 sums = _mm256_setzero_ps();
  for (int64_t j = 0; j < whole; j += kLanes) {
    const __m256 power = _mm256_sub_ps(_mm256_loadu_ps(row + j), _mm256_set1_ps(top));
    const __m256 value = Sleef_expf8_u10(power);
    _mm256_storeu_ps(row + j, value);
    sums = _mm256_add_ps(sums, value);
  }
  float sum = 0;
  for (int64_t l = 0; l < kLanes; ++l) sum += reinterpret_cast<const float*>(&sums)[l];
  return sum;
}

/// One head's operands, from their first element on; the mask is null where there is none.
template <class T>
struct Head {
  Matrix<const T> query, key, value;
  Matrix<T> out;
  Matrix<const T> mask;
  Sum<T>* logsumexp;
  int64_t logsumexp_step;
};

/// Attention of some of a head's queries, block by block over the keys: the running maximum and sum
/// of the softmax are kept for each query, and what was summed up before is scaled when they grow.
template <class T>
void attend(const Head<T>& head, int64_t query0, int64_t queries, Sum<T> scale, bool causal) {
  using A = Sum<T>;
  constexpr A kLowest = -std::numeric_limits<A>::infinity();
  const int64_t width = head.value.columns;
  A* const scores = workspace<Scores, A>(kQueries, kKeys);
  A* const sums = workspace<Weighted, A>(kQueries, width);
  A highest[kQueries], total[kQueries];
  std::fill(highest, highest + queries, kLowest);
  std::fill(total, total + queries, A{0});
  std::fill(sums, sums + queries * width, A{0});
  const Matrix<const T> query{&head.query(query0, 0), queries, head.query.columns,
                              head.query.row_step, head.query.column_step};
  // No query of the block sees a key beyond its own position.
  const int64_t keys = causal ? std::min(head.key.rows, query0 + queries) : head.key.rows;
  for (int64_t key0 = 0; key0 < keys; key0 += kKeys) {
    const int64_t count = std::min(kKeys, keys - key0);
    const Matrix<const T> key{&head.key(key0, 0), count, head.key.columns, head.key.row_step,
                              head.key.column_step};
    const Matrix<const T> value{&head.value(key0, 0), count, width, head.value.row_step,
                                head.value.column_step};
    multiply<A>(Rows<T>(query), Rows<T>(key), key.columns, {scores, queries, count, kKeys, 1},
                scale, A{0});
    for (int64_t i = 0; i < queries; ++i) {
      A* const row = scores + i * kKeys;
      if (head.mask.data) {
        for (int64_t j = 0; j < count; ++j) {
          row[j] += static_cast<A>(head.mask(query0 + i, key0 + j));
        }
      }
      const int64_t seen = causal ? std::clamp<int64_t>(query0 + i + 1 - key0, 0, count) : count;
      std::fill(row + seen, row + count, kLowest);
      const A top = highest_of(row, seen, highest[i]);
      if (top == kLowest) {  // nothing to see yet
        std::fill(row, row + count, A{0});
        continue;
      }
      const A factor = std::exp(highest[i] - top);
      total[i] = total[i] * factor + exponentials(row, count, top);
      highest[i] = top;
      if (factor != 1) {
        for (int64_t d = 0; d < width; ++d) sums[i * width + d] *= factor;
      }
    }
    multiply<A>(Rows<A>({scores, queries, count, kKeys, 1}), Rows<T>(value.transposed()), count,
                {sums, queries, width, width, 1}, A{1}, A{1});
  }
  for (int64_t i = 0; i < queries; ++i) {
    // A query that sees nothing has a total of 0 and yields 0, as ATen's.
    const A factor = total[i] == 0 ? A{1} : 1 / total[i];
    for (int64_t d = 0; d < width; ++d) {
      head.out(query0 + i, d) = static_cast<T>(sums[i * width + d] * factor);
    }
    head.logsumexp[(query0 + i) * head.logsumexp_step] = highest[i] + std::log(total[i]);
  }
}

/// The matrix of one batch and head.
template <class T>
Matrix<T> head_of(const Tensor& t, int64_t batch, int64_t head) {
  return {t.data<std::remove_const_t<T>>() + batch * t.stride(0) + head * t.stride(1), t.size(2),
          t.size(3), t.stride(2), t.stride(3)};
}

void attention(const Tensor& out, const Tensor& logsumexp, const Tensor& query, const Tensor& key,
               const Tensor& value, const Tensor* mask, double scale, bool causal) {
  const int64_t batches = query.size(0), heads = query.size(1), queries = query.size(2);
  dispatch(Floats{}, query.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    using A = Sum<T>;
    const int64_t blocks = (queries + kQueries - 1) / kQueries;
    const int64_t work = std::min(queries, kQueries) * key.size(2) * query.size(3);
    parallel_for(
        batches * heads * blocks, kGrain / std::max<int64_t>(work, 1),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t query0 = i % blocks * kQueries;
            const int64_t head = i / blocks % heads, batch = i / blocks / heads;
            attend<T>(
                {head_of<const T>(query, batch, head),
                 head_of<const T>(key, batch, head * key.size(1) / heads),
                 head_of<const T>(value, batch, head * value.size(1) / heads),
                 head_of<T>(out, batch, head),
                 mask ? head_of<const T>(*mask, batch, head) : Matrix<const T>{},
                 logsumexp.data<A>() + batch * logsumexp.stride(0) + head * logsumexp.stride(1),
                 logsumexp.stride(2)},
                query0, std::min(kQueries, queries - query0), static_cast<A>(scale), causal);
          }
        });
  });
}

/// A mask to add, of `dtype` and of all sizes; a bool one says which keys are seen.
Tensor additive(const Tensor& mask, DType dtype, const Ints& sizes) {
  if (mask.dtype() != DType::Bool) return expand(to(mask, dtype), sizes);
  Tensor result = empty(mask.sizes(), dtype);
  dispatch(Floats{}, dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const T hidden = static_cast<T>(-std::numeric_limits<float>::infinity());
    elementwise<T, bool>([&](bool seen) { return seen ? static_cast<T>(0.0f) : hidden; }, result,
                         mask);
  });
  return expand(result, sizes);
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
    AtenTensorHandle query, AtenTensorHandle key, AtenTensorHandle value, double dropout_p,
    int32_t is_causal, AtenTensorHandle* attn_mask, double* scale, AtenTensorHandle* ret0,
    AtenTensorHandle* ret1) {
  return shim(__func__, [&] {
    const Tensor &q = tensor_of(query), &k = tensor_of(key), &v = tensor_of(value);
    require(dropout_p == 0, "dropout is ", dropout_p, ", only 0 is supported");
    require(q.dim() == 4 && k.dim() == 4 && v.dim() == 4, "ranks are ", q.dim(), ", ", k.dim(),
            " and ", v.dim(), ", not 4");
    require(q.dtype() == k.dtype() && q.dtype() == v.dtype(), "dtypes are ", name_of(q.dtype()),
            ", ", name_of(k.dtype()), " and ", name_of(v.dtype()));
    const int64_t width = q.size(3);
    // Each head of the keys may be that of several heads of the queries.
    const auto fits = [&](const Tensor& t) {
      const int64_t heads = t.size(1);
      return t.sizes() == Ints{q.size(0), heads, k.size(2), width} &&
             (heads == q.size(1) || (heads > 0 && q.size(1) % heads == 0));
    };
    require(fits(k) && fits(v), "sizes ", q.sizes(), ", ", k.sizes(), " and ", v.sizes(),
            " do not fit");
    const Tensor* const given = optional_tensor_of(attn_mask);
    Tensor mask;
    if (given) mask = additive(*given, q.dtype(), {q.size(0), q.size(1), q.size(2), k.size(2)});
    const DType wide =
        q.dtype() == DType::Half || q.dtype() == DType::BFloat16 ? DType::Float : q.dtype();
    Tensor out = empty_like(q);
    Tensor logsumexp = transpose(empty({q.size(0), q.size(2), q.size(1)}, wide), 1, 2);
    attention(out, logsumexp, q, k, v, given ? &mask : nullptr,
              scale ? *scale : 1 / std::sqrt(static_cast<double>(width)), is_causal != 0);
    *ret0 = release(std::move(out));
    *ret1 = release(std::move(logsumexp));
  });
}
