#include "executorch_backends/aoti/runtime/isa.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "executorch_backends/common/runtime/log_capture.h"

namespace executorch_backends::aoti {
namespace {

using Missing = std::vector<std::string>;

const std::set<std::string> kOld = {"sse4_2", "avx"};
const std::set<std::string> kHaswell = {"avx",  "avx2", "bmi1", "bmi2",
                                        "f16c", "fma",  "abm",  "movbe"};

std::set<std::string> with(std::set<std::string> flags, const Missing& more) {
  flags.insert(more.begin(), more.end());
  return flags;
}
const std::set<std::string> kSkylakeServer =
    with(kHaswell, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});

TEST(Isa, EachLevelHasItsFlags) {
  EXPECT_EQ(lacking("avx2", kHaswell), Missing{});
  EXPECT_EQ(lacking("avx2", kOld),
            (Missing{"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}));
  EXPECT_EQ(lacking("avx512", kHaswell),
            (Missing{"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}));
  EXPECT_EQ(lacking("avx512", kSkylakeServer), Missing{});
}

TEST(Isa, ANativeProgramSaysItsFlags) {
  EXPECT_EQ(lacking("native:avx2,fma", kHaswell), Missing{});
  EXPECT_EQ(lacking("native:avx2,amx_tile,fma,avx512f", kHaswell),
            (Missing{"amx_tile", "avx512f"}));
  EXPECT_EQ(lacking("native:", kOld), Missing{});
}

TEST(Isa, AnUnknownOneIsNoLevel) {
  for (const char* isa : {"", "avx", "AVX2", "native", "avx10"}) {
    EXPECT_EQ(lacking(isa, kSkylakeServer), std::nullopt) << isa;
  }
}

TEST(Isa, TheRefusalNamesBoth) {
  runtime::LogCapture capture;
  EXPECT_EQ(check_isa("avx512", kHaswell), executorch::runtime::Error::NotSupported);
  for (const char* part : {"'avx512'", "has AVX2", "avx512f", "lower again"}) {
    EXPECT_NE(capture.text().find(part), std::string::npos) << capture.text();
  }
  EXPECT_EQ(check_isa("avx10", kHaswell), executorch::runtime::Error::InvalidProgram);
  EXPECT_NE(capture.text().find("'avx10'"), std::string::npos) << capture.text();
  EXPECT_EQ(check_isa("avx2", kHaswell), executorch::runtime::Error::Ok);
}

TEST(Isa, ThisProcessorHasFlags) { EXPECT_GT(processor_flags().size(), 10u); }

}  // namespace
}  // namespace executorch_backends::aoti
