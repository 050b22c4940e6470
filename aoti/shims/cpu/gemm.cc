#include "executorch_backends/aoti/shims/cpu/gemm.h"

#include <immintrin.h>
#include <omp.h>

#include <cstring>

#include "executorch_backends/aoti/shims/common/parallel.h"
#include "executorch_backends/aoti/shims/cpu/gemm_tiles.h"
#include "executorch_backends/aoti/shims/cpu/workspace.h"

namespace executorch_backends::aoti {
namespace {

// Blocks: `kDepth` of a panel of b fit the first cache, `kBlockRows` x `kDepth` of a the second.
constexpr int64_t kDepth = 320;
constexpr int64_t kBlockRows = 96;  // a multiple of every tile's rows
constexpr int64_t kBlockColumns = 3072;

/// c = alpha tile + beta c, for c's whole extent; the tile's rows lie `step` apart.
template <class A>
void store(const A* tile, int64_t step, Matrix<A> c, A alpha, A beta) {
  for (int64_t i = 0; i < c.rows; ++i, tile += step) {
    A* const row = c.data + i * c.row_step;
    if (c.column_step == 1) {
      if (beta == 0) {
        for (int64_t j = 0; j < c.columns; ++j) row[j] = alpha * tile[j];
      } else {
        for (int64_t j = 0; j < c.columns; ++j) row[j] = alpha * tile[j] + beta * row[j];
      }
    } else {
      for (int64_t j = 0; j < c.columns; ++j) {
        A& to = row[j * c.column_step];
        to = alpha * tile[j] + (beta != 0 ? beta * to : 0);
      }
    }
  }
}

template <class A>
Matrix<A> block(Matrix<A> m, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  return {&m(row, column), rows, columns, m.row_step, m.column_step};
}

struct LeftPanels;
struct RightPanels;
struct WideResult;
struct LeftRows;

/// One depth of the product: all of c, with b packed at `right` in panels of a tile's columns.
template <class A>
void multiply_packed(const Panels<A>& a, const A* right, int64_t depth0, int64_t depth, Matrix<A> c,
                     A alpha, A beta) {
  const Tiles<A>& kernel = tiles<A>();
  const int64_t width = kernel.columns, height = kernel.rows;
  const int64_t row_blocks = ceil_div(c.rows, kBlockRows);
  const int64_t block_rows = ceil_div(ceil_div(c.rows, row_blocks), height) * height;
  const int64_t panels = ceil_div(c.columns, width);
  // The columns are divided among the threads where blocks of rows would not occupy all equally.
  const int64_t threads = omp_get_max_threads();
  const bool by_rows = row_blocks % threads == 0 || row_blocks >= 8 * threads;
  const int64_t parts = by_rows ? 1 : std::min(threads, panels);
  const int64_t tasks = row_blocks * parts;
  const int64_t grain = c.rows * c.columns * depth < kSerialWork ? tasks : 1;
  parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task / row_blocks, row0 = task % row_blocks * block_rows;
      const int64_t rows = std::min(block_rows, c.rows - row0);
      if (rows <= 0) continue;
      const int64_t panel0 = part * panels / parts, panel1 = (part + 1) * panels / parts;
      const int64_t tiles = (rows + height - 1) / height;
      A* const left = workspace<LeftPanels, A>(tiles, height, depth);
      for (int64_t t = 0; t < tiles; ++t) {
        a.pack(left + t * height * depth, height, row0 + t * height,
               std::min(height, rows - t * height), depth0, depth);
      }
      alignas(64) A tile[kMostInTile];
      for (int64_t p = panel0; p < panel1; ++p) {
        for (int64_t t = 0; t < tiles; ++t) {
          const int64_t count = std::min(height, rows - t * height);
          kernel.product(count, depth, left + t * height * depth, right + p * width * depth, width,
                         tile);
          store(
              tile, width,
              block(c, row0 + t * height, count, p * width, std::min(width, c.columns - p * width)),
              alpha, beta);
        }
      }
    }
  });
}

