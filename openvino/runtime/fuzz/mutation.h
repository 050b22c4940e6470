/// Payloads that are almost right.
#pragma once

#include <vector>

#include "executorch_backends/common/runtime/fuzz/random.h"
#include "executorch_backends/openvino/runtime/fuzz/case.h"

namespace executorch_backends::openvino::fuzz {

using executorch_backends::fuzz::Random;

enum class Depth {
  kBytes,   // of the payload or its data, as a damaged file has them: checksums find almost all
  kFields,  // what the format means, with checksums made again: its checks have to find it
};

/// A case with one to four changes; `others` are what pieces are taken from.
Case mutated(const Case& seed, const std::vector<Case>& others, Depth depth, Random* random);

}  // namespace executorch_backends::openvino::fuzz
