/// The bytes that compiled models read: a program's named data, or a bare blob.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "executorch_backends/common/payload/sections.h"
#include "executorch_backends/openvino/runtime/payload.h"

namespace executorch_backends::openvino {

/// Where bytes are. Two equal ones that are both alive hold the same bytes: they are the same
/// pages of a file, or the same memory.
struct Origin {
  std::string file;    // device and inode, where the bytes are a read-only mapping of a file
  uint64_t place = 0;  // offset in the file, else the address
  uint64_t size = 0;

  bool operator==(const Origin& other) const {
    return file == other.file && place == other.place && size == other.size;
  }
  std::string text() const {
    return file + "@" + std::to_string(place) + "+" + std::to_string(size);
  }
};

/// Bytes that stay where they are as long as this object lives, whatever becomes of the program
/// that they came from: those of a mapped file are mapped once more.
class Weights {
 public:
  /// Takes the buffer, unless its bytes are mapped once more: then it is left to the caller, and
  /// may be freed.
  explicit Weights(executorch::runtime::FreeableBuffer&& buffer);
  ~Weights();
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  Bytes bytes() const { return bytes_; }
  const Origin& origin() const { return origin_; }

  /// Takes the pages out of memory, which the file gives again when they are read. False, with
  /// a reason, for bytes that are no mapped file.
  bool give_back(std::string* reason) const;

 private:
  bool map_again(Bytes bytes);

  std::optional<executorch::runtime::FreeableBuffer> buffer_;
  Bytes bytes_;
  Origin origin_;
  // Of a mapping of our own: whole pages.
  void* mapping_ = nullptr;
  size_t mapping_size_ = 0;
};

/// What a handle holds of its program's weights. Handles of one program that ask for the same
/// key while another has it get the same bytes: in the load mode `file` each request would read
/// and keep a copy. Handles of several programs do not share by key, since a damaged file would
/// then be another program's weights; see Origin for what they can share.
struct WeightsLease {
  explicit WeightsLease(executorch::runtime::FreeableBuffer&& buffer);

  executorch::runtime::FreeableBuffer programs;  // locked in memory, if the loader does that
  std::shared_ptr<const Weights> weights;
};

/// The program's weights; logs and returns an error where it lacks them or has another number
/// of bytes. `programs_data` identifies the program, and outlives the lease.
executorch::runtime::Error lease_weights(const executorch::runtime::NamedDataMap* programs_data,
                                         const payload::NamedData& wanted,
                                         std::shared_ptr<const WeightsLease>* out);

}  // namespace executorch_backends::openvino
