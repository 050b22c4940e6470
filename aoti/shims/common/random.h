#pragma once

#include <cstdint>

namespace executorch_backends::aoti {

/// SplitMix64: its state is one number and the n-th value can be had without those before it, so
/// that a tensor can be filled in parallel and still be the same for every number of threads.
class RandomStream {
 public:
  explicit RandomStream(uint64_t state) : state_(state) {}

  /// 64 random bits, the i-th of the stream.
  uint64_t operator()(int64_t i) const {
    uint64_t x = state_ + (static_cast<uint64_t>(i) + 1) * kStep;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  uint64_t state_after(int64_t count) const {
    return state_ + static_cast<uint64_t>(count) * kStep;
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  uint64_t state_;
};

/// The next `count` values of this thread's stream.
RandomStream take_random(int64_t count);

}  // namespace executorch_backends::aoti
