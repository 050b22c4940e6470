/// An event tracer that keeps what it hears of delegates.
#pragma once

#include <executorch/runtime/core/event_tracer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace executorch_backends::testing {

namespace et = executorch::runtime;

struct Event {
  std::string name;
  std::string metadata;
  et_timestamp_t start = 0;
  et_timestamp_t end = 0;
};

/// Keeps the delegate events that are logged whole; the others, which no delegate of ours logs,
/// count as stray.
class Recorder final : public et::EventTracer {
 public:
  std::vector<Event> events;
  int stray = 0;

  void log_profiling_delegate(const char* name, et::DelegateDebugIntId id, et_timestamp_t start,
                              et_timestamp_t end, const void* metadata, size_t size) override {
    EXPECT_EQ(id, et::kUnsetDelegateDebugIntId);
    events.push_back({name, std::string(static_cast<const char*>(metadata), size), start, end});
  }
  void create_event_block(const char*) override { ++stray; }
  et::EventTracerEntry start_profiling(const char*, et::ChainID, et::DebugHandle) override {
    return stray_entry();
  }
  et::EventTracerEntry start_profiling_delegate(const char*, et::DelegateDebugIntId) override {
    return stray_entry();
  }
  void end_profiling_delegate(et::EventTracerEntry, const void*, size_t) override { ++stray; }
  void end_profiling(et::EventTracerEntry) override { ++stray; }
  void track_allocation(et::AllocatorID, size_t) override { ++stray; }
  et::AllocatorID track_allocator(const char*) override { return static_cast<uint32_t>(++stray); }
  et::Result<bool> log_evalue(const et::EValue&, et::LoggedEValueType) override {
    return stray_result();
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const executorch::aten::Tensor&) override {
    return stray_result();
  }
  et::Result<bool> log_intermediate_output_delegate(
      const char*, et::DelegateDebugIntId, const et::ArrayRef<executorch::aten::Tensor>) override {
    return stray_result();
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const int&) override {
    return stray_result();
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const bool&) override {
    return stray_result();
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const double&) override {
    return stray_result();
  }
  void set_delegation_intermediate_output_filter(et::EventTracerFilterBase*) override { ++stray; }

 private:
  et::EventTracerEntry stray_entry() {
    ++stray;
    return {};
  }
  et::Result<bool> stray_result() {
    ++stray;
    return false;
  }
};

}  // namespace executorch_backends::testing
