/// Where the random operators of a handle start.
#pragma once

#include <cstdint>
#include <memory>

#include "executorch_backends/common/payload/sha256.h"

namespace executorch_backends::aoti {

/// The state of a handle's random operators. It is the same whenever a program is loaded with the
/// same seed, and another one for each of the program's handles, also for two of equal code.
class RandomState {
 public:
  /// `program` is an address that identifies the program while any of its handles lives.
  RandomState(const void* program, const payload::Digest& code, uint64_t seed);

  uint64_t number = 0;

 private:
  struct Count;
  std::shared_ptr<Count> count_;  // of the program's handles with this code
};

}  // namespace executorch_backends::aoti
