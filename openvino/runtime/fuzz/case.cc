#include "executorch_backends/openvino/runtime/fuzz/case.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "executorch_backends/common/payload/envelope.h"

namespace executorch_backends::openvino::fuzz {
namespace {

constexpr char kSuffix[] = ".case";

bool load_case(const std::filesystem::path& path, Case* out) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Sections sections = sections_of(bytes);
  const std::string* payload = find(&sections, "payload");
  if (payload == nullptr) return false;
  const auto take = [&](const char* name) {
    const std::string* found = find(&sections, name);
    return found != nullptr ? *found : "";
  };
  *out = {path.stem().string(), *payload, take("key"), take("data"), take("like")};
  if (out->like.empty()) out->like = *payload;
  return true;
}

/// The value after `name`, by one of the same length.
bool replace_value(std::string* text, const char* name, char end, const std::string& by) {
  size_t at = text->find(name);
  if (at == text->npos) return false;
  at += std::strlen(name);
  if (text->find(end, at) != at + by.size()) return false;
  text->replace(at, by.size(), by);
  return true;
}

}  // namespace

Sections sections_of(const std::string& payload) {
  payload::Envelope envelope;
  std::string reason;
  Sections sections;
  if (!payload::Envelope::parse(payload.data(), payload.size(), payload::Verify::kFull, &envelope,
                                &reason)) {
    return sections;
  }
  for (const payload::Section& section : envelope.sections()) {
    sections.emplace_back(section.name,
                          std::string(reinterpret_cast<const char*>(section.data), section.size));
  }
  return sections;
}

std::string* find(Sections* sections, const std::string& name) {
  for (auto& [known, bytes] : *sections) {
    if (known == name) return &bytes;
  }
  return nullptr;
}

std::vector<Case> load_cases(const std::string& folder) {
  std::vector<Case> cases;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != kSuffix) continue;
    cases.emplace_back();
    if (!load_case(entry.path(), &cases.back())) {
      std::fprintf(stderr, "%s is no case\n", entry.path().c_str());
      return {};
    }
  }
  if (error) std::fprintf(stderr, "%s: %s\n", folder.c_str(), error.message().c_str());
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

bool save_case(const Case& saved, const std::string& path) {
  Sections sections = {{"payload", saved.payload}, {"like", saved.like}};
  if (!saved.key.empty())
    sections.insert(sections.end(), {{"key", saved.key}, {"data", saved.data}});
  std::ofstream file(path, std::ios::binary);
  file << testing::build_envelope(sections);
  return file.good();
}

void set_version(Case* changed, const std::string& version) {
  for (std::string* payload : {&changed->payload, &changed->like}) {
    Sections sections = sections_of(*payload);
    std::string* target = find(&sections, "target");
    if (target != nullptr && replace_value(target, "openvino=", '\n', version)) {
      *payload = testing::build_envelope(sections);
    } else if (sections.empty()) {  // a bare blob, which says how long its text is
      replace_value(payload, "ov=", ';', version);
    }
  }
}

}  // namespace executorch_backends::openvino::fuzz
