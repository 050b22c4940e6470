#include "executorch_backends/common/payload/io_table.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include <cstdarg>
#include <cstdio>
#include <utility>

#include "executorch_backends/common/payload/sections.h"

namespace executorch_backends::payload {
namespace {

using executorch::aten::ScalarType;

constexpr uint32_t kVersion = 2;
constexpr uint32_t kSymbolicInteger = 255;
constexpr uint32_t kMaxRank = 16;
constexpr uint32_t kMaxValues = 1 << 16;

enum Flag : uint32_t { kDynamic = 1, kSameAsInput = 2, kSameAsOutput = 4 };

/// Reads a table into `table`, and says what is wrong with it in `error`.
class Parser {
 public:
  Parser(const Section& section, IoTable* table, std::string* error)
      : size_(section.size), reader_(section), table_(table), error_(error) {}

  bool parse() {
    uint32_t version = 0, inputs = 0, outputs = 0;
    if (!reader_.read(&version) || !reader_.read(&inputs) || !reader_.read(&outputs)) {
      return fail("the payload's io table has %zu bytes; 12 are the least", size_);
    }
    if (version != kVersion) {
      return fail(
          "the payload's io table has version %u, and this delegate reads %u; lower again, or "
          "update executorch_backends",
          version, kVersion);
    }
    if (inputs > kMaxValues || outputs > kMaxValues) {
      return fail("the payload's io table has %u inputs and %u outputs; %u are the most", inputs,
                  outputs, kMaxValues);
    }
    for (size_t i = 0; i < size_t{inputs} + outputs; ++i) {
      if (!value(i, i < inputs)) return false;
    }
    if (reader_.left() != 0) {
      return fail("the payload's io table goes on for %zu bytes after its last value",
                  reader_.left());
    }
    return true;
  }

 private:
  bool fail(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    *error_ = text;
    return false;
  }
  bool ends(size_t index) { return fail("the payload's io table ends inside value %zu", index); }

  /// Value `index`, counted over inputs and outputs.
  bool value(size_t index, bool input) {
    Value value;
    uint32_t dtype = 0, rank = 0, flags = 0, source = 0;
    if (!reader_.read(&dtype) || !reader_.read(&rank) || !reader_.read(&flags) ||
        !reader_.read(&source)) {
      return ends(index);
    }
    if (rank > kMaxRank) {
      return fail("value %zu of the payload's io table has rank %u; %u is the most", index, rank,
                  kMaxRank);
    }
    if (dtype == kSymbolicInteger) {
      value.symbolic_integer = true;
      if (rank != 0) {
        return fail("value %zu of the payload's io table is an int of rank %u", index, rank);
      }
    } else if (dtype < static_cast<uint32_t>(ScalarType::Undefined)) {
      value.type = static_cast<ScalarType>(dtype);
    } else {
      return fail(
          "value %zu of the payload's io table has dtype %u, which is none of ExecuTorch's %d",
          index, dtype, static_cast<int>(ScalarType::Undefined));
    }
    for (uint32_t d = 0; d < rank; ++d) {
      Bounds bounds;
      if (!reader_.read(&bounds.min) || !reader_.read(&bounds.max)) return ends(index);
      if (bounds.min < 0 || (bounds.max != -1 && bounds.max < bounds.min)) {
        return fail("value %zu of the payload's io table has bounds %lld to %lld in dimension %u",
                    index, static_cast<long long>(bounds.min), static_cast<long long>(bounds.max),
                    d);
      }
      value.dims.push_back(bounds);
    }
    if (((flags & kDynamic) != 0) != value.dynamic()) {
      return fail("value %zu of the payload's io table has flags %#x, and bounds %s", index, flags,
                  text_of(value.dims).c_str());
    }
    uint32_t seen = 0;
    for (uint32_t d = 0; d < rank; ++d) {
      uint32_t dimension = 0;
      if (!reader_.read(&dimension)) return ends(index);
      if (dimension < rank) seen |= uint32_t{1} << dimension;
      value.dim_order.push_back(static_cast<uint8_t>(dimension));
    }
    if (seen != (uint32_t{1} << rank) - 1) {
      return fail(
          "the dim order of value %zu of the payload's io table is no order of its %u dimensions",
          index, rank);
    }
    if (!input) return output(flags, source, std::move(value));
    if ((flags & ~uint32_t{kDynamic}) != 0 || source != 0) {
      return fail(
          "input %zu of the payload's io table has flags %#x and source %u, which only an output "
          "has",
          index, flags, source);
    }
    table_->inputs.push_back(std::move(value));
    return true;
  }

  /// `source` is the other value, where the flags say that there is one.
  bool output(uint32_t flags, uint32_t source, Value value) {
    constexpr uint32_t kBoth = kSameAsInput | kSameAsOutput;
    const size_t index = table_->outputs.size();
    if ((flags & ~(kDynamic | kBoth)) != 0) {
      return fail(
          "output %zu of the payload's io table has flags %#x, and this delegate knows 0x7; lower "
          "again, or update executorch_backends",
          index, flags);
    }
    if ((flags & kBoth) == 0 && source != 0) {
      return fail(
          "output %zu of the payload's io table is computed, and names value %u as its "
          "source",
          index, source);
    }
    if ((flags & kBoth) != 0 && !alias((flags & kBoth) != kBoth, flags, source, &value)) {
      return false;
    }
    table_->outputs.push_back(std::move(value));
    return true;
  }

  bool alias(bool one, uint32_t flags, uint32_t source, Value* value) {
    const size_t index = table_->outputs.size();
    const bool input = (flags & kSameAsInput) != 0;
    const std::vector<Value>& others = input ? table_->inputs : table_->outputs;
    const char* kind = input ? "input" : "output";
    if (!one || source >= others.size()) {
      return fail(
          "output %zu of the payload's io table is said to be %s %u, with flags %#x; there are %zu "
          "to choose from",
          index, kind, source, flags, others.size());
    }
    const Value& other = others[source];
    if (other.symbolic_integer || value->symbolic_integer || other.type != value->type ||
        other.dims.size() != value->dims.size()) {
      return fail(
          "output %zu of the payload's io table, %s of rank %zu, is said to be %s %u, %s of rank "
          "%zu",
          index, name(*value), value->dims.size(), kind, source, name(other), other.dims.size());
    }
    (input ? value->same_as_input : value->same_as_output) = source;
    return true;
  }

  static const char* name(const Value& value) {
    return value.symbolic_integer ? "an int" : executorch::runtime::toString(value.type);
  }

  size_t size_;
  Reader reader_;
  IoTable* table_;
  std::string* error_;
};

}  // namespace

std::string text_of(const std::vector<Bounds>& dims) {
  std::string text = "[";
  for (size_t d = 0; d < dims.size(); ++d) {
    text += (d != 0 ? ", " : "") + std::to_string(dims[d].min);
    if (dims[d].max != dims[d].min) {
      text += ".." + (dims[d].max == -1 ? std::string("any") : std::to_string(dims[d].max));
    }
  }
  return text + "]";
}

bool Value::dynamic() const {
  for (const Bounds& bounds : dims) {
    if (bounds.min != bounds.max) return true;
  }
  return false;
}

bool IoTable::parse(const Section& section, IoTable* out, std::string* error) {
  IoTable table;
  if (!Parser(section, &table, error).parse()) return false;
  *out = std::move(table);
  return true;
}

}  // namespace executorch_backends::payload
