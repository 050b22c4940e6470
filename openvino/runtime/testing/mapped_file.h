/// A file of a test, and read-only mappings of it as a program's loader makes them.
#pragma once

#include <executorch/runtime/core/freeable_buffer.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace executorch_backends::openvino::testing {

class MappedFile {
 public:
  MappedFile(const std::string& name, const std::string& content)
      : path_(::testing::TempDir() + "/" + name) {
    write(content);
  }
  ~MappedFile() { std::remove(path_.c_str()); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }

  /// Another file of the same name; mappings keep the one that they were made of.
  void write(const std::string& content) const {
    std::remove(path_.c_str());
    std::ofstream(path_, std::ios::binary) << content;
  }

  /// `size` bytes from `offset`, of the file's pages.
  executorch::runtime::FreeableBuffer map(size_t offset, size_t size) const {
    const int descriptor = open(path_.c_str(), O_RDONLY);
    const size_t inside = offset % static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* mapping = mmap(nullptr, inside + size, PROT_READ, MAP_PRIVATE, descriptor,
                         static_cast<off_t>(offset - inside));
    EXPECT_NE(mapping, MAP_FAILED);
    close(descriptor);
    return {static_cast<char*>(mapping) + inside, size, &MappedFile::unmap,
            reinterpret_cast<void*>(inside)};
  }

 private:
  static void unmap(void* inside, void* data, size_t size) {
    const auto before = reinterpret_cast<size_t>(inside);
    munmap(static_cast<char*>(data) - before, before + size);
  }
  std::string path_;
};

}  // namespace executorch_backends::openvino::testing
