#include "executorch_backends/aoti/shims/common/random.h"

#include "executorch_backends/aoti/shims/shims.h"

namespace executorch_backends::aoti {
namespace {

thread_local uint64_t state = 0;

}  // namespace

RandomStream take_random(int64_t count) {
  const RandomStream stream(state);
  state = stream.state_after(count);
  return stream;
}

}  // namespace executorch_backends::aoti

void executorch_backends_aoti_seed(uint64_t state) { executorch_backends::aoti::state = state; }

uint64_t executorch_backends_aoti_random_state() { return executorch_backends::aoti::state; }
