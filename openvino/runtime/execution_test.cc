// What a call binds, runs and copies.
#include <deque>

#include "executorch_backends/common/runtime/testing/recorder.h"
#include "executorch_backends/openvino/runtime/testing/fake_fixture.h"

namespace executorch_backends::openvino::testing {
namespace {

using executorch_backends::testing::Recorder;

TEST_F(FakeOpenvino, AnEqualCallBindsNothing) {
  TestProgram loaded(program());
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  auto in = matrix();
  auto out = empty_matrix();
  for (int call = 0; call < 2; ++call) {  // outputs are bound from the second call on
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
  }
  const int before = bindings();
  for (int call = 0; call < 5; ++call) {
    in.data()[0] = static_cast<float>(call);
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data()[0], 2.0f * static_cast<float>(call) + 5.0f);
  }
  EXPECT_EQ(bindings(), before);
  auto other_in = matrix();
  auto other_out = empty_matrix();
  ASSERT_EQ(execute(handle, {other_in.value(), out.value()}), Error::Ok) << log();
  EXPECT_EQ(bindings(), before + 1);
  ASSERT_EQ(execute(handle, {other_in.value(), other_out.value()}), Error::Ok) << log();
  EXPECT_EQ(bindings(), before + 2);
  EXPECT_EQ(other_out.data(), kExpected);
}

TEST_F(FakeOpenvino, ADynamicOutputTakesTheShapeOfTheRun) {
  const IoValue value{6, {{1, 4}, {3, 3}}};
  TestProgram loaded(program("d\x01", value));
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  Floats out(ScalarType::Float, {4, 3}, {}, {}, TensorShapeDynamism::DYNAMIC_BOUND);
  for (const int32_t rows : {2, 4, 1}) {
    Floats in(ScalarType::Float, {rows, 3}, std::vector<float>(rows * 3, 1.0f));
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.tensor().size(0), rows);
    for (int i = 0; i < rows * 3; ++i) EXPECT_EQ(out.data()[i], 3.0f);
  }
}

// Sizes that do not fit each other spoil what OpenVINO's CPU device has compiled.
class DynamicModel : public FakeOpenvino {
 protected:
  Error run(const Handle& handle, et::EventTracer* tracer = nullptr) {
    std::fill(out_.data().begin(), out_.data().end(), 0.0f);
    return execute(handle, {in_.value(), out_.value()}, tracer);
  }
  void expect_right(const Handle& handle) {
    for (int call = 0; call < 2; ++call) {
      ASSERT_EQ(run(handle), Error::Ok) << log();
      for (int i = 0; i < 6; ++i) EXPECT_EQ(out_.data()[i], 3.0f);
    }
  }
  void fail_a_run(const Handle& handle) {
    fail_in("ov_infer_request_infer");
    EXPECT_EQ(run(handle), Error::Internal);
    fail_in(nullptr);
  }

  Built built_ = program("d\x01", {6, {{1, 4}, {3, 3}}});

 private:
  Floats in_{ScalarType::Float, {2, 3}, std::vector<float>(6, 1.0f)};
  Floats out_{ScalarType::Float, {4, 3}, {}, {}, TensorShapeDynamism::DYNAMIC_BOUND};
};

TEST_F(DynamicModel, AFailedRunIsFollowedByOnesOnAModelThatIsMadeTheSameWay) {
  for (const char* compile : {"never", "always"}) {
    const bool imported = compile == std::string("never");
    if (imported && !kIsNew) continue;  // see the next test
    TestProgram loaded(built_);
    auto handle = init(&loaded, {option("compile", compile)});
    expect_right(handle);
    const int imports_before = imports(), compilations_before = compilations();
    fail_a_run(handle);
    for (const char* function : {imported ? "ov_core_import_model" : "ov_core_compile_model",
                                 "ov_compiled_model_create_infer_request"}) {
      fail_in(function);
      EXPECT_NE(run(handle), Error::Ok);
      expect_log({std::string("the fake fails in ") + function});
    }
    fail_in(nullptr);
    expect_right(handle);
    // One for the request that could not be made, one that serves.
    EXPECT_EQ(imports(), imports_before + (imported ? 2 : 0));
    EXPECT_EQ(compilations(), compilations_before + (imported ? 0 : 2));
  }
}

