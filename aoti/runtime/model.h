/// A delegate handle.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/event_tracer.h>

#include <cstddef>
#include <memory>
#include <mutex>

#include "executorch_backends/aoti/runtime/program.h"

namespace executorch_backends::aoti {

/// `execute` may be called from several threads; calls take turns.
class Model {
 public:
  /// Logs and returns an error for a program whose code has another number of inputs or outputs
  /// than it declares.
  static executorch::runtime::Error create(std::unique_ptr<Program> program,
                                           std::unique_ptr<Model>* out);

  /// Runs on `values`: the inputs, then the outputs, which are resized and filled.
  /// A call that goes well is an event of `tracer`, which may be null.
  executorch::runtime::Error execute(Values values, executorch::runtime::EventTracer* tracer);

 private:
  Model(std::unique_ptr<Runner> runner, size_t inputs, size_t outputs)
      : runner_(std::move(runner)), inputs_(inputs), outputs_(outputs) {}

  std::unique_ptr<Runner> runner_;
  size_t inputs_;
  size_t outputs_;
  std::mutex mutex_;
};

}  // namespace executorch_backends::aoti
