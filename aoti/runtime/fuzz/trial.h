/// One case through the delegate: init, calls, destroy.
#pragma once

#include <string>

#include "executorch_backends/aoti/runtime/fuzz/programs.h"

namespace executorch_backends::aoti::fuzz {

/// How far a case came, and what it should not have done; no failure where that is empty.
struct Outcome {
  bool validated = false;  // the payload's checks passed it
  bool loaded = false;
  int calls = 0;
  int executed = 0;  // calls that returned Ok
  int compared = 0;  // outputs of those whose numbers are known
  std::string failure;
  std::string log;  // of what failed last
};

/// On the CPU, or on the test device, which replays recorded work and fails now and then. `vary`
/// is whether some calls are wrong.
Outcome run(const Case& tried, bool on_test_device, bool vary, Random* random);

}  // namespace executorch_backends::aoti::fuzz
