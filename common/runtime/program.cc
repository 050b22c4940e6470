#include "executorch_backends/common/runtime/program.h"

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "executorch_backends/common/runtime/backend_options.h"
#include "executorch_backends/common/runtime/data_loaders.h"
#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/common/runtime/log_capture.h"
#include "executorch_backends/common/runtime/program_values.h"

namespace et = executorch::runtime;
namespace ea = executorch::aten;
using et::Error;
using executorch::extension::Module;
using executorch_backends::runtime::AlignedBytes;
using executorch_backends::runtime::allocate_aligned;
using executorch_backends::runtime::BackendOptionStore;
using executorch_backends::runtime::BorrowedTensor;
using executorch_backends::runtime::describe;
using executorch_backends::runtime::kind_of;
using executorch_backends::runtime::load_bytes;
using executorch_backends::runtime::load_file;
using executorch_backends::runtime::LogCapture;
using executorch_backends::runtime::mismatch;
using executorch_backends::runtime::mlock_hint;

namespace {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

int32_t fail(Error code, std::string text) {
  last_error() = std::move(text);
  return static_cast<int32_t>(code);
}

/// `Error::InvalidProgram (0x23)`, and below it what was logged.
int32_t fail(Error code, const std::string& what, const LogCapture& log) {
  char number[16];
  std::snprintf(number, sizeof(number), " (0x%02x)", static_cast<unsigned>(code));
  std::string text = what + ": " + et::to_string(code) + number;
  if (!log.text().empty()) text += "\n" + log.text();
  return fail(code, std::move(text));
}

/// Runs `body`, which returns an error code, and lets no exception out.
template <typename Body>
int32_t guarded(Body&& body) noexcept {
  try {
    last_error().clear();
    return body();
  } catch (const std::bad_alloc&) {
    return fail(Error::MemoryAllocationFailed, "out of memory");
  } catch (const std::exception& exception) {
    return fail(Error::Internal, exception.what());
  } catch (...) {
    return fail(Error::Internal, "an exception of an unknown type");
  }
}

}  // namespace

struct executorch_backends_program {
  std::string name;  // for messages: the path, or "the bytes"
  AlignedBytes bytes;
  BackendOptionStore option_store;
  et::LoadBackendOptionsMap options;
  std::vector<std::string> methods;
  bool shares_state = false;  // among its methods
  std::mutex mutex;
  executorch::etdump::ETDumpGen* recorder = nullptr;  // the module's, or null
  std::vector<uint8_t> etdump;                        // the last one that was asked for
  // Last: its delegates use what is above until they are destroyed.
  std::unique_ptr<Module> module;

  bool has(const char* method) const {
    return method != nullptr && std::find(methods.begin(), methods.end(), method) != methods.end();
  }
};

