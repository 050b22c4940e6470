// Runs on a device with memory of its own, which records work and replays it: whatever happens, the
// results are those of a run as it is.
#include "executorch_backends/aoti/runtime/graph_replay.h"

#include <set>

#include "executorch_backends/aoti/runtime/delegate.h"
#include "executorch_backends/aoti/runtime/testing/fake_fixture.h"
#include "executorch_backends/aoti/runtime/testing/test_device.h"
#include "executorch_backends/aoti/runtime/testing/views.h"
#include "executorch_backends/common/runtime/delegate.h"

namespace executorch_backends::aoti::testing {
namespace {

constexpr char kBackend[] = "AotiTestBackend";
constexpr int kCold = GraphReplay::kWarmUps;

TestDevice& device() {
  static auto* const device = new TestDevice;
  static auto* const delegate = new Delegate(device);
  static const Error registered = runtime::register_delegate("AOTI", kBackend, delegate);
  EXPECT_EQ(registered, Error::Ok);
  return *device;
}

const char* backend() {
  device();
  return kBackend;
}

class GraphReplays : public FakeModels {
 protected:
  GraphReplays() : FakeModels(backend()) { device().reset(); }
  void TearDown() override {
    EXPECT_EQ(device().live_bytes(), 0u);
    EXPECT_EQ(device().faults(), std::vector<std::string>{});
    FakeModels::TearDown();
  }

  Handle load(const Recipe& recipe, std::vector<et::BackendOption> options = {}) {
    Recipe for_device = recipe;
    for_device.target = "backend=aoti\ndevice=test\nisa=test\nshims=1\n";
    return FakeModels::load(for_device, std::move(options));
  }

