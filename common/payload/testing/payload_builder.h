/// Payloads for tests, as backend_common/payload.py writes them.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "executorch_backends/common/payload/sha256.h"

namespace executorch_backends::testing {

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
  uint32_t flags = 0;  // beside the one that says that bounds leave a choice
  uint32_t source = 0;
};
constexpr uint32_t kDynamic = 1;
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
      bool dynamic = false;
      for (const auto& [low, high] : value.bounds) dynamic = dynamic || low != high;
      append<uint32_t>(&text, value.flags | (dynamic ? kDynamic : 0));
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

/// What stands for these bytes in ExecuTorch's named data.
inline std::string named_data_section(const std::string& data, const std::string& key) {
  std::string text;
  append<uint32_t>(&text, 1);
  append<uint32_t>(&text, 0);
  append<uint64_t>(&text, data.size());
  text.resize(48);
  put_digest(&text, 16, data);
  return text + key;
}

/// A payload and the named data of its program.
struct Built {
  std::string payload;
  std::map<std::string, std::string> data;
};

}  // namespace executorch_backends::testing
