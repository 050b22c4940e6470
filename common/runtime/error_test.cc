#include "executorch_backends/common/runtime/error.h"

#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>

#include <thread>

#include "executorch_backends/common/runtime/log_capture.h"

namespace executorch_backends::runtime {
namespace {

using executorch::runtime::Error;

Error fails(int got) {
  ETB_REQUIRE(got == 3, InvalidArgument, "expected %d rows, got %d", 3, got);
  return Error::Ok;
}

Error passes_on(int got) {
  ETB_TRY(fails(got));
  return Error::Ok;
}

class ErrorTest : public testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};

TEST_F(ErrorTest, AFailedRequirementIsLoggedWithBothValuesAndReturned) {
  LogCapture log;
  EXPECT_EQ(passes_on(4), Error::InvalidArgument);
  EXPECT_EQ(log.text(), "expected 3 rows, got 4");
  EXPECT_EQ(passes_on(3), Error::Ok);
}

TEST_F(ErrorTest, ALongMessageIsNotCut) {
  LogCapture log;
  const std::string message(5000, 'x');
  log_error(__FILE__, __LINE__, __func__, message);
  EXPECT_EQ(log.text(), message);
}

TEST_F(ErrorTest, NotesAreKeptApart) {
  LogCapture log;
  ETB_NOTE("%d rows", 4);
  fails(1);
  ETB_NOTE("%s", "two lines");
  EXPECT_EQ(log.text(), "expected 3 rows, got 1");
  EXPECT_EQ(log.notes(), "4 rows\ntwo lines");
}

TEST_F(ErrorTest, CapturesCollectTheirOwnThreadAndTheInnermostFirst) {
  LogCapture outer;
  {
    LogCapture inner;
    std::thread([] {
      LogCapture other;
      fails(1);
    }).join();
    fails(2);
    EXPECT_EQ(inner.text(), "expected 3 rows, got 2");
  }
  fails(5);
  fails(6);
  EXPECT_EQ(outer.text(), "expected 3 rows, got 5\nexpected 3 rows, got 6");
}

TEST(Format, TextOfAnyLength) {
  EXPECT_EQ(format("%s", ""), "");
  EXPECT_EQ(format("%zu of %s", size_t{7}, "nine"), "7 of nine");
}

}  // namespace
}  // namespace executorch_backends::runtime
