#include "executorch_backends/common/checked/checked.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace executorch_backends::checked {
namespace {

// Holds every sum, difference and product of 64-bit integers, except products of two large unsigned
// ones, which product_fits() treats apart.
__extension__ using Wide = __int128;

template <class T>
constexpr bool fits(Wide value) {
  return value >= Wide{std::numeric_limits<T>::min()} &&
         value <= Wide{std::numeric_limits<T>::max()};
}

// Whether a * b fits T. Two uint64_t may exceed even Wide: those do not fit, and division says so.
template <class T>
bool product_fits(T a, T b) {
  if (a == 0 || b == 0) return true;
  if (std::is_unsigned_v<T>) return Wide{a} <= Wide{std::numeric_limits<T>::max()} / Wide{b};
  return fits<T>(Wide{a} * Wide{b});
}

template <class T>
void check_operations(T a, T b) {
  T out{};
  ASSERT_EQ(add(a, b, &out), !fits<T>(Wide{a} + Wide{b})) << +a << " + " << +b;
  ASSERT_EQ(out, static_cast<T>(Wide{a} + Wide{b}));
  ASSERT_EQ(sub(a, b, &out), !fits<T>(Wide{a} - Wide{b})) << +a << " - " << +b;
  ASSERT_EQ(out, static_cast<T>(Wide{a} - Wide{b}));
  const bool fails = mul(a, b, &out);
  ASSERT_EQ(fails, !product_fits(a, b)) << +a << " * " << +b;
  if (!fails) {
    ASSERT_EQ(Wide{out}, Wide{a} * Wide{b});
  }
}

template <class To, class From>
void check_narrow(From value) {
  To out{};
  const bool fails = narrow(value, &out);
  ASSERT_EQ(fails, !fits<To>(Wide{value})) << +value;
  if (!fails) {
    ASSERT_EQ(Wide{out}, Wide{value});
  }
}

template <class From>
void check_every_narrow(From value) {
  check_narrow<int8_t>(value);
  check_narrow<uint8_t>(value);
  check_narrow<int16_t>(value);
  check_narrow<uint16_t>(value);
  check_narrow<int32_t>(value);
  check_narrow<uint32_t>(value);
  check_narrow<int64_t>(value);
  check_narrow<uint64_t>(value);
  check_narrow<size_t>(value);
  check_narrow<ptrdiff_t>(value);
}

// Both ends, every power of two and its neighbours, the roots of the largest value, and some more.
template <class T>
std::vector<T> values() {
  using Unsigned = std::make_unsigned_t<T>;
  std::vector<T> all;
  for (int bit = 0; bit < std::numeric_limits<Unsigned>::digits; ++bit) {
    const auto power = static_cast<Unsigned>(Unsigned{1} << bit);
    for (int near = -2; near <= 2; ++near) {
      all.push_back(static_cast<T>(power + static_cast<Unsigned>(near)));
      all.push_back(static_cast<T>(Unsigned{0} - power + static_cast<Unsigned>(near)));
    }
  }
  if constexpr (sizeof(T) == 8) {
    for (uint64_t root : {3037000499u, 3037000500u, 4294967295u}) {
      all.push_back(static_cast<T>(root));
    }
  }
  std::mt19937_64 random(sizeof(T));
  for (int i = 0; i < 64; ++i) all.push_back(static_cast<T>(random() >> (random() % 64)));
  return all;
}

template <class T>
class Checked : public testing::Test {};

using Types = testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t,
                             uint64_t, size_t, ptrdiff_t, long long, unsigned long long>;
TYPED_TEST_SUITE(Checked, Types);

TYPED_TEST(Checked, OperationsEqual128BitArithmetic) {
  const std::vector<TypeParam> all = values<TypeParam>();
  for (TypeParam a : all) {
    for (TypeParam b : all) check_operations(a, b);
  }
}

TYPED_TEST(Checked, NarrowEquals128BitArithmetic) {
  for (TypeParam value : values<TypeParam>()) check_every_narrow(value);
}

TYPED_TEST(Checked, ExtremesOverflowByOne) {
  using Limits = std::numeric_limits<TypeParam>;
  constexpr TypeParam kOne = 1;
  TypeParam out{};
  EXPECT_FALSE(add(Limits::max(), TypeParam{0}, &out));
  EXPECT_EQ(out, Limits::max());
  EXPECT_TRUE(add(Limits::max(), kOne, &out));
  EXPECT_FALSE(sub(Limits::min(), TypeParam{0}, &out));
  EXPECT_EQ(out, Limits::min());
  EXPECT_TRUE(sub(Limits::min(), kOne, &out));
  EXPECT_FALSE(mul(Limits::max(), kOne, &out));
  EXPECT_EQ(out, Limits::max());
  EXPECT_TRUE(mul(Limits::max(), TypeParam{2}, &out));
  if (std::is_signed_v<TypeParam>) {
    EXPECT_TRUE(mul(Limits::min(), static_cast<TypeParam>(-1), &out));
  }
}

template <class T>
void check_all_pairs() {
  for (int a = std::numeric_limits<T>::min(); a <= std::numeric_limits<T>::max(); ++a) {
    for (int b = std::numeric_limits<T>::min(); b <= std::numeric_limits<T>::max(); ++b) {
      check_operations(static_cast<T>(a), static_cast<T>(b));
    }
  }
}

TEST(CheckedExhaustively, EveryPairOf8Bits) {
  check_all_pairs<int8_t>();
  check_all_pairs<uint8_t>();
}

TEST(CheckedExhaustively, EveryNarrowingOf16Bits) {
  for (int value = -32768; value <= 65535; ++value) {
    if (value <= 32767) check_every_narrow(static_cast<int16_t>(value));
    if (value >= 0) check_every_narrow(static_cast<uint16_t>(value));
  }
}

TEST(CheckedChain, TheOutputMayBeAnOperand) {
  size_t bytes = 6;
  EXPECT_FALSE(mul(bytes, size_t{7}, &bytes) || add(bytes, size_t{1}, &bytes));
  EXPECT_EQ(bytes, 43u);
}

template <class T>
constexpr T sum(T a, T b) {
  T out{};
  return add(a, b, &out) ? T{0} : out;
}

template <class T>
constexpr T difference(T a, T b) {
  T out{};
  return sub(a, b, &out) ? T{0} : out;
}

template <class T>
constexpr T product(T a, T b) {
  T out{};
  return mul(a, b, &out) ? T{0} : out;
}

template <class To, class From>
constexpr bool narrows(From value) {
  To out{};
  return !narrow(value, &out) && static_cast<From>(out) == value;
}

static_assert(sum(40, 2) == 42 && sum(std::numeric_limits<int>::max(), 1) == 0);
static_assert(difference(44u, 2u) == 42 && difference(1u, 2u) == 0);
static_assert(product(size_t{6}, size_t{7}) == 42 && product(~size_t{0}, size_t{2}) == 0);
static_assert(narrows<uint8_t>(255) && !narrows<uint8_t>(256) && !narrows<uint64_t>(-1));
static_assert(narrows<int64_t>(uint64_t{1} << 62) && !narrows<int64_t>(uint64_t{1} << 63));

}  // namespace
}  // namespace executorch_backends::checked
