#include "executorch_backends/aoti/runtime/testing/test_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "executorch_backends/aoti/runtime/testing/fake_model.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti::testing {

using executorch::runtime::Error;
using Lock = std::lock_guard<std::recursive_mutex>;

constexpr size_t kMemory = size_t{1} << 28;

#define TEST_DEVICE_CALL(device, name)                                                         \
  do {                                                                                         \
    ETB_REQUIRE((device)->goes_well(name), AccessFailed, "the test device fails in %s", name); \
  } while (false)

class TestGraph final : public Graph {
 public:
  TestGraph(TestDevice* device, TestDevice::TestStream* stream, std::vector<TestDevice::Work> works)
      : device_(device), stream_(stream), works_(std::move(works)) {}
  ~TestGraph() override;
  Error launch() override;

 private:
  TestDevice* device_;
  TestDevice::TestStream* stream_;
  std::vector<TestDevice::Work> works_;
};

class TestDevice::TestStream final : public Stream {
 public:
  explicit TestStream(TestDevice* device) : device_(device) {
    native_ = {this, &TestStream::enqueue_kernel, &TestStream::wait_in_program};
    Lock lock(device_->mutex_);
    device_->streams_.push_back(this);
  }
  ~TestStream() override {
    Lock lock(device_->mutex_);
    if (!pending_.empty()) device_->fault("a stream is destroyed that has work to do");
    auto& all = device_->streams_;
    all.erase(std::find(all.begin(), all.end(), this));
  }

  void* native() override { return &native_; }

  Error upload(void* to, const void* from, size_t bytes) override {
    Lock lock(device_->mutex_);
    TEST_DEVICE_CALL(device_, "upload");
    if (!device_->owns(to, bytes)) device_->fault("an upload to memory that is not the device's");
    return transfer(to, from, bytes);
  }
  Error download(void* to, const void* from, size_t bytes) override {
    Lock lock(device_->mutex_);
    TEST_DEVICE_CALL(device_, "download");
    return transfer(to, from, bytes);
  }
  Error copy(const layout::CopyPlan& plan, void* to, size_t to_bytes, const void* from,
             size_t from_bytes) override {
    Lock lock(device_->mutex_);
    TEST_DEVICE_CALL(device_, "copy");
    if (!device_->owns(to, to_bytes)) device_->fault("a copy to memory that is not the device's");
    enqueue({[=] {
               std::string reason;
               return layout::execute(plan, to, to_bytes, from, from_bytes, &reason);
             },
             nullptr});
    return Error::Ok;
  }

  Error synchronise() override {
    Lock lock(device_->mutex_);
    if (capturing_) device_->fault("waits while work is recorded");
    if (!device_->others_first_) run();
    for (TestStream* other : device_->streams_) {
      if (other != this) other->run();
    }
    run();
    TEST_DEVICE_CALL(device_, "synchronise");
    return Error::Ok;
  }

  bool captures() const override {
    Lock lock(device_->mutex_);
    return device_->captures_;
  }
  Error begin_capture() override {
    Lock lock(device_->mutex_);
    TEST_DEVICE_CALL(device_, "begin_capture");
    if (capturing_) device_->fault("a capture begins in another");
    capturing_ = true;
    return Error::Ok;
  }
  Error end_capture(std::unique_ptr<Graph>* out) override {
    Lock lock(device_->mutex_);
    TEST_DEVICE_CALL(device_, "end_capture");
    if (!capturing_) device_->fault("a capture ends that has not begun");
    capturing_ = false;
    *out = std::make_unique<TestGraph>(device_, this, std::exchange(recorded_, {}));
    return Error::Ok;
  }
  void abandon_capture() override {
    Lock lock(device_->mutex_);
    capturing_ = false;
    recorded_.clear();
  }

  void enqueue(Work work) { (capturing_ ? recorded_ : pending_).push_back(std::move(work)); }
  bool has_work_of(const Graph* graph) const {
    return std::any_of(pending_.begin(), pending_.end(),
                       [graph](const Work& work) { return work.launched == graph; });
  }
  bool capturing() const { return capturing_; }

 private:
  Error transfer(void* to, const void* from, size_t bytes) {
    if (capturing_) device_->fault("a transfer is recorded");
    enqueue({[=] {
               if (bytes != 0) std::memcpy(to, from, bytes);
               return true;
             },
             nullptr});
    return Error::Ok;
  }