namespace {

using Program = executorch_backends_program;

/// Opens the program. Methods that share state get the memory for it together.
Error open(const char* path, size_t byte_count, const char* data_path, int32_t mode, bool share,
           Program* program) {
  std::unique_ptr<et::DataLoader> loader;
  if (path != nullptr) {
    ETB_TRY(load_file(path, mode & ~EXECUTORCH_BACKENDS_RECORD, &program->bytes, &loader));
  } else {
    loader = load_bytes(program->bytes.get(), byte_count);
  }
  std::unique_ptr<et::DataLoader> data_loader;
  if (data_path != nullptr) {
    AlignedBytes none;
    ETB_TRY(load_file(data_path, EXECUTORCH_BACKENDS_MMAP, &none, &data_loader));
  }
  std::unique_ptr<executorch::etdump::ETDumpGen> recorder;
  if ((mode & EXECUTORCH_BACKENDS_RECORD) != 0) {
    recorder = std::make_unique<executorch::etdump::ETDumpGen>();
    program->recorder = recorder.get();
  }
  program->module = std::make_unique<Module>(std::move(loader), nullptr, nullptr,
                                             std::move(recorder), std::move(data_loader), share);
  return program->module->load(et::Program::Verification::InternalConsistency);
}

/// Whether a method has planned memory beside the one of its activations: buffers that several
/// methods write to are planned there (ExecuTorch's `share_mutable_buffers`).
Error find_shared_state(Program* program) {
  for (const std::string& name : program->methods) {
    auto meta = program->module->method_meta(name);
    if (!meta.ok()) return meta.error();
    if (meta->num_memory_planned_buffers() > 1) program->shares_state = true;
  }
  return Error::Ok;
}

Error load(const char* path, const void* bytes, size_t byte_count, const char* data_path,
           int32_t mode, Program* program) {
  if (path == nullptr) {
    program->bytes = allocate_aligned(byte_count);
    if (program->bytes == nullptr || (bytes == nullptr && byte_count != 0)) {
      ETB_FAIL(MemoryAllocationFailed, "cannot copy %zu bytes of program", byte_count);
    }
    if (byte_count != 0) std::memcpy(program->bytes.get(), bytes, byte_count);
  }
  Error error = open(path, byte_count, data_path, mode, /*share=*/false, program);
  if (error != Error::Ok) return error;
  auto names = program->module->method_names();
  if (!names.ok()) return names.error();
  program->methods.assign(names->begin(), names->end());
  std::sort(program->methods.begin(), program->methods.end());
  if (program->methods.size() < 2) return Error::Ok;
  error = find_shared_state(program);
  if (error != Error::Ok || !program->shares_state) return error;
  // A module's memory is chosen when it is made, and only a program says what it needs.
  program->module.reset();
  return open(path, byte_count, data_path, mode, /*share=*/true, program);
}

int32_t no_such_method(const Program& program, const char* method) {
  std::string there;
  for (const std::string& name : program.methods) there += (there.empty() ? "" : ", ") + name;
  return fail(Error::InvalidArgument, program.name + " has no method '" +
                                          (method ? method : "(null)") + "'; it has: " + there);
}

template <typename Body>
int32_t with_meta(Program* program, const char* method, Body&& body) noexcept {
  return guarded([&] {
    if (!program->has(method)) return no_such_method(*program, method);
    std::lock_guard<std::mutex> lock(program->mutex);
    LogCapture log;
    auto meta = program->module->method_meta(method);
    if (!meta.ok()) {
      return fail(meta.error(), program->name + ", method '" + method + "'", log);
    }
    const Error error = body(*meta);
    if (error != Error::Ok) {
      return fail(error, program->name + ", method '" + method + "'", log);
    }
    return 0;
  });
}

int32_t collect(const std::vector<et::EValue>& values, executorch_backends_value* outputs,
                executorch_backends_allocate allocate, void* context) {
  for (size_t i = 0; i < values.size(); ++i) {
    executorch_backends_value& out = outputs[i];
    out = {};
    out.kind = kind_of(values[i].tag);
    if (values[i].isInt()) {
      out.integer = values[i].toInt();
    } else if (values[i].isBool()) {
      out.integer = values[i].toBool() ? 1 : 0;
    } else if (values[i].isDouble()) {
      out.real = values[i].toDouble();
    } else if (values[i].isTensor()) {
      const ea::Tensor& tensor = values[i].toTensor();
      out.dtype = static_cast<int32_t>(tensor.scalar_type());
      out.rank = static_cast<int32_t>(tensor.dim());
      out.sizes = tensor.sizes().data();
      out.dim_order = tensor.dim_order().data();
      out.bytes = tensor.nbytes();
      out.data = allocate(context, i, &out);
      if (out.bytes != 0) {
        if (out.data == nullptr || tensor.const_data_ptr() == nullptr) {
          return fail(Error::MemoryAllocationFailed, "output " + std::to_string(i) +
                                                         ": no memory for " +
                                                         std::to_string(out.bytes) + " bytes");
        }
        std::memcpy(out.data, tensor.const_data_ptr(), out.bytes);
      }
      // Borrowed from the method, which the next call may change.
      out.sizes = nullptr;
      out.dim_order = nullptr;
    } else if (!values[i].isNone()) {
      return fail(Error::NotSupported,
                  "output " + std::to_string(i) + " is neither a tensor, a number nor None");
    }
  }
  return 0;
}

template <typename Names>
const char* joined(const Names& names) {
  thread_local std::string text;
  text.clear();
  for (const auto& name : names) {
    if (!text.empty()) text += '\n';
    text += name;
  }
  return text.c_str();
}

}  // namespace

