#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "executorch_backends/aoti/shims/common/dtype.h"

// Products of matrices, for every dtype and any strides, in parallel.

namespace executorch_backends::aoti {

/// What products of T are summed up in. Integers wrap as they do in T, hence unsigned.
template <class T>
using Sum = std::conditional_t<
    is_reduced_float<T>, float,
    std::conditional_t<std::is_integral_v<T>,
                       std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>, T>>;

/// Element (i, j) is data[i * row_step + j * column_step].
template <class T>
struct Matrix {
  T* data;
  int64_t rows;
  int64_t columns;
  int64_t row_step;
  int64_t column_step;

  T& operator()(int64_t i, int64_t j) const { return data[i * row_step + j * column_step]; }
  Matrix transposed() const { return {data, columns, rows, column_step, row_step}; }
  operator Matrix<const T>() const { return {data, rows, columns, row_step, column_step}; }
};

/// An operand that can be read in panels: the rows of the left one, the columns of the right one.
template <class A>
class Panels {
 public:
  virtual ~Panels() = default;
  /// to[k * width + lane] = the operand's (first + lane, depth0 + k), for k < depth; zero for the
  /// lanes from `lanes` to `width`.
  virtual void pack(A* to, int64_t width, int64_t first, int64_t lanes, int64_t depth0,
                    int64_t depth) const = 0;
};

/// A matrix's rows as panels.
template <class T>
class Rows final : public Panels<Sum<T>> {
 public:
  explicit Rows(Matrix<const T> matrix) : matrix_(matrix) {}
  void pack(Sum<T>* to, int64_t width, int64_t first, int64_t lanes, int64_t depth0,
            int64_t depth) const override;

 private:
  Matrix<const T> matrix_;
};

/// c = alpha a b + beta c, where `a` has panels of c's rows and `b` of c's columns, `depth` deep;
/// c is not read where beta is 0. A is a Sum type.
template <class A>
void multiply(const Panels<A>& a, const Panels<A>& b, int64_t depth, Matrix<A> c, A alpha, A beta);

/// c = alpha a b + beta c; c is not read where beta is 0. T is one of Numbers.
template <class T>
void gemm(Matrix<const T> a, Matrix<const T> b, Matrix<T> c, double alpha = 1, double beta = 0);

}  // namespace executorch_backends::aoti
