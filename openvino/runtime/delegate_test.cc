// The delegate on a fake OpenVINO: every error path, who frees what, and what is bound when.
// FAKE_OPENVINO_VERSION says which version the fake is; the BUILD file runs this for two.
#include "executorch_backends/openvino/runtime/delegate.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <thread>

#include "executorch_backends/openvino/runtime/testing/delegate_fixture.h"
#include "executorch_backends/openvino/runtime/testing/fake_openvino.h"
#include "executorch_backends/openvino/runtime/testing/payload_builder.h"

namespace executorch_backends::openvino::testing {
namespace {

using et::Error;
using executorch::aten::ScalarType;
using executorch::aten::TensorShapeDynamism;

const std::string kVersion = std::getenv("FAKE_OPENVINO_VERSION");
const bool kIsNew = kVersion >= "2026.4";

/// The fake's control functions, from the library that the delegate has loaded.
template <typename Function>
Function control(const char* name) {
  static void* const library = dlopen(std::getenv("OPENVINO_LIB_PATH"), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return reinterpret_cast<Function>(dlsym(library, name));
}
void fail_in(const char* function) {
  control<decltype(&fake_openvino_fail)>("fake_openvino_fail")(function);
}
int live_objects() {
  return control<decltype(&fake_openvino_live_objects)>("fake_openvino_live_objects")();
}
int bindings() { return control<decltype(&fake_openvino_bindings)>("fake_openvino_bindings")(); }

const IoValue kMatrix{6, {{2, 2}, {3, 3}}};

std::string payload_of(const std::string& blob, IoValue value = kMatrix,
                       const std::string& version = kVersion) {
  return build_envelope(
      {{"target", target_section(version)}, {"io", io_section({value}, {value})}, {"blob", blob}});
}

using Floats = OwnedTensor<float>;

Floats matrix() { return Floats(ScalarType::Float, {2, 3}, {1, 2, 3, 4, 5, 6}); }
Floats empty_matrix() { return Floats(ScalarType::Float, {2, 3}); }

// The static model "s\x05" doubles and adds 5.
const std::string kStatic = std::string("s\x05");
const std::vector<float> kExpected = {7, 9, 11, 13, 15, 17};

class FakeOpenvino : public DelegateTest {
 protected:
  void TearDown() override {
    fail_in(nullptr);
    // The core, which lives as long as the process, is all that may be left.
    EXPECT_LE(live_objects(), 1);
  }
  void expect_log(const std::vector<std::string>& parts) {
    for (const std::string& part : parts) {
      EXPECT_NE(log().find(part), std::string::npos) << "'" << part << "' is not in: " << log();
    }
  }
};

TEST_F(FakeOpenvino, ThisDelegateIsTheRegisteredOne) {
  EXPECT_EQ(executorch_backends_openvino_registration_error(), 0);
}

TEST_F(FakeOpenvino, AnEnvelopeRunsAgainAndAgain) {
  CountedBlob blob(payload_of(kStatic));
  auto handle = init(&blob);
  ASSERT_NE(handle, nullptr) << log();
  EXPECT_EQ(executorch_backends_openvino_version(), kVersion);
  auto in = matrix();
  auto out = empty_matrix();
  for (int call = 0; call < 3; ++call) {
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data(), kExpected);
  }
}

TEST_F(FakeOpenvino, ABlobOfStockExecutorchRuns) {
  CountedBlob blob(kStatic);
  auto handle = init(&blob);
  ASSERT_NE(handle, nullptr) << log();
  auto in = matrix();
  auto out = empty_matrix();
  ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
  EXPECT_EQ(out.data(), kExpected);
}

TEST_F(FakeOpenvino, TheBlobLivesAsLongAsTheVersionReadsIt) {
  CountedBlob blob(payload_of(kStatic));
  {
    auto handle = init(&blob);
    ASSERT_NE(handle, nullptr) << log();
    EXPECT_EQ(blob.freed(), kIsNew ? 0 : 1);
    auto in = matrix();
    auto out = empty_matrix();
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data(), kExpected);
    EXPECT_EQ(blob.freed(), kIsNew ? 0 : 1);
  }
  EXPECT_EQ(blob.freed(), 1);
}

TEST_F(FakeOpenvino, AnEqualCallBindsNothing) {
  CountedBlob blob(payload_of(kStatic));
  auto handle = init(&blob);
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
  CountedBlob blob(payload_of("d\x01", value));
  auto handle = init(&blob);
  ASSERT_NE(handle, nullptr) << log();
  Floats out(ScalarType::Float, {4, 3}, {}, {}, TensorShapeDynamism::DYNAMIC_BOUND);
  for (const int32_t rows : {2, 4, 1}) {
    Floats in(ScalarType::Float, {rows, 3}, std::vector<float>(rows * 3, 1.0f));
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.tensor().size(0), rows);
    for (int i = 0; i < rows * 3; ++i) EXPECT_EQ(out.data()[i], 3.0f);
  }
}

