/// Payloads of the OpenVINO delegate, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "executorch_backends/common/payload/testing/payload_builder.h"

namespace executorch_backends::openvino::testing {

using executorch_backends::testing::append;
using executorch_backends::testing::build_envelope;
using executorch_backends::testing::Built;
using executorch_backends::testing::io_section;
using executorch_backends::testing::IoValue;
using executorch_backends::testing::kSameAsInput;
using executorch_backends::testing::kSameAsOutput;
using executorch_backends::testing::NamedSection;
using executorch_backends::testing::put_digest;

inline std::string weights_section(const std::string& weights, const std::string& key) {
  return executorch_backends::testing::named_data_section(weights, key);
}

inline std::string blob_section(uint64_t offset, uint64_t size) {
  std::string text;
  append<uint32_t>(&text, 1);
  append<uint32_t>(&text, 0);
  append<uint64_t>(&text, offset);
  append<uint64_t>(&text, size);
  return text;
}

/// The section `code` for these {offset, size} of a blob.
inline std::string code_section(const std::string& blob,
                                const std::vector<std::pair<uint64_t, uint64_t>>& ranges) {
  std::string text, hashed;
  append<uint32_t>(&text, 1);
  append<uint32_t>(&text, static_cast<uint32_t>(ranges.size()));
  for (const auto& [offset, size] : ranges) {
    append<uint64_t>(&text, offset);
    append<uint64_t>(&text, size);
    if (offset < blob.size()) hashed += blob.substr(offset, size);
  }
  const size_t at = text.size();
  text.resize(at + 32);
  put_digest(&text, at, hashed);
  return text;
}

inline std::string target_section(const std::string& version, const std::string& device = "CPU",
                                  const std::string& blob_device = "CPU") {
  return "backend=openvino\nblob_device=" + blob_device + "\ndevice=" + device +
         "\nisa=any\nopenvino=" + version + "\n";
}

constexpr char kWeightsKey[] = "weights";

/// What a test changes of an intact program.
struct Recipe {
  std::string ir;
  std::string weights;  // none where it is empty
  // Where the blob is in the weights; no blob where its size is 0.
  std::pair<uint64_t, uint64_t> blob = {0, 0};
  std::string target;
  std::vector<IoValue> inputs;
  std::vector<IoValue> outputs;

  std::vector<NamedSection> sections() const {
    std::vector<NamedSection> all = {
        {"target", target}, {"io", io_section(inputs, outputs)}, {"ir", ir}};
    if (!weights.empty()) all.emplace_back("weights", weights_section(weights, kWeightsKey));
    if (blob.second != 0) {
      const std::string bytes = weights.substr(blob.first, blob.second);
      all.emplace_back("blob", blob_section(blob.first, blob.second));
      all.emplace_back("code", code_section(bytes, {{0, bytes.size()}}));
    }
    return all;
  }

  Built build() const { return built(sections()); }
  /// With other sections, and the same weights.
  Built built(const std::vector<NamedSection>& all) const {
    return {build_envelope(all), {{kWeightsKey, weights}}};
  }
};

}  // namespace executorch_backends::openvino::testing
