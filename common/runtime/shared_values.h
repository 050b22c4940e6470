/// What handles have in common.
#pragma once

#include <executorch/runtime/core/error.h>

#include <iterator>
#include <map>
#include <memory>
#include <mutex>

#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::runtime {

/// Values by what makes them equal: made by the first who asks, gone with the last who has one.
/// Objects of it are never destroyed, since handles may be freed after statics are.
template <typename Key, typename Value>
class SharedValues {
 public:
  /// The value of `key`, which `make(&value)` makes unless it is alive; what it returns but Ok is
  /// returned. One caller at a time makes it, and the others wait; other keys are not held up.
  template <typename Make>
  executorch::runtime::Error get(const Key& key, Make&& make, std::shared_ptr<Value>* out) {
    const std::shared_ptr<Slot> slot = slot_of(key);
    std::lock_guard<std::mutex> lock(slot->mutex);
    *out = slot->value.lock();
    if (*out != nullptr) return executorch::runtime::Error::Ok;
    ETB_TRY(make(out));
    slot->value = *out;
    return executorch::runtime::Error::Ok;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::weak_ptr<Value> value;
  };

  std::shared_ptr<Slot> slot_of(const Key& key) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto slot = slots_.begin(); slot != slots_.end();) {
      slot = is_unused(slot->second) ? slots_.erase(slot) : std::next(slot);
    }
    std::shared_ptr<Slot>& slot = slots_[key];
    if (slot == nullptr) slot = std::make_shared<Slot>();
    return slot;
  }

  static bool is_unused(const std::shared_ptr<Slot>& slot) {
    if (slot.use_count() != 1) return false;
    // Nobody but us has it; the lock lets us see what those before have done.
    std::lock_guard<std::mutex> lock(slot->mutex);
    return slot->value.expired();
  }

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Slot>> slots_;
};

}  // namespace executorch_backends::runtime
