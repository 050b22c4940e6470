#include "executorch_backends/aoti/runtime/random_state.h"

#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace executorch_backends::aoti {

struct RandomState::Count {
  uint64_t handles = 0;
};

RandomState::RandomState(const void* program, const payload::Digest& code, uint64_t seed) {
  using Counts = std::map<std::pair<const void*, payload::Digest>, std::weak_ptr<Count>>;
  static auto* const mutex = new std::mutex;
  static auto* const counts = new Counts;  // reachable for ever: handles may outlive statics
  std::lock_guard<std::mutex> lock(*mutex);
  for (auto count = counts->begin(); count != counts->end();) {
    count = count->second.expired() ? counts->erase(count) : std::next(count);
  }
  auto& known = (*counts)[{program, code}];
  count_ = known.lock();
  if (count_ == nullptr) known = count_ = std::make_shared<Count>();

  struct {
    payload::Digest code;
    uint64_t numbers[2];
  } start = {code, {seed, count_->handles++}};
  const payload::Digest mixed = payload::sha256(&start, sizeof(start));
  std::memcpy(&number, mixed.data(), sizeof(number));
}

}  // namespace executorch_backends::aoti