  /// A call of the plain program with numbers of its own.
  void expect_right(const Handle& handle, float first, std::vector<uint8_t> in_order = {},
                    std::vector<uint8_t> out_order = {}) {
    ASSERT_NE(handle, nullptr) << log();
    Floats in(ScalarType::Float, {2, 3}, {}, std::move(in_order));
    Floats out(ScalarType::Float, {2, 3}, {}, std::move(out_order));
    const auto at = [](Floats* tensor, int row, int column) -> float& {
      const auto strides = tensor->tensor().strides();
      return tensor->data()[static_cast<size_t>(row * strides[0] + column * strides[1])];
    };
    for (int i = 0; i < 6; ++i) at(&in, i / 3, i % 3) = first + static_cast<float>(i);
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(at(&out, i / 3, i % 3), 2 * (first + static_cast<float>(i)) + 5);
    }
  }
};

const Recipe kSized = {"inputs 1\nconstants 4\noutput buffer s,3 3,1 0\noutput size\n",
                       {{6, {{1, 64}, {3, 3}}}},
                       {{6, {{1, 64}, {3, 3}}}, kInteger}};

TEST_F(GraphReplays, WarmUpThenCaptureThenReplay) {
  const auto handle = load(Recipe{});
  for (int call = 1; call <= 7; ++call) {
    expect_right(handle, static_cast<float>(call));
    EXPECT_EQ(device().calls("begin_capture"), call > kCold);
    EXPECT_EQ(device().calls("launch"), std::max(0, call - kCold));
    EXPECT_EQ(device().calls("kernel"), std::min(call, kCold + 1));
    EXPECT_EQ(device().calls("upload"), call);
    EXPECT_EQ(device().calls("download"), call);
  }
}

TEST_F(GraphReplays, TransfersAreRawAndLayoutsChangeInsideTheGraph) {
  const auto handle = load(Recipe{});
  for (int call = 1; call <= 6; ++call) {
    expect_right(handle, static_cast<float>(call), {1, 0}, {1, 0});
    EXPECT_EQ(device().calls("copy"), 2 * std::min(call, kCold + 1)) << "in and out, once recorded";
  }
  EXPECT_EQ(device().calls("launch"), 4);
}

TEST_F(GraphReplays, EveryViewIsALegalOutput) {
  for (const View& view : kViews) {
    IoValue value{6, {}};
    for (const int32_t size : view.sizes) value.bounds.emplace_back(size, size);
    device().reset();
    const auto handle = load(program(std::string("inputs 1\n") + view.script, {kMatrix}, {value}));
    ASSERT_NE(handle, nullptr) << log();
    Floats in(ScalarType::Float, {2, 3}, kGiven);
    for (int call = 0; call < kCold + 3; ++call) {
      Floats out(ScalarType::Float, view.sizes);
      ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
      EXPECT_EQ(out.data(), view.expected) << view.script;
    }
    EXPECT_EQ(device().calls("launch"), 3) << view.script;
    EXPECT_EQ(device().faults(), std::vector<std::string>{});
  }
}

TEST_F(GraphReplays, SeveralOutputsOfOneBufferAndOfAnInput) {
  const auto handle =
      load(program("inputs 1\noutput buffer 3,2 1,3 0\noutput same 2 3 2\noutput same 2,3 3,1 0\n"
                   "output input 0 3,2 1,3 0\noutput input 0 2,3 3,1 0\n",
                   {kMatrix}, {matrix_of(3, 2), {6, {{2, 2}}}, kMatrix, matrix_of(3, 2), kMatrix}));
  ASSERT_NE(handle, nullptr) << log();
  for (int call = 0; call < kCold + 3; ++call) {
    const auto x = static_cast<float>(call);
    Floats in(ScalarType::Float, {2, 3}, {x, 2, 3, 4, 5, 6});
    Floats turned(ScalarType::Float, {3, 2}), column(ScalarType::Float, {2});
    Floats doubled(ScalarType::Float, {2, 3}), given(ScalarType::Float, {3, 2});
    Floats same(ScalarType::Float, {2, 3});
    ASSERT_EQ(execute(handle, {in.value(), turned.value(), column.value(), doubled.value(),
                               given.value(), same.value()}),
              Error::Ok)
        << log();
    EXPECT_EQ(turned.data(), (std::vector<float>{2 * x, 8, 4, 10, 6, 12}));
    EXPECT_EQ(column.data(), (std::vector<float>{6, 12}));
    EXPECT_EQ(doubled.data(), (std::vector<float>{2 * x, 4, 6, 8, 10, 12}));
    EXPECT_EQ(given.data(), (std::vector<float>{x, 4, 2, 5, 3, 6}));
    EXPECT_EQ(same.data(), in.data());
  }
  EXPECT_EQ(device().calls("launch"), 3);
}

TEST_F(GraphReplays, AnotherShapeHasWorkOfItsOwn) {
  const auto handle = load(kSized);
  ASSERT_NE(handle, nullptr) << log();
  const auto run = [&](int32_t rows) {
    const auto count = static_cast<size_t>(rows) * 3;
    Floats in(ScalarType::Float, {rows, 3}, std::vector<float>(count, static_cast<float>(rows)));
    Floats out(ScalarType::Float, {64, 3}, {}, {}, TensorShapeDynamism::DYNAMIC_BOUND);
    et::EValue size;
    ASSERT_EQ(execute(handle, {in.value(), out.value(), &size}), Error::Ok) << log();
    EXPECT_EQ(size.toInt(), rows);
    ASSERT_EQ(out.tensor().size(0), rows);
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(out.data()[i], 2.0f * static_cast<float>(rows) + 5);
  };
  run(64);  // from here on the memory is large enough
  for (int round = 0; round < kCold + 4; ++round) {
    for (const int32_t rows : {2, 5, 1}) run(rows);
  }
  EXPECT_EQ(device().calls("begin_capture"), 3);
  EXPECT_EQ(device().calls("launch"), 3 * 4);
  for (int32_t rows = 10; rows < 30; ++rows) {  // more than are kept
    for (int call = 0; call < kCold + 2; ++call) run(rows);
  }
  run(2);
}

TEST_F(GraphReplays, WorkIsForgottenWhenItsMemoryMoves) {
  const auto handle = load(kSized);
  ASSERT_NE(handle, nullptr) << log();
  for (const int32_t rows : {1, 1, 1, 1, 40, 1, 1, 1, 64, 1, 64, 64, 64, 64, 1, 1, 1, 1}) {
    const auto count = static_cast<size_t>(rows) * 3;
    Floats in(ScalarType::Float, {rows, 3}, std::vector<float>(count, 3));
    Floats out(ScalarType::Float, {64, 3}, {}, {}, TensorShapeDynamism::DYNAMIC_BOUND);
    et::EValue size;
    ASSERT_EQ(execute(handle, {in.value(), out.value(), &size}), Error::Ok) << log();
    EXPECT_EQ(out.data()[count - 1], 11);
  }
  EXPECT_EQ(device().calls("begin_capture"), 4);  // 1, 1 again, 64, and 1 after that
}

TEST_F(GraphReplays, AnotherDimOrderHasWorkOfItsOwn) {
  const auto handle = load(Recipe{});
  for (int round = 0; round < kCold + 2; ++round) {
    const auto first = static_cast<float>(round);
    expect_right(handle, first, {0, 1}, {0, 1});
    expect_right(handle, first, {1, 0}, {0, 1});
    expect_right(handle, first, {0, 1}, {1, 0});
    expect_right(handle, first, {1, 0}, {1, 0});
  }
  EXPECT_GE(device().calls("begin_capture"), 4);
}

TEST_F(GraphReplays, AFailureToRecordIsNoFailure) {
  for (const char* call : {"begin_capture", "end_capture", "launch"}) {
    device().reset();
    const auto handle = load(Recipe{});
    device().fail(call);
    for (int i = 0; i < kCold + 4; ++i) expect_right(handle, static_cast<float>(i));
    EXPECT_EQ(device().calls("begin_capture"), 1) << call;  // not tried again
    EXPECT_EQ(device().faults(), std::vector<std::string>{}) << call;
  }
  device().reset();
  const auto handle = load(Recipe{});
  device().fail("copy", 2 * kCold);  // the first of the run that is recorded
  for (int i = 0; i < kCold + 4; ++i) expect_right(handle, static_cast<float>(i), {1, 0}, {1, 0});
  EXPECT_EQ(device().calls("launch"), 0);
}

TEST_F(GraphReplays, WhateverIsThrownEndsARecording) {
  std::unique_ptr<Stream> stream;
  ASSERT_EQ(device().make_stream(&stream), Error::Ok);
  GraphReplay replay(stream.get(), /*allowed=*/true);
  for (int run = 0; run < kCold + 3; ++run) {
    std::shared_ptr<const Outcome> outcome;
    const auto body = [&](std::shared_ptr<const Outcome>* out) {
      if (replay.capturing()) throw 7;
      *out = std::make_shared<const Outcome>();
      return Error::Ok;
    };
    EXPECT_EQ(replay.run({1}, body, &outcome), Error::Ok);
    EXPECT_FALSE(replay.capturing());
  }
  EXPECT_EQ(device().calls("begin_capture"), 1);
}

TEST_F(GraphReplays, AReplayThatFailsIsRunAsItIs) {
  const auto handle = load(Recipe{});
  for (int i = 0; i < kCold + 2; ++i) expect_right(handle, static_cast<float>(i));
  device().fail("launch");
  for (int i = 0; i < 3; ++i) expect_right(handle, static_cast<float>(i));
  EXPECT_EQ(device().calls("launch"), 3);
  EXPECT_EQ(device().calls("begin_capture"), 1);
}

TEST_F(GraphReplays, AProgramThatWaitsIsNotRecorded) {
  Recipe recipe;
  recipe.script += "sync\n";
  const auto handle = load(recipe);
  for (int i = 0; i < kCold + 4; ++i) expect_right(handle, static_cast<float>(i));
  EXPECT_EQ(device().calls("begin_capture"), 1);
  EXPECT_EQ(device().calls("launch"), 0);
}

TEST_F(GraphReplays, RandomNumbersAreNotReplayed) {
  const auto handle = load(program("output random\n", {}, {kInteger}));
  ASSERT_NE(handle, nullptr) << log();
  std::set<int64_t> numbers;
  for (int i = 0; i < 8; ++i) {
    et::EValue number;
    ASSERT_EQ(execute(handle, {&number}), Error::Ok) << log();
    numbers.insert(number.toInt());
  }
  EXPECT_EQ(numbers.size(), 8u);
  EXPECT_EQ(device().calls("begin_capture"), 0);
}

// In which it draws none before the run that is recorded.
TEST_F(GraphReplays, ARecordingThatDrawsIsThrownAwayAndItsNumbersAreDrawnAgain) {
  const Recipe recipe = program("output late\noutput calls\n", {}, {kInteger, kInteger});
  const auto numbers = [&](bool graphs) {
    TestProgram loaded([&] {
      Recipe for_device = recipe;
      for_device.target = "backend=aoti\ndevice=test\nisa=test\nshims=1\n";
      return for_device.build();
    }());
    const auto handle = init(loaded.buffer(), &loaded.data(), {value_option("graphs", graphs)});
    EXPECT_NE(handle, nullptr) << log();
    std::vector<int64_t> drawn;
    for (int i = 0; i < kCold + 4; ++i) {
      et::EValue number, calls;
      EXPECT_EQ(execute(handle, {&number, &calls}), Error::Ok) << log();
      drawn.push_back(number.toInt());
    }
    return drawn;
  };
  const std::vector<int64_t> plain = numbers(false), recorded = numbers(true);
  EXPECT_EQ(recorded, plain);
  EXPECT_EQ(std::set<int64_t>(plain.begin(), plain.end()).size(), 5u);  // 0, and four others
  EXPECT_EQ(device().calls("begin_capture"), 1);
  EXPECT_EQ(device().calls("launch"), 0);
}

TEST_F(GraphReplays, IntsAreReadAtEachCall) {
  const auto handle = load(program("inputs 1\noutput input 0 - - 0\n", {kInteger}, {kInteger}));
  ASSERT_NE(handle, nullptr) << log();
  for (int64_t i = 0; i < 6; ++i) {
    et::EValue in(i << 33), out;
    ASSERT_EQ(execute(handle, {&in, &out}), Error::Ok) << log();
    EXPECT_EQ(out.toInt(), i << 33);
  }
  EXPECT_EQ(device().calls("launch"), 4);
}

TEST_F(GraphReplays, AFailureOfTheDeviceFailsTheRunAndNoLaterOne) {
  for (const char* call : {"allocate", "upload", "copy", "download", "synchronise"}) {
    for (const bool recorded : {false, true}) {
      if (recorded && (std::string(call) == "allocate" || std::string(call) == "copy")) {
        continue;  // a replay does neither
      }
      device().reset();
      const auto handle = load(Recipe{});
      ASSERT_NE(handle, nullptr) << log();
      for (int i = 0; recorded && i < kCold + 2; ++i) expect_right(handle, 1, {1, 0}, {1, 0});
      device().fail(call);
      Floats in(ScalarType::Float, {2, 3}, kGiven, {1, 0}),
          out(ScalarType::Float, {2, 3}, {}, {1, 0});
      expect_run_fails(handle, {in.value(), out.value()},
                       {std::string("the test device fails in ") + call});
      for (int i = 0; i < kCold + 2; ++i) {
        expect_right(handle, static_cast<float>(i), {1, 0}, {1, 0});
      }
      EXPECT_EQ(device().faults(), std::vector<std::string>{}) << call;
    }
  }
}

TEST_F(GraphReplays, AWrongCallBetweenReplaysIsAnError) {
  const auto handle = load(Recipe{});
  Floats wrong(ScalarType::Float, {3, 3}), out(ScalarType::Float, {2, 3});
  Floats in(ScalarType::Float, {2, 3}), small(ScalarType::Float, {2, 2});
  Longs longs(ScalarType::Long, {2, 3});
  for (int i = 0; i < kCold + 4; ++i) {
    expect_right(handle, static_cast<float>(i));
    expect_run_fails(handle, {wrong.value(), out.value()}, {"input 0 has shape [3, 3]"});
    expect_run_fails(handle, {in.value(), small.value()}, {"output 0", "[2, 2]"});
    expect_run_fails(handle, {in.value(), longs.value()}, {"output 0 has dtype Long"});
  }
}

TEST_F(GraphReplays, AProgramThatFailsFailsEachTime) {
  Floats in(ScalarType::Float, {2, 3}, kGiven), out(ScalarType::Float, {2, 3});
  for (const char* failure : {"fail early", "fail run", "throw", "ignore"}) {
    Recipe recipe;
    recipe.script += std::string(failure) + " the reactor is cold\n";
    const auto handle = load(recipe);
    for (int call = 0; call < kCold + 2; ++call) {
      expect_run_fails(handle, {in.value(), out.value()}, {"the reactor is cold"});
    }
  }
  Recipe odd;
  odd.script += "throw\n";  // an int
  const auto handle = load(odd);
  for (int call = 0; call < kCold + 2; ++call) {
    expect_run_fails(handle, {in.value(), out.value()}, {"unknown type"});
  }
}

TEST_F(GraphReplays, NothingIsRecordedWhereThatIsNotWanted) {
  EXPECT_EQ(load(Recipe{}, {option("graphs", "maybe")}), nullptr);
  expect_log({"'graphs' is 'maybe'", "true or false"});
  const auto handle = load(Recipe{}, {value_option("graphs", false)});
  for (int i = 0; i < kCold + 3; ++i) expect_right(handle, static_cast<float>(i));
  device().set_captures(false);
  const auto other = load(Recipe{});
  for (int i = 0; i < kCold + 3; ++i) expect_right(other, static_cast<float>(i));
  EXPECT_EQ(device().calls("begin_capture"), 0);
}

TEST_F(GraphReplays, HandlesAndThreadsDoNotMix) {
  const auto is_right = [](float in, float out) { return out == 2 * in + 5; };
  for (const bool others_first : {false, true}) {
    device().set_others_first(others_first);
    std::vector<Handle> handles;
    handles.push_back(load(Recipe{}));
    EXPECT_EQ(wrong_calls(handles, is_right), 0);
    for (int i = 0; i < 3; ++i) handles.push_back(load(Recipe{}));
    EXPECT_EQ(wrong_calls(handles, is_right), 0);
  }
}

}  // namespace
}  // namespace executorch_backends::aoti::testing
