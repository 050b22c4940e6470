#include <algorithm>
#include <string>
#include <utility>

#include "executorch_backends/aoti/runtime/graph_replay.h"
#include "executorch_backends/aoti/runtime/program.h"
#include "executorch_backends/aoti/runtime/tensors.h"
#include "executorch_backends/common/layout/copy_plan.h"
#include "executorch_backends/common/layout/layout.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {
namespace {

using executorch::runtime::Error;
using executorch::runtime::EValue;

/// Memory of the device that stays where it is until more is needed.
class Region {
 public:
  explicit Region(Accelerator* device) : device_(device) {}
  ~Region() { device_->release(data_); }
  Region(Region&& other) noexcept
      : device_(other.device_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Region& operator=(Region&&) = delete;

  bool holds(size_t bytes) const { return bytes <= bytes_; }
  Error grow(size_t bytes) {
    void* larger = nullptr;
    ETB_TRY(device_->allocate(bytes, &larger));
    device_->release(std::exchange(data_, larger));
    bytes_ = bytes;
    return Error::Ok;
  }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Accelerator* device_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// What is known of an output once the work is enqueued.
struct Result {
  Returned returned;
  const void* data = nullptr;  // in the layout of the caller's tensor
  size_t bytes = 0;
};

struct StagedOutcome final : Outcome {
  std::vector<OwnedTensor> tensors;  // whose memory the results are in
  std::vector<Result> results;
};

/// Waits at its end, also when that comes early: the device may be at work on memory that goes.
class Wait {
 public:
  explicit Wait(Stream* stream) : stream_(stream) {}
  ~Wait() {
    if (stream_ != nullptr) (void)stream_->synchronise();
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  void dismiss() { stream_ = nullptr; }
  Error finish() { return std::exchange(stream_, nullptr)->synchronise(); }

 private:
  Stream* stream_;
};

class StagedRunner final : public Runner {
 public:
  explicit StagedRunner(std::unique_ptr<Program> program)
      : program_(std::move(program)), replay_(program_->stream.get(), program_->graphs) {
    for (size_t i = 0; i < program_->inputs.size(); ++i)
      inputs_.emplace_back(program_->accelerator);
    for (size_t i = 0; i < program_->outputs.size(); ++i) {
      packed_.emplace_back(program_->accelerator);
      integers_.push_back(0);
    }
  }

  Error execute(Values values) override {
    std::shared_ptr<const Outcome> outcome;  // goes when the device is done with it
    Wait wait(program_->stream.get());
    for (size_t i = 0; i < inputs_.size(); ++i) ETB_TRY(take_input(i, *values[i]));
    ETB_TRY(note_orders(values));
    ETB_TRY(replay_.run(
        signature(), [this](std::shared_ptr<const Outcome>* out) { return enqueue(out); },
        &outcome));
    const auto& staged = static_cast<const StagedOutcome&>(*outcome);
    for (size_t i = 0; i < packed_.size(); ++i) ETB_TRY(fetch(i, staged.results[i], values));
    ETB_TRY(wait.finish());
    for (size_t i = 0; i < packed_.size(); ++i) {
      if (!program_->outputs[i].symbolic_integer) continue;
      *values[inputs_.size() + i] = EValue(integers_[i]);
    }
    return Error::Ok;
  }

 private:
  struct Input {
    explicit Input(Accelerator* device) : uploaded(device), relaid(device) {}
    Region uploaded;  // as the caller's tensor lies
    Region relaid;    // as the program was compiled for
    Given given;
    int64_t integer = 0;
  };

  Stream* stream() { return program_->stream.get(); }

  /// Makes a region large enough. Recorded work has the address of the one before.
  Error reserve(size_t bytes, Region* region) {
    if (region->holds(bytes) && region->data() != nullptr) return Error::Ok;
    ETB_REQUIRE(!replay_.capturing(), NotSupported,
                "AOTI: a run that is recorded needs %zu bytes more than those before",
                bytes - region->bytes());
    replay_.forget();
    return region->grow(std::max(bytes, size_t{1}));
  }

  Error take_input(size_t index, const EValue& value) {
    Input& input = inputs_[index];
    ETB_TRY(check_input(index, program_->inputs[index], value, &input.integer, &input.given));
    ETB_TRY(reserve(input.given.bytes, &input.uploaded));
    if (!input.given.as_wanted) ETB_TRY(reserve(input.given.bytes, &input.relaid));
    return stream()->upload(input.uploaded.data(), input.given.data, input.given.bytes);
  }

  /// The dim orders of the caller's outputs, in which results are to be left.
  Error note_orders(Values values) {
    orders_.assign(packed_.size(), layout::kDefaultDimOrder);
    for (size_t i = 0; i < packed_.size(); ++i) {
      const EValue& value = *values[inputs_.size() + i];
      if (!value.isTensor()) continue;  // refused later, or an int
      const auto order = value.toTensor().dim_order();
      ETB_REQUIRE(order.size() <= layout::kMaxRank, NotSupported, "AOTI: output %zu has rank %zu",
                  i, order.size());
      std::copy(order.begin(), order.end(), orders_[i].begin());
    }
    return Error::Ok;
  }

  Signature signature() const {
    Signature numbers;
    for (const Input& input : inputs_) {
      const layout::Layout& given = input.given.layout;
      numbers.push_back(static_cast<int64_t>(given.rank));
      for (size_t d = 0; d < given.rank; ++d) {
        numbers.push_back(static_cast<int64_t>(given.sizes[d]));
        numbers.push_back(static_cast<int64_t>(given.strides[d]));
      }
    }
    for (const layout::DimOrder& order : orders_) {
      numbers.insert(numbers.end(), order.begin(), order.end());
    }
    return numbers;
  }

  Error enqueue(std::shared_ptr<const Outcome>* out) {
    auto outcome = std::make_shared<StagedOutcome>();
    {
      // What was enqueued before an error may be at work on what goes with the outcome.
      Wait wait(replay_.capturing() ? nullptr : stream());
      ETB_TRY(enqueue_into(outcome.get()));
      wait.dismiss();
    }
    *out = std::move(outcome);
    return Error::Ok;
  }

  Error enqueue_into(StagedOutcome* outcome) {
    std::vector<OwnedTensor> arguments(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) ETB_TRY(give(i, &arguments[i]));
    const uint64_t before = program_->random.number;
    const Error error = program_->run(&arguments, &outcome->tensors, &outcome->random);
    // What a recording draws is drawn again by the run that takes its place.
    if (replay_.capturing()) program_->random.number = before;
    ETB_TRY(error);
    outcome->results.resize(packed_.size());
    for (size_t i = 0; i < packed_.size(); ++i) {
      ETB_TRY(pack(i, outcome->tensors[i], &outcome->results[i]));
    }
    return Error::Ok;
  }

  Error give(size_t index, OwnedTensor* argument) {
    const Input& input = inputs_[index];
    const Given& given = input.given;
    void* data = input.uploaded.data();
    if (!given.as_wanted) {
      layout::CopyPlan plan;
      std::string reason;
      ETB_REQUIRE(layout::plan_copy(given.wanted, given.layout, &plan, &reason), InvalidArgument,
                  "AOTI: cannot change the dim order of input %zu: %s", index, reason.c_str());
      ETB_TRY(stream()->copy(plan, input.relaid.data(), input.relaid.bytes(), data,
                             input.uploaded.bytes()));
      data = input.relaid.data();
    }
    return borrow(data, given.bytes, given.wanted, program_->inputs[index].type, argument);
  }

  /// Leaves a result as one run of bytes, in the order of the caller's tensor.
  Error pack(size_t index, const OwnedTensor& tensor, Result* out) {
    ETB_TRY(describe(index, tensor, &out->returned));
    layout::Layout wanted = out->returned.layout;
    wanted.offset = 0;
    layout::CopyPlan plan;
    std::string reason;
    ETB_REQUIRE(layout::strides_from_dim_order(wanted.rank, wanted.sizes, orders_[index],
                                               &wanted.strides) &&
                    layout::plan_copy(wanted, out->returned.layout, &plan, &reason),
                InvalidProgram, "AOTI: cannot copy output %zu, %s: %s", index,
                layout::to_string(out->returned.layout).c_str(),
                reason.empty() ? "its tensor has another rank or order" : reason.c_str());
    ETB_REQUIRE(plan.src_span <= out->returned.storage_bytes, InvalidProgram,
                "AOTI: output %zu reaches %zu bytes into a storage of %zu", index, plan.src_span,
                out->returned.storage_bytes);
    out->bytes = plan.dst_span;
    if (plan.kind == layout::CopyPlan::Kind::kBytes) {
      out->data = out->returned.storage + plan.src_offset;
      return Error::Ok;
    }
    ETB_TRY(reserve(out->bytes, &packed_[index]));
    out->data = packed_[index].data();
    return stream()->copy(plan, packed_[index].data(), packed_[index].bytes(),
                          out->returned.storage, out->returned.storage_bytes);
  }

  Error fetch(size_t index, const Result& result, Values values) {
    Given target;
    ETB_TRY(shape_output(index, program_->outputs[index], result.returned,
                         *values[inputs_.size() + index], &integers_[index], &target));
    ETB_REQUIRE(target.bytes == result.bytes, InvalidProgram,
                "AOTI: output %zu came with %zu bytes, and the program's tensor has %zu", index,
                result.bytes, target.bytes);
    if (target.bytes == 0) return Error::Ok;
    return stream()->download(target.data, result.data, target.bytes);
  }

  std::unique_ptr<Program> program_;
  std::vector<Input> inputs_;
  std::vector<Region> packed_;  // of the outputs
  std::vector<int64_t> integers_;
  std::vector<layout::DimOrder> orders_;
  // Before the regions: recorded work has their addresses.
  GraphReplay replay_;
};

}  // namespace

std::unique_ptr<Runner> run_staged(std::unique_ptr<Program> program) {
  return std::make_unique<StagedRunner>(std::move(program));
}

}  // namespace executorch_backends::aoti
