// The inner loops of products of matrices. Compiled once for each instruction set: with AVX-512
// into Tiles of 64-byte vectors, else of 32-byte ones. Only local functions: the linker must not
// take a function of one set for another's.

#include "executorch_backends/aoti/shims/cpu/gemm_tiles.h"

#include <cstring>
#include <type_traits>

namespace executorch_backends::aoti {
namespace {

// A tile's sums leave a few of the 16 or 32 registers for a row of b and an element of a.
#ifdef __AVX512F__
constexpr int kVectorBytes = 64;
constexpr int kRows = 12;
constexpr int kDotColumns = 4;
#else
constexpr int kVectorBytes = 32;
constexpr int kRows = 6;
constexpr int kDotColumns = 3;
#endif
constexpr int kVectors = 2;
constexpr int kDotRows = 4;

template <class A>
constexpr int kLanes = kVectorBytes / sizeof(A);
template <class A>
using Vector __attribute__((vector_size(kVectorBytes))) = A;
template <class A>
using Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(A)), may_alias)) = A;

template <class A>
Vector<A> load(const A* from) {
  return *reinterpret_cast<const Unaligned<A>*>(from);
}

template <class A, int Count, class RowOf>
void rows_product(int64_t depth, const A* a, RowOf row_of, A* tile) {
  Vector<A> sums[Count][kVectors] = {};
  for (int64_t k = 0; k < depth; ++k, a += kRows) {
    const A* const b = row_of(k);
    Vector<A> right[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) right[v] = load(b + v * kLanes<A>);
#pragma GCC unroll 16
    for (int i = 0; i < Count; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[i][v] += a[i] * right[v];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Count; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      *reinterpret_cast<Unaligned<A>*>(tile + (i * kVectors + v) * kLanes<A>) = sums[i][v];
    }
  }
}

template <class A, class RowOf, int Count = kRows>
void product_of(int64_t count, int64_t depth, const A* a, RowOf row_of, A* tile) {
  if constexpr (Count > 1) {
    if (count < Count) return product_of<A, RowOf, Count - 1>(count, depth, a, row_of, tile);
  }
  rows_product<A, Count>(depth, a, row_of, tile);
}

template <class A>
void product(int64_t count, int64_t depth, const A* a, const A* b, int64_t b_step, A* tile) {
  product_of<A>(count, depth, a, [=](int64_t k) { return b + k * b_step; }, tile);
}

template <class A>
void shifted_product(int64_t count, int64_t depth, const A* a, const A* b, const int64_t* shifts,
                     A* tile) {
  product_of<A>(count, depth, a, [=](int64_t k) { return b + shifts[k]; }, tile);
}

/// Lanes of two vectors, next to each other in pairs, added: those of `a`, then those of `b`.
template <class A>
Vector<A> pairs_added(Vector<A> a, Vector<A> b) {
  using Lane = std::conditional_t<sizeof(A) == 8, int64_t, int32_t>;
  Vector<Lane> even;
  for (int l = 0; l < kLanes<A>; ++l) even[l] = 2 * l;
  return __builtin_shuffle(a, b, even) + __builtin_shuffle(a, b, even + 1);
}

/// to[j] = the sum of vector j's lanes.
template <class A, int Count>
void sums_of(Vector<A>* vectors, A* to) {
  if constexpr ((Count & (Count - 1)) == 0) {
    // The sums of all grow together: each step halves what is left to add of every vector.
    int count = Count;
#pragma GCC unroll 8
    for (int lanes = kLanes<A>; lanes > 1; lanes /= 2, count = (count + 1) / 2) {
#pragma GCC unroll 8
      for (int j = 0; j < count; j += 2) {
        vectors[j / 2] = pairs_added<A>(vectors[j], vectors[count > 1 ? j + 1 : j]);
      }
    }
    std::memcpy(to, vectors, Count * sizeof(A));
  } else {
    for (int j = 0; j < Count; ++j) {
      to[j] = 0;
      for (int l = 0; l < kLanes<A>; ++l) to[j] += vectors[j][l];
    }
  }
}

template <class A, int Rows, int Columns>
void block_dots(int64_t depth, const A* a, const A* b, int64_t b_step, A* c, int64_t c_step) {
  Vector<A> sums[Rows][Columns] = {};
  const int64_t whole = depth / kLanes<A> * kLanes<A>;
  for (int64_t k = 0; k < whole; k += kLanes<A>) {
    Vector<A> right[Columns];
#pragma GCC unroll 16
    for (int j = 0; j < Columns; ++j) right[j] = load(b + j * b_step + k);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vector<A> left = load(a + i * depth + k);
#pragma GCC unroll 16
      for (int j = 0; j < Columns; ++j) sums[i][j] += left * right[j];
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < Rows; ++i) {
    sums_of<A, Columns>(sums[i], c + i * c_step);
    for (int64_t k = whole; k < depth; ++k) {
      for (int j = 0; j < Columns; ++j) c[i * c_step + j] += a[i * depth + k] * b[j * b_step + k];
    }
  }
}

template <class A, int Rows = kDotRows>
void dots(int64_t count, int64_t columns, int64_t depth, const A* a, const A* b, int64_t b_step,
          A* c, int64_t c_step) {
  if constexpr (Rows > 1) {
    if (count < Rows) {
      return dots<A, Rows - 1>(count, columns, depth, a, b, b_step, c, c_step);
    }
  }
  constexpr int kColumns = Rows == 1 ? 8 : Rows == 2 ? 4 : kDotColumns;
  int64_t j = 0;
  for (; j + kColumns <= columns; j += kColumns) {
    block_dots<A, Rows, kColumns>(depth, a, b + j * b_step, b_step, c + j, c_step);
  }
  for (; j < columns; ++j) block_dots<A, Rows, 1>(depth, a, b + j * b_step, b_step, c + j, c_step);
}

template <class A>
constexpr Tiles<A> kTiles{kRows, kVectors * kLanes<A>, product<A>, shifted_product<A>, dots<A>};

}  // namespace

#ifdef __AVX512F__
extern const Tiles<float> kAvx512Float = kTiles<float>;
extern const Tiles<double> kAvx512Double = kTiles<double>;
extern const Tiles<uint32_t> kAvx512Int32 = kTiles<uint32_t>;
extern const Tiles<uint64_t> kAvx512Int64 = kTiles<uint64_t>;
#else
extern const Tiles<float> kAvx512Float;
extern const Tiles<double> kAvx512Double;
extern const Tiles<uint32_t> kAvx512Int32;
extern const Tiles<uint64_t> kAvx512Int64;

namespace {

template <class A>
std::vector<const Tiles<A>*> with(const Tiles<A>& avx512) {
  const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  return has ? std::vector{&kTiles<A>, &avx512} : std::vector{&kTiles<A>};
}

}  // namespace

template <>
std::vector<const Tiles<float>*> all_tiles<float>() {
  return with(kAvx512Float);
}
template <>
std::vector<const Tiles<double>*> all_tiles<double>() {
  return with(kAvx512Double);
}
template <>
std::vector<const Tiles<uint32_t>*> all_tiles<uint32_t>() {
  return with(kAvx512Int32);
}
template <>
std::vector<const Tiles<uint64_t>*> all_tiles<uint64_t>() {
  return with(kAvx512Int64);
}
#endif

}  // namespace executorch_backends::aoti
