/// Where compiled programs run.
#pragma once

#include <executorch/runtime/core/error.h>

#include <cstddef>
#include <memory>
#include <string>

#include "executorch_backends/common/layout/copy_plan.h"

namespace executorch_backends::aoti {

/// Recorded work of a stream, with the addresses that it had.
class Graph {
 public:
  virtual ~Graph() = default;
  /// Enqueues it on the stream that it was recorded on.
  virtual executorch::runtime::Error launch() = 0;
};

/// An accelerator's queue of work: what is enqueued is done in this order, and surely by the end of
/// `synchronise`. Every handle has one of its own. Errors are logged.
class Stream {
 public:
  virtual ~Stream() = default;
  /// What AOTInductor's code is given; null where it expects none.
  virtual void* native() = 0;

  virtual executorch::runtime::Error upload(void* to, const void* from, size_t bytes) = 0;
  virtual executorch::runtime::Error download(void* to, const void* from, size_t bytes) = 0;
  /// Within the device's memory; `to` and `from` are the storages' starts.
  virtual executorch::runtime::Error copy(const layout::CopyPlan& plan, void* to, size_t to_bytes,
                                          const void* from, size_t from_bytes) = 0;
  virtual executorch::runtime::Error synchronise() = 0;

  /// Whether work can be recorded.
  virtual bool captures() const = 0;
  /// From here on work is recorded and not done.
  virtual executorch::runtime::Error begin_capture() = 0;
  virtual executorch::runtime::Error end_capture(std::unique_ptr<Graph>* out) = 0;
  /// Forgets what was recorded. The stream is as before the capture, also when that has failed.
  virtual void abandon_capture() = 0;
};

class Accelerator;

class Device {
 public:
  virtual ~Device() = default;
  /// As payloads spell it, `cpu`, and as AOTInductor does.
  virtual const char* name() const = 0;
  virtual const char* container_name() const = 0;
  /// Whether it runs code that was compiled for `isa`; logs why not.
  virtual executorch::runtime::Error check_isa(const std::string& isa) const = 0;
  /// Itself where it has memory of its own; null where programs read and write this process's
  /// memory where it is.
  virtual Accelerator* accelerator() { return nullptr; }
};

/// A device with memory of its own, through which inputs, constants and outputs go.
class Accelerator : public Device {
 public:
  Accelerator* accelerator() final { return this; }
  virtual executorch::runtime::Error allocate(size_t bytes, void** out) = 0;
  virtual void release(void* memory) = 0;
  virtual executorch::runtime::Error make_stream(std::unique_ptr<Stream>* out) = 0;
};

}  // namespace executorch_backends::aoti
