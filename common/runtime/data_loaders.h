/// Where a program's bytes come from.
#pragma once

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

namespace executorch_backends::runtime {

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};
using AlignedBytes = std::unique_ptr<void, FreeDeleter>;

/// Memory at a page's start, or null.
AlignedBytes allocate_aligned(size_t size);

/// The loader of a file in an executorch_backends_load_mode; where the mode reads the whole file
/// first, it is in `*bytes`. Logs and returns an error where the file cannot be opened.
executorch::runtime::Error load_file(const char* path, int32_t mode, AlignedBytes* bytes,
                                     std::unique_ptr<executorch::runtime::DataLoader>* out);
/// The loader of bytes that outlive it.
std::unique_ptr<executorch::runtime::DataLoader> load_bytes(const void* bytes, size_t size);

/// What a refused mlock of a file needs to be understood; empty where the limit is no reason.
std::string mlock_hint(const char* path);

}  // namespace executorch_backends::runtime