TEST_F(DynamicModel, WhatWasImportedFromBytesThatAreGoneHasToBeLoadedAgain) {
  TestProgram ours(built_), stock(std::string("d\x01"));
  for (TestProgram* loaded : {&ours, &stock}) {
    auto handle = init(loaded, {option("compile", "never")});
    expect_right(handle);
    const int before = imports() + compilations();
    fail_a_run(handle);
    if (kIsNew) {
      expect_right(handle);
      EXPECT_EQ(imports() + compilations(), before + 1);
      continue;
    }
    for (int call = 0; call < 2; ++call) {
      EXPECT_EQ(run(handle), Error::InvalidState);
      expect_log({kVersion, "load it again"});
    }
    EXPECT_EQ(imports() + compilations(), before);
  }
}

TEST_F(DynamicModel, OnlyARunSpoilsIt) {
  TestProgram loaded(built_);
  auto handle = init(&loaded, {value_option("profile", true)});
  ASSERT_NE(handle, nullptr) << log();
  const int before = imports() + compilations();
  Recorder tracer;
  fail_in("ov_infer_request_get_profiling_info");
  EXPECT_EQ(run(handle, &tracer), Error::Internal);
  fail_in("ov_infer_request_get_output_tensor_by_index");
  EXPECT_EQ(run(handle), Error::Internal);
  fail_in(nullptr);
  expect_right(handle);
  EXPECT_EQ(imports() + compilations(), before);
}

TEST_F(FakeOpenvino, ADynamicResultThatTheProgramCannotHoldIsAnError) {
  const IoValue value{6, {{1, 4}, {3, 3}}};
  TestProgram loaded(program("d\x01", value));
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  Floats in(ScalarType::Float, {4, 3});
  Floats out(ScalarType::Float, {2, 3}, {}, {}, TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(execute(handle, {in.value(), out.value()}), Error::InvalidProgram);
  expect_log({"output 0", "[4, 3]", "[2, 3]"});
}

TEST_F(FakeOpenvino, APassedThroughInputArrives) {
  TestProgram loaded(program("p\x05"));
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  auto in = matrix();
  auto out = empty_matrix();
  const int before = bindings();
  for (int call = 0; call < 3; ++call) {
    std::fill(out.data().begin(), out.data().end(), -1.0f);
    in.data()[0] = static_cast<float>(call);
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data(), in.data());
  }
  EXPECT_EQ(bindings(), before + 1);
}

TEST_F(FakeOpenvino, Scalars) {
  TestProgram loaded(program("z\x05", {6, {}}));
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  Floats in(ScalarType::Float, {}, {4.0f});
  Floats out(ScalarType::Float, {});
  ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
  EXPECT_EQ(out.data()[0], 13.0f);
}