TEST_F(FakeOpenvino, ADynamicResultThatTheProgramCannotHoldIsAnError) {
  const IoValue value{6, {{1, 4}, {3, 3}}};
  CountedBlob blob(payload_of("d\x01", value));
  auto handle = init(&blob);
  ASSERT_NE(handle, nullptr) << log();
  Floats in(ScalarType::Float, {4, 3});
  Floats out(ScalarType::Float, {2, 3}, {}, {}, TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(execute(handle, {in.value(), out.value()}), Error::InvalidProgram);
  expect_log({"output 0", "[4, 3]", "[2, 3]"});
}

TEST_F(FakeOpenvino, APassedThroughInputArrives) {
  CountedBlob blob(payload_of("p\x05"));
  auto handle = init(&blob);
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
  CountedBlob blob(payload_of("z\x05", {6, {}}));
  auto handle = init(&blob);
  ASSERT_NE(handle, nullptr) << log();
  Floats in(ScalarType::Float, {}, {4.0f});
  Floats out(ScalarType::Float, {});
  ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
  EXPECT_EQ(out.data()[0], 13.0f);
}

TEST_F(FakeOpenvino, ASymbolicIntegerIsBoundAnewInEachCall) {
  CountedBlob blob(build_envelope({{"target", target_section(kVersion)},
                                   {"io", io_section({{255, {}}}, {{4, {}}})},
                                   {"blob", "i\x01"}}));
  auto handle = init(&blob);
  ASSERT_NE(handle, nullptr) << log();
  OwnedTensor<int64_t> out(ScalarType::Long, {});
  for (const int64_t number : {3, 40}) {
    et::EValue in(number);
    ASSERT_EQ(execute(handle, {&in, out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data()[0], 2 * number + 1);
  }
}

TEST_F(FakeOpenvino, AnIntegerMayComeAsATensorInTheNextCall) {
  CountedBlob blob(build_envelope({{"target", target_section(kVersion)},
                                   {"io", io_section({{255, {}}}, {{4, {}}})},
                                   {"blob", "i\x01"}}));
  auto handle = init(&blob);
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
  CountedBlob blob(build_envelope({{"target", target_section(kVersion)},
                                   {"io", io_section({{4, {}}}, {{4, {}}})},
                                   {"blob", "i\x01"}}));
  auto handle = init(&blob);
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

TEST_F(FakeOpenvino, AnOutputInAnotherDimOrderLeavesTheLastOnesMemoryAlone) {
  CountedBlob blob(payload_of(kStatic));
  auto handle = init(&blob);
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
  CountedBlob blob(payload_of(kStatic));
  auto handle = init(&blob);
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
  CountedBlob blob(payload_of(kStatic));
  auto handle = init(&blob);
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

TEST_F(FakeOpenvino, EveryFunctionThatFailsInInitIsReportedAndNothingLeaks) {
  CountedBlob first(payload_of(kStatic));
  ASSERT_NE(init(&first), nullptr) << log();  // the core is there from now on
  for (const char* function :
       {"ov_core_import_model", "ov_compiled_model_inputs_size", "ov_compiled_model_outputs_size",
        "ov_compiled_model_input_by_index", "ov_compiled_model_output_by_index",
        "ov_port_get_element_type", "ov_port_get_partial_shape",
        "ov_compiled_model_create_infer_request"}) {
    SCOPED_TRACE(function);
    const int before = live_objects();
    fail_in(function);
    CountedBlob blob(payload_of(kStatic));
    EXPECT_EQ(init(&blob), nullptr);
    EXPECT_NE(error(), Error::Ok);
    expect_log({std::string("the fake fails in ") + function});
    EXPECT_EQ(live_objects(), before);
    EXPECT_EQ(blob.freed(), 0);  // still the caller's
    fail_in(nullptr);
    CountedBlob good(payload_of(kStatic));
    EXPECT_NE(init(&good), nullptr) << log();
  }
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
      CountedBlob blob(payload_of(kStatic));
      auto handle = init(&blob);
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

TEST_F(FakeOpenvino, AnUnknownDeviceIsNamedWithTheOnesThatAreThere) {
  CountedBlob blob(payload_of(kStatic));
  EXPECT_EQ(init(&blob, {option("device", "NPU")}), nullptr);
  expect_log({"'NPU'", "CPU, GPU.0"});
  CountedBlob other(payload_of(kStatic));
  EXPECT_EQ(init(&other, {}, "TPU"), nullptr);
  expect_log({"'TPU'", "CPU, GPU.0", "option 'device'"});
  CountedBlob there(payload_of(kStatic));
  EXPECT_EQ(init(&there, {option("device", "GPU")}), nullptr);  // a device, but not the blob's
  expect_log({"made by OpenVINO " + kVersion + " for CPU", "'GPU'", "no device called GPU"});
}

// Runs `body` in a process of its own, where nothing was loaded yet; 0 says that all was right.
template <typename Body>
void in_fresh_process(Body body) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(body()), ::testing::ExitedWithCode(0), "");
}

TEST_F(FakeOpenvino, AFailedCoreIsRetried) {
  const auto body = [&] {
    fail_in("ov_core_create");
    CountedBlob blob(payload_of(kStatic));
    if (init(&blob) != nullptr) return 1;
    if (log().find("the fake fails in ov_core_create") == std::string::npos) return 2;
    fail_in(nullptr);
    CountedBlob again(payload_of(kStatic));
    return init(&again) != nullptr ? 0 : 3;
  };
  in_fresh_process(body);
}

TEST_F(FakeOpenvino, AMissingLibraryIsNamedAndLookedForAgain) {
  const std::string good = std::getenv("OPENVINO_LIB_PATH");
  const auto body = [&] {
    setenv("OPENVINO_LIB_PATH", "/nonexistent/libopenvino_c.so", 1);
    CountedBlob first(payload_of(kStatic));
    if (init(&first) != nullptr || error() != Error::NotFound) return 1;
    for (const char* part :
         {"/nonexistent/libopenvino_c.so", "libopenvino_c.so.2641", "set OPENVINO_LIB_PATH"}) {
      if (log().find(part) == std::string::npos) return 2;
    }
    executorch_backends_openvino_set_library("/nonexistent/elsewhere.so");
    CountedBlob second(payload_of(kStatic));
    if (init(&second) != nullptr || log().find("elsewhere") == std::string::npos) return 3;
    executorch_backends_openvino_set_library(good.c_str());
    CountedBlob third(payload_of(kStatic));
    return init(&third) != nullptr ? 0 : 4;
  };
  in_fresh_process(body);
}

TEST_F(FakeOpenvino, TheOptionLibraryComesFirst) {
  const std::string good = std::getenv("OPENVINO_LIB_PATH");
  const auto body = [&] {
    setenv("OPENVINO_LIB_PATH", "/nonexistent/libopenvino_c.so", 1);
    CountedBlob blob(payload_of(kStatic));
    return init(&blob, {option("library", good)}) != nullptr ? 0 : 1;
  };
  in_fresh_process(body);
}

TEST_F(FakeOpenvino, ALibraryThatIsNotOpenvinoIsRefusedAndTheNextOneTaken) {
  const std::string good = std::getenv("OPENVINO_LIB_PATH");
  const auto body = [&] {
    CountedBlob blob(payload_of(kStatic));
    if (init(&blob, {option("library", "libm.so.6")}) != nullptr) return 1;
    if (log().find("libm.so.6 has no function ov_") == std::string::npos) return 2;
    CountedBlob again(payload_of(kStatic));
    return init(&again, {option("library", good)}) != nullptr ? 0 : 3;
  };
  in_fresh_process(body);
}

TEST_F(FakeOpenvino, ADelegateThatIsLoadedSecondSaysSo) {
  runtime::LogCapture capture;
  void* second = dlopen(std::getenv("DELEGATE"), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(second, nullptr) << dlerror();
  const auto registration =
      reinterpret_cast<int (*)()>(dlsym(second, "executorch_backends_openvino_registration_error"));
  ASSERT_NE(registration, nullptr);
  EXPECT_EQ(registration(), static_cast<int>(Error::InvalidArgument));
  EXPECT_NE(capture.text().find("is not in use"), std::string::npos) << capture.text();
}

TEST_F(FakeOpenvino, TheRuntimeOptionWinsOverTheProgramsDevice) {
  CountedBlob blob(payload_of(kStatic));
  EXPECT_NE(init(&blob, {option("device", "CPU")}, "GPU"), nullptr) << log();
}

TEST_F(FakeOpenvino, UnknownAndIllTypedOptionsAreRefused) {
  CountedBlob blob(payload_of(kStatic));
  EXPECT_EQ(init(&blob, {option("colour", "red")}), nullptr);
  expect_log({"'colour'", "device, library"});
  et::BackendOption number;
  std::strcpy(number.key, "device");
  number.value = 3;
  CountedBlob other(payload_of(kStatic));
  EXPECT_EQ(init(&other, {number}), nullptr);
  expect_log({"'device'"});
}

TEST_F(FakeOpenvino, AnotherLibraryThanTheLoadedOneIsRefused) {
  CountedBlob first(payload_of(kStatic));
  ASSERT_NE(init(&first), nullptr) << log();
  CountedBlob blob(payload_of(kStatic));
  EXPECT_EQ(init(&blob, {option("library", "/nonexistent/libopenvino_c.so")}), nullptr);
  expect_log({"/nonexistent/libopenvino_c.so", std::getenv("OPENVINO_LIB_PATH")});
}

TEST_F(FakeOpenvino, BlobsRunOnTheVersionsThatTheyWereMadeFor) {
  const std::vector<std::pair<std::string, bool>> cases =
      kIsNew ? std::vector<std::pair<std::string, bool>>{{kVersion, true},
                                                         {"2026.4.0", false},
                                                         {"2025.4.1", false},
                                                         {"2027.0.0", false},
                                                         {"", false}}
             : std::vector<std::pair<std::string, bool>>{{kVersion, true},
                                                         {"2026.3.1", true},
                                                         {"2025.1.0", true},
                                                         {"2026.4.1", false},
                                                         {"", false}};
  for (const auto& [made_by, runs] : cases) {
    SCOPED_TRACE(made_by);
    CountedBlob blob(payload_of(kStatic, kMatrix, made_by));
    EXPECT_EQ(init(&blob) != nullptr, runs) << log();
    if (!runs) {
      EXPECT_EQ(error(), Error::DelegateInvalidCompatibility);
      expect_log({"compiled by OpenVINO " + made_by, "this runtime is " + kVersion, "CPU"});
    }
  }
}

TEST_F(FakeOpenvino, AStockBlobThatNamesItsVersionIsHeldToIt) {
  const std::string requirements = "meta=1.0;ov=2026.4.7;isa=Intel AVX2 support";
  std::string bytes("RR_UPCVO\x01\0\0\0", 12);
  append<uint64_t>(&bytes, requirements.size());
  bytes += requirements + kStatic;
  CountedBlob blob(bytes);
  EXPECT_EQ(init(&blob), nullptr);
  EXPECT_EQ(error(), Error::DelegateInvalidCompatibility);
  expect_log({"2026.4.7", kVersion, "Intel AVX2"});
  for (size_t size = 1; size < bytes.size(); ++size) {  // also where the text's size is a lie
    CountedBlob cut(bytes.substr(0, size));
    EXPECT_EQ(init(&cut), nullptr) << size;
  }
}

TEST_F(FakeOpenvino, EveryTruncationAndFlippedByteIsAnErrorAndNotMore) {
  const std::string good = payload_of(kStatic);
  for (size_t size = 0; size < good.size(); ++size) {
    CountedBlob blob(good.substr(0, size));
    EXPECT_EQ(init(&blob), nullptr) << size;
    EXPECT_FALSE(log().empty()) << size;
  }
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    CountedBlob blob(bad);
    EXPECT_EQ(init(&blob), nullptr) << at;
    EXPECT_FALSE(log().empty()) << at;
  }
  CountedBlob blob(good);
  EXPECT_NE(init(&blob), nullptr) << log();
}

TEST_F(FakeOpenvino, TablesThatDisagreeWithTheModelAreRefused) {
  const auto expect_refused = [&](const std::string& payload, std::vector<std::string> parts) {
    CountedBlob blob(payload);
    EXPECT_EQ(init(&blob), nullptr);
    expect_log(parts);
  };
  const auto with_io = [](const std::string& io) {
    return build_envelope({{"target", target_section(kVersion)}, {"io", io}, {"blob", kStatic}});
  };
  expect_refused(with_io(io_section({kMatrix, kMatrix}, {kMatrix})), {"2 inputs", "has 1"});
  expect_refused(with_io(io_section({kMatrix}, {})), {"0 outputs", "has 1"});
  expect_refused(payload_of(kStatic, {3, kMatrix.bounds}), {"i32", "f32"});
  expect_refused(payload_of(kStatic, {6, {{2, 2}}}), {"rank 1", "rank 2"});
  expect_refused(payload_of(kStatic, {6, {{2, 2}, {5, 9}}}), {"dimension 1", "[5..9]", "[3]"});
  expect_refused(payload_of(kStatic, {99, kMatrix.bounds}), {"dtype 99"});
  expect_refused(payload_of(kStatic, {6, {{3, 2}, {3, 3}}}), {"bounds 3 to 2"});
  expect_refused(payload_of(kStatic, {6, {{-1, 2}, {3, 3}}}), {"bounds -1 to 2"});
  std::string io = io_section({kMatrix}, {kMatrix});
  expect_refused(with_io(io.substr(0, io.size() - 8)), {"ends inside value 1"});
  expect_refused(with_io(io + "x"), {"1 bytes after"});
  expect_refused(with_io(""), {"0 bytes"});
  io[0] = 9;
  expect_refused(with_io(io), {"version 9", "reads 1"});
  expect_refused(build_envelope({{"io", ""}, {"blob", kStatic}}), {"'target'"});
  expect_refused(build_envelope({{"target", target_section(kVersion)}, {"io", io_section({}, {})}}),
                 {"'blob'"});
  expect_refused(build_envelope({{"target", "backend=aoti\n"}, {"io", ""}, {"blob", kStatic}}),
                 {"'aoti'", "'openvino'"});
  std::string huge = io_section({kMatrix}, {kMatrix});
  const uint32_t many = 0xffffffff;
  std::memcpy(huge.data() + 4, &many, 4);
  expect_refused(with_io(huge), {"4294967295 inputs"});
}

TEST_F(FakeOpenvino, ABlobWithWeightsHasItsCodeCheckedBeforeUse) {
  // "s", 8 bytes of weights, 5: the fake reads the first and the last byte.
  const std::string model = std::string("s") + std::string(8, 'w') + "\x05";
  const auto with_code = [](const std::string& blob, const std::string& code) {
    return build_envelope({{"target", target_section(kVersion)},
                           {"io", io_section({kMatrix}, {kMatrix})},
                           {"code", code},
                           {"blob", blob}},
                          "blob");
  };
  const std::string code = code_section(model, {{0, 1}, {9, 1}});
  const std::string good = with_code(model, code);
  {
    CountedBlob blob(good);
    auto handle = init(&blob);
    ASSERT_NE(handle, nullptr) << log();
    auto in = matrix();
    auto out = empty_matrix();
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data(), kExpected);
  }
  const size_t at = good.find("wwwwwwww");
  for (const size_t code_byte : {at - 1, at + 8}) {
    std::string bad = good;
    bad[code_byte] = static_cast<char>(bad[code_byte] ^ 1);
    CountedBlob blob(bad);
    EXPECT_EQ(init(&blob), nullptr);
    expect_log({"the blob's code has SHA-256", "was recorded"});
  }
  std::string weights_differ = good;
  weights_differ[at] = 'v';
  CountedBlob blob(weights_differ);
  EXPECT_NE(init(&blob), nullptr) << log();  // a full check, as `pte run` makes, sees it

  const auto expect_refused = [&](const std::string& table, std::vector<std::string> parts) {
    CountedBlob counted(with_code(model, table));
    EXPECT_EQ(init(&counted), nullptr);
    expect_log(parts);
  };
  expect_refused("", {"0 bytes"});
  expect_refused(code.substr(0, 20), {"inside range 0 of 2"});
  expect_refused(code + "x", {"33 bytes", "32"});
  expect_refused(code_section(model, {{0, 11}}), {"11 bytes at 0", "10 bytes"});
  expect_refused(code_section(model, {{5, 2}, {4, 2}}), {"range 1", "ends at 7"});
  expect_refused(code_section(model, {{~uint64_t{0}, 2}}), {"range 0"});
  std::string version = code;
  version[0] = 7;
  expect_refused(version, {"version 7", "reads 1"});
  CountedBlob without(build_envelope({{"target", target_section(kVersion)},
                                      {"io", io_section({kMatrix}, {kMatrix})},
                                      {"blob", model}},
                                     "blob"));
  EXPECT_EQ(init(&without), nullptr);
  expect_log({"'code'"});
}

TEST_F(FakeOpenvino, NullHandlesAreHandled) {
  EXPECT_EQ(execute(Handle(nullptr, Destroy{delegate()}), {}), Error::DelegateInvalidHandle);
  delegate()->destroy(nullptr);
}

TEST_F(FakeOpenvino, ModelsAreIndependentInEveryOrderOfDestruction) {
  CountedBlob a(payload_of(kStatic)), b(payload_of("s\x07"));
  auto first = init(&a);
  auto second = init(&b);
  auto in = matrix();
  auto out = empty_matrix();
  first.reset();
  ASSERT_EQ(execute(second, {in.value(), out.value()}), Error::Ok) << log();
  EXPECT_EQ(out.data()[0], 9.0f);
}

TEST_F(FakeOpenvino, ThreadsMayShareAHandle) {
  CountedBlob blob(payload_of(kStatic));
  auto handle = init(&blob);
  ASSERT_NE(handle, nullptr) << log();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Floats in(ScalarType::Float, {2, 3}, std::vector<float>(6, static_cast<float>(t)));
      auto out = empty_matrix();
      et::BackendExecutionContext context;
      for (int call = 0; call < 200; ++call) {
        std::vector<et::EValue*> values = {in.value(), out.value()};
        const Error error =
            delegate()->execute(context, handle.get(), {values.data(), values.size()});
        if (error != Error::Ok || out.data()[5] != 2.0f * static_cast<float>(t) + 5.0f) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace executorch_backends::openvino::testing
