#include "executorch_backends/aoti/runtime/isa.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {
namespace {

using executorch::runtime::Error;

constexpr std::string_view kNative = "native:";
// lzcnt is `abm` to Linux.
constexpr std::string_view kVersion3 = "avx,avx2,bmi1,bmi2,f16c,fma,abm,movbe";
constexpr std::string_view kVersion4 =
    "avx,avx2,bmi1,bmi2,f16c,fma,abm,movbe,avx512f,avx512bw,avx512cd,avx512dq,avx512vl";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// The widest that the processor has, for messages.
const char* best_of(const std::set<std::string>& flags) {
  if (lacking("avx512", flags)->empty()) return "AVX-512";
  return lacking("avx2", flags)->empty() ? "AVX2" : "neither AVX-512 nor AVX2";
}

}  // namespace

const std::set<std::string>& processor_flags() {
  static const auto* const flags = [] {
    auto* found = new std::set<std::string>;  // for ever: read while statics are destroyed
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; found->empty() && std::getline(info, line);) {
      if (line.compare(0, 5, "flags") != 0) continue;
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;) found->insert(word);
    }
    return found;
  }();
  return *flags;
}

std::optional<std::vector<std::string>> lacking(std::string_view isa,
                                                const std::set<std::string>& flags) {
  std::string_view needed;
  if (isa == "avx2") {
    needed = kVersion3;
  } else if (isa == "avx512") {
    needed = kVersion4;
  } else if (isa.substr(0, kNative.size()) == kNative) {
    needed = isa.substr(kNative.size());
  } else {
    return std::nullopt;
  }
  std::vector<std::string> missing;
  while (!needed.empty()) {
    const size_t end = std::min(needed.find(','), needed.size());
    const std::string flag(needed.substr(0, end));
    needed.remove_prefix(std::min(end + 1, needed.size()));
    if (!flag.empty() && flags.count(flag) == 0) missing.push_back(flag);
  }
  return missing;
}

Error check_isa(const std::string& isa, const std::set<std::string>& flags) {
  const auto missing = lacking(isa, flags);
  ETB_REQUIRE(missing, InvalidProgram,
              "AOTI: the program was compiled for the instruction sets '%s', and this delegate "
              "knows avx2, avx512 and native; lower again, or update executorch_backends",
              isa.c_str());
  ETB_REQUIRE(missing->empty(), NotSupported,
              "AOTI: the program was compiled for '%s', and this processor has %s: it lacks %s; "
              "lower again with isa=\"avx2\", or on this machine with isa=\"native\"",
              isa.c_str(), best_of(flags), joined(*missing).c_str());
  return Error::Ok;
}

}  // namespace executorch_backends::aoti
