#include "executorch_backends/common/layout/copy_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace executorch_backends::layout {
namespace {

using Kind = CopyPlan::Kind;
using Bytes = std::vector<uint8_t>;

constexpr size_t kMax = std::numeric_limits<size_t>::max();

Layout make(std::initializer_list<size_t> sizes, std::initializer_list<size_t> strides,
            size_t offset = 0, size_t item_size = 4) {
  Layout layout;
  EXPECT_EQ(sizes.size(), strides.size());
  EXPECT_TRUE(
      make_layout(sizes.begin(), strides.begin(), sizes.size(), offset, item_size, &layout));
  return layout;
}

CopyPlan planned(const Layout& dst, const Layout& src) {
  CopyPlan plan;
  std::string error;
  EXPECT_TRUE(plan_copy(dst, src, &plan, &error)) << error;
  return plan;
}

std::string refusal(const Layout& dst, const Layout& src) {
  CopyPlan plan;
  plan.run_bytes = 77;
  std::string error;
  EXPECT_FALSE(plan_copy(dst, src, &plan, &error));
  EXPECT_EQ(plan.run_bytes, 77u);  // left alone
  return error;
}

// Every element by itself, with the index counted in the plainest way.
void copy_elements(const Layout& dst, Bytes* to, const Layout& src, const Bytes& from) {
  size_t count = 1;
  for (size_t d = 0; d < dst.rank; ++d) count *= dst.sizes[d];
  for (size_t n = 0; n < count; ++n) {
    size_t rest = n, dst_at = dst.offset, src_at = src.offset;
    for (size_t d = dst.rank; d-- != 0;) {
      const size_t index = rest % dst.sizes[d];
      rest /= dst.sizes[d];
      dst_at += index * dst.strides[d];
      src_at += index * src.strides[d];
    }
    std::memcpy(to->data() + dst_at * dst.item_size, from.data() + src_at * dst.item_size,
                dst.item_size);
  }
}

Bytes random_bytes(size_t size, std::mt19937& random) {
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// Copies between storages of exactly the planned spans, and compares with copy_elements().
void check_copy(const Layout& dst, const Layout& src, std::mt19937& random) {
  const CopyPlan plan = planned(dst, src);
  const Bytes from = random_bytes(plan.src_span, random);
  Bytes to = random_bytes(plan.dst_span, random);
  Bytes expected = to;
  copy_elements(dst, &expected, src, from);
  std::string error;
  ASSERT_TRUE(execute(plan, to.data(), to.size(), from.data(), from.size(), &error)) << error;
  ASSERT_EQ(to, expected) << to_string(dst) << " from " << to_string(src);
}

TEST(PlanCopy, IsOneRunBetweenEqualDenseLayouts) {
  const Layout dense = make({2, 3, 4}, {12, 4, 1});
  const CopyPlan plan = planned(dense, make({2, 3, 4}, {12, 4, 1}, 5));
  EXPECT_EQ(plan.kind, Kind::kBytes);
  EXPECT_EQ(plan.loop_count, 0u);
  EXPECT_EQ(plan.run_bytes, 96u);
  EXPECT_EQ(plan.dst_offset, 0u);
  EXPECT_EQ(plan.src_offset, 20u);
  EXPECT_EQ(plan.dst_span, 96u);
  EXPECT_EQ(plan.src_span, 116u);

  const Layout channels_last = make({2, 3, 4, 5}, {60, 1, 15, 3});
  EXPECT_EQ(planned(channels_last, channels_last).kind, Kind::kBytes);
  EXPECT_EQ(planned(channels_last, channels_last).run_bytes, 480u);
}

TEST(PlanCopy, IsNeverOneRunBetweenDifferentDimOrders) {
  const Layout dense = make({2, 3, 4, 5}, {60, 20, 5, 1});
  const Layout channels_last = make({2, 3, 4, 5}, {60, 1, 15, 3});
  EXPECT_EQ(planned(dense, channels_last).kind, Kind::kGather);
  EXPECT_EQ(planned(channels_last, dense).kind, Kind::kGather);
  // With one channel there is no difference.
  EXPECT_EQ(planned(make({2, 1, 4, 5}, {20, 20, 5, 1}), make({2, 1, 4, 5}, {20, 1, 5, 1})).kind,
            Kind::kBytes);
}

TEST(PlanCopy, IsPitchedForRowsOfASlice) {
  // linear(x)[:, :, :14] of [1, 50, 32].
  const CopyPlan plan = planned(make({1, 50, 14}, {700, 14, 1}), make({1, 50, 14}, {1600, 32, 1}));
  EXPECT_EQ(plan.kind, Kind::kPitched);
  ASSERT_EQ(plan.loop_count, 1u);
  EXPECT_EQ(plan.loops[0].count, 50u);
  EXPECT_EQ(plan.loops[0].dst_step, 56u);
  EXPECT_EQ(plan.loops[0].src_step, 128u);
  EXPECT_EQ(plan.run_bytes, 56u);
  EXPECT_EQ(plan.src_span, (49 * 32 + 14) * 4u);
}

TEST(PlanCopy, IsAGatherForRepeatedElements) {
  const CopyPlan plan = planned(make({3, 4}, {4, 1}), make({3, 4}, {0, 1}));
  EXPECT_EQ(plan.kind, Kind::kGather);  // a 2-D memcpy takes no pitch smaller than its rows
  EXPECT_EQ(plan.run_bytes, 16u);
  EXPECT_EQ(plan.src_span, 16u);
}

TEST(PlanCopy, HasNothingToDoWithoutElements) {
  const CopyPlan plan = planned(make({0, kMax}, {kMax, 3}, 9), make({0, kMax}, {1, 1}));
  EXPECT_EQ(plan.kind, Kind::kBytes);
  EXPECT_EQ(plan.run_bytes, 0u);
  std::string error;
  EXPECT_TRUE(execute(plan, nullptr, 0, nullptr, 0, &error));
}

TEST(PlanCopy, RefusesWithBothValues) {
  const Layout dense = make({2, 3}, {3, 1});
  EXPECT_EQ(refusal(dense, make({2}, {1})),
            "copy: the destination has rank 2; the source has rank 1");
  EXPECT_EQ(refusal(dense, make({2, 4}, {4, 1})),
            "copy: dimension 1 of the destination has size 3; the source's has 4");
  EXPECT_EQ(refusal(dense, make({2, 3}, {3, 1}, 0, 8)),
            "copy: the destination's elements have 4 bytes; the source's have 8");
  EXPECT_EQ(refusal(make({2}, {1}, 0, 0), make({2}, {1}, 0, 0)),
            "copy: elements have 0 bytes; expected 1 or more");
  Layout rank17;
  rank17.rank = 17;
  EXPECT_EQ(refusal(rank17, rank17), "copy: rank 17; at most 16 is supported");
  EXPECT_EQ(refusal(make({2, 3}, {0, 1}), dense),
            "copy: elements of the destination lie at the same place: sizes [2, 3], strides [0, "
            "1], offset 0, 4 bytes each");
  EXPECT_EQ(refusal(make({2}, {kMax}), make({2}, {1})),
            "copy: the destination's span overflows: sizes [2], strides [18446744073709551615], "
            "offset 0, 4 bytes each");
  EXPECT_EQ(refusal(make({2}, {1}), make({2}, {1}, kMax)),
            "copy: the source's span overflows: sizes [2], strides [1], offset "
            "18446744073709551615, 4 bytes each");
}

TEST(Execute, RefusesStoragesThatAreTooSmallBeforeItWrites) {
  const CopyPlan plan = planned(make({2, 3}, {3, 1}, 1), make({2, 3}, {8, 2}));
  const Bytes from(plan.src_span, 1);
  Bytes to(plan.dst_span, 2);
  std::string error;
  EXPECT_FALSE(execute(plan, to.data(), 27, from.data(), from.size(), &error));
  EXPECT_EQ(error, "copy: the destination spans 28 bytes; its storage has 27");
  EXPECT_FALSE(execute(plan, to.data(), to.size(), from.data(), 51, &error));
  EXPECT_EQ(error, "copy: the source spans 52 bytes; its storage has 51");
  EXPECT_EQ(to, Bytes(plan.dst_span, 2));
  EXPECT_TRUE(execute(plan, to.data(), to.size(), from.data(), from.size(), &error));
  Bytes expected(plan.dst_span, 1);
  std::fill_n(expected.begin(), 4, uint8_t{2});  // in front of the offset
  EXPECT_EQ(to, expected);
}

TEST(Execute, RefusesSpansThatShareMemory) {
  const CopyPlan plan = planned(make({4}, {1}), make({4}, {1}));
  Bytes memory(64, 3);
  std::string error;
  const auto copy = [&](size_t dst_at, size_t src_at) {
    return execute(plan, memory.data() + dst_at, 16, memory.data() + src_at, 16, &error);
  };
  EXPECT_FALSE(copy(0, 15));
  EXPECT_EQ(error, "copy: the destination's 16 bytes and the source's 16 share memory");
  EXPECT_FALSE(copy(15, 0));
  EXPECT_FALSE(copy(4, 0));
  EXPECT_TRUE(copy(0, 16));
  EXPECT_TRUE(copy(16, 0));
  EXPECT_EQ(memory, Bytes(64, 3));

  // What counts are the bytes that the layouts reach, not where the storages start.
  EXPECT_TRUE(execute(planned(make({4}, {1}, 4), make({4}, {1})), memory.data(), 64, memory.data(),
                      64, &error));
}

TEST(Execute, LeavesATensorCopiedOntoItselfAlone) {
  const Layout sliced = make({2, 3}, {8, 2}, 1);
  Bytes memory(80, 5);
  memory[4] = 9;
  const Bytes before = memory;
  std::string error;
  EXPECT_TRUE(execute(planned(sliced, sliced), memory.data(), memory.size(), memory.data(),
                      memory.size(), &error));
  EXPECT_EQ(memory, before);
  // The same memory in another order is something else.
  const Layout rows = make({3, 3}, {3, 1});
  const Layout columns = make({3, 3}, {1, 3});
  EXPECT_FALSE(execute(planned(rows, columns), memory.data(), memory.size(), memory.data(),
                       memory.size(), &error));
}

TEST(Execute, CopiesEveryItemSizeIntoAnyAlignment) {
  std::mt19937 random(6);
  for (size_t item_size : {1, 2, 3, 4, 8, 16, 24}) {
    check_copy(make({}, {}, 2, item_size), make({}, {}, 1, item_size), random);
    check_copy(make({5, 7}, {7, 1}, 0, item_size), make({5, 7}, {1, 5}, 0, item_size), random);
    check_copy(make({5, 7}, {7, 1}, 0, item_size), make({5, 7}, {0, 0}, 3, item_size), random);
    check_copy(make({5, 7}, {14, 2}, 0, item_size), make({5, 7}, {7, 1}, 0, item_size), random);

    const CopyPlan plan =
        planned(make({3, 2}, {2, 1}, 0, item_size), make({3, 2}, {1, 3}, 0, item_size));
    const Bytes from = random_bytes(plan.src_span + 1, random);
    Bytes to(plan.dst_span + 1);
    std::string error;
    ASSERT_TRUE(
        execute(plan, to.data() + 1, plan.dst_span, from.data() + 1, plan.src_span, &error));
    EXPECT_EQ(std::memcmp(to.data() + 1, from.data() + 1, item_size), 0);
  }
}

TEST(Execute, CopiesRank16) {
  std::mt19937 random(7);
  Layout dst, src;
  dst.rank = src.rank = kMaxRank;
  dst.sizes.fill(2);
  src.sizes.fill(2);
  DimOrder reversed = kDefaultDimOrder;
  std::reverse(reversed.begin(), reversed.end());
  ASSERT_TRUE(strides_from_dim_order(kMaxRank, dst.sizes, kDefaultDimOrder, &dst.strides));
  ASSERT_TRUE(strides_from_dim_order(kMaxRank, src.sizes, reversed, &src.strides));
  check_copy(dst, src, random);
  EXPECT_EQ(planned(dst, dst).kind, Kind::kBytes);
}

TEST(Execute, CopiesBetweenChannelsFirstAndLastOfManyPixels) {
  std::mt19937 random(10);
  for (size_t channels : {1, 2, 7, 8, 19}) {
    for (size_t item_size : {1, 4, 16}) {
      constexpr size_t kPixels = 700;
      const Layout channels_first =
          make({2, channels, kPixels}, {channels * kPixels, kPixels, 1}, 0, item_size);
      const Layout channels_last =
          make({2, channels, kPixels}, {channels * kPixels, 1, channels}, 0, item_size);
      check_copy(channels_first, channels_last, random);
      check_copy(channels_last, channels_first, random);
    }
  }
}

TEST(Execute, EqualsTheElementwiseCopyForRandomLayouts) {
  std::mt19937 random(8);
  size_t kinds[3] = {};
  for (int round = 0; round < 20'000; ++round) {
    Layout dst, src;
    dst.rank = src.rank = random() % 6;
    dst.item_size = src.item_size = size_t{1} << (random() % 5);
    dst.offset = random() % 4;
    src.offset = random() % 4;
    // The destination: dense in a random order, sometimes with gaps.
    DimOrder order = kDefaultDimOrder;
    std::shuffle(order.begin(), order.begin() + static_cast<ptrdiff_t>(dst.rank), random);
    const bool gaps = random() % 2 == 0;
    size_t stride = 1;
    for (size_t i = dst.rank; i-- != 0;) {
      const size_t d = order[i];
      dst.sizes[d] = src.sizes[d] = random() % 16 == 0 ? 0 : 1 + random() % 4;
      dst.strides[d] = stride;
      stride *= std::max<size_t>(dst.sizes[d], 1);
      if (gaps) stride += random() % 3;
    }
    switch (random() % 3) {
      case 0:  // the same strides
        src.strides = dst.strides;
        break;
      case 1:  // dense in the default order
        ASSERT_TRUE(strides_from_dim_order(src.rank, src.sizes, kDefaultDimOrder, &src.strides));
        break;
      default:  // anything, zeros included
        for (size_t d = 0; d < src.rank; ++d) src.strides[d] = random() % 9;
    }
    ++kinds[static_cast<size_t>(planned(dst, src).kind)];
    check_copy(dst, src, random);
    if (HasFatalFailure()) return;
  }
  for (size_t count : kinds) EXPECT_GT(count, 500u);
}

// Where the plan says that there is something to copy, its last byte is the span's.
TEST(Fuzz, PlansNearTheLimitsStayInsideTheirSpans) {
  std::mt19937_64 random(9);
  const size_t edges[] = {0,
                          1,
                          2,
                          3,
                          size_t{1} << 31,
                          size_t{1} << 32,
                          size_t{1} << 62,
                          (size_t{1} << 63) - 1,
                          size_t{1} << 63,
                          kMax / 2,
                          kMax - 1,
                          kMax};
  const auto any = [&] {
    return random() % 2 == 0 ? static_cast<size_t>(random() >> (random() % 64))
                             : edges[random() % std::size(edges)];
  };
  size_t accepted = 0;
  for (int round = 0; round < 200'000; ++round) {
    Layout dst, src;
    dst.rank = src.rank = random() % 4;
    dst.item_size = src.item_size = size_t{1} << (random() % 5);
    dst.offset = random() % 2 == 0 ? 0 : any();
    src.offset = random() % 2 == 0 ? 0 : any();
    for (size_t d = 0; d < dst.rank; ++d) {
      dst.sizes[d] = src.sizes[d] = random() % 2 == 0 ? random() % 4 : any();
      dst.strides[d] = any();
      src.strides[d] = any();
    }
    CopyPlan plan;
    std::string error;
    if (!plan_copy(dst, src, &plan, &error)) continue;
    size_t span = 0;
    ASSERT_TRUE(span_bytes(dst, &span));
    ASSERT_EQ(plan.dst_span, span);
    ASSERT_TRUE(span_bytes(src, &span));
    ASSERT_EQ(plan.src_span, span);
    if (plan.run_bytes == 0) {
      ASSERT_EQ(plan.loop_count, 0u);
      continue;
    }
    ++accepted;
    __extension__ using Wide = unsigned __int128;
    Wide dst_end = Wide{plan.dst_offset} + plan.run_bytes;
    Wide src_end = Wide{plan.src_offset} + plan.run_bytes;
    for (size_t i = 0; i < plan.loop_count; ++i) {
      dst_end += Wide{plan.loops[i].count - 1} * plan.loops[i].dst_step;
      src_end += Wide{plan.loops[i].count - 1} * plan.loops[i].src_step;
    }
    ASSERT_TRUE(dst_end == plan.dst_span && src_end == plan.src_span)
        << to_string(dst) << " from " << to_string(src);
  }
  EXPECT_GT(accepted, 5000u);
}

}  // namespace
}  // namespace executorch_backends::layout
