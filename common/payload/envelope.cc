#include "executorch_backends/common/payload/envelope.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "executorch_backends/common/checked/checked.h"
#include "executorch_backends/common/payload/sha256.h"

namespace executorch_backends::payload {
namespace {

constexpr uint8_t kMagic[8] = {0x89, 'E', 'T', 'B', '\r', '\n', 0x1a, '\n'};
constexpr uint32_t kVersion = 1;
constexpr uint32_t kMaxSections = 64;
constexpr uint32_t kWeights = 1;  // the only flag
constexpr uint64_t kWeightsAlignment = 4096;

// Header.
constexpr size_t kHeaderSize = 64;
constexpr size_t kVersionAt = 8;
constexpr size_t kCountAt = 12;
constexpr size_t kAlignmentAt = 16;
constexpr size_t kHeaderReservedAt = 20;
constexpr size_t kTotalSizeAt = 24;
constexpr size_t kHeaderDigestAt = 32;

// Entry of the table.
constexpr size_t kEntrySize = 80;
constexpr size_t kNameSize = 24;
constexpr size_t kOffsetAt = 24;
constexpr size_t kSizeAt = 32;
constexpr size_t kFlagsAt = 40;
constexpr size_t kEntryReservedAt = 44;
constexpr size_t kEntryDigestAt = 48;

uint32_t load_u32(const uint8_t* p) {
  return uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
}

uint64_t load_u64(const uint8_t* p) { return load_u32(p) | uint64_t{load_u32(p + 4)} << 32; }

std::string hex(const uint8_t* bytes, size_t size, const char* separator = "") {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    if (i != 0) text += separator;
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// Half of it, which is enough to tell two of them apart.
std::string brief(const uint8_t* digest) { return hex(digest, 16) + "..."; }

std::string number(uint64_t value) { return std::to_string(value); }

bool fail(std::string* error, const std::string& text) {
  *error = "payload: " + text;
  return false;
}

bool parse_name(const uint8_t* entry, std::string_view* name) {
  const size_t length = static_cast<size_t>(std::find(entry, entry + kNameSize, 0) - entry);
  const auto printable = [](uint8_t c) { return c > 0x20 && c < 0x7f; };
  const auto zero = [](uint8_t c) { return c == 0; };
  *name = {reinterpret_cast<const char*>(entry), length};
  return length != 0 && std::all_of(entry, entry + length, printable) &&
         std::all_of(entry + length, entry + kNameSize, zero);
}

bool check_header(const uint8_t* bytes, size_t size, std::string* error) {
  if (size < kHeaderSize) {
    return fail(error, number(size) + " bytes; the header alone takes " + number(kHeaderSize));
  }
  if (!Envelope::has_magic(bytes, size)) {
    return fail(error, "magic " + hex(bytes, sizeof kMagic, " ") + "; expected " +
                           hex(kMagic, sizeof kMagic, " "));
  }
  if (const uint32_t version = load_u32(bytes + kVersionAt); version != kVersion) {
    return fail(error, "version " + number(version) + "; this reader knows version " +
                           number(kVersion) + ": lower the model again, or update the runtime");
  }
  const uint32_t count = load_u32(bytes + kCountAt);
  if (count > kMaxSections) {
    return fail(error, number(count) + " sections; at most " + number(kMaxSections) + " fit");
  }
  const uint32_t alignment = load_u32(bytes + kAlignmentAt);
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    return fail(error, "alignment " + number(alignment) + "; expected a power of two");
  }
  if (const uint32_t reserved = load_u32(bytes + kHeaderReservedAt); reserved != 0) {
    return fail(error, "the header's reserved field is " + number(reserved) + "; expected 0");
  }
  if (const uint64_t total = load_u64(bytes + kTotalSizeAt); total != size) {
    return fail(error, "the header says " + number(total) + " bytes; there are " + number(size));
  }
  const size_t table_end = kHeaderSize + count * kEntrySize;  // at most 5184
  if (table_end > size) {
    return fail(error, "the table of " + number(count) + " sections ends at byte " +
                           number(table_end) + "; the payload at " + number(size));
  }

  constexpr uint8_t kNoDigest[32] = {};
  Sha256 hash;
  hash.update(bytes, kHeaderDigestAt);
  hash.update(kNoDigest, sizeof kNoDigest);
  hash.update(bytes + kHeaderSize, table_end - kHeaderSize);
  const Digest found = hash.finish();
  if (std::memcmp(found.data(), bytes + kHeaderDigestAt, found.size()) != 0) {
    return fail(error, "header and table have SHA-256 " + brief(found.data()) +
                           "; the header says " + brief(bytes + kHeaderDigestAt));
  }
  return true;
}

// Checks an entry of the table and the zeros in front of its section. `*end` is where the previous
// section, or the table, ends, and becomes the end of this one.
bool parse_entry(const uint8_t* bytes, size_t payload_size, size_t index,
                 const std::vector<Section>& previous, size_t* end, Section* section,
                 std::string* error) {
  const uint8_t* entry = bytes + kHeaderSize + index * kEntrySize;
  if (!parse_name(entry, &section->name)) {
    return fail(error, "section " + number(index) + " is called " + hex(entry, kNameSize, " ") +
                           "; expected printable ASCII and then zeros");
  }
  const std::string who = "section '" + std::string(section->name) + "'";
  for (const Section& other : previous) {
    if (other.name == section->name) return fail(error, who + " occurs twice; expected once");
  }
  const uint32_t flags = load_u32(entry + kFlagsAt);
  if ((flags & ~kWeights) != 0) {
    return fail(error, who + " has flags " + number(flags) + "; version 1 knows " +
                           number(kWeights) + " only");
  }
  section->weights = (flags & kWeights) != 0;
  if (const uint32_t reserved = load_u32(entry + kEntryReservedAt); reserved != 0) {
    return fail(error, who + " has " + number(reserved) + " in its reserved field; expected 0");
  }

  const uint64_t offset = load_u64(entry + kOffsetAt);
  const uint64_t size = load_u64(entry + kSizeAt);
  const uint64_t alignment =
      std::max<uint64_t>(load_u32(bytes + kAlignmentAt), section->weights ? kWeightsAlignment : 1);
  if (offset % alignment != 0) {
    return fail(error, who + " starts at byte " + number(offset) + "; expected a multiple of " +
                           number(alignment));
  }
  if (offset < *end) {
    return fail(error, who + " starts at byte " + number(offset) + "; what precedes it ends at " +
                           number(*end));
  }
  uint64_t section_end = 0;
  if (checked::add(offset, size, &section_end) || section_end > payload_size) {
    return fail(error, who + " has " + number(size) + " bytes at byte " + number(offset) +
                           "; the payload has " + number(payload_size));
  }
  // Both are at most payload_size, which is a size_t.
  const auto start = static_cast<size_t>(offset);
  const uint8_t* stray = std::find_if(bytes + *end, bytes + start, [](uint8_t c) { return c; });
  if (stray != bytes + start) {
    return fail(error, "byte " + number(static_cast<size_t>(stray - bytes)) + " in front of " +
                           who + " is " + number(*stray) + "; expected 0");
  }
  section->data = bytes + start;
  section->size = static_cast<size_t>(size);
  *end = static_cast<size_t>(section_end);
  return true;
}

}  // namespace

bool Envelope::has_magic(const void* data, size_t size) {
  return size >= sizeof kMagic && std::memcmp(data, kMagic, sizeof kMagic) == 0;
}

bool Envelope::parse(const void* data, size_t size, Verify verify, Envelope* out,
                     std::string* error) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (!check_header(bytes, size, error)) return false;