  void run() {
    for (Work& work : std::exchange(pending_, {})) {
      if (!work.run()) device_->fault("work that cannot be done");
    }
  }

  static void enqueue_kernel(void* self, void (*work)(void*), void* argument,
                             void (*release)(void*)) {
    auto* stream = static_cast<TestStream*>(self);
    Lock lock(stream->device_->mutex_);
    (void)stream->device_->goes_well("kernel");
    stream->enqueue({[=] {
                       work(argument);
                       return true;
                     },
                     std::shared_ptr<void>(argument, release)});
  }
  static bool wait_in_program(void* self) {
    auto* stream = static_cast<TestStream*>(self);
    Lock lock(stream->device_->mutex_);
    if (stream->capturing_) return false;  // as a real device says
    return stream->synchronise() == Error::Ok;
  }

  TestDevice* device_;
  FakeStream native_;
  std::vector<Work> pending_;
  std::vector<Work> recorded_;
  bool capturing_ = false;
};

TestGraph::~TestGraph() {
  Lock lock(device_->mutex_);
  if (stream_->has_work_of(this)) device_->fault("a graph is destroyed that has work to do");
}

Error TestGraph::launch() {
  Lock lock(device_->mutex_);
  TEST_DEVICE_CALL(device_, "launch");
  for (TestDevice::Work work : works_) {
    work.launched = this;
    stream_->enqueue(std::move(work));
  }
  return Error::Ok;
}

Error TestDevice::check_isa(const std::string& isa) const {
  ETB_REQUIRE(isa == "test", NotSupported, "the test device has no '%s'", isa.c_str());
  return Error::Ok;
}

Error TestDevice::allocate(size_t bytes, void** out) {
  Lock lock(mutex_);
  TEST_DEVICE_CALL(this, "allocate");
  ETB_REQUIRE(bytes <= kMemory, MemoryAllocationFailed, "the test device has no %zu bytes", bytes);
  for (const TestStream* stream : streams_) {
    if (stream->capturing()) fault("memory is allocated while work is recorded");
  }
  auto* memory = static_cast<char*>(std::malloc(bytes));
  std::memset(memory, 0x5a, bytes);
  allocations_[memory] = bytes;
  *out = memory;
  return Error::Ok;
}

void TestDevice::release(void* memory) {
  if (memory == nullptr) return;
  Lock lock(mutex_);
  if (allocations_.erase(static_cast<char*>(memory)) == 0) {
    fault("memory is released that is not the device's");
    return;
  }
  std::free(memory);
}

Error TestDevice::make_stream(std::unique_ptr<Stream>* out) {
  *out = std::make_unique<TestStream>(this);
  return Error::Ok;
}

void TestDevice::reset() {
  Lock lock(mutex_);
  calls_.clear();
  failing_.clear();
  faults_.clear();
  others_first_ = false;
  captures_ = true;
}

void TestDevice::fail(const std::string& call, int later) {
  Lock lock(mutex_);
  failing_[call] = later;
}

void TestDevice::set_others_first(bool others_first) {
  Lock lock(mutex_);
  others_first_ = others_first;
}

void TestDevice::set_captures(bool captures) {
  Lock lock(mutex_);
  captures_ = captures;
}

int TestDevice::calls(const std::string& name) const {
  Lock lock(mutex_);
  const auto found = calls_.find(name);
  return found != calls_.end() ? found->second : 0;
}

size_t TestDevice::live_bytes() const {
  Lock lock(mutex_);
  size_t bytes = 0;
  for (const auto& [memory, size] : allocations_) bytes += size;
  return bytes;
}

std::vector<std::string> TestDevice::faults() const {
  Lock lock(mutex_);
  return faults_;
}

bool TestDevice::goes_well(const std::string& name) {
  ++calls_[name];
  const auto failing = failing_.find(name);
  if (failing == failing_.end() || failing->second-- > 0) return true;
  failing_.erase(failing);
  return false;
}

bool TestDevice::owns(const void* memory, size_t bytes) const {
  const auto* place = static_cast<const char*>(memory);
  for (const auto& [start, size] : allocations_) {
    if (place >= start && place + bytes <= start + size) return true;
  }
  return false;
}

}  // namespace executorch_backends::aoti::testing
