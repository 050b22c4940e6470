#include "executorch_backends/common/runtime/data_loaders.h"

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "executorch_backends/common/checked/checked.h"
#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/common/runtime/program.h"

namespace executorch_backends::runtime {

namespace et = executorch::runtime;
using et::Error;
using executorch::extension::BufferDataLoader;
using executorch::extension::FileDataLoader;
using executorch::extension::MmapDataLoader;

namespace {

// What OpenVINO and vectorised kernels can use in place.
constexpr size_t kBufferAlignment = 4096;

/// Gives no bytes an address. ExecuTorch takes constants without one for those of an old format,
/// and refuses programs whose only constants have no elements.
class AddressedLoader final : public et::DataLoader {
 public:
  explicit AddressedLoader(std::unique_ptr<et::DataLoader> loader) : loader_(std::move(loader)) {}

  et::Result<et::FreeableBuffer> load(size_t offset, size_t size,
                                      const SegmentInfo& segment) const override {
    static constexpr char kNothing = 0;
    if (size == 0) return et::FreeableBuffer(&kNothing, 0, nullptr);
    return loader_->load(offset, size, segment);
  }
  Error load_into(size_t offset, size_t size, const SegmentInfo& segment,
                  void* buffer) const override {
    return loader_->load_into(offset, size, segment, buffer);
  }
  et::Result<size_t> size() const override { return loader_->size(); }

 private:
  std::unique_ptr<et::DataLoader> loader_;
};

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Error read_file(const char* path, AlignedBytes* bytes, size_t* size) {
  std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path, "rb"));
  struct stat status{};
  if (file == nullptr || fstat(fileno(file.get()), &status) != 0) {
    ETB_FAIL(AccessFailed, "cannot open '%s': %s", path, std::strerror(errno));
  }
  *size = static_cast<size_t>(status.st_size);
  *bytes = allocate_aligned(*size);
  if (*bytes == nullptr) {
    ETB_FAIL(MemoryAllocationFailed, "cannot allocate %zu bytes for '%s'", *size, path);
  }
  const size_t got = std::fread(bytes->get(), 1, *size, file.get());
  if (got != *size) {
    ETB_FAIL(AccessFailed, "'%s' gave %zu bytes, and %zu were expected", path, got, *size);
  }
  return Error::Ok;
}

template <typename Loader>
Error take(et::Result<Loader> loader, std::unique_ptr<et::DataLoader>* out) {
  if (!loader.ok()) return loader.error();
  *out = std::make_unique<Loader>(std::move(loader.get()));
  return Error::Ok;
}

/// The loader of `mode`, as ExecuTorch has it.
Error make_loader(const char* path, int32_t mode, AlignedBytes* bytes,
                  std::unique_ptr<et::DataLoader>* out) {
  using Mlock = MmapDataLoader::MlockConfig;
  switch (mode) {
    case EXECUTORCH_BACKENDS_MMAP:
      return take(MmapDataLoader::from(path, Mlock::NoMlock), out);
    case EXECUTORCH_BACKENDS_MMAP_MLOCK:
      return take(MmapDataLoader::from(path, Mlock::UseMlock), out);
    case EXECUTORCH_BACKENDS_MMAP_MLOCK_IGNORE:
      return take(MmapDataLoader::from(path, Mlock::UseMlockIgnoreErrors), out);
    case EXECUTORCH_BACKENDS_MMAP_MADVISE:
      return take(MmapDataLoader::from(path, Mlock::UseMadvise), out);
    case EXECUTORCH_BACKENDS_FILE:
      return take(FileDataLoader::from(path), out);
    case EXECUTORCH_BACKENDS_BUFFER: {
      size_t size = 0;
      ETB_TRY(read_file(path, bytes, &size));
      *out = std::make_unique<BufferDataLoader>(bytes->get(), size);
      return Error::Ok;
    }
    default:
      ETB_FAIL(InvalidArgument, "load mode %d is none of 0 to %d", mode,
               EXECUTORCH_BACKENDS_BUFFER);
  }
}

}  // namespace

AlignedBytes allocate_aligned(size_t size) {
  size_t padded = 0;
  if (checked::add(size, kBufferAlignment, &padded)) return nullptr;
  return AlignedBytes(
      std::aligned_alloc(kBufferAlignment, padded / kBufferAlignment * kBufferAlignment));
}

Error load_file(const char* path, int32_t mode, AlignedBytes* bytes,
                std::unique_ptr<et::DataLoader>* out) {
  std::unique_ptr<et::DataLoader> loader;
  ETB_TRY(make_loader(path, mode, bytes, &loader));
  *out = std::make_unique<AddressedLoader>(std::move(loader));
  return Error::Ok;
}

std::unique_ptr<et::DataLoader> load_bytes(const void* bytes, size_t size) {
  return std::make_unique<AddressedLoader>(std::make_unique<BufferDataLoader>(bytes, size));
}

std::string mlock_hint(const char* path) {
  struct rlimit limit{};
  struct stat status{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || stat(path, &status) != 0) return "";
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= static_cast<rlim_t>(status.st_size)) {
    return "";
  }
  return "\nthe limit on locked memory (ulimit -l) is " + std::to_string(limit.rlim_cur) +
         " bytes, and the file has " + std::to_string(status.st_size) +
         "; raise it, or load with mmap-mlock-ignore";
}

}  // namespace executorch_backends::runtime
