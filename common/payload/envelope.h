#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The envelope that a backend's payload travels in: a header, a table of named sections, and the
// sections, with a SHA-256 over each. `backend_common/payload.py` writes and also reads it. All
// numbers are little-endian, and offsets count from the payload's first byte.
//
//   header, 64 bytes
//      0  magic, 8 bytes: 89 45 54 42 0D 0A 1A 0A
//      8  u32 version: 1
//     12  u32 number of sections, at most 64
//     16  u32 alignment of the sections' offsets: a power of two
//     20  u32 0
//     24  u64 size of the payload in bytes
//     32  SHA-256 of the header, with zeros here, followed by the table
//   table, 80 bytes for each section
//      0  name, 24 bytes: printable ASCII, padded with zeros
//     24  u64 offset
//     32  u64 size in bytes
//     40  u32 flags: bit 0 says weights
//     44  u32 0
//     48  SHA-256 of the section
//   sections, in the table's order, with zeros between them; weights lie at multiples of 4096

namespace executorch_backends::payload {

/// What parse() hashes. Sizes, offsets, header and table are checked in either case.
enum class Verify {
  kAlways,  // every section that is not weights
  kFull,    // every section
};

/// A section's name and bytes, which belong to the payload.
struct Section {
  std::string_view name;
  const uint8_t* data = nullptr;
  size_t size = 0;
  bool weights = false;
};

/// A payload that was checked. It refers to the payload's bytes, which must outlive it.
class Envelope {
 public:
  /// True when the bytes begin with an envelope's magic. Anything else is not ours: a blob that
  /// stock ExecuTorch wrote, for instance.
  static bool has_magic(const void* data, size_t size);

  /// Checks `size` bytes at `data`, at any alignment. True when they are an intact envelope, which
  /// is then in `*out`. Otherwise false, `*out` is left alone, and `*error` is one line that names
  /// the two values that disagreed. Never reads outside the bytes, whatever they are; `data` may be
  /// null when `size` is 0.
  [[nodiscard]] static bool parse(const void* data, size_t size, Verify verify, Envelope* out,
                                  std::string* error);

  /// Every section, in the order of the payload.
  const std::vector<Section>& sections() const { return sections_; }

  /// True when there is a section of that name, which is then in `*out`.
  [[nodiscard]] bool find(std::string_view name, Section* out) const;

 private:
  std::vector<Section> sections_;
};

}  // namespace executorch_backends::payload
