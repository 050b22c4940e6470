// What an event tracer hears of a call.
#include <executorch/runtime/core/event_tracer.h>

#include "executorch_backends/openvino/runtime/testing/fake_fixture.h"

namespace executorch_backends::openvino::testing {
namespace {

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

class Profiling : public FakeOpenvino {
 protected:
  Error call(const Handle& handle, Recorder* recorder) {
    auto in = matrix();
    auto out = empty_matrix();
    return execute(handle, {in.value(), out.value()}, recorder);
  }
};

TEST_F(Profiling, EachCallIsAnEvent) {
  TestProgram loaded(program());
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  Recorder recorder;
  for (int calls = 1; calls <= 3; ++calls) {
    ASSERT_EQ(call(handle, &recorder), Error::Ok) << log();
    ASSERT_EQ(recorder.events.size(), static_cast<size_t>(calls));
    EXPECT_EQ(recorder.events.back().name, "OpenVINO");
    EXPECT_LE(recorder.events.back().start, recorder.events.back().end);
  }
  EXPECT_EQ(recorder.stray, 0);
}

TEST_F(Profiling, LayersThatRanAreEventsWhereTheyAreAskedFor) {
  for (const char* compile : {"never", "always"}) {
    TestProgram loaded(program());
    auto handle = init(&loaded, {option("compile", compile), value_option("profile", true)});
    ASSERT_NE(handle, nullptr) << log();
    Recorder recorder;
    ASSERT_EQ(call(handle, &recorder), Error::Ok) << log();
    ASSERT_EQ(recorder.events.size(), 3u);
    const Event &run = recorder.events[0], &first = recorder.events[1],
                &second = recorder.events[2];
    EXPECT_EQ(first.name, "double");
    EXPECT_EQ(first.metadata, "type=Multiply exec=jit_avx2_f32 cpu_us=4");
    EXPECT_EQ(first.start, run.start);
    EXPECT_EQ(second.name, "add");
    EXPECT_EQ(second.start, first.end);
    // 5 and 7 microseconds, in whatever ExecuTorch's clock counts.
    EXPECT_EQ((first.end - first.start) * 7, (second.end - second.start) * 5);
    EXPECT_GT(first.end, first.start);
  }
}

TEST_F(Profiling, ARunThatFailsIsNoEvent) {
  TestProgram loaded(program());
  auto handle = init(&loaded, {value_option("profile", true)});
  ASSERT_NE(handle, nullptr) << log();
  Recorder recorder;
  fail_in("ov_infer_request_infer");
  EXPECT_EQ(call(handle, &recorder), Error::Internal);
  EXPECT_EQ(recorder.events.size(), 0u);
  fail_in("ov_infer_request_get_profiling_info");
  EXPECT_EQ(call(handle, &recorder), Error::Internal);
  expect_log({"the fake fails in ov_infer_request_get_profiling_info"});
  fail_in(nullptr);
  EXPECT_EQ(call(handle, nullptr), Error::Ok) << log();
}

}  // namespace
}  // namespace executorch_backends::openvino::testing