  const size_t count = load_u32(bytes + kCountAt);
  std::vector<Section> sections;
  sections.reserve(count);
  size_t end = kHeaderSize + count * kEntrySize;
  for (size_t i = 0; i < count; ++i) {
    Section section;
    if (!parse_entry(bytes, size, i, sections, &end, &section, error)) return false;
    sections.push_back(section);
  }
  if (end != size) {
    return fail(
        error, "the last section ends at byte " + number(end) + "; the payload at " + number(size));
  }

  for (size_t i = 0; i < count; ++i) {
    const Section& section = sections[i];
    if (section.weights && verify != Verify::kFull) continue;
    const Digest found = sha256(section.data, section.size);
    const uint8_t* expected = bytes + kHeaderSize + i * kEntrySize + kEntryDigestAt;
    if (std::memcmp(found.data(), expected, found.size()) != 0) {
      return fail(error, "section '" + std::string(section.name) + "' has SHA-256 " +
                             brief(found.data()) + "; the table says " + brief(expected));
    }
  }
  out->sections_ = std::move(sections);
  return true;
}

bool Envelope::find(std::string_view name, Section* out) const {
  for (const Section& section : sections_) {
    if (section.name == name) {
      *out = section;
      return true;
    }
  }
  return false;
}

}  // namespace executorch_backends::payload
