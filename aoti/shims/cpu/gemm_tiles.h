#pragma once

#include <cstdint>
#include <vector>

namespace executorch_backends::aoti {

/// The inner loops of products of matrices for one instruction set. A is float, double, uint32_t
/// or uint64_t.
template <class A>
struct Tiles {
  /// The part of a result that is kept in registers.
  int64_t rows;
  int64_t columns;

  /// tile = a b, for `count` of a tile's rows: a is packed `rows` wide and `depth` deep; b's rows,
  /// of a tile's columns, lie `b_step` apart. The tile is dense.
  void (*product)(int64_t count, int64_t depth, const A* a, const A* b, int64_t b_step, A* tile);

  /// The same, where b's row k lies at `b + shifts[k]`.
  void (*shifted_product)(int64_t count, int64_t depth, const A* a, const A* b,
                          const int64_t* shifts, A* tile);

  /// c[i, j] = the sum of a[i, k] b[k, j] over k < depth, for `count` rows, at most 4, and
  /// `columns`. a is dense; b is dense along the depth, its columns lie `b_step` apart; c's rows
  /// lie `c_step` apart.
  void (*dots)(int64_t count, int64_t columns, int64_t depth, const A* a, const A* b,
               int64_t b_step, A* c, int64_t c_step);
};

inline constexpr int64_t kMostInTile = 12 * 32;
inline constexpr int64_t kSerialWork = 1 << 16;  // multiplications not worth a second thread

/// Those of the instruction sets that this machine has, the widest last; AVX2 is the least.
template <class A>
std::vector<const Tiles<A>*> all_tiles();

/// Those of the widest.
template <class A>
const Tiles<A>& tiles() {
  static const Tiles<A>& widest = *all_tiles<A>().back();
  return widest;
}

}  // namespace executorch_backends::aoti
