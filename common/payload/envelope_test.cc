#include "executorch_backends/common/payload/envelope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "executorch_backends/common/payload/sha256.h"

namespace executorch_backends::payload {
namespace {

using Bytes = std::vector<uint8_t>;

// Where things lie in the golden file, which has four sections.
constexpr size_t kHeader = 64;
constexpr size_t kEntry = 80;
constexpr size_t kTableEnd = kHeader + 4 * kEntry;
constexpr size_t kWeightsAt = 4096;
constexpr size_t kWeightsSize = 100;

constexpr size_t entry(size_t index) { return kHeader + index * kEntry; }

// Written by backend_common.payload.build: envelope_parity_test.py says from what.
const Bytes& golden() {
  static const Bytes bytes = [] {
    std::ifstream file("common/payload/testdata/envelope_v1.bin", std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), {});
  }();
  return bytes;
}

void store(Bytes& bytes, size_t at, size_t width, uint64_t value) {
  for (size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

// Makes the header's checksum right again, so that a reader goes on to what a mutation changed.
void seal(Bytes& bytes) {
  std::memset(bytes.data() + 32, 0, 32);
  const Digest digest = sha256(bytes.data(), kTableEnd);
  std::memcpy(bytes.data() + 32, digest.data(), digest.size());
}

// Parses a copy that has nothing behind its last byte, so that ASan sees a read too far.
bool parses(const Bytes& bytes, Verify verify, std::string* error) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  Envelope envelope;
  if (!Envelope::parse(copy.get(), bytes.size(), verify, &envelope, error)) {
    EXPECT_EQ(error->rfind("payload: ", 0), 0u) << *error;
    EXPECT_TRUE(envelope.sections().empty());
    return false;
  }
  for (const Section& section : envelope.sections()) {
    EXPECT_GE(section.data, copy.get() + kHeader);
    EXPECT_LE(section.size, static_cast<size_t>(copy.get() + bytes.size() - section.data));
  }
  return true;
}

std::string error_of(const Bytes& bytes, Verify verify = Verify::kFull) {
  std::string error = "accepted";
  EXPECT_FALSE(parses(bytes, verify, &error));
  return error;
}

TEST(Envelope, ReadsWhatPythonWrote) {
  ASSERT_EQ(golden().size(), 4227u);
  for (Verify verify : {Verify::kAlways, Verify::kFull}) {
    Envelope envelope;
    std::string error;
    ASSERT_TRUE(Envelope::parse(golden().data(), golden().size(), verify, &envelope, &error))
        << error;
    ASSERT_EQ(envelope.sections().size(), 4u);

    Section section;
    ASSERT_TRUE(envelope.find("target", &section));
    EXPECT_EQ(std::string(section.data, section.data + section.size),
              "backend=openvino\ndevice=CPU\n");
    EXPECT_FALSE(section.weights);
    ASSERT_TRUE(envelope.find("empty", &section));
    EXPECT_EQ(section.size, 0u);
    ASSERT_TRUE(envelope.find("weights", &section));
    EXPECT_EQ(section.data, golden().data() + kWeightsAt);
    ASSERT_EQ(section.size, kWeightsSize);
    for (size_t i = 0; i < kWeightsSize; ++i) EXPECT_EQ(section.data[i], i);
    EXPECT_TRUE(section.weights);
    ASSERT_TRUE(envelope.find("a_name_of_24_characters!", &section));
    EXPECT_EQ(Bytes(section.data, section.data + section.size), (Bytes{1, 2, 3}));
    EXPECT_FALSE(envelope.find("a_name_of_24_characters", &section));
    EXPECT_FALSE(envelope.find("", &section));
  }
}

TEST(Envelope, ReadsFromAnyAddress) {
  for (size_t shift = 0; shift < 16; ++shift) {
    Bytes shifted(shift);
    shifted.insert(shifted.end(), golden().begin(), golden().end());
    Envelope envelope;
    std::string error;
    EXPECT_TRUE(
        Envelope::parse(shifted.data() + shift, golden().size(), Verify::kFull, &envelope, &error))
        << error;
  }
}

TEST(Envelope, MagicTellsAnEnvelopeFromAStockBlob) {
  EXPECT_TRUE(Envelope::has_magic(golden().data(), golden().size()));
  EXPECT_FALSE(Envelope::has_magic(golden().data(), 7));
  EXPECT_FALSE(Envelope::has_magic(nullptr, 0));
  EXPECT_FALSE(Envelope::has_magic("\x12\x34 a stock blob", 15));
}

TEST(Envelope, RefusesNothing) {
  Envelope envelope;
  std::string error;
  EXPECT_FALSE(Envelope::parse(nullptr, 0, Verify::kFull, &envelope, &error));
  EXPECT_EQ(error, "payload: 0 bytes; the header alone takes 64");
}

TEST(Envelope, RefusesEveryTruncation) {
  for (size_t size = 0; size < golden().size(); ++size) {
    EXPECT_NE(error_of(Bytes(golden().begin(), golden().begin() + static_cast<ptrdiff_t>(size))),
              "accepted")
        << size;
  }
}

TEST(Envelope, RefusesTrailingBytes) {
  Bytes bytes = golden();
  bytes.push_back(0);
  EXPECT_EQ(error_of(bytes), "payload: the header says 4227 bytes; there are 4228");
}

TEST(Envelope, NoticesEveryFlippedBit) {
  for (size_t at = 0; at < golden().size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bytes = golden();
      bytes[at] ^= static_cast<uint8_t>(1 << bit);
      EXPECT_NE(error_of(bytes), "accepted") << "byte " << at;
      const bool is_weight = at >= kWeightsAt && at < kWeightsAt + kWeightsSize;
      std::string error;
      EXPECT_EQ(parses(bytes, Verify::kAlways, &error), is_weight) << "byte " << at;
    }
  }
}

struct Mutation {
  size_t at;
  size_t width;
  uint64_t value;
  std::string error;
};

TEST(Envelope, NamesBothValuesWhenTheHeaderIsWrong) {
  const Mutation mutations[] = {
      {0, 8, 0x0807060504030201, "magic 01 02 03 04 05 06 07 08; expected 89 45 54 42 0d 0a 1a 0a"},
      {8, 4, 2,
       "version 2; this reader knows version 1: lower the model again, or update the runtime"},
      {8, 4, 0,
       "version 0; this reader knows version 1: lower the model again, or update the runtime"},
      {12, 4, 65, "65 sections; at most 64 fit"},
      {12, 4, 0xffffffff, "4294967295 sections; at most 64 fit"},
      {12, 4, 53, "the table of 53 sections ends at byte 4304; the payload at 4227"},
      {16, 4, 0, "alignment 0; expected a power of two"},
      {16, 4, 48, "alignment 48; expected a power of two"},
      {20, 4, 7, "the header's reserved field is 7; expected 0"},
      {24, 8, 4226, "the header says 4226 bytes; there are 4227"},
      {24, 8, ~uint64_t{0}, "the header says 18446744073709551615 bytes; there are 4227"},
  };
  for (const Mutation& mutation : mutations) {
    Bytes bytes = golden();
    store(bytes, mutation.at, mutation.width, mutation.value);
    seal(bytes);
    EXPECT_EQ(error_of(bytes), "payload: " + mutation.error);
  }
}

TEST(Envelope, NamesBothValuesWhenTheTableIsWrong) {
  constexpr uint64_t kHuge = ~uint64_t{0};
  const Mutation mutations[] = {
      {entry(0) + 24, 8, 0, "section 'target' starts at byte 0; what precedes it ends at 384"},
      {entry(0) + 24, 8, 385, "section 'target' starts at byte 385; expected a multiple of 64"},
      {entry(3) + 24, 8, 4096,
       "section 'a_name_of_24_characters!' starts at byte 4096; what precedes it ends at 4196"},
      {entry(2) + 24, 8, 4160,
       "section 'weights' starts at byte 4160; expected a multiple of 4096"},
      {entry(2) + 24, 8, kHuge - 4095,
       "section 'weights' has 100 bytes at byte 18446744073709547520; the payload has 4227"},
      {entry(0) + 24, 8, kHuge - 63,
       "section 'target' has 28 bytes at byte 18446744073709551552; the payload has 4227"},
      {entry(0) + 32, 8, kHuge,
       "section 'target' has 18446744073709551615 bytes at byte 384; the payload has 4227"},
      {entry(0) + 32, 8, kHuge - 383,
       "section 'target' has 18446744073709551232 bytes at byte 384; the payload has 4227"},
      {entry(0) + 32, 8, 4227 - 384 + 1,
       "section 'target' has 3844 bytes at byte 384; the payload has 4227"},
      {entry(0) + 32, 8, 65, "section 'empty' starts at byte 448; what precedes it ends at 449"},
      {entry(0) + 32, 8, 27, "byte 411 in front of section 'empty' is 10; expected 0"},
      {entry(3) + 32, 8, 2, "the last section ends at byte 4226; the payload at 4227"},
      {entry(1) + 40, 4, 2, "section 'empty' has flags 2; version 1 knows 1 only"},
      {entry(1) + 44, 4, 9, "section 'empty' has 9 in its reserved field; expected 0"},
      {entry(1) + 40, 4, 1, "section 'empty' starts at byte 448; expected a multiple of 4096"},
      {entry(1), 8, 0x0000746567726174 /* "target" */,
       "section 'target' occurs twice; expected once"},
      {entry(1), 8, 0,
       "section 1 is called 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "
       "00; expected printable ASCII and then zeros"},
      {entry(1), 8, 0x6100000079,
       "section 1 is called 79 00 00 00 61 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "
       "00; expected printable ASCII and then zeros"},
      {entry(1), 8, 0x80,
       "section 1 is called 80 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "
       "00; expected printable ASCII and then zeros"},
      {16, 4, 4096, "section 'target' starts at byte 384; expected a multiple of 4096"},
  };
  for (const Mutation& mutation : mutations) {
    Bytes bytes = golden();
    store(bytes, mutation.at, mutation.width, mutation.value);
    seal(bytes);
    EXPECT_EQ(error_of(bytes), "payload: " + mutation.error);
  }
}

TEST(Envelope, NamesBothChecksums) {
  Bytes bytes = golden();
  bytes[33] ^= 1;
  EXPECT_NE(error_of(bytes).find("; the header says "), std::string::npos);
  bytes = golden();
  bytes[384] ^= 1;
  EXPECT_EQ(error_of(bytes).rfind("payload: section 'target' has SHA-256 ", 0), 0u);
  EXPECT_NE(error_of(bytes).find("; the table says "), std::string::npos);
}

// Several random changes behind a right checksum: never a read outside, and what is accepted has
// its sections inside the payload (parses() looks at both).
TEST(Envelope, SurvivesRandomTables) {
  std::mt19937_64 random(3);
  const uint64_t interesting[] = {0,    1,          64,         384,   4096,
                                  4227, 1ull << 32, 1ull << 63, ~0ull, ~0ull - 63};
  size_t accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes = golden();
    for (uint64_t changes = random() % 3; changes-- != 0;) {
      const size_t field = entry(random() % 4) + 24 + 8 * (random() % 2);
      const uint64_t value = interesting[random() % std::size(interesting)];
      store(bytes, field, 8, value + (random() % 4 == 0 ? random() % 64 : 0));
    }
    seal(bytes);
    std::string error;
    accepted += parses(bytes, Verify::kAlways, &error);
  }
  EXPECT_GT(accepted, 1000u);   // the unchanged ones at least
  EXPECT_LT(accepted, 19000u);  // and most of the changed ones are refused
}

}  // namespace
}  // namespace executorch_backends::payload
