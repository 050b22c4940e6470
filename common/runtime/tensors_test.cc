#include "executorch_backends/common/runtime/tensors.h"

#include <gtest/gtest.h>

#include "executorch_backends/common/runtime/testing/delegate_driver.h"

namespace executorch_backends::runtime {
namespace {

using executorch::aten::ScalarType;
using Floats = testing::OwnedTensor<float>;

TEST(Tensors, ShapesAreText) {
  EXPECT_EQ(text_of(Floats(ScalarType::Float, {}).tensor()), "[]");
  EXPECT_EQ(text_of(Floats(ScalarType::Float, {2, 0, 3}).tensor()), "[2, 0, 3]");
}

TEST(Tensors, FitWhatTheirRankAndBoundsAllow) {
  const std::vector<payload::Bounds> rows = {{1, 4}, {3, 3}}, any = {{2, -1}, {3, 3}};
  const auto one_fits = [](std::vector<int32_t> sizes, const std::vector<payload::Bounds>& dims) {
    return fits(Floats(ScalarType::Float, std::move(sizes)).tensor(), dims);
  };
  EXPECT_TRUE(one_fits({1, 3}, rows) && one_fits({4, 3}, rows) && one_fits({2000, 3}, any));
  EXPECT_FALSE(one_fits({0, 3}, rows) || one_fits({5, 3}, rows) || one_fits({1, 3}, any));
  EXPECT_FALSE(one_fits({3}, rows) || one_fits({2, 3, 1}, rows) || one_fits({2, 2}, rows));
  EXPECT_TRUE(one_fits({}, {}));
}

TEST(Tensors, LieAsTheirStridesSay) {
  Floats tensor(ScalarType::Float, {2, 3}, {}, {1, 0});
  layout::Layout layout;
  ASSERT_TRUE(layout_of(tensor.tensor(), &layout));
  EXPECT_EQ(layout.rank, 2u);
  EXPECT_EQ(layout.strides[0], 1u);
  EXPECT_EQ(layout.strides[1], 2u);
  EXPECT_EQ(layout.item_size, sizeof(float));
}

TEST(Tensors, WithoutElementsNeedNoMemory) {
  int32_t sizes[] = {2}, none[] = {0}, strides[] = {1};
  uint8_t order[] = {0};
  executorch::aten::TensorImpl two(ScalarType::Float, 1, sizes, nullptr, order, strides);
  executorch::aten::TensorImpl empty(ScalarType::Float, 1, none, nullptr, order, strides);
  EXPECT_FALSE(has_memory(executorch::aten::Tensor(&two)));
  EXPECT_TRUE(has_memory(executorch::aten::Tensor(&empty)));
  EXPECT_TRUE(has_memory(Floats(ScalarType::Float, {2}).tensor()));
}

}  // namespace
}  // namespace executorch_backends::runtime
