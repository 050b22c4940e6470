#include "executorch_backends/aoti/runtime/fuzz/programs.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "executorch_backends/common/runtime/fuzz/mutation.h"

namespace executorch_backends::aoti::fuzz {
namespace {

using executorch_backends::fuzz::change_bytes;
using executorch_backends::fuzz::change_io;
using executorch_backends::fuzz::change_table;
using executorch_backends::fuzz::checksum;
using executorch_backends::fuzz::put;
using testing::build_envelope;
using testing::IoValue;
using testing::kCodeKey;
using testing::kWeightsKey;
using testing::NamedSection;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string numbers(size_t count, Random* random) {
  std::string text;
  for (size_t d = 0; d < count; ++d) {
    if (d != 0) text += ',';
    text += random->one_in(40) ? std::to_string(static_cast<int64_t>(random->number() >> 1))
                               : std::to_string(random->below(5));
  }
  return count == 0 ? "-" : text;
}

std::string any_output(Random* random) {
  static const char* const kKinds[] = {"buffer", "buffer", "buffer", "same", "same",    "input 0",
                                       "size",   "random", "calls",  "none", "input 1", "late"};
  const size_t rank = random->below(5);
  std::string line = std::string("output ") + random->pick(kKinds) + " " + numbers(rank, random);
  line += " " + numbers(random->one_in(20) ? random->below(5) : rank, random);
  return line + " " + numbers(1, random);
}

void change_script(std::string* script, Random* random) {
  static const char* const kStatements[] = {"fail run it",   "fail early it", "fail create it",
                                            "ignore it",     "throw it",      "fail delete it",
                                            "sync",          "inputs 0",      "inputs 2",
                                            "constants 3 1", "folded 9",      "fail constants it",
                                            "constants 0",   "fail share it", "throw"};
  std::vector<std::string> lines = lines_of(*script);
  std::string& line = random->pick(lines);
  switch (random->below(8)) {
    case 0:
      lines.emplace_back(random->pick(kStatements));
      break;
    case 1:
      lines.push_back(any_output(random));
      break;
    case 2:
      line.clear();
      break;
    case 3:
      lines.push_back(std::string(line));
      break;
    default:
      if (line.compare(0, 7, "output ") == 0) line = any_output(random);
  }
  script->clear();
  for (const std::string& each : lines) *script += each + "\n";
}

void change_target(std::string* target, Random* random) {
  static const char* const kLines[] = {"isa=avx512",
                                       "isa=native:avx2",
                                       "isa=native:,,",
                                       "isa=",
                                       "isa=native:%n%s",
                                       "shims=2",
                                       "shims=",
                                       "device=cuda",
                                       "device=",
                                       "\n",
                                       "backend=AOTI",
                                       "torch=3",
                                       "=",
                                       "isa=native:avx2,avx,fma"};
  if (random->one_in(4)) return change_bytes(target, *target, random);
  std::vector<std::string> lines = lines_of(*target);
  if (!lines.empty()) random->pick(lines) = random->pick(kLines);
  target->clear();
  for (const std::string& each : lines) *target += each + "\n";
}

void change_named_data(std::string* section, std::map<std::string, std::string>* data,
                       const std::string& key, Random* random) {
  switch (random->below(7)) {
    case 0:
      put(section, 4 * random->below(2), static_cast<uint32_t>(random->number()));
      break;
    case 1:
      put(section, 8, random->number());
      break;
    case 2:
      put(section, 16 + random->below(32), static_cast<char>(random->next()));
      break;
    case 3:
      section->resize(random->below(section->size() + 1));
      break;
    case 4:
      *section += random->one_in(2) ? "x" : std::string(1, '\0');
      break;
    case 5:
      data->erase(key);
      break;
    default:  // other data of another size, which is said
      if (key != kWeightsKey) break;
      (*data)[key].resize(random->below(40));
      *section = testing::named_data_section((*data)[key], key);
  }
}

void change_sections(std::vector<NamedSection>* sections, Random* random) {
  const size_t at = random->below(sections->size());
  switch (random->below(4)) {
    case 0:
      sections->erase(sections->begin() + static_cast<ptrdiff_t>(at));
      break;
    case 1:
      std::swap((*sections)[at], random->pick(*sections));
      break;
    case 2:
      (*sections)[at].second.clear();
      break;
    default:
      (*sections)[at].first = random->one_in(2) ? "unknown" : std::string(24, 'n');
  }
}

IoValue tensor(const std::vector<int64_t>& sizes, uint32_t dtype = 6) {
  IoValue value{dtype, {}};
  for (const int64_t size : sizes) value.bounds.emplace_back(size, size);
  return value;
}

}  // namespace

std::vector<Recipe> seeds() {
  const IoValue integer{255, {}};
  const IoValue rows{6, {{1, 9}, {3, 3}}};
  return {
      Recipe{},
      testing::program("inputs 1\noutput buffer 3,2 1,3 0\noutput same 2,2 0,1 1\n",
                       {tensor({2, 3})}, {tensor({3, 2}), tensor({2, 2})}),
      testing::program("inputs 1\noutput buffer s,3 3,1 0\noutput size\n", {rows}, {rows, integer}),
      testing::program("inputs 1\noutput input 0 3,2 1,3 0\noutput input 0 2,3 3,1 0\n",
                       {tensor({2, 3})}, {tensor({3, 2}), tensor({2, 3})}),
      testing::program("inputs 2\noutput input 0 - - 0\noutput input 1 2,2 2,1 0\n",
                       {integer, tensor({2, 2}, 4)}, {integer, tensor({2, 2}, 4)}),
      testing::program("inputs 1\noutput buffer 1,2,2,2 8,1,4,2 0\noutput same - - 3\n"
                       "output buffer 0,3 3,1 0\n",
                       {tensor({1, 2, 2, 2})}, {tensor({1, 2, 2, 2}), tensor({}), tensor({0, 3})}),
      testing::program("inputs 1\noutput buffer 2,3 3,1 0\noutput late\n", {tensor({2, 3})},
                       {tensor({2, 3}), integer}),
      {"inputs 1\nconstants 64 3 0\nfolded 8\noutput buffer 2,3 3,1 0\n",
       {tensor({2, 3})},
       {tensor({2, 3})},
       std::string(67, '\7')},
      testing::program("inputs 1\noutput input 0 2,3 3,1 0\noutput again\noutput again\n",
                       {tensor({2, 3})}, {tensor({2, 3}), tensor({2, 3}), tensor({2, 3})}),
      testing::program("inputs 1\noutput input 0 4 1 0\noutput random\noutput calls\n",
                       {tensor({4}, 5)}, {tensor({4}, 5), integer, integer}),
  };
}

Case intact(const Recipe& recipe) { return {recipe.build(), recipe, true}; }

Case mutated(const Recipe& seed, const std::vector<Recipe>& others, Depth depth, Random* random) {
  const size_t changes = 1 + random->below(4);
  Case changed{{}, seed, true};
  if (depth == Depth::kBytes) {
    changed.built = seed.build();
    for (size_t i = 0; i < changes; ++i) {
      std::string& code = changed.built.data[kCodeKey];
      switch (random->below(6)) {
        case 0:
          if (random->one_in(2)) code.resize(random->below(code.size()));
          if (!code.empty())
            code[random->below(code.size())] ^= static_cast<char>(1 << random->below(8));
          changed.code_is_intact = false;
          break;
        case 1:
          change_bytes(&changed.built.data[kWeightsKey], seed.target, random);
          break;
        default:
          change_bytes(&changed.built.payload, others[0].target, random);
      }
    }
    return changed;
  }
  for (size_t i = 0; i < changes && random->one_in(2); ++i) {
    change_script(&changed.recipe.script, random);
  }
  if (random->one_in(4)) change_target(&changed.recipe.target, random);
  std::vector<NamedSection> sections = changed.recipe.sections();
  changed.built = changed.recipe.built(sections);
  for (size_t i = 0; i < changes; ++i) {
    const std::string name = sections.empty() ? "" : random->pick(sections).first;
    for (auto& section : sections) {
      if (section.first != name) continue;
      if (name == "io") change_io(&section.second, random);
      if ((name == "code" || name == "weights") && random->one_in(6)) {
        change_named_data(&section.second, &changed.built.data,
                          name == "code" ? kCodeKey : kWeightsKey, random);
      }
    }
  }
  if (random->one_in(16) && !sections.empty()) change_sections(&sections, random);
  changed.built.payload = build_envelope(sections);
  if (random->one_in(12)) {
    change_table(&changed.built.payload, random);
    checksum(&changed.built.payload);
  }
  return changed;
}

Oracle::Oracle(const std::string& script, std::vector<float> memory, int64_t rows, uint8_t added)
    : memory_(std::move(memory)), rows_(rows), added_(added) {
  for (const std::string& line : lines_of(script)) {
    if (line.compare(0, 7, "output ") == 0) outputs_.push_back(line.substr(7));
  }
}

std::optional<std::vector<float>> Oracle::output(size_t index) const {
  if (index >= outputs_.size()) return std::nullopt;
  std::istringstream words(outputs_[index]);
  std::string kind, sizes_text, strides_text;
  size_t input = 0, offset = 0;
  words >> kind;
  if (kind == "input") words >> input;
  if ((kind != "input" && kind != "buffer" && kind != "same") || input != 0) return std::nullopt;
  words >> sizes_text >> strides_text >> offset;
  const auto parsed = [this](const std::string& text) {
    std::vector<size_t> all;
    std::istringstream parts(text == "-" ? "" : text);
    for (std::string part; std::getline(parts, part, ',');) {
      all.push_back(part == "s" ? static_cast<size_t>(rows_) : std::stoull(part));
    }
    return all;
  };
  const std::vector<size_t> sizes = parsed(sizes_text), strides = parsed(strides_text);
  std::vector<float> all;
  size_t elements = 1;
  for (const size_t size : sizes) elements *= size;
  for (size_t i = 0; i < elements; ++i) {
    size_t left = i, place = offset;
    for (size_t d = sizes.size(); d-- > 0;) {
      place += left % sizes[d] * strides[d];
      left /= sizes[d];
    }
    if (kind == "input") {
      all.push_back(memory_.at(place));
    } else {
      all.push_back(
          2 * (memory_.empty() ? static_cast<float>(place) : memory_[place % memory_.size()]) +
          added_);
    }
  }
  return all;
}

}  // namespace executorch_backends::aoti::fuzz
