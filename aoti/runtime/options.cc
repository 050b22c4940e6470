#include "executorch_backends/aoti/runtime/options.h"

#include <charconv>
#include <cstring>
#include <string>

#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {
namespace {

using executorch::runtime::BackendOption;
using executorch::runtime::Error;
using executorch::runtime::Span;

/// Callers cannot tell a text from a number that looks like one, so that all are read as text.
std::string text_of(const BackendOption& option) {
  if (const bool* value = std::get_if<bool>(&option.value)) return *value ? "true" : "false";
  if (const int* value = std::get_if<int>(&option.value)) return std::to_string(*value);
  const auto& text = std::get<2>(option.value);
  return std::string(text.data(), strnlen(text.data(), text.size()));
}

Error read_option(const std::string& key, const std::string& value, Options* out) {
  if (key == "seed") {
    const char* end = value.data() + value.size();
    const auto [stop, problem] = std::from_chars(value.data(), end, out->seed);
    ETB_REQUIRE(problem == std::errc() && stop == end, InvalidArgument,
                "AOTI's option 'seed' is '%s'; it can be 0 or more", value.c_str());
    return Error::Ok;
  }
  ETB_REQUIRE(key == "graphs", InvalidArgument,
              "AOTI has no runtime option '%s'; its options are graphs, seed", key.c_str());
  ETB_REQUIRE(value == "true" || value == "false", InvalidArgument,
              "AOTI's option 'graphs' is '%s'; it can be true or false", value.c_str());
  out->graphs = value == "true";
  return Error::Ok;
}

}  // namespace

Error read_options(Span<const BackendOption> runtime_options, Options* out) {
  for (const BackendOption& option : runtime_options) {
    ETB_TRY(read_option(option.key, text_of(option), out));
  }
  return Error::Ok;
}

}  // namespace executorch_backends::aoti
