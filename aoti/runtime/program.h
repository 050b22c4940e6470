/// A loaded program, and the two ways to run it.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/span.h>

#include <memory>
#include <vector>

#include "executorch_backends/aoti/runtime/container.h"
#include "executorch_backends/aoti/runtime/devices/device.h"
#include "executorch_backends/aoti/runtime/random_state.h"
#include "executorch_backends/common/payload/io_table.h"

namespace executorch_backends::aoti {

/// The inputs, then the outputs, of a call.
using Values = executorch::runtime::Span<executorch::runtime::EValue*>;

struct Program {
  Accelerator* accelerator;  // null for a device that shares this process's memory
  RandomState random;
  std::vector<payload::Value> inputs;
  std::vector<payload::Value> outputs;
  bool graphs = true;  // work may be recorded and replayed
  // The stream goes first: it may hold work of the container's.
  std::unique_ptr<Container> container;
  std::unique_ptr<Stream> stream;  // of an accelerator

  /// Runs its code under its own random state; `*random_numbers` is whether it drew any.
  executorch::runtime::Error run(std::vector<OwnedTensor>* arguments,
                                 std::vector<OwnedTensor>* results, bool* random_numbers);
};

/// Runs a program on the values of one call after the other. Their number is right, and none is
/// null.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual executorch::runtime::Error execute(Values values) = 0;
};

/// On tensors where they are, of a device that shares this process's memory.
std::unique_ptr<Runner> run_in_place(std::unique_ptr<Program> program);
/// On copies in the accelerator's memory, with the work replayed where it can do that.
std::unique_ptr<Runner> run_staged(std::unique_ptr<Program> program);

}  // namespace executorch_backends::aoti
