#pragma once

#include "executorch_backends/common/runtime/fuzz/random.h"

namespace executorch_backends::openvino::fuzz {

using executorch_backends::fuzz::Random;

}  // namespace executorch_backends::openvino::fuzz
