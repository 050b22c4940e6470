/// What a program, when it was lowered, and its caller, when it is loaded, ask of the delegate.
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/error.h>

#include <string>
#include <utility>
#include <vector>

namespace executorch_backends::openvino {

/// OpenVINO's name of a property and its value.
using Properties = std::vector<std::pair<std::string, std::string>>;

struct Options {
  /// Which of the payload's models is used.
  enum class Compile {
    kAuto,    // the compiled blob where it runs, else the IR
    kAlways,  // the IR
    kNever,   // the blob, or an error
  };

  std::string device;   // empty: the payload's
  std::string library;  // path of OpenVINO's C library; empty: wherever it is found
  Compile compile = Compile::kAuto;
  std::string cache_dir;         // where OpenVINO keeps what it compiles from IR
  std::string performance_hint;  // as OpenVINO spells it, `LATENCY`
  int threads = 0;               // 0: OpenVINO's choice
  int streams = 0;
  bool give_back = false;  // mapped weights leave memory after init; a later read maps them anew
  bool profile = false;    // OpenVINO's times of each layer, for an event tracer

  /// Those that OpenVINO is told. A blob has been compiled: `cache_dir` is nothing to it.
  Properties properties(bool for_blob) const;
};

/// The compile specs of the program, then the runtime's options, which win. Logs and returns
/// InvalidArgument for an option that does not exist or a value that it cannot have.
executorch::runtime::Error read_options(
    executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> compile_specs,
    executorch::runtime::Span<const executorch::runtime::BackendOption> runtime_options,
    Options* out);

}  // namespace executorch_backends::openvino
