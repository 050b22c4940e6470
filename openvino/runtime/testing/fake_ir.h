/// What the fake OpenVINO knows of a model: its inputs and outputs.
#pragma once

#include <openvino/c/ov_common.h>
#include <openvino/c/ov_dimension.h>

#include <cstddef>
#include <string_view>
#include <vector>

struct FakePort {
  ov_element_type_e type = F32;
  std::vector<ov_dimension_t> dims;
  size_t tensor = 0;  // ports of one number share a tensor, as a result does that is an input

  bool dynamic() const;
  bool allows(ov_element_type_e other, const std::vector<int64_t>& shape) const;
};

struct FakeModel {
  std::vector<FakePort> inputs;
  std::vector<FakePort> outputs;
  size_t tensors = 0;

  bool is_input(size_t tensor) const;
};

/// Reads Parameters, Results, and the edges to these from an IR in XML, and no other layers. False
/// where the text has none, where their numbers are none, or where two have one id; the text can be
/// anything.
bool read_fake_ir(std::string_view text, FakeModel* out);

/// Bytes of an element, 0 where they are no whole number or the type is unknown.
size_t fake_item_size(ov_element_type_e type);
