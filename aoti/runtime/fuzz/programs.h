/// Fake programs that are almost right, and what they compute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "executorch_backends/aoti/runtime/testing/fake_fixture.h"
#include "executorch_backends/common/runtime/fuzz/random.h"

namespace executorch_backends::aoti::fuzz {

using executorch_backends::fuzz::Random;
using testing::Built;
using testing::Recipe;

/// A payload with its data, and the recipe that its code still has, unless that was damaged.
struct Case {
  Built built;
  Recipe recipe;
  bool code_is_intact = true;
};

/// Programs that run.
std::vector<Recipe> seeds();
Case intact(const Recipe& recipe);

enum class Depth {
  kBytes,   // of the payload or its data, as a damaged file has them: checksums find almost all
  kFields,  // what the format and the program mean, with checksums made again
};
/// A case with one to four changes; `others` are what pieces are taken from.
Case mutated(const Recipe& seed, const std::vector<Recipe>& others, Depth depth, Random* random);

/// What the program of a script gives: of each output the numbers in logical order, or none for
/// what is not known.
class Oracle {
 public:
  /// `memory` is input 0 as the program sees it, or none where it is no f32; `rows` its first size.
  Oracle(const std::string& script, std::vector<float> memory, int64_t rows, uint8_t added);
  std::optional<std::vector<float>> output(size_t index) const;

 private:
  std::vector<std::string> outputs_;
  std::vector<float> memory_;
  int64_t rows_;
  float added_;
};

}  // namespace executorch_backends::aoti::fuzz
