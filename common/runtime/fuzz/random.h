/// Numbers that look random, and are the same for the same seed on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace executorch_backends::fuzz {

class Random {
 public:
  /// Of trial `index` of a run: no trial needs those before it.
  Random(uint64_t seed, uint64_t index) : state_(seed * 0x9e3779b97f4a7c15 + index) { next(); }

  uint64_t next() {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// 0 to count - 1; 0 where there is none.
  size_t below(size_t count) { return count == 0 ? 0 : static_cast<size_t>(next() % count); }
  bool one_in(size_t count) { return below(count) == 0; }

  template <typename Container>
  auto& pick(Container& all) {
    return all[below(std::size(all))];
  }

  /// A number at which readers go wrong: small, a size of something, or next to a power of two.
  uint64_t number() {
    switch (below(4)) {
      case 0:
        return below(20);
      case 1:
        return uint64_t{1} << below(64);
      case 2:
        return (uint64_t{1} << below(64)) - 1 - below(3);
      default:
        return ~uint64_t{0} - below(5000);
    }
  }

 private:
  uint64_t state_;
};

}  // namespace executorch_backends::fuzz
