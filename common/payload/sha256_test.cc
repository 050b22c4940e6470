#include "executorch_backends/common/payload/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace executorch_backends::payload {
namespace {

std::vector<CompressBlocks> implementations() {
  std::vector<CompressBlocks> all = {&compress_portable};
  if (compress_accelerated() != nullptr) {
    all.push_back(compress_accelerated());
  } else {
    std::puts("this processor has no SHA instructions: only the portable code is tested");
  }
  return all;
}

std::string hash_of(const std::string& text, CompressBlocks compress) {
  Sha256 hash(compress);
  hash.update(text.data(), text.size());
  return hexadecimal(hash.finish());
}

// NIST's examples for FIPS 180-4, and the empty message.
TEST(Sha256, EqualsThePublishedVectors) {
  for (CompressBlocks compress : implementations()) {
    EXPECT_EQ(hash_of("", compress),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hash_of("abc", compress),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", compress),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hash_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                      "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
                      compress),
              "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    EXPECT_EQ(hash_of(std::string(1'000'000, 'a'), compress),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

TEST(Sha256, ImplementationsAgreeOnEveryLengthAroundTheBlockSize) {
  std::mt19937 random(1);
  std::string text;
  for (size_t size = 0; size <= 300; ++size) {
    const std::string portable = hash_of(text, &compress_portable);
    for (CompressBlocks compress : implementations()) EXPECT_EQ(hash_of(text, compress), portable);
    EXPECT_EQ(hexadecimal(sha256(text.data(), text.size())), portable);
    text.push_back(static_cast<char>(random()));
  }
}

TEST(Sha256, PiecesEqualTheWhole) {
  std::mt19937 random(2);
  std::string text(5000, '\0');
  for (char& c : text) c = static_cast<char>(random());
  const std::string whole = hash_of(text, &compress_portable);
  for (CompressBlocks compress : implementations()) {
    for (int round = 0; round < 200; ++round) {
      Sha256 hash(compress);
      for (size_t at = 0; at < text.size();) {
        const size_t size = std::min<size_t>(random() % 200, text.size() - at);
        hash.update(size == 0 ? nullptr : text.data() + at, size);
        at += size;
      }
      EXPECT_EQ(hexadecimal(hash.finish()), whole);
    }
  }
}

}  // namespace
}  // namespace executorch_backends::payload
