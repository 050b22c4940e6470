/// What every delegate of ours does the same way.
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/platform/types.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::runtime {

/// Runs `body`, which returns an Error; what it throws is logged under the backend's name and goes
/// no further.
template <typename Body>
executorch::runtime::Error guarded(const char* backend, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    ETB_FAIL(MemoryAllocationFailed, "%s: out of memory", backend);
  } catch (const std::exception& exception) {
    ETB_FAIL(Internal, "%s: %s", backend, exception.what());
  } catch (...) {
    ETB_FAIL(Internal, "%s: an exception of an unknown type", backend);
  }
}

/// Registers `delegate`, which lives for ever, under `id`; where another library was first, says
/// so. May be called before main.
executorch::runtime::Error register_delegate(const char* backend, const char* id,
                                             executorch::runtime::BackendInterface* delegate);

/// The value of an option. Callers cannot tell a text from a number that looks like one, so that
/// all are read as text.
std::string text_of(const executorch::runtime::BackendOption& option);

/// One run of a delegate as an event of ExecuTorch's tracer: from the constructor to `finish`. A
/// run that fails is none.
class CallEvent {
 public:
  /// A null tracer costs nothing.
  explicit CallEvent(executorch::runtime::EventTracer* tracer);
  /// Logs the run under the backend's name; the tracer knows which delegate call it is in.
  void finish(const char* backend) const;

  executorch::runtime::EventTracer* tracer() const { return tracer_; }
  et_timestamp_t start() const { return start_; }

 private:
  executorch::runtime::EventTracer* tracer_;
  et_timestamp_t start_ = 0;
};

}  // namespace executorch_backends::runtime
