/// One case through the delegate: init, calls, destroy.
#pragma once

#include <string>

#include "executorch_backends/common/runtime/fuzz/random.h"
#include "executorch_backends/openvino/runtime/fuzz/case.h"
#include "executorch_backends/openvino/runtime/testing/delegate_fixture.h"

namespace executorch_backends::openvino::fuzz {

using executorch_backends::fuzz::Random;

/// How far a case came, and what it should not have done; no failure where that is empty.
struct Outcome {
  bool validated = false;  // the payload's checks passed it
  bool reached = false;    // OpenVINO was given the model
  bool loaded = false;
  int calls = 0;
  int executed = 0;  // calls that returned Ok
  std::string failure;
  std::string log;  // of what failed last
};

/// The parts of a trial that are not the payload.
struct Setting {
  bool fake = true;  // its results are known, and its objects are counted
  bool vary = true;  // options and calls; else calls that fit, of which one has to run
};

class Trial {
 public:
  explicit Trial(Setting setting);
  Outcome run(const Case& tried, Random* random);

 private:
  bool read(const Case& tried, Payload* like, Payload* declared, Outcome* outcome) const;
  void call(const testing::DelegateDriver::Handle& handle, const Case& tried,
            const Payload& declared, Random* random, Outcome* outcome);

  Setting setting_;
  testing::DelegateDriver driver_;
};

}  // namespace executorch_backends::openvino::fuzz
