/// Runtime options of backends, as a program's caller gives them.
#pragma once

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/error.h>

#include <map>
#include <string>
#include <vector>

#include "executorch_backends/common/runtime/program.h"

namespace executorch_backends::runtime {

/// Options as ExecuTorch's map wants them: it points into them and owns none.
class BackendOptionStore {
 public:
  /// Logs and returns InvalidArgument for one that is incomplete, or too long for ExecuTorch.
  executorch::runtime::Error add(const executorch_backends_option& option);
  /// Puts all of them into `map`, which must not outlive this object.
  executorch::runtime::Error fill(executorch::runtime::LoadBackendOptionsMap* map);

 private:
  std::map<std::string, std::vector<executorch::runtime::BackendOption>> options_;
};

}  // namespace executorch_backends::runtime
