#include "executorch_backends/openvino/runtime/options.h"

#include <cctype>
#include <charconv>
#include <cstring>
#include <string_view>

#include "executorch_backends/common/runtime/delegate.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::openvino {
namespace {

using executorch::runtime::ArrayRef;
using executorch::runtime::BackendOption;
using executorch::runtime::CompileSpec;
using executorch::runtime::Error;
using executorch::runtime::Span;

struct Choice {
  std::string_view name;
  std::string_view meaning;
};
constexpr Choice kHints[] = {{"latency", "LATENCY"},
                             {"throughput", "THROUGHPUT"},
                             {"cumulative_throughput", "CUMULATIVE_THROUGHPUT"}};

/// A value that an option has been given, and what to say where it cannot have it.
struct Given {
  std::string key;
  std::string value;

  Error refuse(const char* accepted) const {
    ETB_FAIL(InvalidArgument, "OpenVINO's option '%s' is '%s'; it can be %s", key.c_str(),
             value.c_str(), accepted);
  }
};

Error read_text(const Given& given, std::string* out) {
  if (given.value.empty()) return given.refuse("any text but an empty one");
  *out = given.value;
  return Error::Ok;
}

Error read_bool(const Given& given, bool* out) {
  if (given.value != "true" && given.value != "false") return given.refuse("true or false");
  *out = given.value == "true";
  return Error::Ok;
}

Error read_count(const Given& given, int* out) {
  const char* end = given.value.data() + given.value.size();
  int number = 0;
  const auto [stop, problem] = std::from_chars(given.value.data(), end, number);
  if (problem != std::errc() || stop != end || number < 1)
    return given.refuse("a number from 1 to 2147483647");
  *out = number;
  return Error::Ok;
}

Error read_compile(const Given& given, Options::Compile* out) {
  if (given.value == "auto") {
    *out = Options::Compile::kAuto;
  } else if (given.value == "always") {
    *out = Options::Compile::kAlways;
  } else if (given.value == "never") {
    *out = Options::Compile::kNever;
  } else {
    return given.refuse(
        "auto (the compiled model where it runs, else the IR), always (the IR) or never (the "
        "compiled model)");
  }
  return Error::Ok;
}

Error read_hint(const Given& given, std::string* out) {
  for (const Choice& hint : kHints) {
    if (given.value == hint.name) {
      *out = hint.meaning;
      return Error::Ok;
    }
  }
  return given.refuse("latency, throughput or cumulative_throughput");
}

/// What both a program and its caller may say. False in `*known` for another key.
Error read_shared(const Given& given, Options* out, bool* known) {
  *known = true;
  if (given.key == "device") return read_text(given, &out->device);
  if (given.key == "performance_hint") return read_hint(given, &out->performance_hint);
  if (given.key == "threads") return read_count(given, &out->threads);
  if (given.key == "streams") return read_count(given, &out->streams);
  if (given.key == "cache_dir") return read_text(given, &out->cache_dir);
  *known = false;
  return Error::Ok;
}

Error read_runtime_option(const Given& given, Options* out) {
  bool known = false;
  ETB_TRY(read_shared(given, out, &known));
  if (known) return Error::Ok;
  if (given.key == "library") return read_text(given, &out->library);
  if (given.key == "compile") return read_compile(given, &out->compile);
  if (given.key == "give_back") return read_bool(given, &out->give_back);
  if (given.key == "profile") return read_bool(given, &out->profile);
  ETB_FAIL(InvalidArgument,
           "OpenVINO has no runtime option '%s'; its options are cache_dir, compile, device, "
           "give_back, library, performance_hint, profile, streams, threads",
           given.key.c_str());
}

/// A stock program carries OpenVINO's own properties, `PERFORMANCE_HINT`, which its compiler has
/// obeyed: they say nothing about this run.
bool is_stock_property(const std::string& key) {
  if (key == "aot_autograd" || key == "model_caching") return true;
  for (const char letter : key) {
    if (!std::isupper(static_cast<unsigned char>(letter)) &&
        !std::isdigit(static_cast<unsigned char>(letter)) && letter != '_') {
      return false;
    }
  }
  return !key.empty();
}

Error read_compile_spec(const Given& given, Options* out) {
  bool known = false;
  ETB_TRY(read_shared(given, out, &known));
  // These two have done their work in the lowering.
  ETB_REQUIRE(
      known || given.key == "nan" || given.key == "precompile" || is_stock_property(given.key),
      InvalidArgument,
      "OpenVINO: the program was lowered with the option '%s', and this delegate knows cache_dir, "
      "device, nan, performance_hint, precompile, streams, threads; update executorch_backends",
      given.key.c_str());
  return Error::Ok;
}

}  // namespace

Properties Options::properties(bool for_blob) const {
  Properties all;
  if (!performance_hint.empty()) all.emplace_back("PERFORMANCE_HINT", performance_hint);
  if (threads != 0) all.emplace_back("INFERENCE_NUM_THREADS", std::to_string(threads));
  if (streams != 0) all.emplace_back("NUM_STREAMS", std::to_string(streams));
  if (profile) all.emplace_back("PERF_COUNT", "YES");
  if (!cache_dir.empty() && !for_blob) all.emplace_back("CACHE_DIR", cache_dir);
  return all;
}

Error read_options(ArrayRef<CompileSpec> compile_specs, Span<const BackendOption> runtime_options,
                   Options* out) {
  for (const CompileSpec& spec : compile_specs) {
    const char* text = static_cast<const char*>(spec.value.buffer);
    // Stock programs end it with a NUL, ours do not.
    const size_t length = text == nullptr ? 0 : strnlen(text, spec.value.nbytes);
    ETB_TRY(read_compile_spec({spec.key, std::string(text, length)}, out));
  }
  for (const BackendOption& option : runtime_options) {
    ETB_TRY(read_runtime_option({option.key, runtime::text_of(option)}, out));
  }
  return Error::Ok;
}

}  // namespace executorch_backends::openvino
