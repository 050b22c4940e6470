#include "executorch_backends/common/runtime/shared_values.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace executorch_backends::runtime {
namespace {

using executorch::runtime::Error;
using Values = SharedValues<std::string, const int>;

TEST(SharedValues, OneIsMadeForAllWhoAskWhileOneHasIt) {
  Values values;
  int made = 0;
  const auto make = [&](std::shared_ptr<const int>* out) {
    *out = std::make_shared<const int>(++made);
    return Error::Ok;
  };
  std::shared_ptr<const int> first, second, other;
  ASSERT_EQ(values.get("a", make, &first), Error::Ok);
  ASSERT_EQ(values.get("a", make, &second), Error::Ok);
  ASSERT_EQ(values.get("b", make, &other), Error::Ok);
  EXPECT_EQ(first, second);
  EXPECT_EQ(made, 2);
  first.reset();
  ASSERT_EQ(values.get("a", make, &first), Error::Ok);
  EXPECT_EQ(made, 2);
  first.reset(), second.reset();
  ASSERT_EQ(values.get("a", make, &first), Error::Ok);
  EXPECT_EQ(made, 3);
}

TEST(SharedValues, AFailureIsReturnedAndNotKept) {
  Values values;
  std::shared_ptr<const int> value;
  const auto fail = [](std::shared_ptr<const int>*) { return Error::NotFound; };
  EXPECT_EQ(values.get("a", fail, &value), Error::NotFound);
  EXPECT_EQ(value, nullptr);
  const auto make = [](std::shared_ptr<const int>* out) {
    *out = std::make_shared<const int>(7);
    return Error::Ok;
  };
  ASSERT_EQ(values.get("a", make, &value), Error::Ok);
  EXPECT_EQ(*value, 7);
}

TEST(SharedValues, ThreadsThatAskAtOnceGetOne) {
  Values values;
  std::atomic<int> made{0};
  for (int round = 0; round < 200; ++round) {
    std::vector<std::shared_ptr<const int>> got(4);
    std::vector<std::thread> threads;
    for (auto& value : got) {
      threads.emplace_back([&] {
        const auto make = [&](std::shared_ptr<const int>* out) {
          *out = std::make_shared<const int>(++made);
          return Error::Ok;
        };
        EXPECT_EQ(values.get("a", make, &value), Error::Ok);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& value : got) EXPECT_EQ(value, got[0]);
  }
  EXPECT_EQ(made, 200);
}

}  // namespace
}  // namespace executorch_backends::runtime
