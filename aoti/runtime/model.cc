#include "executorch_backends/aoti/runtime/model.h"

#include <utility>

#include "executorch_backends/common/runtime/delegate.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {

using executorch::runtime::Error;
using executorch::runtime::EventTracer;

Error Model::create(std::unique_ptr<Program> program, std::unique_ptr<Model>* out) {
  const size_t inputs = program->inputs.size(), outputs = program->outputs.size();
  ETB_REQUIRE(inputs == program->container->inputs() && outputs == program->container->outputs(),
              InvalidProgram,
              "AOTI: the payload declares %zu inputs and %zu outputs, and the program's code has "
              "%zu and %zu",
              inputs, outputs, program->container->inputs(), program->container->outputs());
  std::unique_ptr<Runner> runner;
  if (program->accelerator != nullptr) {
    ETB_TRY(program->accelerator->make_stream(&program->stream));
    runner = run_staged(std::move(program));
  } else {
    runner = run_in_place(std::move(program));
  }
  out->reset(new Model(std::move(runner), inputs, outputs));
  return Error::Ok;
}

Error Model::execute(Values values, EventTracer* tracer) {
  std::lock_guard<std::mutex> lock(mutex_);
  ETB_REQUIRE(values.size() == inputs_ + outputs_, InvalidArgument,
              "AOTI: got %zu values, and the program has %zu inputs and %zu outputs", values.size(),
              inputs_, outputs_);
  for (size_t i = 0; i < values.size(); ++i) {
    ETB_REQUIRE(values[i] != nullptr, InvalidArgument, "AOTI: value %zu of the call is null", i);
  }
  const runtime::CallEvent call(tracer);
  ETB_TRY(runner_->execute(values));
  call.finish("AOTI");
  return Error::Ok;
}

}  // namespace executorch_backends::aoti
