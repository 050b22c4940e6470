#include "executorch_backends/aoti/runtime/random_state.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "executorch_backends/common/runtime/shared_values.h"

namespace executorch_backends::aoti {

struct RandomState::Count {
  std::atomic<uint64_t> handles{0};
};

RandomState::RandomState(const void* program, const payload::Digest& code, uint64_t seed) {
  using Counts = runtime::SharedValues<std::pair<const void*, payload::Digest>, Count>;
  static auto* const counts = new Counts;
  const auto make = [](std::shared_ptr<Count>* out) {
    *out = std::make_shared<Count>();
    return executorch::runtime::Error::Ok;
  };
  (void)counts->get({program, code}, make, &count_);  // which cannot fail

  struct {
    payload::Digest code;
    uint64_t numbers[2];
  } start = {code, {seed, count_->handles++}};
  const payload::Digest mixed = payload::sha256(&start, sizeof(start));
  std::memcpy(&number, mixed.data(), sizeof(number));
}

}  // namespace executorch_backends::aoti
