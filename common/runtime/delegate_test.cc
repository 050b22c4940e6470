#include "executorch_backends/common/runtime/delegate.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "executorch_backends/common/runtime/log_capture.h"
#include "executorch_backends/common/runtime/testing/recorder.h"

namespace executorch_backends::runtime {
namespace {

using executorch::runtime::BackendOption;
using executorch::runtime::Error;

TEST(Guarded, WhatIsThrownBecomesAnErrorWithItsText) {
  const auto thrown = [](auto&& exception, Error error, const std::string& text) {
    LogCapture log;
    EXPECT_EQ(guarded("Test", [&]() -> Error { throw exception; }), error);
    EXPECT_EQ(log.text(), text);
  };
  thrown(std::bad_alloc(), Error::MemoryAllocationFailed, "Test: out of memory");
  thrown(std::runtime_error("the reactor is cold"), Error::Internal, "Test: the reactor is cold");
  thrown(7, Error::Internal, "Test: an exception of an unknown type");
  EXPECT_EQ(guarded("Test", [] { return Error::NotFound; }), Error::NotFound);
}

TEST(TextOf, AnOptionIsReadAsText) {
  BackendOption option;
  option.value = true;
  EXPECT_EQ(text_of(option), "true");
  option.value = -3;
  EXPECT_EQ(text_of(option), "-3");
  std::array<char, executorch::runtime::kMaxOptionValueLength> text{};
  option.value = text;
  EXPECT_EQ(text_of(option), "");
  text.fill('x');  // also without a NUL
  option.value = text;
  EXPECT_EQ(text_of(option), std::string(text.size(), 'x'));
}

TEST(CallEvents, OneForEachRunThatIsFinished) {
  testing::Recorder recorder;
  {
    const CallEvent failed(&recorder);
  }
  EXPECT_EQ(recorder.events.size(), 0u);
  const CallEvent call(&recorder);
  call.finish("Test");
  ASSERT_EQ(recorder.events.size(), 1u);
  EXPECT_EQ(recorder.events[0].name, "Test");
  EXPECT_EQ(recorder.events[0].start, call.start());
  EXPECT_LE(recorder.events[0].start, recorder.events[0].end);
  CallEvent(nullptr).finish("Test");
  EXPECT_EQ(recorder.stray, 0);
}

}  // namespace
}  // namespace executorch_backends::runtime
