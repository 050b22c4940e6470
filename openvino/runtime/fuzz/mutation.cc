#include "executorch_backends/openvino/runtime/fuzz/mutation.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "executorch_backends/common/payload/sha256.h"
#include "executorch_backends/common/runtime/fuzz/mutation.h"

namespace executorch_backends::openvino::fuzz {
namespace {

using executorch_backends::fuzz::change_bytes;
using executorch_backends::fuzz::change_count;
using executorch_backends::fuzz::change_io;
using executorch_backends::fuzz::change_table;
using executorch_backends::fuzz::checksum;
using executorch_backends::fuzz::number_at;
using executorch_backends::fuzz::put;

constexpr size_t kDigest = 32;

void change_target(std::string* target, Random* random) {
  static const char* const kDevices[] = {"CPU",
                                         "GPU",
                                         "GPU.0",
                                         "NPU",
                                         "AUTO",
                                         "AUTO:",
                                         "AUTO:GPU,CPU",
                                         "AUTO:NPU,CPU",
                                         "AUTO:-NPU,CPU",
                                         "HETERO:NPU,CPU",
                                         "MULTI:CPU(2)",
                                         ":",
                                         ",",
                                         "-",
                                         "(",
                                         "CPU:",
                                         "AUTO:,,",
                                         "",
                                         "%s%n%n"};
  static const char* const kVersions[] = {"2025.4.1", "2026.3.1", "2026.4.1", "2026.4.1-1-x", "0.0",
                                          "-1.-1",    "",         "2026",     "99999999999.1"};
  std::vector<std::string> lines;
  for (size_t at = 0; at < target->size();) {
    const size_t end = std::min(target->find('\n', at), target->size());
    lines.push_back(target->substr(at, end - at));
    at = end + 1;
  }
  if (lines.empty()) lines.emplace_back();
  std::string& line = random->pick(lines);
  const std::string key = line.substr(0, line.find('='));
  switch (random->below(7)) {
    case 0:
    case 1:
      line = std::string(random->one_in(2) ? "device=" : "blob_device=") + random->pick(kDevices);
      break;
    case 2:
      line = std::string("openvino=") + random->pick(kVersions);
      break;
    case 3:
      line = key + "=" + std::string(random->below(5000), 'x');
      break;
    case 4:
      line.clear();
      break;
    case 5:
      lines.push_back(std::string(line));
      break;
    default:
      change_bytes(&line, key, random);
  }
  target->clear();
  for (const std::string& each : lines) *target += each + (random->one_in(30) ? "" : "\n");
}

void change_ir(std::string* ir, const std::string& other, Random* random) {
  static const char* const kTypes[] = {"f32", "f16", "bf16",    "f64",     "i64",
                                       "i32", "u8",  "boolean", "i4",      "u1",
                                       "nf4", "",    "string",  "dynamic", "u64"};
  static const char* const kPrecisions[] = {"FP32", "FP16", "BF16", "FP64", "I64", "I32",
                                            "U8",   "BOOL", "I4",   "BIN",  "",    "UNSPECIFIED"};
  static const char* const kShapes[] = {"",
                                        "2,3",
                                        "1",
                                        "-1,3",
                                        "?,3",
                                        "0,3",
                                        "1..4,3",
                                        "...",
                                        "2, 3",
                                        "?,?",
                                        "3,2,1,",
                                        "-5",
                                        "9223372036854775807,2"};
  const auto after = [&](const char* text) {  // the start of what stands after one of these
    std::vector<size_t> places;
    for (size_t at = ir->find(text); at != ir->npos; at = ir->find(text, at + 1)) {
      places.push_back(at + std::strlen(text));
    }
    return places.empty() ? ir->npos : random->pick(places);
  };
  const auto replace = [&](size_t at, char end, const std::string& by) {
    if (at != ir->npos) ir->replace(at, std::min(ir->find(end, at), ir->size()) - at, by);
  };
  const auto number = [&] {
    return random->one_in(3) ? std::to_string(static_cast<int64_t>(random->number()))
                             : std::to_string(random->below(10));
  };
  switch (random->below(11)) {
    case 0:
      replace(after("element_type=\""), '"', random->pick(kTypes));
      break;
    case 1:
      replace(after("precision=\""), '"', random->pick(kPrecisions));
      break;
    case 2:
      replace(after("shape=\""), '"', random->pick(kShapes));
      break;
    case 3:
      replace(after("<dim>"), '<', random->one_in(3) ? "-1" : number());
      break;
    case 4:
      replace(after(random->one_in(2) ? " offset=\"" : " size=\""), '"', number());
      break;
    case 5:
      replace(after(random->one_in(2) ? " id=\"" : "-layer=\""), '"', number());
      break;
    case 6: {  // a layer or an edge twice, or not at all
      const bool layer = random->one_in(2);
      const size_t at = after(layer ? "<layer " : "<edge ");
      if (at == ir->npos) break;
      const size_t begin = at - (layer ? 7 : 6);
      const std::string_view end_tag = layer ? "</layer>" : "/>";
      const size_t end = ir->find(end_tag, at);
      if (end == ir->npos) break;
      const std::string element = ir->substr(begin, end + end_tag.size() - begin);
      random->one_in(2) ? ir->insert(begin, element) : ir->erase(begin, element.size());
      break;
    }
    case 7:  // of the fake
      *ir = std::string(1, "sdpczi"[random->below(6)]) + static_cast<char>(random->next());
      break;
    case 8:
      replace(after("=\""), '"', random->one_in(2) ? number() : std::string(40, '"'));
      break;
    default:
      change_bytes(ir, other, random);
  }
}

/// The section `code` of a blob, with the hash of the ranges that it has.
void hash_code(std::string* code, std::string_view blob) {
  payload::Sha256 hash;
  if (code->size() < 8 + kDigest) return;
  for (size_t at = 8; at + 16 + kDigest <= code->size(); at += 16) {
    const auto offset = number_at<uint64_t>(*code, at);
    const auto size = number_at<uint64_t>(*code, at + 8);
    if (offset > blob.size() || size > blob.size() - offset) return;
    hash.update(blob.data() + offset, static_cast<size_t>(size));
  }
  const payload::Digest digest = hash.finish();
  std::memcpy(&(*code)[code->size() - kDigest], digest.data(), kDigest);
}

void change_code(std::string* code, Random* random) {
  const size_t ranges = code->size() < 40 ? 0 : (code->size() - 40) / 16;
  const size_t at = 8 + 16 * random->below(ranges);
  switch (random->below(6)) {
    case 0:
      put(code, 4 * random->below(2), static_cast<uint32_t>(random->number()));
      break;
    case 1:
      put(code, at + 8 * random->below(2), random->number());
      break;
    case 2:  // shorter, which is right
      put(code, at + 8, number_at<uint64_t>(*code, at + 8) / 2);
      break;
    case 3:
      if (ranges != 0) code->insert(at, code->substr(at, 16));
      change_count(code, 4, 1);
      break;
    case 4:
      if (ranges != 0) code->erase(at, 16);
      change_count(code, 4, -1);
      break;
    default:
      code->resize(random->below(code->size() + 1));
  }
}

void change_weights(std::string* weights, Case* changed, Random* random) {
  switch (random->below(8)) {
    case 0:
      put(weights, 4 * random->below(2), static_cast<uint32_t>(random->number()));
      break;
    case 1:
      put(weights, 8, random->number());
      break;
    case 2:  // of other data of that size, which is right
      changed->data.resize(random->below(changed->data.size() + 64));
      put(weights, 8, uint64_t{changed->data.size()});
      break;
    case 3:
      put(weights, 16 + random->below(kDigest), static_cast<char>(random->next()));
      break;
    case 4:
      weights->resize(random->below(weights->size() + 1));
      break;
    case 5:  // another key, and sometimes data of this name
      *weights += random->one_in(2) ? "x" : std::string(1, '\0');
      if (random->one_in(2) && weights->size() > 48) changed->key = weights->substr(48);
      break;
    case 6:
      changed->key.clear();
      break;
    default:
      change_bytes(&changed->data, changed->payload, random);
  }
}

void change_blob(std::string* blob, Random* random) {
  switch (random->below(5)) {
    case 0:
      put(blob, 4 * random->below(2), static_cast<uint32_t>(random->number()));
      break;
    case 1:
      put(blob, 8 + 8 * random->below(2), random->number());
      break;
    case 2: {  // both, so that their sum overflows or just fits
      const uint64_t offset = random->number();
      put(blob, 8, offset);
      put(blob, 16, random->below(3) - offset);
      break;
    }
    case 3:  // a part of it, which is in range
      put(blob, 16, number_at<uint64_t>(*blob, 16) / 2);
      break;
    default:
      blob->resize(random->below(blob->size() + 8));
  }
}

void change_sections(Sections* sections, const Case& other, Random* random) {
  Sections others = sections_of(other.payload);
  const size_t at = random->below(sections->size());
  switch (random->below(6)) {
    case 0:
      sections->erase(sections->begin() + static_cast<ptrdiff_t>(at));
      break;
    case 1:
      if (!others.empty()) sections->push_back(random->pick(others));
      break;
    case 2:
      std::swap((*sections)[at], random->pick(*sections));
      break;
    case 3:
      (*sections)[at].second.clear();
      break;
    case 4: {
      const std::string name = (*sections)[at].first;
      if (const std::string* another = find(&others, name)) (*sections)[at].second = *another;
      break;
    }
    default:
      (*sections)[at].first = random->one_in(2) ? "unknown" : std::string(24, 'n');
  }
}

/// The name of what a change is to be made of: those that the delegate reads most into come often.
const char* any_section(Random* random) {
  static const char* const kNames[] = {"io",      "io",   "io",   "ir",    "ir",
                                       "weights", "blob", "code", "target"};
  return random->pick(kNames);
}

void change_fields(Sections* sections, Case* changed, const Case& other, Random* random) {
  const std::string name = any_section(random);
  std::string* section = find(sections, name);
  if (section == nullptr || random->one_in(15)) {
    if (!sections->empty()) change_sections(sections, other, random);
  } else if (name == "io") {
    change_io(section, random);
  } else if (name == "ir") {
    change_ir(section, other.payload, random);
  } else if (name == "weights") {
    change_weights(section, changed, random);
  } else if (name == "blob") {
    change_blob(section, random);
  } else if (name == "code") {
    change_code(section, random);
  } else {
    change_target(section, random);
  }
}

std::string blob_of(Sections* sections, const std::string& data) {
  const std::string* blob = find(sections, "blob");
  if (blob == nullptr) return "";
  const auto offset = number_at<uint64_t>(*blob, 8), size = number_at<uint64_t>(*blob, 16);
  return offset > data.size() || size > data.size() - offset ? "" : data.substr(offset, size);
}

}  // namespace

Case mutated(const Case& seed, const std::vector<Case>& others, Depth depth, Random* random) {
  Case changed = seed;
  const size_t changes = 1 + random->below(4);
  Sections sections = sections_of(seed.payload);
  if (depth == Depth::kBytes || sections.empty()) {
    for (size_t i = 0; i < changes; ++i) {
      std::string* bytes = random->one_in(5) ? &changed.data : &changed.payload;
      change_bytes(bytes, random->pick(others).payload, random);
    }
    return changed;
  }
  for (size_t i = 0; i < changes; ++i) {
    change_fields(&sections, &changed, random->pick(others), random);
  }
  if (std::string* code = find(&sections, "code"); code != nullptr && !random->one_in(8)) {
    hash_code(code, blob_of(&sections, changed.data));
  }
  changed.payload = testing::build_envelope(sections);
  if (random->one_in(8)) {
    change_table(&changed.payload, random);
    checksum(&changed.payload);
  }
  return changed;
}

}  // namespace executorch_backends::openvino::fuzz
