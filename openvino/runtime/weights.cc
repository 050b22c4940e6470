#include "executorch_backends/openvino/runtime/weights.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <tuple>
#include <utility>

#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/common/runtime/named_data.h"
#include "executorch_backends/common/runtime/shared_values.h"

namespace executorch_backends::openvino {
namespace {

using executorch::runtime::Error;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::NamedDataMap;

// To find out where fewer bytes are costs more than a second copy of them.
constexpr size_t kLeastMapped = 1 << 20;

struct Mapping {
  Origin origin;
  std::string path;
};

/// The file whose read-only mapping holds these bytes. False where they are other memory.
bool find_mapping(Bytes bytes, Mapping* out) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t from = 0, to = 0;
    uint64_t offset = 0, inode = 0;
    char access[5] = "", device[16] = "";
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %15s %" SCNu64 " %n",
                    &from, &to, access, &offset, device, &inode, &path) != 6) {
      continue;
    }
    if (begin < from || begin >= to) continue;
    if (inode == 0 || access[0] != 'r' || access[1] == 'w' || bytes.size > to - begin) return false;
    out->origin = {std::string(device) + ":" + std::to_string(inode), offset + (begin - from),
                   bytes.size};
    out->path = line.substr(static_cast<size_t>(path));
    return true;
  }
  return false;
}

class File {
 public:
  explicit File(const char* path) : descriptor_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

size_t page_size() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

Weights::Weights(FreeableBuffer&& buffer) {
  const Bytes original{static_cast<const uint8_t*>(buffer.data()), buffer.size()};
  if (original.size >= kLeastMapped && map_again(original)) return;
  buffer_.emplace(std::move(buffer));
  bytes_ = original;
  origin_ = {"", reinterpret_cast<uintptr_t>(bytes_.data), bytes_.size};
}

Weights::~Weights() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_size_);
}

bool Weights::map_again(Bytes bytes) {
  // A loader may give memory that ends with the program, and models are shared by several.
  Mapping original;
  if (!find_mapping(bytes, &original)) return false;
  const File file(original.path.c_str());
  if (file.descriptor() < 0) return false;  // renamed or removed since
  const size_t inside = original.origin.place % page_size();
  const size_t size = inside + bytes.size;
  void* mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(),
                       static_cast<off_t>(original.origin.place - inside));
  if (mapping == MAP_FAILED) return false;
  const Bytes again{static_cast<const uint8_t*>(mapping) + inside, bytes.size};
  Mapping own;
  if (!find_mapping(again, &own) || !(own.origin == original.origin)) {  // another file by now
    munmap(mapping, size);
    return false;
  }
  mapping_ = mapping;
  mapping_size_ = size;
  bytes_ = again;
  origin_ = std::move(own.origin);
  return true;
}

bool Weights::give_back(std::string* reason) const {
  if (mapping_ == nullptr) {
    *reason = "they are no mapped file of a megabyte or more";
    return false;
  }
  // Out of the page cache too, where the kernel can and lets us; out of this process in any
  // case, since a private mapping that is never written has nothing to lose.
#ifdef MADV_PAGEOUT
  (void)madvise(mapping_, mapping_size_, MADV_PAGEOUT);
#endif
  if (madvise(mapping_, mapping_size_, MADV_DONTNEED) == 0) return true;
  *reason = std::strerror(errno);
  return false;
}

WeightsLease::WeightsLease(FreeableBuffer&& buffer)
    : programs(std::move(buffer)), weights(std::make_shared<const Weights>(std::move(programs))) {}

Error lease_weights(const NamedDataMap* programs_data, const payload::NamedData& wanted,
                    std::shared_ptr<const WeightsLease>* out) {
  // With the size, so that a payload that says another one than those before does not get theirs.
  using Leases = runtime::SharedValues<std::tuple<const NamedDataMap*, std::string, uint64_t>,
                                       const WeightsLease>;
  static auto* const leases = new Leases;
  const auto read = [&](std::shared_ptr<const WeightsLease>* lease) {
    std::optional<FreeableBuffer> bytes;
    ETB_TRY(runtime::read_named_data("OpenVINO", programs_data, wanted, "weights", &bytes));
    *lease = std::make_shared<const WeightsLease>(std::move(*bytes));
    return Error::Ok;
  };
  return leases->get({programs_data, wanted.key, wanted.size}, read, out);
}

}  // namespace executorch_backends::openvino
