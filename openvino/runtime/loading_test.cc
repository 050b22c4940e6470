// Which of a program's models is loaded, what is freed when, and every way to fail.
#include "executorch_backends/openvino/runtime/delegate.h"
#include "executorch_backends/openvino/runtime/testing/fake_fixture.h"

namespace executorch_backends::openvino::testing {
namespace {

TEST_F(FakeOpenvino, ThisDelegateIsTheRegisteredOne) {
  EXPECT_EQ(executorch_backends_openvino_registration_error(), 0);
}

TEST_F(FakeOpenvino, TheBlobRunsAgainAndAgain) {
  TestProgram loaded(program());
  const int before = imports();
  expect_runs(&loaded);
  EXPECT_EQ(imports(), before + 1);
  EXPECT_EQ(executorch_backends_openvino_version(), kVersion);
}

TEST_F(FakeOpenvino, WithoutABlobTheIrIsCompiled) {
  Recipe without = recipe();
  without.blob = {0, 0};
  TestProgram loaded(without.build());
  const int before = compilations();
  expect_runs(&loaded);
  EXPECT_EQ(compilations(), before + 1);
  EXPECT_EQ(notes(), "");
}

TEST_F(FakeOpenvino, AnIrNeedsNoWeights) {
  Recipe without = recipe();
  without.blob = {0, 0};
  without.weights = "";
  TestProgram loaded(without.build());
  expect_runs(&loaded);
  EXPECT_EQ(loaded.data().reads(), 0);
}

TEST_F(FakeOpenvino, ABlobInsideTheWeightsIsFound) {
  Recipe inside = recipe();
  inside.weights = "xxxx" + kStatic + "\x07";  // the IR would add 7
  inside.blob = {4, kStatic.size()};
  TestProgram loaded(inside.build());
  expect_runs(&loaded);
}

TEST_F(FakeOpenvino, ABlobOfStockExecutorchRuns) {
  TestProgram loaded(kStatic);
  expect_runs(&loaded);
}

TEST_F(FakeOpenvino, MemoryIsKeptAsLongAsTheVersionReadsIt) {
  for (const char* compile : {"never", "always"}) {
    for (const bool dynamic : {false, true}) {
      const bool kept = kIsNew || compile == std::string("always");
      TestProgram loaded(dynamic ? program("d\x05", {6, {{1, 4}, {3, 3}}}) : program());
      {
        auto handle = init(&loaded, {option("compile", compile)});
        ASSERT_NE(handle, nullptr) << log();
        EXPECT_EQ(loaded.freed(), 1);
        EXPECT_EQ(loaded.data().freed(), kept ? 0 : 1) << dynamic;
        expect_runs(handle);
        EXPECT_EQ(loaded.data().freed(), kept ? 0 : 1) << dynamic;
      }
      EXPECT_EQ(loaded.data().freed(), 1);
    }
  }
}

TEST_F(FakeOpenvino, ABareBlobIsKeptAsLongAsTheVersionReadsIt) {
  TestProgram loaded(kStatic);
  {
    auto handle = init(&loaded);
    ASSERT_NE(handle, nullptr) << log();
    EXPECT_EQ(loaded.freed(), kIsNew ? 0 : 1);
    expect_runs(handle);
  }
  EXPECT_EQ(loaded.freed(), 1);
}

/// Versions that make blobs, and whether this one imports them.
std::vector<std::pair<std::string, bool>> makers() {
  if (kIsNew) {
    return {{kVersion, true},
            {"2026.4.0", false},
            {"2025.4.1", false},
            {"2027.0.0", false},
            {"", false}};
  }
  return {
      {kVersion, true}, {"2026.3.1", true}, {"2025.1.0", true}, {"2026.4.1", false}, {"", false}};
}

TEST_F(FakeOpenvino, AnotherVersionsBlobGivesWayToTheIr) {
  for (const auto& [made_by, runs] : makers()) {
    SCOPED_TRACE(made_by);
    TestProgram loaded(program(kStatic, kMatrix, made_by));
    const int before = compilations();
    expect_runs(&loaded);
    EXPECT_EQ(compilations(), before + (runs ? 0 : 1));
    EXPECT_EQ(notes().find("compiled by OpenVINO " + made_by) != std::string::npos, !runs);
  }
}

TEST_F(FakeOpenvino, AnotherVersionsBlobIsRefusedWhereNothingMayBeCompiled) {
  for (const auto& [made_by, runs] : makers()) {
    SCOPED_TRACE(made_by);
    TestProgram loaded(program(kStatic, kMatrix, made_by));
    EXPECT_EQ(init(&loaded, {option("compile", "never")}) != nullptr, runs) << log();
    if (!runs) {
      EXPECT_EQ(error(), Error::DelegateInvalidCompatibility);
      expect_log({"compiled by OpenVINO " + made_by, "this runtime is " + kVersion, "CPU",
                  "compile=\"auto\""});
    }
  }
}

TEST_F(FakeOpenvino, ABlobThatIsNotImportedGivesWayToTheIr) {
  fail_in("ov_core_import_model");
  TestProgram loaded(program());
  expect_runs(&loaded);
  EXPECT_NE(notes().find("the fake fails in ov_core_import_model"), std::string::npos) << notes();
  TestProgram other(program());
  EXPECT_EQ(init(&other, {option("compile", "never")}), nullptr);
  expect_log({"cannot import the compiled model (2 bytes", "the fake fails in"});
}

TEST_F(FakeOpenvino, ABlobForAnotherDeviceGivesWayToTheIr) {
  TestProgram loaded(program());
  const int before = compilations();
  expect_runs(&loaded, {option("device", "GPU")});
  EXPECT_EQ(compilations(), before + 1);
  EXPECT_NE(notes().find("compiled for CPU, and the device is GPU"), std::string::npos) << notes();
  TestProgram other(program());
  EXPECT_EQ(init(&other, {option("device", "GPU"), option("compile", "never")}), nullptr);
  expect_log({"compiled for CPU", "GPU"});
}

TEST_F(FakeOpenvino, AProgramWithoutABlobSaysSoWhereNothingMayBeCompiled) {
  Recipe without = recipe();
  without.blob = {0, 0};
  TestProgram loaded(without.build());
  EXPECT_EQ(init(&loaded, {option("compile", "never")}), nullptr);
  expect_log({"without a compiled model"});
}

TEST_F(FakeOpenvino, ABareBlobHasNoIr) {
  TestProgram loaded(kStatic);
  EXPECT_EQ(init(&loaded, {option("compile", "always")}), nullptr);
  expect_log({"'compile' is always", "no IR"});
}

TEST_F(FakeOpenvino, AStockBlobThatNamesItsVersionIsHeldToIt) {
  const std::string requirements = "meta=1.0;ov=2026.4.7;isa=Intel AVX2 support";
  std::string bytes("RR_UPCVO\x01\0\0\0", 12);
  append<uint64_t>(&bytes, requirements.size());
  bytes += requirements + kStatic;
  TestProgram loaded(bytes);
  EXPECT_EQ(init(&loaded), nullptr);
  EXPECT_EQ(error(), Error::DelegateInvalidCompatibility);
  expect_log({"2026.4.7", kVersion, "Intel AVX2"});
  for (size_t size = 1; size < bytes.size(); ++size) {  // also where the text's size is a lie
    TestProgram cut(bytes.substr(0, size));
    EXPECT_EQ(init(&cut), nullptr) << size;
  }
}

// With `compile` as it says, so that nothing takes the place of what fails.
TEST_F(FakeOpenvino, EveryFunctionThatFailsInInitIsReportedAndNothingLeaks) {
  const std::vector<const char*> both = {"ov_compiled_model_inputs_size",
                                         "ov_compiled_model_outputs_size",
                                         "ov_compiled_model_input_by_index",
                                         "ov_compiled_model_output_by_index",
                                         "ov_port_get_element_type",
                                         "ov_port_get_partial_shape",
                                         "ov_compiled_model_create_infer_request"};
  for (const char* compile : {"never", "always"}) {
    std::vector<const char*> functions = both;
    if (compile == std::string("never")) {
      functions.push_back("ov_core_import_model");
    } else {
      for (const char* function :
           {"ov_tensor_create_from_host_ptr", "ov_core_read_model_from_memory_buffer",
            "ov_core_compile_model"}) {
        functions.push_back(function);
      }
    }
    TestProgram first(program());
    ASSERT_NE(init(&first), nullptr) << log();  // the core is there from now on
    for (const char* function : functions) {
      SCOPED_TRACE(function);
      const int before = live_objects();
      fail_in(function);
      TestProgram loaded(program());
      EXPECT_EQ(init(&loaded, {option("compile", compile)}), nullptr);
      EXPECT_NE(error(), Error::Ok);
      expect_log({std::string("the fake fails in ") + function});
      EXPECT_EQ(live_objects(), before);
      EXPECT_EQ(loaded.freed(), 0);  // still the caller's
      EXPECT_EQ(loaded.data().freed(), loaded.data().reads());
      fail_in(nullptr);
      TestProgram good(program());
      EXPECT_NE(init(&good), nullptr) << log();
    }
  }
}

TEST_F(FakeOpenvino, ADeviceThatIsNotThereIsNamedWithThoseThatAre) {
  for (const char* compile : {"auto", "always"}) {
    TestProgram loaded(program());
    EXPECT_EQ(init(&loaded, {option("device", "NPU"), option("compile", compile)}), nullptr);
    EXPECT_EQ(error(), Error::InvalidArgument);
    expect_log({"'NPU'", "CPU, GPU.0", "option 'device'"});
    TestProgram other(program());
    EXPECT_EQ(init(&other, {option("compile", compile)}, "TPU"), nullptr);
    expect_log({"'TPU'", "CPU, GPU.0"});
    TestProgram hetero(program());
    EXPECT_EQ(init(&hetero, {option("device", "HETERO:NPU,CPU"), option("compile", compile)}),
              nullptr);
    expect_log({"no device 'NPU'", "'HETERO:NPU,CPU'", "CPU, GPU.0"});
  }
}

TEST_F(FakeOpenvino, AutoGoesOnWithTheDevicesThatAreThere) {
  for (const char* device : {"AUTO", "AUTO:CPU", "AUTO:NPU,CPU", "AUTO:-NPU,GPU,TPU"}) {
    SCOPED_TRACE(device);
    TestProgram loaded(program());
    expect_runs(&loaded, {option("device", device)});
  }
  TestProgram loaded(program());
  EXPECT_EQ(init(&loaded, {option("device", "AUTO:NPU,TPU")}), nullptr);
  expect_log({"'NPU, TPU'", "'AUTO:NPU,TPU'", "CPU, GPU.0"});
}

TEST_F(FakeOpenvino, ABareBlobIsTriedOnTheDeviceThatIsAskedFor) {
  TestProgram loaded(kStatic);
  EXPECT_EQ(init(&loaded, {option("device", "GPU")}), nullptr);  // a device, but not the blob's
  expect_log({"an unnamed device", "'GPU'", "no device called GPU"});
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
    TestProgram loaded(program());
    if (init(&loaded) != nullptr) return 1;
    if (log().find("the fake fails in ov_core_create") == std::string::npos) return 2;
    fail_in(nullptr);
    TestProgram again(program(kStatic));
    return init(&again) != nullptr ? 0 : 3;
  };
  in_fresh_process(body);
}

TEST_F(FakeOpenvino, AMissingLibraryIsNamedAndLookedForAgain) {
  const std::string good = std::getenv("OPENVINO_LIB_PATH");
  const auto body = [&] {
    setenv("OPENVINO_LIB_PATH", "/nonexistent/libopenvino_c.so", 1);
    TestProgram first(program(kStatic));
    if (init(&first) != nullptr || error() != Error::NotFound) return 1;
    for (const char* part :
         {"/nonexistent/libopenvino_c.so", "libopenvino_c.so.2641", "set OPENVINO_LIB_PATH"}) {
      if (log().find(part) == std::string::npos) return 2;
    }
    executorch_backends_openvino_set_library("/nonexistent/elsewhere.so");
    TestProgram second(program(kStatic));
    if (init(&second) != nullptr || log().find("elsewhere") == std::string::npos) return 3;
    executorch_backends_openvino_set_library(good.c_str());
    TestProgram third(program(kStatic));
    return init(&third) != nullptr ? 0 : 4;
  };
  in_fresh_process(body);
}

TEST_F(FakeOpenvino, TheLibraryOfTheOptionIsTheOnlyOneTried) {
  const std::string good = std::getenv("OPENVINO_LIB_PATH");
  const auto body = [&] {
    TestProgram first(program());
    if (init(&first, {option("library", "/nonexistent.so")}) != nullptr) return 1;
    if (log().find("/nonexistent.so") == std::string::npos) return 2;
    setenv("OPENVINO_LIB_PATH", "/nonexistent/libopenvino_c.so", 1);
    TestProgram second(program());
    return init(&second, {option("library", good)}) != nullptr ? 0 : 3;
  };
  in_fresh_process(body);
}

TEST_F(FakeOpenvino, ALibraryThatIsNotOpenvinoIsRefusedAndTheNextOneTaken) {
  const std::string good = std::getenv("OPENVINO_LIB_PATH");
  const auto body = [&] {
    TestProgram loaded(program());
    if (init(&loaded, {option("library", "libm.so.6")}) != nullptr) return 1;
    if (log().find("libm.so.6 has no function ov_") == std::string::npos) return 2;
    TestProgram again(program(kStatic));
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

TEST_F(FakeOpenvino, AnotherLibraryThanTheLoadedOneIsRefused) {
  TestProgram first(program(kStatic));
  ASSERT_NE(init(&first), nullptr) << log();
  TestProgram loaded(program());
  EXPECT_EQ(init(&loaded, {option("library", "/nonexistent/libopenvino_c.so")}), nullptr);
  expect_log({"/nonexistent/libopenvino_c.so", std::getenv("OPENVINO_LIB_PATH")});
}

}  // namespace
}  // namespace executorch_backends::openvino::testing
