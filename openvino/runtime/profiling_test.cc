// What an event tracer hears of a call.
#include "executorch_backends/common/runtime/testing/recorder.h"
#include "executorch_backends/openvino/runtime/testing/fake_fixture.h"

namespace executorch_backends::openvino::testing {
namespace {

using executorch_backends::testing::Event;
using executorch_backends::testing::Recorder;

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
