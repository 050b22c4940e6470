#include "executorch_backends/common/payload/io_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace executorch_backends::payload {
namespace {

using executorch::aten::ScalarType;

template <typename Number>
void append(std::string* text, Number number) {
  text->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

struct Row {
  uint32_t dtype = 6;
  std::vector<Bounds> bounds = {{2, 2}, {1, -1}};
  std::vector<uint32_t> order = {1, 0};
  uint32_t flags = 0;  // beside the right one for the bounds, which is flipped by 1
  uint32_t source = 0;
};

std::string table_of(uint32_t version, const std::vector<Row>& inputs,
                     const std::vector<Row>& outputs) {
  std::string text;
  append(&text, version);
  append(&text, static_cast<uint32_t>(inputs.size()));
  append(&text, static_cast<uint32_t>(outputs.size()));
  for (const auto* rows : {&inputs, &outputs}) {
    for (const Row& row : *rows) {
      append(&text, row.dtype);
      append(&text, static_cast<uint32_t>(row.bounds.size()));
      bool dynamic = false;
      for (const Bounds& bounds : row.bounds) dynamic = dynamic || bounds.min != bounds.max;
      append(&text, row.flags ^ uint32_t{dynamic});
      append(&text, row.source);
      for (const Bounds& bounds : row.bounds) {
        append(&text, bounds.min);
        append(&text, bounds.max);
      }
      for (const uint32_t dimension : row.order) append(&text, dimension);
    }
  }
  return text;
}

bool parse(const std::string& bytes, IoTable* out, std::string* error) {
  return IoTable::parse({"io", reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, out,
                        error);
}

void expect_refused(const std::string& bytes, const std::string& part) {
  IoTable table;
  table.inputs.resize(7);
  std::string error;
  EXPECT_FALSE(parse(bytes, &table, &error)) << part;
  EXPECT_NE(error.find(part), error.npos) << "'" << part << "' is not in: " << error;
  EXPECT_EQ(table.inputs.size(), 7u) << "touched";
}

TEST(IoTable, SaysWhatEachValueIs) {
  const Row integer{255, {}, {}};
  const Row same{6, {{2, 2}, {1, -1}}, {0, 1}, 2, 0};
  IoTable table;
  std::string error;
  ASSERT_TRUE(parse(table_of(2, {Row{}, integer}, {Row{}, same}), &table, &error)) << error;
  ASSERT_EQ(table.inputs.size(), 2u);
  EXPECT_EQ(table.inputs[0].type, ScalarType::Float);
  EXPECT_TRUE(table.inputs[0].dynamic());
  EXPECT_EQ(table.inputs[0].dim_order, (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(text_of(table.inputs[0].dims), "[2, 1..any]");
  EXPECT_TRUE(table.inputs[1].symbolic_integer);
  EXPECT_EQ(table.inputs[1].type, ScalarType::Long);
  ASSERT_EQ(table.outputs.size(), 2u);
  EXPECT_TRUE(table.outputs[0].computed());
  EXPECT_EQ(table.outputs[1].same_as_input, size_t{0});
}

TEST(IoTable, EveryCutIsAnError) {
  const std::string good = table_of(2, {Row{}}, {Row{}});
  for (size_t size = 0; size < good.size(); ++size) {
    expect_refused(good.substr(0, size), size < 12 ? "12 are the least" : "ends inside value");
  }
  expect_refused(good + "x", "1 bytes after");
}

TEST(IoTable, NumbersThatMakeNoSenseAreNamed) {
  const auto refused = [](const Row& row, const std::string& part) {
    expect_refused(table_of(2, {row}, {}), part);
  };
  expect_refused(table_of(3, {}, {}), "version 3");
  refused({99}, "dtype 99");
  refused({254}, "dtype 254");
  refused({256 + 6}, "dtype 262");
  refused({255, {{1, 1}}, {0}}, "int of rank 1");
  refused({6, {{3, 2}}, {0}}, "bounds 3 to 2");
  refused({6, {{-1, 2}}, {0}}, "bounds -1 to 2");
  refused({6, {{1, -2}}, {0}}, "bounds 1 to -2");
  refused({6, std::vector<Bounds>(17)}, "rank 17");
  refused({6, {{1, 1}, {1, 1}}, {0, 0}}, "dim order of value 0");
  refused({6, {{1, 1}, {1, 1}}, {0, 2}}, "dim order of value 0");
  refused({6, {{1, 1}, {1, 1}}, {0, 0x80000001}}, "dim order of value 0");
  refused({6, {}, {}, 2}, "flags 0x2");
  refused({6, {{1, 2}}, {0}, 1}, "flags 0, and bounds [1..2]");
  refused({6, {{2, 2}}, {0}, 1}, "flags 0x1, and bounds [2]");
  refused({6, {}, {}, 0, 1}, "source 1");
  std::string many = table_of(2, {}, {});
  many[6] = 2;
  expect_refused(many, "131072 inputs");
}

TEST(IoTable, AnAliasIsOfAValueLikeIt) {
  const auto refused = [](const Row& output, const std::string& part) {
    expect_refused(table_of(2, {Row{}, {255, {}, {}}}, {output}), part);
  };
  const std::vector<Bounds> dims = Row{}.bounds;
  refused({6, dims, {0, 1}, 2, 2}, "input 2");
  refused({6, dims, {0, 1}, 2, 1}, "an int of rank 0");
  refused({6, dims, {0, 1}, 4, 0}, "0 to choose from");
  refused({6, dims, {0, 1}, 6, 0}, "flags 0x7");
  refused({6, dims, {0, 1}, 8, 0}, "flags 0x9");
  refused({6, dims, {0, 1}, 0, 1}, "names value 1");
  refused({7, dims, {0, 1}, 2, 0}, "Double of rank 2");
  refused({6, {{1, 1}}, {0}, 2, 0}, "rank 1");
}

}  // namespace
}  // namespace executorch_backends::payload
