#include "executorch_backends/common/payload/sections.h"

#include <utility>

namespace executorch_backends::payload {
namespace {

constexpr uint32_t kNamedDataVersion = 1;

}  // namespace

std::string value_of(const Section& section, std::string_view key) {
  std::string_view text(reinterpret_cast<const char*>(section.data), section.size);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    if (line.size() > key.size() && line.substr(0, key.size()) == key && line[key.size()] == '=') {
      return std::string(line.substr(key.size() + 1));
    }
  }
  return "";
}

bool NamedData::parse(const Section& section, NamedData* out, std::string* error) {
  const std::string name = "the payload's section '" + std::string(section.name) + "' has ";
  Reader reader(section);
  uint32_t version = 0, reserved = 0;
  NamedData data;
  if (!reader.read(&version) || !reader.read(&reserved) || !reader.read(&data.size) ||
      !reader.read(&data.digest)) {
    *error = name + std::to_string(section.size) + " bytes; 48 are the least";
    return false;
  }
  if (version != kNamedDataVersion) {
    *error = name + "version " + std::to_string(version) + ", and this delegate reads " +
             std::to_string(kNamedDataVersion) + "; lower again, or update executorch_backends";
    return false;
  }
  data.key = reader.rest();
  if (data.key.empty() || data.key.find('\0') != std::string::npos) {
    *error = name + std::to_string(data.key.size()) + " bytes of key, which is not a text";
    return false;
  }
  *out = std::move(data);
  return true;
}

}  // namespace executorch_backends::payload