template <class A>
void scale(Matrix<A> c, A beta) {
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) c(i, j) = beta != 0 ? beta * c(i, j) : A{0};
  }
}

// With few rows, packing b would cost as much as the product.
constexpr int64_t kFewRows = 16;
// Columns that all rows are multiplied with before the next: b's part stays in the first cache.
constexpr int64_t kStrip = 24;
constexpr int64_t kDotRows = 4;
// A dot product adds a vector's lanes up at its end, which one of less depth for each row does not
// repay.
constexpr int64_t kDepthOfDots = 16;

template <class A>
const A* dense_rows(Matrix<const A> a) {
  if (a.column_step == 1 && a.row_step == a.columns) return a.data;
  A* const dense = workspace<LeftRows, A>(a.rows, a.columns);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.columns; ++k) dense[i * a.columns + k] = a(i, k);
  }
  return dense;
}

/// Calls `f(column, count)` for strips of c's columns, in parallel.
template <class A, class F>
void for_each_strip(Matrix<A> c, int64_t depth, int64_t strip, F&& f) {
  const int64_t strips = (c.columns + strip - 1) / strip;
  const int64_t grain = kSerialWork / std::max<int64_t>(strip * depth * c.rows, 1);
  parallel_for(strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) f(s * strip, std::min(strip, c.columns - s * strip));
  });
}

/// For columns of b that are dense along the depth, as of a transposed weight: dot products.
template <class A>
void dot_products(Matrix<const A> a, Matrix<const A> b, Matrix<A> c, A alpha, A beta) {
  const int64_t depth = b.rows;
  const A* const left = dense_rows(a);
  for_each_strip(c, depth, kStrip, [&](int64_t column, int64_t count) {
    for (int64_t i = 0; i < c.rows; i += kDotRows) {
      const int64_t rows = std::min(kDotRows, c.rows - i);
      A sums[kDotRows * kStrip];
      tiles<A>().dots(rows, count, depth, left + i * depth, &b(0, column), b.column_step, sums,
                      kStrip);
      store(sums, kStrip, block(c, i, rows, column, count), alpha, beta);
    }
  });
}

/// For rows of b that are dense: tiles over b where it lies; only the last columns are packed.
template <class A>
void row_products(Matrix<const A> a, Matrix<const A> b, Matrix<A> c, A alpha, A beta) {
  const Tiles<A>& kernel = tiles<A>();
  const int64_t depth = b.rows, height = kernel.rows, width = kernel.columns;
  const int64_t bands = (c.rows + height - 1) / height;
  A* const left = workspace<LeftRows, A>(bands, height, depth);
  for (int64_t t = 0; t < bands; ++t) {
    Rows<A>(a).pack(left + t * height * depth, height, t * height,
                    std::min(height, c.rows - t * height), 0, depth);
  }
  for_each_strip(c, depth, width, [&](int64_t column, int64_t count) {
    const A* right = &b(0, column);
    int64_t step = b.row_step;
    if (count < width) {
      A* const packed = workspace<RightPanels, A>(width, depth);
      Rows<A>(b.transposed()).pack(packed, width, column, count, 0, depth);
      right = packed;
      step = width;
    }
    alignas(64) A tile[kMostInTile];
    for (int64_t t = 0; t < bands; ++t) {
      const int64_t rows = std::min(height, c.rows - t * height);
      kernel.product(rows, depth, left + t * height * depth, right, step, tile);
      store(tile, width, block(c, t * height, rows, column, count), alpha, beta);
    }
  });
}

