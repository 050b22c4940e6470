// Where weights are, how long, and what leaves memory.
#include "executorch_backends/openvino/runtime/weights.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "executorch_backends/openvino/runtime/testing/mapped_file.h"

namespace executorch_backends::openvino::testing {
namespace {

using executorch::runtime::FreeableBuffer;

constexpr size_t kMegabyte = 1 << 20;

std::string content(size_t size = 2 * kMegabyte) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 4096);
  return bytes;
}

bool equal(Bytes bytes, const std::string& expected) {
  return std::string(reinterpret_cast<const char*>(bytes.data), bytes.size) == expected;
}

/// How many of the pages that hold these bytes this process has in memory.
size_t pages_present(Bytes bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(bytes.data) / page;
  const uintptr_t last = (reinterpret_cast<uintptr_t>(bytes.data) + bytes.size - 1) / page;
  std::vector<uint64_t> entries(last - first + 1);
  const auto size = static_cast<ssize_t>(entries.size() * sizeof(entries[0]));
  const int pagemap = open("/proc/self/pagemap", O_RDONLY);
  EXPECT_EQ(pread(pagemap, entries.data(), static_cast<size_t>(size),
                  static_cast<off_t>(first * sizeof(entries[0]))),
            size);
  close(pagemap);
  size_t present = 0;
  for (const uint64_t entry : entries) present += entry >> 63;
  return present;
}

TEST(Weights, AMappedFileOutlivesTheProgramsMapping) {
  const std::string bytes = content();
  const MappedFile file("outlives", bytes);
  FreeableBuffer programs = file.map(0, bytes.size());
  const Weights weights(std::move(programs));
  EXPECT_NE(weights.bytes().data, programs.data());
  ASSERT_NE(programs.data(), nullptr);  // left to us
  programs.Free();
  EXPECT_TRUE(equal(weights.bytes(), bytes));
}

TEST(Weights, AnyRangeOfAFile) {
  const std::string bytes = content();
  const MappedFile file("ranges", bytes);
  for (const size_t offset : {0, 1, 64, 4095, 4096, 5000}) {
    const size_t size = kMegabyte + 123;
    const Weights weights(file.map(offset, size));
    EXPECT_TRUE(equal(weights.bytes(), bytes.substr(offset, size))) << offset;
  }
}

TEST(Weights, TheSamePagesHaveOneOrigin) {
  const std::string bytes = content();
  const MappedFile file("origin", bytes), other("other", bytes);
  const Weights a(file.map(0, kMegabyte)), b(file.map(0, kMegabyte));
  EXPECT_TRUE(a.origin() == b.origin());
  EXPECT_FALSE(a.origin() == Weights(file.map(4096, kMegabyte)).origin());
  EXPECT_FALSE(a.origin() == Weights(file.map(0, kMegabyte + 1)).origin());
  EXPECT_FALSE(a.origin() == Weights(other.map(0, kMegabyte)).origin());
  const FreeableBuffer before = file.map(0, kMegabyte);
  file.write(bytes);  // the same bytes, in another file of the same name
  EXPECT_FALSE(a.origin() == Weights(file.map(0, kMegabyte)).origin());
  // Of a file that has no name any more: in the mapping that there is.
  const Weights nameless(FreeableBuffer(before.data(), before.size(), nullptr));
  EXPECT_EQ(nameless.bytes().data, before.data());
  EXPECT_TRUE(equal(nameless.bytes(), bytes.substr(0, kMegabyte)));
}

TEST(Weights, OtherMemoryIsKeptAsItIs) {
  const std::string bytes = content();
  int freed = 0;
  {
    const Weights weights(FreeableBuffer(
        bytes.data(), bytes.size(), [](void* count, void*, size_t) { ++*static_cast<int*>(count); },
        &freed));
    EXPECT_EQ(weights.bytes().data, reinterpret_cast<const uint8_t*>(bytes.data()));
    EXPECT_EQ(weights.origin().place, reinterpret_cast<uintptr_t>(bytes.data()));
    EXPECT_EQ(weights.origin().file, "");
    std::string reason;
    EXPECT_FALSE(weights.give_back(&reason));
    EXPECT_NE(reason.find("no mapped file"), std::string::npos) << reason;
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, 1);
}

TEST(Weights, PagesThatAreGivenBackComeAgain) {
  const std::string bytes = content();
  const MappedFile file("give_back", bytes);
  const Weights weights(file.map(100, bytes.size() - 100));
  ASSERT_TRUE(equal(weights.bytes(), bytes.substr(100)));
  ASSERT_GT(pages_present(weights.bytes()), 500u);
  std::string reason;
  EXPECT_TRUE(weights.give_back(&reason)) << reason;
  EXPECT_EQ(pages_present(weights.bytes()), 0u);
  EXPECT_TRUE(equal(weights.bytes(), bytes.substr(100)));
}

}  // namespace
}  // namespace executorch_backends::openvino::testing
