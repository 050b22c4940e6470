#include "executorch_backends/common/layout/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace executorch_backends::layout {
namespace {

constexpr size_t kMax = std::numeric_limits<size_t>::max();

Layout make(std::initializer_list<size_t> sizes, std::initializer_list<size_t> strides,
            size_t offset = 0, size_t item_size = 1) {
  Layout layout;
  EXPECT_EQ(sizes.size(), strides.size());
  EXPECT_TRUE(
      make_layout(sizes.begin(), strides.begin(), sizes.size(), offset, item_size, &layout));
  return layout;
}

DimOrder order(std::initializer_list<uint8_t> dims) {
  DimOrder all{};
  std::copy(dims.begin(), dims.end(), all.begin());
  return all;
}

std::vector<int> first(const DimOrder& dims, size_t rank) {
  return std::vector<int>(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(rank));
}

size_t span_of(const Layout& layout) {
  size_t bytes = 0;
  EXPECT_TRUE(span_bytes(layout, &bytes));
  return bytes;
}

size_t count_of(const Layout& layout) {
  size_t count = 0;
  EXPECT_TRUE(element_count(layout, &count));
  return count;
}

TEST(MakeLayout, RefusesNegativeNumbersAndTooHighARank) {
  const int32_t sizes[] = {2, -3};
  const int64_t strides[] = {3, 1};
  const int64_t backwards[] = {3, -1};
  const int32_t good[] = {2, 3};
  Layout layout;
  EXPECT_FALSE(make_layout(sizes, strides, 2, 0, 4, &layout));
  EXPECT_FALSE(make_layout(good, backwards, 2, 0, 4, &layout));
  const std::vector<int32_t> ones(17, 1);
  EXPECT_FALSE(make_layout(ones.data(), ones.data(), 17, 0, 4, &layout));
  EXPECT_TRUE(make_layout(ones.data(), ones.data(), 16, 0, 4, &layout));
  EXPECT_EQ(layout.rank, 16u);
  ASSERT_TRUE(make_layout(good, strides, 2, 5, 4, &layout));
  EXPECT_EQ(to_string(layout), "sizes [2, 3], strides [3, 1], offset 5, 4 bytes each");
  ASSERT_TRUE(make_layout(good, good, 0, 0, 4, &layout));
  EXPECT_EQ(to_string(layout), "sizes [], strides [], offset 0, 4 bytes each");
}

TEST(Span, ReachesTheEndOfTheLastElement) {
  EXPECT_EQ(span_of(make({}, {}, 0, 8)), 8u);
  EXPECT_EQ(span_of(make({}, {}, 3, 8)), 32u);
  EXPECT_EQ(span_of(make({2, 3}, {3, 1}, 0, 4)), 24u);
  EXPECT_EQ(span_of(make({1, 50, 14}, {1600, 32, 1}, 0, 4)), (49 * 32 + 14) * 4u);
  EXPECT_EQ(span_of(make({5, 7}, {0, 0}, 2, 2)), 6u);
  EXPECT_EQ(span_of(make({1}, {kMax}, 0, 16)), 16u);
}

TEST(Span, IsZeroWithoutElementsWhateverTheRestSays) {
  EXPECT_EQ(span_of(make({0}, {1}, 100, 4)), 0u);
  EXPECT_EQ(span_of(make({kMax, 0}, {kMax, kMax}, kMax, 16)), 0u);
  EXPECT_EQ(count_of(make({kMax, kMax, 0}, {1, 1, 1})), 0u);
}

TEST(Span, FailsOnOverflowAndLeavesTheOutputAlone) {
  size_t bytes = 42;
  EXPECT_FALSE(span_bytes(make({2}, {kMax}), &bytes));            // the last element's end
  EXPECT_FALSE(span_bytes(make({3}, {kMax / 2 + 1}), &bytes));    // its start
  EXPECT_FALSE(span_bytes(make({2, 2}, {kMax - 1, 2}), &bytes));  // the sum of two
  EXPECT_FALSE(span_bytes(make({1}, {1}, kMax, 1), &bytes));      // the offset
  EXPECT_FALSE(span_bytes(make({1}, {1}, kMax / 2, 2), &bytes));  // elements to bytes
  EXPECT_FALSE(element_count(make({kMax, 2}, {1, 1}), &bytes));
  Layout rank17;
  rank17.rank = 17;
  EXPECT_FALSE(span_bytes(rank17, &bytes));
  EXPECT_FALSE(element_count(rank17, &bytes));
  EXPECT_EQ(bytes, 42u);
  EXPECT_EQ(span_of(make({2}, {kMax - 1})), kMax);
}

TEST(Contiguity, HoldsInTheGivenOrderOnly) {
  const Layout dense = make({2, 3, 4}, {12, 4, 1}, 7);
  EXPECT_TRUE(is_contiguous(dense, kDefaultDimOrder));
  EXPECT_FALSE(is_contiguous(dense, order({0, 2, 1})));
  const Layout channels_last = make({2, 3, 4, 5}, {60, 1, 15, 3});
  EXPECT_TRUE(is_contiguous(channels_last, order({0, 2, 3, 1})));
  EXPECT_FALSE(is_contiguous(channels_last, kDefaultDimOrder));
  EXPECT_FALSE(is_contiguous(make({2, 3}, {4, 1}), kDefaultDimOrder));
  EXPECT_FALSE(is_contiguous(make({2, 3}, {0, 1}), kDefaultDimOrder));
}

TEST(Contiguity, IgnoresStridesOfSizeOneAndHoldsForScalarsAndNothing) {
  EXPECT_TRUE(is_contiguous(make({2, 1, 3}, {3, 77, 1}), kDefaultDimOrder));
  EXPECT_TRUE(is_contiguous(make({1, 1}, {0, 9}), order({1, 0})));
  EXPECT_TRUE(is_contiguous(make({}, {}, 9), kDefaultDimOrder));
  EXPECT_TRUE(is_contiguous(make({2, 0}, {5, 7}), order({1, 0})));
}

TEST(Contiguity, IsDeniedToWhatIsNoPermutationOrOverflows) {
  const Layout dense = make({2, 3}, {3, 1});
  EXPECT_FALSE(is_contiguous(dense, order({1, 1})));
  EXPECT_FALSE(is_contiguous(dense, order({0, 2})));
  EXPECT_FALSE(is_contiguous(dense, order({0, 255})));
  EXPECT_FALSE(is_contiguous(make({2, kMax, 2}, {0, 2, 1}), kDefaultDimOrder));
  Layout rank17;
  rank17.rank = 17;
  EXPECT_FALSE(is_contiguous(rank17, kDefaultDimOrder));
}

TEST(DimOrder, GivesTheStridesOfContiguousTensors) {
  Dims strides{};
  ASSERT_TRUE(strides_from_dim_order(4, {2, 3, 4, 5}, order({0, 2, 3, 1}), &strides));
  EXPECT_EQ(strides, (Dims{60, 1, 15, 3}));
  ASSERT_TRUE(strides_from_dim_order(3, {2, 0, 3}, kDefaultDimOrder, &strides));
  EXPECT_EQ(strides, (Dims{3, 3, 1}));
  ASSERT_TRUE(strides_from_dim_order(0, {}, kDefaultDimOrder, &strides));
  ASSERT_TRUE(strides_from_dim_order(3, {kMax, kMax / 2, 2}, kDefaultDimOrder, &strides));
  EXPECT_EQ(strides, (Dims{kMax - 1, 2, 1}));
  EXPECT_FALSE(strides_from_dim_order(3, {1, kMax, 2}, kDefaultDimOrder, &strides));
  EXPECT_FALSE(strides_from_dim_order(2, {2, 3}, order({0, 0}), &strides));
  EXPECT_FALSE(strides_from_dim_order(17, {}, kDefaultDimOrder, &strides));
  EXPECT_EQ(strides, (Dims{kMax - 1, 2, 1}));
}

TEST(DimOrder, IsReadOffTheStrides) {
  const auto order_of = [](const Layout& layout) {
    return first(dim_order_from_strides(layout), layout.rank);
  };
  EXPECT_EQ(order_of(make({2, 3, 4}, {12, 4, 1})), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(order_of(make({2, 3, 4, 5}, {60, 1, 15, 3})), (std::vector<int>{0, 2, 3, 1}));
  EXPECT_EQ(order_of(make({}, {})), (std::vector<int>{}));
  // Nothing tells these apart from the default order, so that is what they have.
  EXPECT_EQ(order_of(make({2, 1, 8}, {8, 1, 1})), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(order_of(make({2, 1, 8}, {8, 99, 1})), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(order_of(make({0, 3}, {1, 7})), (std::vector<int>{0, 1}));
  EXPECT_EQ(order_of(make({4, 4}, {0, 0})), (std::vector<int>{0, 1}));
  EXPECT_EQ(order_of(make({4, 4, 4}, {1, 0, 1})), (std::vector<int>{0, 2, 1}));
}

TEST(DimOrder, IsContiguousInItsOwnOrderForEveryPermutation) {
  const Dims sizes = {2, 1, 3, 2, 4};
  std::array<uint8_t, 5> dims = {0, 1, 2, 3, 4};
  do {
    Layout layout;
    layout.rank = dims.size();
    layout.sizes = sizes;
    DimOrder wanted{};
    std::copy(dims.begin(), dims.end(), wanted.begin());
    ASSERT_TRUE(strides_from_dim_order(layout.rank, sizes, wanted, &layout.strides));
    EXPECT_TRUE(is_contiguous(layout, wanted));
    EXPECT_TRUE(is_contiguous(layout, dim_order_from_strides(layout)));
    layout.strides[1] = 12345;  // of size 1
    EXPECT_TRUE(is_contiguous(layout, dim_order_from_strides(layout)));
  } while (std::next_permutation(dims.begin(), dims.end()));
}

TEST(Overlap, ComparesTheRangesOfBytes) {
  const Layout left = make({4}, {1}, 0, 4);
  EXPECT_TRUE(may_overlap(left, left));
  EXPECT_TRUE(may_overlap(left, make({4}, {1}, 3, 4)));
  EXPECT_FALSE(may_overlap(left, make({4}, {1}, 4, 4)));
  EXPECT_FALSE(may_overlap(make({4}, {1}, 4, 4), left));
  EXPECT_TRUE(may_overlap(left, make({4}, {1}, 15, 1)));
  EXPECT_FALSE(may_overlap(left, make({4}, {1}, 16, 1)));
  EXPECT_FALSE(may_overlap(left, make({0}, {1}, 0, 4)));
  EXPECT_TRUE(may_overlap(left, make({2}, {kMax})));               // overflows
  EXPECT_TRUE(may_overlap(make({2}, {2}, 0), make({2}, {2}, 1)));  // interleaves: in doubt, yes
}

TEST(Overlap, WithItself) {
  EXPECT_FALSE(overlaps_itself(make({}, {})));
  EXPECT_FALSE(overlaps_itself(make({2, 3}, {3, 1})));
  EXPECT_FALSE(overlaps_itself(make({2, 3}, {1, 2})));
  EXPECT_TRUE(overlaps_itself(make({2, 3}, {0, 1})));
  EXPECT_FALSE(overlaps_itself(make({1, 3}, {0, 1})));
  EXPECT_FALSE(overlaps_itself(make({0, 3}, {0, 1})));
  EXPECT_TRUE(overlaps_itself(make({3, 3}, {1, 1})));
  EXPECT_TRUE(overlaps_itself(make({2, 3}, {2, 1})));
  EXPECT_FALSE(overlaps_itself(make({2, 3}, {3, 2})));  // {0, 2, 4} and {3, 5, 7}
  EXPECT_TRUE(overlaps_itself(make({2, 3}, {4, 2})));   // {0, 2, 4} and {4, 6, 8}
  EXPECT_FALSE(overlaps_itself(make({2}, {kMax}, 1)));  // the offset does not matter
  EXPECT_TRUE(overlaps_itself(make({3}, {kMax})));      // overflows
  EXPECT_FALSE(overlaps_itself(make({1u << 20, 1u << 20}, {1u << 20, 1})));
  EXPECT_TRUE(overlaps_itself(make({1u << 20, 1u << 20}, {(1u << 20) - 1, 1})));
  EXPECT_TRUE(overlaps_itself(make({2, 3}, {3u << 26, 1u << 27})));  // too wide to look at
}

// The same questions answered by listing every element's place.
TEST(Overlap, WithItselfEqualsEnumeration) {
  std::mt19937 random(4);
  size_t overlapping = 0;
  constexpr size_t kRounds = 20'000;
  for (size_t round = 0; round < kRounds; ++round) {
    Layout layout;
    layout.rank = random() % 5;
    for (size_t d = 0; d < layout.rank; ++d) {
      layout.sizes[d] = random() % 5;
      layout.strides[d] = random() % 12;
    }
    layout.offset = random() % 3;
    std::vector<size_t> places = {layout.offset};
    for (size_t d = 0; d < layout.rank; ++d) {
      std::vector<size_t> next;
      for (size_t i = 0; i < layout.sizes[d]; ++i) {
        for (size_t place : places) next.push_back(place + i * layout.strides[d]);
      }
      places = std::move(next);
    }
    const std::set<size_t> unique(places.begin(), places.end());
    const bool overlaps = unique.size() != places.size();
    overlapping += overlaps;
    ASSERT_EQ(overlaps_itself(layout), overlaps) << to_string(layout);
    ASSERT_EQ(count_of(layout), places.size());
    ASSERT_EQ(span_of(layout), places.empty() ? 0 : *unique.rbegin() + 1);
  }
  EXPECT_GT(overlapping, kRounds / 10);
  EXPECT_LT(overlapping, kRounds * 9 / 10);
}

// 128 bits that stop at the top instead of wrapping.
__extension__ using Wide = unsigned __int128;
constexpr Wide kWideMax = ~Wide{0};
Wide wide_add(Wide a, Wide b) { return a > kWideMax - b ? kWideMax : a + b; }
Wide wide_mul(Wide a, Wide b) { return b != 0 && a > kWideMax / b ? kWideMax : a * b; }

TEST(Fuzz, SpanAndCountEqual128BitArithmeticNearTheLimits) {
  std::mt19937_64 random(5);
  const size_t edges[] = {0,
                          1,
                          2,
                          3,
                          (size_t{1} << 31) - 1,
                          size_t{1} << 31,
                          size_t{1} << 32,
                          (size_t{1} << 32) + 1,
                          3037000499u,
                          3037000500u,
                          (size_t{1} << 62),
                          (size_t{1} << 63) - 1,
                          size_t{1} << 63,
                          (size_t{1} << 63) + 1,
                          kMax - 1,
                          kMax};
  const auto any = [&] {
    const uint64_t kind = random() % 4;
    if (kind == 0) return static_cast<size_t>(random() >> (random() % 64));
    if (kind == 1) return static_cast<size_t>(random() % 8);
    return edges[random() % std::size(edges)];
  };
  size_t fitted = 0;
  constexpr size_t kRounds = 200'000;
  for (size_t round = 0; round < kRounds; ++round) {
    Layout layout;
    layout.rank = random() % 5;
    layout.offset = random() % 2 == 0 ? 0 : any();
    layout.item_size = size_t{1} << (random() % 5);
    Wide last = layout.offset;
    Wide count = 1;
    bool empty = false;
    for (size_t d = 0; d < layout.rank; ++d) {
      layout.sizes[d] = any();
      layout.strides[d] = any();
      if (layout.sizes[d] == 0) {
        empty = true;
      } else {
        last = wide_add(last, wide_mul(layout.sizes[d] - 1, layout.strides[d]));
        count = wide_mul(count, layout.sizes[d]);
      }
    }
    const Wide span = empty ? 0 : wide_mul(wide_add(last, 1), layout.item_size);
    if (empty) count = 0;

    size_t bytes = 0;
    const bool fits = span_bytes(layout, &bytes);
    ASSERT_EQ(fits, span <= kMax) << to_string(layout);
    if (fits) {
      ASSERT_EQ(bytes, static_cast<size_t>(span)) << to_string(layout);
    }
    size_t elements = 0;
    const bool countable = element_count(layout, &elements);
    ASSERT_EQ(countable, count <= kMax) << to_string(layout);
    if (countable) {
      ASSERT_EQ(elements, static_cast<size_t>(count)) << to_string(layout);
    }

    // The rest must only stay defined, which the sanitizer sees, and consistent.
    const DimOrder order = dim_order_from_strides(layout);
    if (is_contiguous(layout, order) && !empty) {
      ASSERT_TRUE(last - layout.offset + 1 == count) << to_string(layout);
    }
    Dims strides{};
    if (strides_from_dim_order(layout.rank, layout.sizes, order, &strides) && countable) {
      layout.strides = strides;
      ASSERT_TRUE(is_contiguous(layout, order)) << to_string(layout);
    }
    fitted += fits;
  }
  EXPECT_GT(fitted, kRounds / 10);
  EXPECT_LT(fitted, kRounds * 9 / 10);
}

}  // namespace
}  // namespace executorch_backends::layout
