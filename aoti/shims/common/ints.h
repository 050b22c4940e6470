#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ostream>

#include "executorch_backends/aoti/shims/common/failure.h"
#include "executorch_backends/common/layout/layout.h"

namespace executorch_backends::aoti {

/// How many parts of `size`, at least 1, make up `count`, at least 0; the last may be smaller.
constexpr int64_t ceil_div(int64_t count, int64_t size) {
  return count == 0 ? 0 : (count - 1) / size + 1;
}

/// A few numbers, one for each dimension, kept in place: sizes, strides, paddings.
class Ints {
 public:
  Ints() = default;
  Ints(std::initializer_list<int64_t> values) : Ints(values.begin(), values.size()) {}
  /// `count` numbers from `values`, which is not looked at when there are none.
  Ints(const int64_t* values, int64_t count) {
    require(count >= 0 && count <= kMax, "rank is ", count, ", at most ", kMax, " is supported");
    require(values != nullptr || count == 0, count, " numbers, but no memory");
    for (int64_t i = 0; i < count; ++i) push_back(values[i]);
  }
  static Ints filled(int64_t count, int64_t value) {
    Ints result;
    for (int64_t i = 0; i < count; ++i) result.push_back(value);
    return result;
  }

  int64_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t* data() { return values_.data(); }
  const int64_t* data() const { return values_.data(); }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + count_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + count_; }
  int64_t& operator[](int64_t i) { return values_[static_cast<size_t>(i)]; }
  int64_t operator[](int64_t i) const { return values_[static_cast<size_t>(i)]; }
  int64_t back() const { return values_[static_cast<size_t>(count_ - 1)]; }

  void push_back(int64_t value) {
    require(count_ < kMax, "rank exceeds ", kMax);
    values_[static_cast<size_t>(count_++)] = value;
  }
  void insert(int64_t at, int64_t value) {
    push_back(value);
    for (int64_t i = count_ - 1; i > at; --i) (*this)[i] = (*this)[i - 1];
    (*this)[at] = value;
  }
  void erase(int64_t at) {
    for (int64_t i = at; i + 1 < count_; ++i) (*this)[i] = (*this)[i + 1];
    --count_;
  }

  bool operator==(const Ints& other) const {
    if (count_ != other.count_) return false;
    for (int64_t i = 0; i < count_; ++i) {
      if ((*this)[i] != other[i]) return false;
    }
    return true;
  }
  bool operator!=(const Ints& other) const { return !(*this == other); }

  friend std::ostream& operator<<(std::ostream& stream, const Ints& ints) {
    stream << '[';
    for (int64_t i = 0; i < ints.count_; ++i) stream << (i ? ", " : "") << ints[i];
    return stream << ']';
  }

 private:
  static constexpr int64_t kMax = layout::kMaxRank;

  std::array<int64_t, layout::kMaxRank> values_;  // of which the first `count_` count
  int64_t count_ = 0;
};

}  // namespace executorch_backends::aoti
