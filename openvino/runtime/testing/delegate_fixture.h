/// The OpenVINO delegate, driven as ExecuTorch does.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "executorch_backends/common/runtime/testing/delegate_driver.h"
#include "executorch_backends/openvino/runtime/testing/payload_builder.h"

namespace executorch_backends::openvino::testing {

namespace et = executorch::runtime;

using executorch_backends::testing::CountedData;
using executorch_backends::testing::OwnedTensor;
using executorch_backends::testing::TestProgram;

class DelegateDriver : public executorch_backends::testing::DelegateDriver {
 public:
  DelegateDriver() : executorch_backends::testing::DelegateDriver("OpenvinoBackend") {}

  using executorch_backends::testing::DelegateDriver::init;
  /// As a program of ours, whose compile specs name its device.
  Handle init(TestProgram* program, std::vector<et::BackendOption> options = {},
              const std::string& device = "CPU") {
    return init(program->buffer(), &program->data(), std::move(options), {{"device", device}});
  }
};

class DelegateTest : public ::testing::Test, public DelegateDriver {
 protected:
  void SetUp() override { ASSERT_NE(delegate(), nullptr); }
};

}  // namespace executorch_backends::openvino::testing
