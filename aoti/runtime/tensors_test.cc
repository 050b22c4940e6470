#include "executorch_backends/aoti/runtime/tensors.h"

#include <gtest/gtest.h>

#include <vector>

#include "executorch_backends/common/runtime/log_capture.h"

namespace executorch_backends::aoti {
namespace {

using executorch::aten::ScalarType;
using executorch::runtime::Error;

layout::Layout vector_of(size_t elements) {
  layout::Layout layout;
  layout.rank = 1;
  layout.item_size = sizeof(float);
  layout.sizes[0] = elements;
  layout.strides[0] = 1;
  return layout;
}

TEST(Borrow, ATensorLiesWhereItsMemoryIs) {
  std::vector<float> memory = {1, 2, 3};
  OwnedTensor tensor;
  ASSERT_EQ(borrow(memory.data(), 12, vector_of(3), ScalarType::Float, &tensor), Error::Ok);
  Returned seen;
  ASSERT_EQ(describe(0, tensor, &seen), Error::Ok);
  EXPECT_EQ(seen.storage, reinterpret_cast<std::byte*>(memory.data()));
  EXPECT_EQ(seen.layout.sizes[0], 3u);
}

TEST(Borrow, AnErrorIsItsOwnAndNotOneOfACallBefore) {
  executorch_backends_aoti_set_error("a text of another call");
  float memory = 0;
  OwnedTensor tensor;
  runtime::LogCapture log;
  EXPECT_NE(borrow(&memory, sizeof(memory), vector_of(2), ScalarType::Float, &tensor), Error::Ok);
  EXPECT_EQ(log.text().find("another call"), std::string::npos) << log.text();
  EXPECT_NE(log.text().find("cannot give a tensor"), std::string::npos) << log.text();
  EXPECT_EQ(tensor, nullptr);
}

}  // namespace
}  // namespace executorch_backends::aoti
