#include "executorch_backends/aoti/runtime/program.h"

#include "executorch_backends/aoti/shims/shims.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {

using executorch::runtime::Error;

Error Program::run(std::vector<OwnedTensor>* arguments, std::vector<OwnedTensor>* results,
                   bool* random_numbers) {
  executorch_backends_aoti_seed(random.number);
  const Error error =
      container->run(arguments, results, stream != nullptr ? stream->native() : nullptr);
  const uint64_t state = executorch_backends_aoti_random_state();
  *random_numbers = state != random.number;
  random.number = state;
  return error;
}

}  // namespace executorch_backends::aoti
