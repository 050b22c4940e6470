/// What the fuzzer starts from, and what it keeps: a payload with the named data of its program.
#pragma once

#include <string>
#include <vector>

#include "executorch_backends/openvino/runtime/payload.h"
#include "executorch_backends/openvino/runtime/testing/payload_builder.h"

namespace executorch_backends::openvino::fuzz {

/// In a file: an envelope with sections of these names; all but `payload` may be absent.
struct Case {
  std::string name;
  std::string payload;
  std::string key;  // of the named data; none where it is empty
  std::string data;
  std::string like;  // an intact payload, by whose inputs and outputs the calls are made

  bool is_regression() const { return name.rfind("regression_", 0) == 0; }
};

using Sections = std::vector<testing::NamedSection>;

/// The sections of an envelope whose bytes may be anything; none where it is none.
Sections sections_of(const std::string& payload);
/// The section of that name, or null.
std::string* find(Sections* sections, const std::string& name);

/// The cases of a folder, by name. Prints what it cannot read, and returns none.
std::vector<Case> load_cases(const std::string& folder);
bool save_case(const Case& saved, const std::string& path);

/// As if OpenVINO `version`, which is as long as the one that has, had made it.
void set_version(Case* changed, const std::string& version);

}  // namespace executorch_backends::openvino::fuzz
