// What programs and callers ask for, what OpenVINO is told, and what is refused.
#include "executorch_backends/openvino/runtime/testing/fake_fixture.h"

namespace executorch_backends::openvino::testing {
namespace {

// For both ways: properties of a blob are its core's, those of an IR go with the compilation.
const std::vector<std::string> kWays = {"never", "always"};

TEST_F(FakeOpenvino, OpenvinoIsToldTheOptions) {
  for (const std::string& way : kWays) {
    SCOPED_TRACE(way);
    TestProgram loaded(program());
    expect_runs(&loaded, {option("compile", way), option("performance_hint", "throughput"),
                          value_option("threads", 3), value_option("streams", 2),
                          value_option("profile", true), option("cache_dir", "/cache")});
    EXPECT_EQ(property("PERFORMANCE_HINT"), "THROUGHPUT");
    EXPECT_EQ(property("INFERENCE_NUM_THREADS"), "3");
    EXPECT_EQ(property("NUM_STREAMS"), "2");
    EXPECT_EQ(property("PERF_COUNT"), "YES");
    EXPECT_EQ(property("CACHE_DIR"), way == "always" ? "/cache" : "");
  }
}

TEST_F(FakeOpenvino, OneProgramsOptionsAreNotTheNexts) {
  for (const std::string& way : kWays) {
    TestProgram first(program()), second(program());
    auto handle = init(&first, {option("compile", way), value_option("threads", 3)});
    ASSERT_NE(handle, nullptr) << log();
    auto other = init(&second, {option("compile", way)});
    ASSERT_NE(other, nullptr) << log();
    EXPECT_EQ(property("INFERENCE_NUM_THREADS"), "");
    EXPECT_EQ(property("INFERENCE_PRECISION_HINT"), "f32");
  }
}

TEST_F(FakeOpenvino, AProgramsOwnOptionsHoldUnlessTheCallerSaysOtherwise) {
  TestProgram loaded(program());
  auto handle = init(loaded.buffer(), &loaded.data(), {value_option("threads", 4)},
                     {{"device", "GPU"},
                      {"nan", "fast"},
                      {"precompile", "true"},
                      {"threads", "2"},
                      {"streams", "1"},
                      {"performance_hint", "latency"},
                      {"cache_dir", "/cache"}});
  ASSERT_NE(handle, nullptr) << log();
  EXPECT_EQ(property("INFERENCE_NUM_THREADS"), "4");
  EXPECT_EQ(property("NUM_STREAMS"), "1");
  EXPECT_EQ(property("PERFORMANCE_HINT"), "LATENCY");
  EXPECT_EQ(property("CACHE_DIR"), "/cache");
  EXPECT_NE(notes().find("the device is GPU"), std::string::npos) << notes();
}

TEST_F(FakeOpenvino, TheRuntimeOptionWinsOverTheProgramsDevice) {
  TestProgram loaded(program());
  const int before = imports();
  EXPECT_NE(init(&loaded, {option("device", "CPU")}, "GPU"), nullptr) << log();
  EXPECT_EQ(imports(), before + 1);
}

TEST_F(FakeOpenvino, StocksOwnPropertiesAreLeftAlone) {
  TestProgram loaded(kStatic);
  auto handle = init(loaded.buffer(), nullptr, {},
                     {{"device", std::string("CPU\0", 4)}, {"NUM_STREAMS", "4"}});
  expect_runs(handle);
  EXPECT_EQ(property("NUM_STREAMS"), "");
}

TEST_F(FakeOpenvino, ASpecOfALaterLoweringIsRefused) {
  TestProgram loaded(program());
  EXPECT_EQ(init(loaded.buffer(), &loaded.data(), {}, {{"colour", "red"}}), nullptr);
  expect_log({"'colour'", "device", "update executorch_backends"});
}

TEST_F(FakeOpenvino, ValuesThatAnOptionCannotHaveAreRefusedWithThoseThatItCan) {
  const std::vector<std::pair<et::BackendOption, std::vector<std::string>>> cases = {
      {option("colour", "red"),
       {"'colour'",
        "cache_dir, compile, device, give_back, library, performance_hint, profile, "
        "streams, threads"}},
      {option("compile", "sometimes"), {"'compile' is 'sometimes'", "auto", "always", "never"}},
      {option("performance_hint", "fast"),
       {"'performance_hint' is 'fast'", "latency, throughput or cumulative_throughput"}},
      {value_option("threads", 0), {"'threads' is '0'", "from 1 to 2147483647"}},
      {value_option("threads", -2), {"'threads' is '-2'", "from 1 to 2147483647"}},
      {option("threads", "two"), {"'threads' is 'two'", "from 1 to 2147483647"}},
      {value_option("streams", true), {"'streams' is 'true'", "from 1 to 2147483647"}},
      {option("streams", "99999999999"), {"'streams' is '99999999999'", "from 1 to 2147483647"}},
      {option("give_back", "yes"), {"'give_back' is 'yes'", "true or false"}},
      {value_option("profile", 1), {"'profile' is '1'", "true or false"}},
      {option("cache_dir", ""), {"'cache_dir' is ''", "any text"}},
      {option("device", ""), {"'device' is ''", "any text"}},
      {value_option("device", 3), {"'3'", "the devices are CPU, GPU.0"}},
  };
  for (const auto& [given, parts] : cases) {
    SCOPED_TRACE(given.key);
    TestProgram loaded(program());
    EXPECT_EQ(init(&loaded, {given}), nullptr);
    EXPECT_EQ(error(), Error::InvalidArgument);
    expect_log(parts);
  }
}

TEST_F(FakeOpenvino, AnOptionThatTheDeviceRefusesIsNamed) {
  fail_in("ov_core_set_property");
  TestProgram loaded(program());
  EXPECT_EQ(init(&loaded, {option("compile", "never"), value_option("threads", 2)}), nullptr);
  expect_log({"'CPU' refuses INFERENCE_NUM_THREADS=2", "the fake fails in ov_core_set_property"});
}

}  // namespace
}  // namespace executorch_backends::openvino::testing