/// Whether it was one of the products of few rows.
template <class A>
bool multiply_few(Matrix<const A> a, Matrix<const A> b, Matrix<A> c, A alpha, A beta) {
  if (c.rows > kFewRows || c.rows == 0 || c.columns == 0 || b.rows == 0) return false;
  if (b.row_step == 1 && kDepthOfDots * c.rows <= b.rows) {
    return dot_products(a, b, c, alpha, beta), true;
  }
  if (b.column_step == 1) return row_products(a, b, c, alpha, beta), true;
  return false;
}

template <class T>
void real_gemm(Matrix<const T> a, Matrix<const T> b, Matrix<T> c, Sum<T> alpha, Sum<T> beta) {
  using A = Sum<T>;
  if (c.column_step != 1 && c.row_step == 1) {
    return real_gemm(b.transposed(), a.transposed(), c.transposed(), alpha, beta);
  }
  if constexpr (std::is_same_v<T, A>) {
    if (multiply_few(a, b, c, alpha, beta) ||
        multiply_few(b.transposed(), a.transposed(), c.transposed(), alpha, beta)) {
      return;
    }
    multiply<A>(Rows<T>(a), Rows<T>(b.transposed()), b.rows, c, alpha, beta);
  } else {
    const Matrix<A> wide{workspace<WideResult, A>(c.rows, c.columns), c.rows, c.columns, c.columns,
                         1};
    multiply<A>(Rows<T>(a), Rows<T>(b.transposed()), b.rows, wide, alpha, A{0});
    parallel_for(c.rows, kGrain / std::max<int64_t>(c.columns, 1), [&](int64_t i0, int64_t i1) {
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = 0; j < c.columns; ++j) {
          const A addend = beta != 0 ? beta * static_cast<A>(c(i, j)) : A{0};
          c(i, j) = static_cast<T>(wide(i, j) + addend);
        }
      }
    });
  }
}

/// Four real products, of the parts where they lie.
template <class R>
void complex_gemm(Matrix<const c10::complex<R>> a, Matrix<const c10::complex<R>> b,
                  Matrix<c10::complex<R>> c, R alpha, R beta) {
  const auto part = [](auto m, int imaginary) {
    using Real =
        std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(m.data)>>, const R, R>;
    return Matrix<Real>{reinterpret_cast<Real*>(m.data) + imaginary, m.rows, m.columns,
                        2 * m.row_step, 2 * m.column_step};
  };
  real_gemm<R>(part(a, 0), part(b, 0), part(c, 0), alpha, beta);
  real_gemm<R>(part(a, 1), part(b, 1), part(c, 0), -alpha, 1);
  real_gemm<R>(part(a, 0), part(b, 1), part(c, 1), alpha, beta);
  real_gemm<R>(part(a, 1), part(b, 0), part(c, 1), alpha, 1);
}

/// to[k * width + l] = from[l * lane_step + k] for 4 lanes.
void interleave(const float* from, int64_t lane_step, float* to, int64_t width, int64_t depth) {
  int64_t k = 0;
  for (; k + 4 <= depth; k += 4) {
    __m128 rows[4];
    for (int l = 0; l < 4; ++l) rows[l] = _mm_loadu_ps(from + l * lane_step + k);
    _MM_TRANSPOSE4_PS(rows[0], rows[1], rows[2], rows[3]);
    for (int i = 0; i < 4; ++i) _mm_storeu_ps(to + (k + i) * width, rows[i]);
  }
  for (; k < depth; ++k) {
    for (int l = 0; l < 4; ++l) to[k * width + l] = from[l * lane_step + k];
  }
}

}  // namespace