TEST_F(FakeOpenvino, ASymbolicIntegerIsBoundAnewInEachCall) {
  Recipe integers = recipe("i\x01", {4, {}});
  integers.inputs = {{255, {}}};
  TestProgram loaded(integers.build());
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  OwnedTensor<int64_t> out(ScalarType::Long, {});
  for (const int64_t number : {3, 40}) {
    et::EValue in(number);
    ASSERT_EQ(execute(handle, {&in, out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data()[0], 2 * number + 1);
  }
}

TEST_F(FakeOpenvino, AnIntegerMayComeAsATensorInTheNextCall) {
  Recipe integers = recipe("i\x01", {4, {}});
  integers.inputs = {{255, {}}};
  TestProgram loaded(integers.build());
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  OwnedTensor<int64_t> out(ScalarType::Long, {});
  OwnedTensor<int64_t> tensor(ScalarType::Long, {}, {7});
  et::EValue number(int64_t{9});
  for (int call = 0; call < 2; ++call) {
    ASSERT_EQ(execute(handle, {tensor.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data()[0], 15);
    ASSERT_EQ(execute(handle, {&number, out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data()[0], 19);
  }
}

TEST_F(FakeOpenvino, NumbersBeyond32BitsAreRefusedInEveryCall) {
  TestProgram loaded(program("i\x01", {4, {}}));
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  OwnedTensor<int64_t> in(ScalarType::Long, {}, {3});
  OwnedTensor<int64_t> out(ScalarType::Long, {});
  ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
  for (const int64_t number : {int64_t{1} << 31, -(int64_t{1} << 31) - 1, int64_t{1} << 40}) {
    in.data()[0] = number;  // in memory that is bound already
    EXPECT_EQ(execute(handle, {in.value(), out.value()}), Error::InvalidArgument);
    expect_log({"input 0", std::to_string(number), "32 bits"});
    et::EValue integer(number);
    EXPECT_EQ(execute(handle, {&integer, out.value()}), Error::InvalidArgument);
    expect_log({"input 0", std::to_string(number)});
  }
  for (const int64_t number : {(int64_t{1} << 31) - 1, -(int64_t{1} << 31)}) {
    in.data()[0] = number;
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data()[0], 2 * number + 1);
  }
}

TEST_F(FakeOpenvino, ATensorThatWasRefusedIsBoundInTheNextCall) {
  const IoValue number{4, {}};
  TestProgram loaded(program("i\x05", number));
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  OwnedTensor<int64_t> out(ScalarType::Long, {});
  OwnedTensor<int64_t> second(ScalarType::Long, {}, {int64_t{1} << 40});
  {
    OwnedTensor<int64_t> first(ScalarType::Long, {}, {3});
    ASSERT_EQ(execute(handle, {first.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(execute(handle, {second.value(), out.value()}), Error::InvalidArgument);
  }
  second.data()[0] = 4;  // the first one's memory is gone
  ASSERT_EQ(execute(handle, {second.value(), out.value()}), Error::Ok) << log();
  EXPECT_EQ(out.data()[0], 13);
}

TEST_F(FakeOpenvino, AnEmptyTensorForAnOutputThatIsNotEmptyIsAnError) {
  TestProgram loaded(program());
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  auto in = matrix();
  for (int call = 0; call < 2; ++call) {  // outputs are bound from the second call on
    auto out = empty_matrix();
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
  }
  Floats empty(ScalarType::Float, {0, 3}, {}, {}, TensorShapeDynamism::DYNAMIC_UNBOUND);
  EXPECT_EQ(execute(handle, {in.value(), empty.value()}), Error::InvalidArgument);
  expect_log({"output 0", "[0, 3]", "[2, 3]"});
}

TEST_F(FakeOpenvino, ValuesThatAreAbsentAndTensorsWithoutMemoryAreRefused) {
  for (const char* model : {"s\x05", "d\x05"}) {
    const IoValue value{6, {{model[0] == 'd' ? 1 : 2, model[0] == 'd' ? 4 : 2}, {3, 3}}};
    TestProgram loaded(program(model, value));
    auto handle = init(&loaded);
    ASSERT_NE(handle, nullptr) << log();
    auto in = matrix();
    auto out = empty_matrix();
    int32_t sizes[] = {2, 3}, strides[] = {3, 1};
    uint8_t order[] = {0, 1};
    executorch::aten::TensorImpl impl(ScalarType::Float, 2, sizes, nullptr, order, strides);
    et::EValue nowhere{executorch::aten::Tensor(&impl)};
    EXPECT_EQ(execute(handle, {&nowhere, out.value()}), Error::InvalidArgument);
    expect_log({"input 0", "no memory"});
    EXPECT_EQ(execute(handle, {in.value(), &nowhere}), Error::InvalidArgument);
    expect_log({"output 0", "no memory"});
    EXPECT_EQ(execute(handle, {nullptr, out.value()}), Error::InvalidArgument);
    expect_log({"value 0", "null"});
    EXPECT_EQ(execute(handle, {in.value(), nullptr}), Error::InvalidArgument);
    expect_log({"value 1", "null"});
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data(), kExpected);
  }
}

TEST_F(FakeOpenvino, AnOutputInAnotherDimOrderLeavesTheLastOnesMemoryAlone) {
  TestProgram loaded(program());
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  auto in = matrix();
  {
    auto gone = empty_matrix();
    for (int call = 0; call < 2; ++call) {
      ASSERT_EQ(execute(handle, {in.value(), gone.value()}), Error::Ok) << log();
    }
  }
  Floats out(ScalarType::Float, {2, 3}, {}, {1, 0});
  for (int call = 0; call < 2; ++call) {
    std::fill(out.data().begin(), out.data().end(), -1.0f);
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data(), (std::vector<float>{7, 13, 9, 15, 11, 17}));
  }
  auto plain = empty_matrix();
  ASSERT_EQ(execute(handle, {in.value(), plain.value()}), Error::Ok) << log();
  EXPECT_EQ(plain.data(), kExpected);
}

TEST_F(FakeOpenvino, AnotherDimOrderIsCopiedNotMisread) {
  TestProgram loaded(program());
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  // The same matrix, stored column by column; so is the result.
  Floats in(ScalarType::Float, {2, 3}, {1, 4, 2, 5, 3, 6}, {1, 0});
  Floats out(ScalarType::Float, {2, 3}, {}, {1, 0});
  for (int call = 0; call < 2; ++call) {
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data(), (std::vector<float>{7, 13, 9, 15, 11, 17}));
  }
}

TEST_F(FakeOpenvino, WrongInputsAreNamedAndTheHandleGoesOn) {
  TestProgram loaded(program());
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  auto in = matrix();
  auto out = empty_matrix();
  ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();

  EXPECT_EQ(execute(handle, {in.value()}), Error::InvalidArgument);
  expect_log({"1 values", "1 inputs", "1 outputs"});
  Floats long_rows(ScalarType::Float, {2, 4});
  EXPECT_EQ(execute(handle, {long_rows.value(), out.value()}), Error::InvalidArgument);
  expect_log({"input 0", "[2, 4]", "[2, 3]"});
  Floats vector(ScalarType::Float, {6});
  EXPECT_EQ(execute(handle, {vector.value(), out.value()}), Error::InvalidArgument);
  expect_log({"input 0", "[6]", "[2, 3]"});
  OwnedTensor<int32_t> ints(ScalarType::Int, {2, 3});
  EXPECT_EQ(execute(handle, {ints.value(), out.value()}), Error::InvalidArgument);
  expect_log({"input 0", "Int", "f32"});
  EXPECT_EQ(execute(handle, {in.value(), ints.value()}), Error::InvalidArgument);
  expect_log({"output 0", "Int", "f32"});
  et::EValue number(int64_t{3});
  EXPECT_EQ(execute(handle, {&number, out.value()}), Error::InvalidArgument);
  expect_log({"input 0", "int", "f32"});
  et::EValue none;
  EXPECT_EQ(execute(handle, {&none, out.value()}), Error::InvalidArgument);
  expect_log({"input 0"});

  std::fill(out.data().begin(), out.data().end(), 0.0f);
  ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
  EXPECT_EQ(out.data(), kExpected);
}

TEST_F(FakeOpenvino, EveryFunctionThatFailsInARunIsReportedAndTheNextRunIsRight) {
  const std::vector<const char*> first_run = {"ov_tensor_create_from_host_ptr",
                                              "ov_infer_request_set_input_tensor_by_index",
                                              "ov_infer_request_infer",
                                              "ov_infer_request_get_output_tensor_by_index",
                                              "ov_tensor_data",
                                              "ov_tensor_get_shape",
                                              "ov_tensor_get_byte_size"};
  const std::vector<const char*> later_runs = {
      "ov_tensor_create_from_host_ptr", "ov_infer_request_set_input_tensor_by_index",
      "ov_infer_request_set_output_tensor_by_index", "ov_infer_request_infer"};
  for (const bool later : {false, true}) {
    for (const char* function : later ? later_runs : first_run) {
      SCOPED_TRACE(function);
      TestProgram loaded(program());
      auto handle = init(&loaded);
      ASSERT_NE(handle, nullptr) << log();
      std::deque<Floats> tensors;  // kept, so that no address comes back and counts as bound
      const auto run = [&] {
        return execute(handle, {tensors.emplace_back(matrix()).value(),
                                tensors.emplace_back(empty_matrix()).value()});
      };
      if (later) {
        ASSERT_EQ(run(), Error::Ok) << log();
      }
      fail_in(function);
      EXPECT_NE(run(), Error::Ok);
      expect_log({std::string("the fake fails in ") + function});
      fail_in(nullptr);
      for (int call = 0; call < 2; ++call) {
        ASSERT_EQ(run(), Error::Ok) << log();
        EXPECT_EQ(tensors.back().data(), kExpected);
      }
    }
  }
}

TEST_F(FakeOpenvino, NullHandlesAreHandled) {
  EXPECT_EQ(execute(Handle(nullptr, Destroy{delegate()}), {}), Error::DelegateInvalidHandle);
  delegate()->destroy(nullptr);
}

// The model's third output is a tensor of its own; the payload says that it equals the first.
Recipe copies(uint32_t second_flags, uint32_t third_flags) {
  Recipe three = recipe("c\x05");
  IoValue second = kMatrix, third = kMatrix;
  second.flags = second_flags;
  third.flags = third_flags;
  three.outputs = {kMatrix, second, third};
  return three;
}

TEST_F(FakeOpenvino, OutputsThatAreOtherValuesAreCopiedInAnyDimOrder) {
  for (const bool said : {false, true}) {
    TestProgram loaded(copies(said ? kSameAsInput : 0, said ? kSameAsOutput : 0).build());
    auto handle = init(&loaded);
    ASSERT_NE(handle, nullptr) << log();
    auto in = matrix();
    auto result = empty_matrix();
    Floats input(ScalarType::Float, {2, 3}, {}, {1, 0}), again(ScalarType::Float, {2, 3});
    for (int call = 0; call < 3; ++call) {
      for (Floats* out : {&result, &input, &again}) {
        std::fill(out->data().begin(), out->data().end(), -1.0f);
      }
      const int before = bindings();
      ASSERT_EQ(execute(handle, {in.value(), result.value(), input.value(), again.value()}),
                Error::Ok)
          << log();
      EXPECT_EQ(result.data(), kExpected);
      EXPECT_EQ(input.data(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
      EXPECT_EQ(again.data(), kExpected);
      // What is copied is never bound; the first run binds the input alone.
      if (said) {
        EXPECT_EQ(bindings() - before, call < 2 ? 1 : 0);
      }
    }
  }
}

TEST_F(FakeOpenvino, ADynamicInputThatIsAlsoAnOutputGivesItItsShape) {
  Recipe passing = recipe("d\x01", {6, {{1, 4}, {3, 3}}});
  passing.outputs[0].flags = kSameAsInput;
  TestProgram loaded(passing.build());
  auto handle = init(&loaded);
  ASSERT_NE(handle, nullptr) << log();
  Floats out(ScalarType::Float, {4, 3}, {}, {}, TensorShapeDynamism::DYNAMIC_BOUND);
  for (const int32_t rows : {2, 4, 1}) {
    Floats in(ScalarType::Float, {rows, 3}, std::vector<float>(rows * 3, 1.5f));
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.tensor().size(0), rows);
    EXPECT_EQ(out.data()[0], 1.5f);
  }
}

}  // namespace
}  // namespace executorch_backends::openvino::testing
