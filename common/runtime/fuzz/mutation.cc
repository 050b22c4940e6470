#include "executorch_backends/common/runtime/fuzz/mutation.h"

#include <algorithm>
#include <vector>

#include "executorch_backends/common/payload/testing/payload_builder.h"

namespace executorch_backends::fuzz {
namespace {

constexpr size_t kMostBytes = 1 << 16;  // a case does not grow beyond

// Of an envelope's header and table.
constexpr size_t kHeader = 64, kEntry = 80, kCountAt = 12, kTotalAt = 24, kHeaderDigestAt = 32;
constexpr size_t kOffsetAt = 24, kSizeAt = 32, kFlagsAt = 40, kDigestAt = 48, kDigest = 32;

/// Where the records of an io table are; those that its counts and ranks lead to.
struct IoTable {
  struct Record {
    size_t at = 0;
    size_t size = 0;
    uint32_t rank = 0;
  };
  static constexpr size_t kStart = 12, kFixed = 16, kPerDim = 20;

  explicit IoTable(const std::string& bytes) : inputs(number_at<uint32_t>(bytes, 4)) {
    const size_t count = size_t{inputs} + number_at<uint32_t>(bytes, 8);
    for (size_t at = kStart; at + kFixed <= bytes.size() && records.size() < count;) {
      const auto rank = number_at<uint32_t>(bytes, at + 4);
      const size_t size = kFixed + kPerDim * size_t{rank};
      if (size > bytes.size() - at) break;
      records.push_back({at, size, rank});
      at += size;
    }
  }
  uint32_t inputs;
  std::vector<Record> records;
};

}  // namespace

void change_bytes(std::string* bytes, const std::string& other, Random* random) {
  const size_t at = random->below(bytes->size() + 1);
  const size_t length = random->below(std::min<size_t>(bytes->size() - at, 64) + 1);
  switch (random->below(9)) {
    case 0:
    case 1:
      if (at < bytes->size()) (*bytes)[at] ^= static_cast<char>(1 << random->below(8));
      break;
    case 2:
      if (at < bytes->size()) (*bytes)[at] = static_cast<char>(random->next());
      break;
    case 3:
      put(bytes, at & ~size_t{3}, static_cast<uint32_t>(random->number()));
      break;
    case 4:
      put(bytes, at & ~size_t{7}, random->number());
      break;
    case 5:
      bytes->resize(at);
      break;
    case 6:
      bytes->erase(at, length);
      break;
    case 7:
      bytes->insert(at, bytes->substr(at, length));
      break;
    default: {  // a splice
      const size_t from = random->below(other.size() + 1);
      const size_t size = random->one_in(4) ? other.npos : 1 + random->below(200);
      bytes->replace(at, random->one_in(2) ? bytes->npos : length, other.substr(from, size));
    }
  }
  if (bytes->size() > kMostBytes) bytes->resize(kMostBytes);
}

void checksum(std::string* payload) {
  if (payload->size() < kHeader) return;
  const size_t room = (payload->size() - kHeader) / kEntry;
  const size_t count = std::min<size_t>(number_at<uint32_t>(*payload, kCountAt), room);
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = kHeader + i * kEntry;
    const auto offset = number_at<uint64_t>(*payload, entry + kOffsetAt);
    const auto size = number_at<uint64_t>(*payload, entry + kSizeAt);
    if (offset > payload->size() || size > payload->size() - offset) continue;
    testing::put_digest(payload, entry + kDigestAt, payload->substr(offset, size));
  }
  payload->replace(kHeaderDigestAt, kDigest, kDigest, '\0');
  testing::put_digest(payload, kHeaderDigestAt, payload->substr(0, kHeader + count * kEntry));
}

void change_table(std::string* payload, Random* random) {
  const size_t count = number_at<uint32_t>(*payload, kCountAt);
  const size_t entry = kHeader + random->below(std::min<size_t>(count, 64)) * kEntry;
  switch (random->below(10)) {
    case 0:
      put(payload, 8 + 4 * random->below(4), static_cast<uint32_t>(random->number()));
      break;
    case 1:
      put(payload, kTotalAt, payload->size() + random->below(3) - 1);
      break;
    case 2:
      put(payload, entry + kOffsetAt, random->number());
      break;
    case 3:
      put(payload, entry + kSizeAt, random->number());
      break;
    case 4:  // of each other
      put(payload, entry + kSizeAt,
          number_at<uint64_t>(*payload, entry + kSizeAt) + random->below(129) - 64);
      break;
    case 5:
      put(payload, entry + kFlagsAt + 4 * random->below(2),
          static_cast<uint32_t>(random->below(4)));
      break;
    case 6:  // where others are, and aligned as it should be
      put(payload, entry + kOffsetAt, uint64_t{64} * random->below(payload->size() / 64 + 2));
      break;
    case 8:  // an end inside the table
      payload->resize(std::min(payload->size(), kHeader + random->below(count * kEntry + 1)));
      put(payload, kTotalAt, uint64_t{payload->size()});
      break;
    case 7:  // about as much as there is
      put(payload, entry + kSizeAt,
          payload->size() - number_at<uint64_t>(*payload, entry + kOffsetAt) + random->below(3) -
              1);
      break;
    default:
      put(payload, entry + random->below(24), static_cast<char>(random->next()));
  }
}