template <class T>
void Rows<T>::pack(Sum<T>* to, int64_t width, int64_t first, int64_t lanes, int64_t depth0,
                   int64_t depth) const {
  const T* const from = matrix_.data + first * matrix_.row_step + depth0 * matrix_.column_step;
  const int64_t lane_step = matrix_.row_step, step = matrix_.column_step;
  if (lanes < width) std::memset(to, 0, static_cast<size_t>(width * depth) * sizeof(*to));
  if (lane_step == 1) {
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t l = 0; l < lanes; ++l)
        to[k * width + l] = static_cast<Sum<T>>(from[k * step + l]);
    }
    return;
  }
  // A few steps of all lanes at a time: what is read and written stays in the first cache.
  constexpr int64_t kSteps = 64;
  for (int64_t k0 = 0; k0 < depth; k0 += kSteps) {
    const int64_t steps = std::min(kSteps, depth - k0);
    int64_t l = 0;
    if constexpr (std::is_same_v<T, float>) {
      for (; step == 1 && l + 4 <= lanes; l += 4) {
        interleave(from + l * lane_step + k0, lane_step, to + k0 * width + l, width, steps);
      }
    }
    for (; l < lanes; ++l) {
      for (int64_t k = k0; k < k0 + steps; ++k) {
        to[k * width + l] = static_cast<Sum<T>>(from[l * lane_step + k * step]);
      }
    }
  }
}

template <class A>
void multiply(const Panels<A>& a, const Panels<A>& b, int64_t depth, Matrix<A> c, A alpha, A beta) {
  if (c.rows == 0 || c.columns == 0) return;
  if (depth == 0) return scale(c, beta);
  const int64_t width = tiles<A>().columns;
  for (int64_t column0 = 0; column0 < c.columns; column0 += kBlockColumns) {
    const int64_t columns = std::min(kBlockColumns, c.columns - column0);
    const int64_t panels = (columns + width - 1) / width;
    for (int64_t depth0 = 0; depth0 < depth; depth0 += kDepth) {
      const int64_t deep = std::min(kDepth, depth - depth0);
      A* const right = workspace<RightPanels, A>(panels, width, deep);
      parallel_for(panels, kGrain / (width * deep), [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          b.pack(right + p * width * deep, width, column0 + p * width,
                 std::min(width, columns - p * width), depth0, deep);
        }
      });
      multiply_packed(a, right, depth0, deep, block(c, 0, c.rows, column0, columns), alpha,
                      depth0 == 0 ? beta : A{1});
    }
  }
}

template <class T>
void gemm(Matrix<const T> a, Matrix<const T> b, Matrix<T> c, double alpha, double beta) {
  if constexpr (is_complex<T>) {
    using R = typename T::value_type;
    complex_gemm<R>(a, b, c, static_cast<R>(alpha), static_cast<R>(beta));
  } else if constexpr (std::is_integral_v<T>) {
    real_gemm<T>(a, b, c, static_cast<Sum<T>>(static_cast<int64_t>(alpha)),
                 static_cast<Sum<T>>(static_cast<int64_t>(beta)));
  } else {
    real_gemm<T>(a, b, c, static_cast<Sum<T>>(alpha), static_cast<Sum<T>>(beta));
  }
}

#define INSTANTIATE(T) \
  template void gemm<T>(Matrix<const T>, Matrix<const T>, Matrix<T>, double, double);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Half)
INSTANTIATE(BFloat16)
INSTANTIATE(uint8_t)
INSTANTIATE(int8_t)
INSTANTIATE(int16_t)
INSTANTIATE(int32_t)
INSTANTIATE(int64_t)
INSTANTIATE(ComplexFloat)
INSTANTIATE(ComplexDouble)
#undef INSTANTIATE

#define INSTANTIATE(T) template class Rows<T>;
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Half)
INSTANTIATE(BFloat16)
INSTANTIATE(uint8_t)
INSTANTIATE(int8_t)
INSTANTIATE(int16_t)
INSTANTIATE(int32_t)
INSTANTIATE(int64_t)
#undef INSTANTIATE

#define INSTANTIATE(A) \
  template void multiply<A>(const Panels<A>&, const Panels<A>&, int64_t, Matrix<A>, A, A);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(uint32_t)
INSTANTIATE(uint64_t)
#undef INSTANTIATE

}  // namespace executorch_backends::aoti
