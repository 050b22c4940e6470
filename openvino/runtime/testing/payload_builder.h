/// Payloads for tests, as backend_common/payload.py writes them.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "executorch_backends/common/payload/sha256.h"

namespace executorch_backends::openvino::testing {

using NamedSection = std::pair<std::string, std::string>;

template <typename Number>
void append(std::string* text, Number number) {
  text->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

inline void put_digest(std::string* text, size_t at, const std::string& hashed) {
  const auto digest = payload::sha256(hashed.data(), hashed.size());
  std::memcpy(text->data() + at, digest.data(), digest.size());
}

/// An intact envelope of these sections, aligned to 64 bytes.
inline std::string build_envelope(const std::vector<NamedSection>& sections) {
  const size_t table = 64 + 80 * sections.size();
  std::string head(
      "\x89"
      "ETB\r\n\x1a\n",
      8);
  append<uint32_t>(&head, 1);
  append<uint32_t>(&head, static_cast<uint32_t>(sections.size()));
  append<uint32_t>(&head, 64);
  append<uint32_t>(&head, 0);
  append<uint64_t>(&head, 0);
  head.resize(table, '\0');
  std::string body;
  for (size_t i = 0; i < sections.size(); ++i) {
    const auto& [name, bytes] = sections[i];
    body.resize((table + body.size() + 63) / 64 * 64 - table, '\0');
    char* entry = head.data() + 64 + 80 * i;
    std::memcpy(entry, name.data(), name.size());
    const uint64_t offset = table + body.size(), size = bytes.size();
    std::memcpy(entry + 24, &offset, 8);
    std::memcpy(entry + 32, &size, 8);
    put_digest(&head, 64 + 80 * i + 48, bytes);
    body += bytes;
  }
  const uint64_t total = table + body.size();
  std::memcpy(head.data() + 24, &total, 8);
  put_digest(&head, 32, head);
  return head + body;
}

struct IoValue {
  uint32_t dtype = 6;  // float32
  std::vector<std::pair<int64_t, int64_t>> bounds;
  uint32_t flags = 0;
  uint32_t source = 0;
};
constexpr uint32_t kSameAsInput = 2;
constexpr uint32_t kSameAsOutput = 4;

inline std::string io_section(const std::vector<IoValue>& inputs,
                              const std::vector<IoValue>& outputs) {
  std::string text;
  append<uint32_t>(&text, 2);
  append<uint32_t>(&text, static_cast<uint32_t>(inputs.size()));
  append<uint32_t>(&text, static_cast<uint32_t>(outputs.size()));
  for (const auto* values : {&inputs, &outputs}) {
    for (const IoValue& value : *values) {
      append<uint32_t>(&text, value.dtype);
      append<uint32_t>(&text, static_cast<uint32_t>(value.bounds.size()));
      append<uint32_t>(&text, value.flags);
      append<uint32_t>(&text, value.source);
      for (const auto& [low, high] : value.bounds) {
        append<int64_t>(&text, low);
        append<int64_t>(&text, high);
      }
      for (uint32_t d = 0; d < value.bounds.size(); ++d) append<uint32_t>(&text, d);
    }
  }
  return text;
}

inline std::string weights_section(const std::string& weights, const std::string& key) {
  std::string text;
  append<uint32_t>(&text, 1);
  append<uint32_t>(&text, 0);
  append<uint64_t>(&text, weights.size());
  text.resize(48);
  put_digest(&text, 16, weights);
  return text + key;
}

inline std::string blob_section(uint64_t offset, uint64_t size) {
  std::string text;
  append<uint32_t>(&text, 1);
  append<uint32_t>(&text, 0);
  append<uint64_t>(&text, offset);
  append<uint64_t>(&text, size);
  return text;
}

/// The section `code` for these {offset, size} of a blob.
inline std::string code_section(const std::string& blob,
                                const std::vector<std::pair<uint64_t, uint64_t>>& ranges) {
  std::string text, hashed;
  append<uint32_t>(&text, 1);
  append<uint32_t>(&text, static_cast<uint32_t>(ranges.size()));
  for (const auto& [offset, size] : ranges) {
    append<uint64_t>(&text, offset);
    append<uint64_t>(&text, size);
    if (offset < blob.size()) hashed += blob.substr(offset, size);
  }
  const size_t at = text.size();
  text.resize(at + 32);
  put_digest(&text, at, hashed);
  return text;
}

inline std::string target_section(const std::string& version, const std::string& device = "CPU",
                                  const std::string& blob_device = "CPU") {
  return "backend=openvino\nblob_device=" + blob_device + "\ndevice=" + device +
         "\nisa=any\nopenvino=" + version + "\n";
}

/// A payload and the named data of its program.
struct Built {
  std::string payload;
  std::map<std::string, std::string> data;
};

constexpr char kWeightsKey[] = "weights";

/// What a test changes of an intact program.
struct Recipe {
  std::string ir;
  std::string weights;  // none where it is empty
  // Where the blob is in the weights; no blob where its size is 0.
  std::pair<uint64_t, uint64_t> blob = {0, 0};
  std::string target;
  std::vector<IoValue> inputs;
  std::vector<IoValue> outputs;

  std::vector<NamedSection> sections() const {
    std::vector<NamedSection> all = {
        {"target", target}, {"io", io_section(inputs, outputs)}, {"ir", ir}};
    if (!weights.empty()) all.emplace_back("weights", weights_section(weights, kWeightsKey));
    if (blob.second != 0) {
      const std::string bytes = weights.substr(blob.first, blob.second);
      all.emplace_back("blob", blob_section(blob.first, blob.second));
      all.emplace_back("code", code_section(bytes, {{0, bytes.size()}}));
    }
    return all;
  }

  Built build() const { return built(sections()); }
  /// With other sections, and the same weights.
  Built built(const std::vector<NamedSection>& all) const {
    return {build_envelope(all), {{kWeightsKey, weights}}};
  }
};

}  // namespace executorch_backends::openvino::testing
