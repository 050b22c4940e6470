#include "executorch_backends/aoti/shims/cpu/gemm_tiles.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

// The inner loops of every instruction set that this machine has, of which programs run the widest
// alone, against plain ones. Small whole numbers, whose sums are exact in every type.

namespace executorch_backends::aoti {
namespace {

template <class A>
std::vector<A> numbers(int64_t count, int64_t seed) {
  std::vector<A> result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<A>((static_cast<int64_t>(i) * 7 + seed) % 11);
  }
  return result;
}

template <class A>
class TilesTest : public testing::Test {};
using Types = testing::Types<float, double, uint32_t, uint64_t>;
TYPED_TEST_SUITE(TilesTest, Types);

TYPED_TEST(TilesTest, Products) {
  using A = TypeParam;
  for (const Tiles<A>* tiles : all_tiles<A>()) {
    for (const int64_t depth : {1, 5, 64}) {
      const int64_t step = tiles->columns + 3;
      const std::vector<A> a = numbers<A>(tiles->rows * depth, 1);
      const std::vector<A> b = numbers<A>(step * depth, 2);
      std::vector<int64_t> shifts(static_cast<size_t>(depth));
      for (int64_t k = 0; k < depth; ++k) shifts[k] = (depth - 1 - k) * step;  // from the last row
      for (int64_t count = 1; count <= tiles->rows; ++count) {
        std::vector<A> tile(kMostInTile), shifted(kMostInTile);
        tiles->product(count, depth, a.data(), b.data(), step, tile.data());
        tiles->shifted_product(count, depth, a.data(), b.data(), shifts.data(), shifted.data());
        for (int64_t i = 0; i < count; ++i) {
          for (int64_t j = 0; j < tiles->columns; ++j) {
            A sum = 0, shifted_sum = 0;
            for (int64_t k = 0; k < depth; ++k) {
              sum += a[k * tiles->rows + i] * b[k * step + j];
              shifted_sum += a[k * tiles->rows + i] * b[shifts[k] + j];
            }
            ASSERT_EQ(tile[i * tiles->columns + j], sum) << count << " rows, " << i << ", " << j;
            ASSERT_EQ(shifted[i * tiles->columns + j], shifted_sum) << i << ", " << j;
          }
        }
      }
    }
  }
}

TYPED_TEST(TilesTest, Dots) {
  using A = TypeParam;
  for (const Tiles<A>* tiles : all_tiles<A>()) {
    for (const int64_t depth : {1, 3, 16, 37, 128}) {
      for (const int64_t columns : {1, 2, 3, 7, 8, 11, 24}) {
        const int64_t b_step = depth + 2, c_step = columns + 1;
        const std::vector<A> b = numbers<A>(columns * b_step, 3);
        for (int64_t count = 1; count <= 4; ++count) {
          const std::vector<A> a = numbers<A>(count * depth, 4);
          std::vector<A> c(static_cast<size_t>(count * c_step), A{99});
          tiles->dots(count, columns, depth, a.data(), b.data(), b_step, c.data(), c_step);
          for (int64_t i = 0; i < count; ++i) {
            for (int64_t j = 0; j < columns; ++j) {
              const A sum = std::inner_product(a.begin() + i * depth, a.begin() + (i + 1) * depth,
                                               b.begin() + j * b_step, A{0});
              ASSERT_EQ(c[i * c_step + j], sum) << depth << " deep, " << i << ", " << j;
            }
            EXPECT_EQ(c[i * c_step + columns], A{99}) << "written past the columns";
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace executorch_backends::aoti
