#include "executorch_backends/openvino/runtime/testing/fake_ir.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>

namespace {

struct Type {
  std::string_view name;       // of a Parameter
  std::string_view precision;  // of a port
  ov_element_type_e type;
  size_t size;
};
constexpr Type kTypes[] = {
    {"boolean", "BOOL", BOOLEAN, 1}, {"u8", "U8", U8, 1},       {"i8", "I8", I8, 1},
    {"u16", "U16", U16, 2},          {"i16", "I16", I16, 2},    {"u32", "U32", U32, 4},
    {"i32", "I32", I32, 4},          {"u64", "U64", U64, 8},    {"i64", "I64", I64, 8},
    {"f16", "FP16", F16, 2},         {"bf16", "BF16", BF16, 2}, {"f32", "FP32", F32, 4},
    {"f64", "FP64", F64, 8},
};

ov_element_type_e type_of(std::string_view text) {
  for (const Type& type : kTypes) {
    if (text == type.name || text == type.precision) return type.type;
  }
  return DYNAMIC;
}

/// What lies from `begin` to `end`, and takes both and all before them off the text.
bool take_between(std::string_view* text, std::string_view begin, std::string_view end,
                  std::string_view* out) {
  const size_t from = text->find(begin);
  if (from == text->npos) return false;
  text->remove_prefix(from + begin.size());
  const size_t to = text->find(end);
  if (to == text->npos) return false;
  *out = text->substr(0, to);
  text->remove_prefix(to + end.size());
  return true;
}

std::string_view attribute(std::string_view tag, const std::string& name) {
  std::string_view value;
  const bool first = tag.substr(0, name.size() + 1) == name + "=";
  return take_between(&tag, (first ? "" : " ") + name + "=\"", "\"", &value) ? value : "";
}

/// `3`, `1..4`, `?` or `-1`.
bool read_dim(std::string_view text, ov_dimension_t* out) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (text == "?" || text == "-1") {
    *out = {0, -1};
    return true;
  }
  const auto read = [](std::string_view digits, int64_t* number) {
    const auto [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), *number);
    return problem == std::errc() && end == digits.data() + digits.size() && *number >= 0;
  };
  const size_t dots = text.find("..");
  if (dots == text.npos) {
    if (!read(text, &out->min)) return false;
    out->max = out->min;
    return true;
  }
  return read(text.substr(0, dots), &out->min) && read(text.substr(dots + 2), &out->max) &&
         out->min <= out->max;
}

bool read_parameter(std::string_view body, FakePort* out) {
  std::string_view data;
  if (!take_between(&body, "<data", ">", &data)) return false;
  out->type = type_of(attribute(data, "element_type"));
  std::string_view shape = attribute(data, "shape");
  while (!shape.empty()) {
    const size_t comma = std::min(shape.find(','), shape.size());
    out->dims.emplace_back();
    if (!read_dim(shape.substr(0, comma), &out->dims.back())) return false;
    shape.remove_prefix(std::min(comma + 1, shape.size()));
  }
  return true;
}

bool read_result(std::string_view body, FakePort* out) {
  std::string_view port, dim;
  const std::string_view head = body;
  if (!take_between(&body, "<port", ">", &port)) return false;
  out->type = type_of(attribute(port, "precision"));
  if (port.empty() || port.back() == '/') return true;
  std::string_view dims = body.substr(0, std::min(body.find("</port>"), head.size()));
  while (take_between(&dims, "<dim>", "</dim>", &dim)) {
    out->dims.emplace_back();
    if (!read_dim(dim, &out->dims.back())) return false;
  }
  return true;
}

}  // namespace

bool FakePort::dynamic() const {
  return std::any_of(dims.begin(), dims.end(), [](const auto& dim) { return dim.min != dim.max; });
}

bool FakePort::allows(ov_element_type_e other, const std::vector<int64_t>& shape) const {
  const auto in_bounds = [](const ov_dimension_t& dim, int64_t size) {
    return size >= dim.min && (dim.max == -1 || size <= dim.max);
  };
  return other == type &&
         std::equal(dims.begin(), dims.end(), shape.begin(), shape.end(), in_bounds);
}

bool FakeModel::is_input(size_t tensor) const {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const FakePort& port) { return port.tensor == tensor; });
}

size_t fake_item_size(ov_element_type_e type) {
  for (const Type& known : kTypes) {
    if (known.type == type) return known.size;
  }
  return 0;
}

bool read_fake_ir(std::string_view text, FakeModel* out) {
  std::map<std::string, std::string> sources;  // of layers that have one, by their id
  std::string_view edges = text, edge;
  while (take_between(&edges, "<edge ", ">", &edge)) {
    sources[std::string(attribute(edge, "to-layer"))] = std::string(attribute(edge, "from-layer")) +
                                                        ":" +
                                                        std::string(attribute(edge, "from-port"));
  }
  std::map<std::string, size_t> tensors;
  const auto tensor = [&](const std::string& source) {
    return tensors.emplace(source, tensors.size()).first->second;
  };
  std::set<std::string> ids;
  std::string_view layers = text, layer;
  while (take_between(&layers, "<layer ", "</layer>", &layer)) {
    const size_t end = std::min(layer.find('>'), layer.size());
    const std::string_view head = layer.substr(0, end), body = layer.substr(end);
    const std::string id(attribute(head, "id"));
    if (!ids.insert(id).second) return false;
    FakePort port;
    if (attribute(head, "type") == "Parameter") {
      if (!read_parameter(body, &port)) return false;
      port.tensor = tensor(id + ":0");
      out->inputs.push_back(std::move(port));
    } else if (attribute(head, "type") == "Result") {
      if (!read_result(body, &port)) return false;
      port.tensor = tensor(sources[id]);
      out->outputs.push_back(std::move(port));
    }
  }
  out->tensors = tensors.size();
  return !out->outputs.empty();
}