extern "C" {

const char* executorch_backends_last_error(void) { return last_error().c_str(); }

int32_t executorch_backends_program_load(const char* path, const void* bytes, size_t byte_count,
                                         const char* data_path, int32_t mode,
                                         executorch_backends_program** out) {
  return guarded([&] {
    *out = nullptr;
    et::runtime_init();
    LogCapture log;
    auto program = std::make_unique<Program>();
    program->name = path != nullptr ? "'" + std::string(path) + "'" : "the program's bytes";
    const Error error = load(path, bytes, byte_count, data_path, mode, program.get());
    if (error != Error::Ok) {
      const int32_t code = fail(error, "cannot load " + program->name, log);
      if ((mode & ~EXECUTORCH_BACKENDS_RECORD) == EXECUTORCH_BACKENDS_MMAP_MLOCK &&
          path != nullptr) {
        last_error() += mlock_hint(path);
      }
      return code;
    }
    *out = program.release();
    return 0;
  });
}

int32_t executorch_backends_program_set_options(executorch_backends_program* program,
                                                const executorch_backends_option* options,
                                                size_t option_count) {
  return guarded([&] {
    std::lock_guard<std::mutex> lock(program->mutex);
    LogCapture log;
    Error error = Error::Ok;
    for (size_t i = 0; i < option_count && error == Error::Ok; ++i) {
      error = program->option_store.add(options[i]);
    }
    if (error == Error::Ok) error = program->option_store.fill(&program->options);
    return error == Error::Ok ? 0 : fail(error, "options of " + program->name, log);
  });
}

void executorch_backends_program_free(executorch_backends_program* program) {
  std::unique_ptr<Program> owned(program);
}

size_t executorch_backends_program_method_count(const executorch_backends_program* program) {
  return program->methods.size();
}

const char* executorch_backends_program_method_name(const executorch_backends_program* program,
                                                    size_t index) {
  return index < program->methods.size() ? program->methods[index].c_str() : nullptr;
}

int32_t executorch_backends_method_counts(executorch_backends_program* program, const char* method,
                                          size_t* inputs, size_t* outputs, size_t* backends) {
  return with_meta(program, method, [&](const et::MethodMeta& meta) {
    *inputs = meta.num_inputs();
    *outputs = meta.num_outputs();
    *backends = meta.num_backends();
    return Error::Ok;
  });
}

int32_t executorch_backends_method_input(executorch_backends_program* program, const char* method,
                                         size_t index, executorch_backends_value* out) {
  return with_meta(program, method, [&](const et::MethodMeta& meta) {
    *out = {};
    auto tag = meta.input_tag(index);
    if (!tag.ok()) return tag.error();
    out->kind = kind_of(*tag);
    if (*tag != et::Tag::Tensor) return Error::Ok;
    auto info = meta.input_tensor_meta(index);
    if (!info.ok()) return info.error();
    describe(*info, out);
    return Error::Ok;
  });
}

int32_t executorch_backends_method_output(executorch_backends_program* program, const char* method,
                                          size_t index, executorch_backends_value* out) {
  return with_meta(program, method, [&](const et::MethodMeta& meta) {
    *out = {};
    auto tag = meta.output_tag(index);
    if (!tag.ok()) return tag.error();
    out->kind = kind_of(*tag);
    if (*tag != et::Tag::Tensor) return Error::Ok;
    auto info = meta.output_tensor_meta(index);
    if (!info.ok()) return info.error();
    describe(*info, out);
    return Error::Ok;
  });
}

int32_t executorch_backends_method_backend(executorch_backends_program* program, const char* method,
                                           size_t index, const char** out) {
  return with_meta(program, method, [&](const et::MethodMeta& meta) {
    auto name = meta.get_backend_name(index);
    if (!name.ok()) return name.error();
    *out = *name;
    return Error::Ok;
  });
}

int32_t executorch_backends_method_load(executorch_backends_program* program, const char* method) {
  return guarded([&] {
    if (!program->has(method)) return no_such_method(*program, method);
    std::lock_guard<std::mutex> lock(program->mutex);
    if (program->module->is_method_loaded(method)) return 0;
    // To load a method sets its state to what it starts with, so those that share it are loaded
    // before the first of them runs.
    const std::vector<std::string> methods =
        program->shares_state ? program->methods : std::vector<std::string>{method};
    for (const std::string& name : methods) {
      LogCapture log;
      const Error error =
          program->module->load_method(name, nullptr, nullptr, &program->options, {});
      if (error != Error::Ok) {
        return fail(error, "cannot load method '" + name + "' of " + program->name, log);
      }
    }
    return 0;
  });
}

int32_t executorch_backends_method_execute(executorch_backends_program* program, const char* method,
                                           const executorch_backends_value* inputs,
                                           size_t input_count, executorch_backends_value* outputs,
                                           size_t output_count,
                                           executorch_backends_allocate allocate, void* context) {
  const int32_t loaded = executorch_backends_method_load(program, method);
  if (loaded != 0) return loaded;
  return guarded([&] {
    std::lock_guard<std::mutex> lock(program->mutex);
    LogCapture log;
    const std::string where = "method '" + std::string(method) + "' of " + program->name;
    auto meta = program->module->method_meta(method);
    if (!meta.ok()) return fail(meta.error(), where, log);
    if (input_count != meta->num_inputs()) {
      return fail(Error::InvalidArgument, where + " takes " + std::to_string(meta->num_inputs()) +
                                              " inputs, and got " + std::to_string(input_count));
    }
    if (output_count != meta->num_outputs()) {
      return fail(Error::InvalidArgument, where + " has " + std::to_string(meta->num_outputs()) +
                                              " outputs, and there is room for " +
                                              std::to_string(output_count));
    }
    std::vector<BorrowedTensor> tensors(input_count);
    std::vector<et::EValue> values;
    values.reserve(input_count);
    for (size_t i = 0; i < input_count; ++i) {
      const std::string problem = mismatch(*meta, i, inputs[i]);
      if (!problem.empty()) return fail(Error::InvalidArgument, where + ", " + problem);
      switch (inputs[i].kind) {
        case EXECUTORCH_BACKENDS_TENSOR: {
          const Error error = BorrowedTensor::make(inputs[i], &tensors[i]);
          if (error != Error::Ok) return fail(error, where + ", input " + std::to_string(i), log);
          values.push_back(tensors[i].value());
          break;
        }
        case EXECUTORCH_BACKENDS_INT:
          values.emplace_back(inputs[i].integer);
          break;
        case EXECUTORCH_BACKENDS_BOOL:
          values.emplace_back(inputs[i].integer != 0);
          break;
        case EXECUTORCH_BACKENDS_DOUBLE:
          values.emplace_back(inputs[i].real);
          break;
        default:
          values.emplace_back();
      }
    }
    auto results = program->module->execute(method, values);
    if (!results.ok()) return fail(results.error(), where, log);
    return collect(*results, outputs, allocate, context);
  });
}

int32_t executorch_backends_program_etdump(executorch_backends_program* program, const void** data,
                                           size_t* size) {
  return guarded([&] {
    std::lock_guard<std::mutex> lock(program->mutex);
    if (program->recorder == nullptr) {
      return fail(Error::InvalidState, program->name + " was not loaded to be recorded");
    }
    const auto result = program->recorder->get_etdump_data();
    const AlignedBytes owned(result.buf);
    const auto* bytes = static_cast<const uint8_t*>(result.buf);
    program->etdump.assign(bytes, bytes + result.size);
    program->recorder->reset();  // a finished dump takes no more events
    *data = program->etdump.data();
    *size = program->etdump.size();
    return 0;
  });
}

const char* executorch_backends_registered_kernels(void) {
  std::vector<std::string> names;
  for (const et::Kernel& kernel : et::get_registered_kernels()) names.emplace_back(kernel.name_);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return joined(names);
}

const char* executorch_backends_registered_backends(void) {
  std::vector<std::string> names;
  for (size_t i = 0; i < et::get_num_registered_backends(); ++i) {
    auto name = et::get_backend_name(i);
    if (name.ok()) names.emplace_back(*name);
  }
  std::sort(names.begin(), names.end());
  return joined(names);
}

}  // extern "C"
