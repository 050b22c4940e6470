/// A device that does its work late, and fails when it is told to.
#pragma once

#include <executorch/runtime/core/error.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "executorch_backends/aoti/runtime/devices/device.h"

namespace executorch_backends::aoti::testing {

/// Its memory is this process's, in allocations that it knows. Nothing that is enqueued is done
/// before somebody waits: then it is done for all streams, those of others first or last. What a
/// user of a real device must not do is noted as a fault: to enqueue transfers or to wait while
/// work is recorded, to upload to memory that is not the device's, to release memory or a graph
/// that unfinished work may need.
class TestDevice final : public Accelerator {
 public:
  struct Work {
    std::function<bool()> run;
    std::shared_ptr<void> keeps;      // what it works on, of the program
    const Graph* launched = nullptr;  // by this one
  };
  class TestStream;

  const char* name() const override { return "test"; }
  const char* container_name() const override { return "cpu"; }
  executorch::runtime::Error check_isa(const std::string& isa) const override;
  executorch::runtime::Error allocate(size_t bytes, void** out) override;
  void release(void* memory) override;
  executorch::runtime::Error make_stream(std::unique_ptr<Stream>* out) override;

  /// As at first: no counts, no faults, and nothing fails.
  void reset();
  /// The call after `later` more of this name fails: allocate, upload, download, copy, kernel,
  /// synchronise, begin_capture, end_capture, launch.
  void fail(const std::string& call, int later = 0);
  void set_others_first(bool others_first);
  void set_captures(bool captures);

  int calls(const std::string& name) const;
  size_t live_bytes() const;
  std::vector<std::string> faults() const;

 private:
  friend class TestStream;
  friend class TestGraph;

  /// Counts a call, and says whether it goes well. The lock is held.
  bool goes_well(const std::string& name);
  void fault(const std::string& text) { faults_.push_back(text); }
  bool owns(const void* memory, size_t bytes) const;

  mutable std::recursive_mutex mutex_;
  std::map<char*, size_t> allocations_;
  std::vector<TestStream*> streams_;
  std::map<std::string, int> calls_;
  std::map<std::string, int> failing_;
  std::vector<std::string> faults_;
  bool others_first_ = false;
  bool captures_ = true;
};

}  // namespace executorch_backends::aoti::testing
