// Calls: the contract of inputs, every view as an output, and what goes wrong in a run.
#include <cstring>
#include <set>

#include "executorch_backends/aoti/runtime/testing/fake_fixture.h"
#include "executorch_backends/aoti/runtime/testing/views.h"
#include "executorch_backends/common/runtime/testing/recorder.h"

namespace executorch_backends::aoti::testing {
namespace {

TEST_F(FakeModels, AProgramRuns) {
  const auto handle = load(Recipe{});
  EXPECT_EQ(containers(), 1);
  expect_runs(handle);
}

TEST_F(FakeModels, AnInputIsWhatTheProgramTakes) {
  Recipe dynamic;
  dynamic.inputs = {{6, {{1, 4}, {3, 3}}}};
  const auto handle = load(dynamic);
  Floats out(ScalarType::Float, {2, 3});
  Longs longs(ScalarType::Long, {2, 3});
  expect_run_fails(handle, {longs.value(), out.value()}, {"input 0", "Long", "Float"});
  for (const std::vector<int32_t>& sizes :
       std::vector<std::vector<int32_t>>{{5, 3}, {0, 3}, {2, 4}, {3}, {2, 3, 1}}) {
    Floats in(ScalarType::Float, sizes);
    expect_run_fails(handle, {in.value(), out.value()}, {"input 0 has shape", "[1..4, 3]"});
  }
  et::EValue number(int64_t{3}), none;
  expect_run_fails(handle, {&number, out.value()}, {"input 0 is an int", "rank 2"});
  expect_run_fails(handle, {&none, out.value()}, {"input 0 is no tensor"});
  expect_run_fails(handle, {nullptr, out.value()}, {"value 0", "null"});
  expect_run_fails(handle, {out.value()}, {"1 values", "1 inputs and 1 outputs"});
  Floats in(ScalarType::Float, {2, 3}, kGiven);
  int32_t sizes[] = {2, 3}, strides[] = {3, 1};
  uint8_t order[] = {0, 1};
  executorch::aten::TensorImpl forgotten(ScalarType::Float, 2, sizes, nullptr, order, strides);
  et::EValue without{executorch::aten::Tensor(&forgotten)};
  expect_run_fails(handle, {&without, out.value()}, {"input 0 has no memory"});
  expect_run_fails(handle, {in.value(), &without}, {"output 0 has no memory"});
  expect_runs(handle);
}

TEST_F(FakeModels, AnotherDimOrderIsRepaired) {
  const auto handle = load(Recipe{});
  Floats in(ScalarType::Float, {2, 3}, {1, 4, 2, 5, 3, 6}, {1, 0});
  Floats out(ScalarType::Float, {2, 3}, {}, {1, 0});
  ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
  EXPECT_EQ(out.data(), (std::vector<float>{7, 13, 9, 15, 11, 17}));
  expect_runs(handle);
}

TEST_F(FakeModels, AnInputKeepsTheOrderThatTheProgramWasCompiledFor) {
  // The declared order is the second dimension first; the fake reads memory.
  Recipe recipe;
  std::string io = io_section({kMatrix}, {kMatrix});
  const uint32_t swapped[] = {1, 0};
  std::memcpy(io.data() + 12 + 16 + 32, swapped, sizeof(swapped));
  auto sections = recipe.sections();
  sections[1].second = io;
  TestProgram loaded(recipe.built(sections));
  const auto handle = load(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  for (const std::vector<uint8_t>& order : std::vector<std::vector<uint8_t>>{{0, 1}, {1, 0}}) {
    const bool as_compiled = order[0] == 1;
    Floats in(ScalarType::Float, {2, 3},
              as_compiled ? std::vector<float>{1, 4, 2, 5, 3, 6} : kGiven, order);
    Floats out(ScalarType::Float, {2, 3});
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data(), (std::vector<float>{7, 13, 9, 15, 11, 17}));
  }
}

TEST_F(FakeModels, AnIntIsAnInput) {
  const auto handle = load(program("inputs 2\noutput input 0 - - 0\noutput input 1 - - 0\n",
                                   {kInteger, {4, {}}}, {kInteger, {4, {}}}));
  ASSERT_NE(handle, nullptr) << log();
  et::EValue a(int64_t{1} << 40), b(int64_t{-7}), result;
  Longs scalar(ScalarType::Long, {}), copy(ScalarType::Long, {}, {int64_t{9}});
  ASSERT_EQ(execute(handle, {&a, &b, &result, scalar.value()}), Error::Ok) << log();
  EXPECT_EQ(result.toInt(), int64_t{1} << 40);
  EXPECT_EQ(scalar.data()[0], -7);
  ASSERT_EQ(execute(handle, {&b, copy.value(), &result, scalar.value()}), Error::Ok) << log();
  EXPECT_EQ(result.toInt(), -7);
  EXPECT_EQ(scalar.data()[0], 9);
}

TEST_F(FakeModels, EveryViewIsALegalOutput) {
  for (const View& view : kViews) {
    IoValue value{6, {}};
    for (const int32_t size : view.sizes) value.bounds.emplace_back(size, size);
    const auto handle = load(program(std::string("inputs 1\n") + view.script, {kMatrix}, {value}));
    ASSERT_NE(handle, nullptr) << log();
    Floats in(ScalarType::Float, {2, 3}, kGiven), out(ScalarType::Float, view.sizes);
    for (int call = 0; call < 2; ++call) {
      ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
      EXPECT_EQ(out.data(), view.expected) << view.script;
    }
  }
}

TEST_F(FakeModels, AViewOfAnInputIsAnOutput) {
  const auto handle =
      load(program("inputs 1\noutput input 0 3,2 1,3 0\noutput input 0 2 3 1\n"
                   "output buffer 2,3 3,1 0\noutput same 3,2 1,3 0\noutput same 2,3 3,1 0\n",
                   {kMatrix}, {matrix_of(3, 2), {6, {{2, 2}}}, kMatrix, matrix_of(3, 2), kMatrix}));
  ASSERT_NE(handle, nullptr) << log();
  Floats in(ScalarType::Float, {2, 3}, kGiven);
  Floats turned(ScalarType::Float, {3, 2}), column(ScalarType::Float, {2});
  Floats doubled(ScalarType::Float, {2, 3}), again(ScalarType::Float, {2, 3});
  Floats other(ScalarType::Float, {3, 2});
  ASSERT_EQ(execute(handle, {in.value(), turned.value(), column.value(), doubled.value(),
                             other.value(), again.value()}),
            Error::Ok)
      << log();
  EXPECT_EQ(turned.data(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(column.data(), (std::vector<float>{2, 5}));
  EXPECT_EQ(doubled.data(), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(other.data(), (std::vector<float>{2, 8, 4, 10, 6, 12}));
  EXPECT_EQ(again.data(), doubled.data());
  EXPECT_EQ(in.data(), kGiven);
}

// As AOTInductor returns a value that is several outputs, which is an input or not.
TEST_F(FakeModels, OneHandleIsSeveralOutputs) {
  const auto handle =
      load(program("inputs 1\noutput input 0 2,3 3,1 0\noutput again\noutput again\n"
                   "output buffer 2,3 3,1 0\noutput again\n",
                   {kMatrix}, {kMatrix, kMatrix, kMatrix, kMatrix, kMatrix}));
  ASSERT_NE(handle, nullptr) << log();
  Floats in(ScalarType::Float, {2, 3}, kGiven);
  Floats first(ScalarType::Float, {2, 3}), second(ScalarType::Float, {2, 3});
  Floats third(ScalarType::Float, {2, 3}), doubled(ScalarType::Float, {2, 3});
  Floats again(ScalarType::Float, {2, 3});
  for (int calls = 0; calls < 2; ++calls) {
    ASSERT_EQ(execute(handle, {in.value(), first.value(), second.value(), third.value(),
                               doubled.value(), again.value()}),
              Error::Ok)
        << log();
    for (Floats* out : {&first, &second, &third}) EXPECT_EQ(out->data(), kGiven);
    EXPECT_EQ(doubled.data(), (std::vector<float>{2, 4, 6, 8, 10, 12}));
    EXPECT_EQ(again.data(), doubled.data());
  }
}

TEST_F(FakeModels, AnIntIsWrittenOverAnIntOrNone) {
  const auto handle = load(program("output calls\n", {}, {kInteger}));
  ASSERT_NE(handle, nullptr) << log();
  et::EValue none, number(int64_t{7}), real(0.5);
  for (et::EValue* value : {&none, &number}) {
    ASSERT_EQ(execute(handle, {value}), Error::Ok) << log();
    EXPECT_TRUE(value->isInt());
  }
  expect_run_fails(handle, {&real}, {"output 0 is an int", "neither an int nor None"});
  EXPECT_EQ(real.toDouble(), 0.5);
  Longs tensor(ScalarType::Long, {}, {9});
  expect_run_fails(handle, {tensor.value()}, {"output 0 is an int"});
  EXPECT_TRUE(tensor.value()->isTensor());
  EXPECT_EQ(tensor.data()[0], 9);
}

TEST_F(FakeModels, EachCallThatGoesWellIsAnEvent) {
  const auto handle = load(Recipe{});
  ASSERT_NE(handle, nullptr) << log();
  Floats in(ScalarType::Float, {2, 3}, kGiven), out(ScalarType::Float, {2, 3});
  executorch_backends::testing::Recorder recorder;
  for (size_t calls = 1; calls <= 3; ++calls) {
    ASSERT_EQ(execute(handle, {in.value(), out.value()}, &recorder), Error::Ok) << log();
    ASSERT_EQ(recorder.events.size(), calls);
    EXPECT_EQ(recorder.events.back().name, "AOTI");
    EXPECT_LE(recorder.events.back().start, recorder.events.back().end);
  }
  EXPECT_NE(execute(handle, {out.value()}, &recorder), Error::Ok);
  EXPECT_EQ(recorder.events.size(), 3u);
  EXPECT_EQ(recorder.stray, 0);
}

TEST_F(FakeModels, SizesMayChangeFromCallToCall) {
  const IoValue rows{6, {{1, 4}, {3, 3}}};
  const auto handle =
      load(program("inputs 1\noutput buffer s,3 3,1 0\noutput size\n", {rows}, {rows, kInteger}));
  ASSERT_NE(handle, nullptr) << log();
  Floats out(ScalarType::Float, {4, 3}, {}, {}, TensorShapeDynamism::DYNAMIC_BOUND);
  et::EValue size;
  for (const int32_t count : {2, 4, 1, 3}) {
    Floats in(ScalarType::Float, {count, 3}, std::vector<float>(static_cast<size_t>(count) * 3, 2));
    ASSERT_EQ(execute(handle, {in.value(), out.value(), &size}), Error::Ok) << log();
    EXPECT_EQ(out.tensor().size(0), count);
    EXPECT_EQ(size.toInt(), count);
    EXPECT_EQ(out.data()[static_cast<size_t>(count) * 3 - 1], 4);
  }
  Floats in(ScalarType::Float, {4, 3}), small(ScalarType::Float, {2, 3});
  expect_run_fails(handle, {in.value(), small.value(), &size}, {"output 0", "[2, 3]"});
}

TEST_F(FakeModels, AnOutputIsWhatTheProgramPromised) {
  Floats in(ScalarType::Float, {2, 3}, kGiven), out(ScalarType::Float, {2, 3});
  Longs longs(ScalarType::Long, {2, 3});
  const auto run = [&](const std::string& script, IoValue value, et::EValue* result,
                       const std::vector<std::string>& parts) {
    const auto handle = load(program("inputs 1\n" + script, {kMatrix}, {std::move(value)}));
    expect_run_fails(handle, {in.value(), result}, parts);
  };
  run("output none", kMatrix, out.value(), {"not returned output 0"});
  run("output size", kMatrix, out.value(), {"came as Long of rank 0", "Float of rank 2"});
  run("output buffer 6 1 0", kMatrix, out.value(), {"Float of rank 1", "Float of rank 2"});
  run("output buffer 2,3 3,1 0", kMatrix, longs.value(), {"output 0 has dtype Long", "Float"});
  run("output buffer 3,3 3,1 0", kMatrix, out.value(), {"sizes [3, 3]", "shape [2, 3]"});
  run("output buffer 2,3 3,1 0", kInteger, out.value(), {"rank 2", "an int was promised"});
  et::EValue none;
  run("output buffer 2,3 3,1 0", kMatrix, &none, {"output 0 is not a tensor"});
}

TEST_F(FakeModels, AnErrorThatTheProgramOverlooksFailsTheRun) {
  const auto handle =
      load(program("inputs 1\noutput buffer 2,3 3,1 0\n"
                   "ignore scatter_reduce: index 9 is out of bounds\n",
                   {kMatrix}, {kMatrix}));
  Floats in(ScalarType::Float, {2, 3}, kGiven), out(ScalarType::Float, {2, 3});
  for (int call = 0; call < 2; ++call) {
    expect_run_fails(handle, {in.value(), out.value()}, {"the run failed", "index 9 is out"});
  }
  const auto other = load(Recipe{});
  expect_runs(other);  // the text is gone
}

TEST_F(FakeModels, FailuresCarryTheirText) {
  Floats in(ScalarType::Float, {2, 3}, kGiven), out(ScalarType::Float, {2, 3});
  for (const char* failure : {"fail early", "fail run", "throw"}) {
    Recipe recipe;
    recipe.script += std::string(failure) + " the reactor is cold\n";
    const auto handle = load(recipe);
    for (int call = 0; call < 2; ++call) {
      expect_run_fails(handle, {in.value(), out.value()}, {"the reactor is cold"});
    }
  }
  Recipe odd;
  odd.script += "throw\n";  // an int
  const auto handle = load(odd);
  for (int call = 0; call < 2; ++call) {
    expect_run_fails(handle, {in.value(), out.value()}, {"the run failed", "unknown type"});
  }
  for (const char* failure : {"fail create", "fail constants", "fail share"}) {
    Recipe recipe;
    recipe.script += std::string(failure) + " the reactor is cold\n";
    expect_refused(recipe.build(), {"the reactor is cold"});
  }
  Recipe recipe;
  recipe.script += "fail delete the reactor is hot\n";
  expect_runs(load(recipe));
}

TEST_F(FakeModels, AShimsErrorIsToldBeforeTheProgramsOwn) {
  // A view that reaches beyond its storage.
  const auto handle = load(program("inputs 1\noutput input 0 2,3 3,1 1\n", {kMatrix}, {kMatrix}));
  Floats in(ScalarType::Float, {2, 3}, kGiven), out(ScalarType::Float, {2, 3});
  expect_run_fails(handle, {in.value(), out.value()},
                   {"aoti_torch__reinterpret_tensor", "API call failed at fake_model.cc"});
}

TEST_F(FakeModels, TensorsThatShareMemoryAreNoHarm) {
  const auto handle = load(program("inputs 1\noutput input 0 2,3 3,1 0\n", {kMatrix}, {kMatrix}));
  Floats in(ScalarType::Float, {2, 3}, kGiven);
  ASSERT_EQ(execute(handle, {in.value(), in.value()}), Error::Ok) << log();  // onto itself
  EXPECT_EQ(in.data(), kGiven);
  const auto turned = load(program("inputs 1\noutput input 0 2,3 1,2 0\n", {kMatrix}, {kMatrix}));
  expect_run_fails(turned, {in.value(), in.value()}, {"cannot copy output 0"});
}

TEST_F(FakeModels, StateIsEachHandlesOwn) {
  const Recipe recipe = program("output calls\n", {}, {kInteger});
  const auto a = load(recipe), b = load(recipe);
  et::EValue count;
  for (int call = 1; call < 4; ++call) {
    ASSERT_EQ(execute(a, {&count}), Error::Ok) << log();
    EXPECT_EQ(count.toInt(), call);
  }
  ASSERT_EQ(execute(b, {&count}), Error::Ok) << log();
  EXPECT_EQ(count.toInt(), 1);
}

TEST_F(FakeModels, RandomNumbersRepeatUnderASeedAndDifferBetweenHandles) {
  const Recipe recipe = program("output random\n", {}, {kInteger});
  const auto draw = [&](const Handle& handle) {
    et::EValue number;
    EXPECT_EQ(execute(handle, {&number}), Error::Ok) << log();
    return number.toInt();
  };
  const auto draws = [&](std::vector<et::BackendOption> options) {
    // Two handles of one program, whose code is equal.
    TestProgram loaded(recipe.build()), second(recipe.build());
    const auto a = init(loaded.buffer(), &loaded.data(), options);
    const auto b = init(second.buffer(), &loaded.data(), options);
    return std::vector<int64_t>{draw(a), draw(a), draw(b), draw(a), draw(b)};
  };
  const std::vector<int64_t> first = draws({});
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), first.size());
  EXPECT_EQ(draws({}), first);
  EXPECT_EQ(draws({value_option("seed", 0)}), first);
  EXPECT_NE(draws({value_option("seed", 1)}), first);
}

TEST_F(FakeModels, OptionsThatAreNoneAreRefused) {
  EXPECT_EQ(load(Recipe{}, {value_option("seed", -1)}), nullptr);
  expect_log({"'seed' is '-1'"});
  EXPECT_EQ(load(Recipe{}, {option("seed", "18446744073709551616")}), nullptr);
  expect_log({"a number from 0 to 18446744073709551615"});
  for (const char* none : {"device", "graphs"}) {  // nothing is recorded on this device
    EXPECT_EQ(load(Recipe{}, {option(none, "true")}), nullptr);
    expect_log({"no runtime option '" + std::string(none) + "'", "options are seed"});
  }
  for (const char* seed : {"7", "18446744073709551615"}) {
    expect_runs(load(Recipe{}, {option("seed", seed)}));
  }
}

TEST_F(FakeModels, ThreadsShareAProgramsConstants) {
  const Built built = Recipe{}.build();
  executorch_backends::testing::CountedData data(built.data);
  std::vector<Handle> handles;
  for (int i = 0; i < 4; ++i) {
    et::FreeableBuffer payload(built.payload.data(), built.payload.size(), nullptr);
    handles.push_back(init(&payload, &data, {}));
    ASSERT_NE(handles.back(), nullptr) << log();
  }
  EXPECT_EQ(wrong_calls(handles, [](float in, float out) { return out == 2 * in + 5; }), 0);
}

TEST_F(FakeModels, ThreadsShareAHandleOrHaveTheirOwn) {
  const auto is_right = [](float in, float out) { return out == 2 * in + 5; };
  std::vector<Handle> handles;
  handles.push_back(load(Recipe{}));
  EXPECT_EQ(wrong_calls(handles, is_right), 0);
  for (int i = 0; i < 3; ++i) handles.push_back(load(Recipe{}));
  EXPECT_EQ(wrong_calls(handles, is_right), 0);
}

}  // namespace
}  // namespace executorch_backends::aoti::testing