namespace {

/// Makes the flag of each value right for its bounds.
void mend_flags(std::string* io) {
  for (const IoTable::Record& record : IoTable(*io).records) {
    bool dynamic = false;
    for (uint32_t d = 0; d < record.rank; ++d) {
      const size_t bounds = record.at + IoTable::kFixed + 16 * size_t{d};
      dynamic = dynamic || number_at<uint64_t>(*io, bounds) != number_at<uint64_t>(*io, bounds + 8);
    }
    const auto flags = number_at<uint32_t>(*io, record.at + 8);
    put(io, record.at + 8, (flags & ~uint32_t{1}) | uint32_t{dynamic});
  }
}

void change_value(std::string* io, Random* random) {
  const IoTable table(*io);
  if (table.records.empty() || random->one_in(12)) {
    put(io, 4 * random->below(3), static_cast<uint32_t>(random->number()));
    return;
  }
  const size_t index = random->below(table.records.size());
  const IoTable::Record record = table.records[index];
  const size_t dim = random->below(record.rank);
  const size_t bounds = record.at + IoTable::kFixed + 16 * dim;
  const size_t order = record.at + IoTable::kFixed + 16 * size_t{record.rank};
  const size_t count_at = index < table.inputs ? 4 : 8;
  switch (random->below(12)) {
    case 0:
      put(io, record.at + 4 * random->below(4), static_cast<uint32_t>(random->number()));
      break;
    case 1:
      put(io, record.at, static_cast<uint32_t>(random->one_in(6) ? 255 : random->below(30)));
      break;
    case 2:
      put(io, record.at + 8, static_cast<uint32_t>(random->below(9)));
      put(io, record.at + 12, static_cast<uint32_t>(random->below(5)));
      break;
    case 3:
      if (record.rank != 0) put(io, bounds + 8 * random->below(2), random->number());
      break;
    case 4:  // wider, which is right
      if (record.rank != 0) put(io, bounds, uint64_t{0});
      if (record.rank != 0) put(io, bounds + 8, random->one_in(2) ? ~uint64_t{0} : 1000);
      break;
    case 5:
      if (record.rank != 0) {
        put(io, order + 4 * random->below(record.rank), static_cast<uint32_t>(random->number()));
      }
      break;
    case 6:  // another order
      for (uint32_t d = 0; d < record.rank; ++d) put(io, order + 4 * d, record.rank - 1 - d);
      break;
    case 7:
      io->insert(record.at, io->substr(record.at, record.size));
      change_count(io, count_at, 1);
      break;
    case 8:
      io->erase(record.at, record.size);
      change_count(io, count_at, -1);
      break;
    case 9: {  // more ranks, and sometimes more than there can be
      const auto more = static_cast<uint32_t>(1 + random->below(random->one_in(4) ? 20 : 2));
      put(io, record.at + 4, record.rank + more);
      std::string orders, ones;
      for (uint32_t d = 0; d < more; ++d) {
        testing::append<uint32_t>(&orders, record.rank + d);
        for (int i = 0; i < 2; ++i) testing::append<int64_t>(&ones, 1);
      }
      io->insert(record.at + record.size, orders);
      io->insert(order, ones);
      break;
    }
    case 10: {  // an output that is another value: same type and rank
      if (index < table.inputs) break;
      const bool input = random->one_in(2);
      const size_t others = input ? table.inputs : index - table.inputs;
      if (others == 0) break;
      const size_t source = random->below(others);
      const IoTable::Record& other = table.records[source + (input ? 0 : table.inputs)];
      io->replace(record.at, record.size, io->substr(other.at, other.size));
      put(io, record.at + 8, uint32_t{input ? 2u : 4u});
      put(io, record.at + 12, static_cast<uint32_t>(source));
      break;
    }
    default:
      io->resize(random->below(io->size()));
  }
}

}  // namespace

void change_io(std::string* io, Random* random) {
  change_value(io, random);
  if (!random->one_in(8)) mend_flags(io);
}

}  // namespace executorch_backends::fuzz
