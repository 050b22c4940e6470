// Time and memory of loading a program and running it once.
//
//   load_memory DELEGATE.so PROGRAM.pte mmap|file|buffer GIVE_BACK
//
// GIVE_BACK 1 asks our delegate to give the pages of the weights back after loading.
//
// Prints JSON: seconds until the first run is done; growth of anonymous and of file-backed
// resident memory since before the load (/proc/self/smaps_rollup), in MB of 10^6 bytes; and how
// many of the delegate's data segments were freed before the method was ready (`freed_in_init`).
#include <dlfcn.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/platform/runtime.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "executorch_backends/tests/bench/loaded_method.h"

namespace executorch_backends::bench {
namespace {

/// Passes segments on, and counts those of delegates, named data included, that were freed.
class CountingLoader final : public et::DataLoader {
 public:
  explicit CountingLoader(std::unique_ptr<et::DataLoader> inner, int* freed)
      : inner_(std::move(inner)), freed_(freed) {}

  et::Result<et::FreeableBuffer> load(size_t offset, size_t size,
                                      const SegmentInfo& info) const override {
    auto loaded = inner_->load(offset, size, info);
    if (!loaded.ok() || info.segment_type == SegmentInfo::Type::Program) return loaded;
    auto* held = new Held{std::move(loaded.get()), freed_};  // freed with the buffer
    return et::FreeableBuffer(held->buffer.data(), size, &CountingLoader::free, held);
  }
  et::Result<size_t> size() const override { return inner_->size(); }

 private:
  struct Held {
    et::FreeableBuffer buffer;
    int* freed;
  };
  static void free(void* context, void*, size_t) {
    std::unique_ptr<Held> held(static_cast<Held*>(context));
    ++*held->freed;
  }
  std::unique_ptr<et::DataLoader> inner_;
  int* freed_;
};

struct Memory {
  double anonymous_mb = 0;
  double file_mb = 0;
};

Memory memory() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  double resident = 0, anonymous = 0;
  while (file >> word) {
    if (word == "Rss:") file >> resident;
    if (word == "Anonymous:") file >> anonymous;
  }
  const double mb = 1024.0 / 1e6;
  return {anonymous * mb, (resident - anonymous) * mb};
}

template <typename Loader>
std::unique_ptr<et::DataLoader> take(et::Result<Loader> loader) {
  require(loader.ok(), "opening the program");
  return std::make_unique<Loader>(std::move(loader.get()));
}

int main(const char* delegate, const char* path, const std::string& mode, bool give_back) {
  using executorch::extension::BufferDataLoader;
  using executorch::extension::FileDataLoader;
  using executorch::extension::MmapDataLoader;
  et::runtime_init();
  require(dlopen(delegate, RTLD_NOW | RTLD_GLOBAL) != nullptr, delegate);
  const Memory before = memory();
  const auto start = std::chrono::steady_clock::now();
  std::vector<char> bytes;
  std::unique_ptr<et::DataLoader> loader;
  if (mode == "mmap") {
    loader = take(MmapDataLoader::from(path, MmapDataLoader::MlockConfig::NoMlock));
  } else if (mode == "file") {
    loader = take(FileDataLoader::from(path));
  } else {
    require(mode == "buffer", "a mode out of mmap, file, buffer");
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    bytes.resize(static_cast<size_t>(file.tellg()));
    file.seekg(0);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    loader = std::make_unique<BufferDataLoader>(bytes.data(), bytes.size());
  }
  int freed = 0;
  et::BackendOption option{"give_back", give_back};
  et::LoadBackendOptionsMap options;
  require(options.set_options("OpenvinoBackend", {&option, give_back ? 1u : 0u}) == et::Error::Ok,
          "setting an option");
  LoadedMethod method(std::make_unique<CountingLoader>(std::move(loader), &freed),
                      give_back ? &options : nullptr);
  const int freed_in_init = freed;
  method.execute();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Memory after = memory();
  std::printf(
      "{\"seconds\": %.3f, \"anonymous_mb\": %.1f, \"file_mb\": %.1f, \"freed_in_init\": %d}\n",
      seconds, after.anonymous_mb - before.anonymous_mb, after.file_mb - before.file_mb,
      freed_in_init);
  return 0;
}

}  // namespace
}  // namespace executorch_backends::bench

int main(int count, char** arguments) {
  executorch_backends::bench::require(count == 5, "4 arguments");
  const bool give_back = std::string(arguments[4]) == "1";
  return executorch_backends::bench::main(arguments[1], arguments[2], arguments[3], give_back);
}
