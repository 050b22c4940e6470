/// A C ABI over ExecuTorch's Module, for callers without its headers: Python's ctypes.
///
/// Functions return 0, or an ExecuTorch error code with a text in
/// executorch_backends_last_error(). No exception leaves them. A program may be used from
/// several threads: calls on one program take turns, calls on several run at once.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct executorch_backends_program executorch_backends_program;

enum executorch_backends_load_mode {
  EXECUTORCH_BACKENDS_MMAP = 0,               ///< pages come in when they are read
  EXECUTORCH_BACKENDS_MMAP_MLOCK = 1,         ///< locked in memory, or an error
  EXECUTORCH_BACKENDS_MMAP_MLOCK_IGNORE = 2,  ///< locked in memory if the user's limit allows
  EXECUTORCH_BACKENDS_MMAP_MADVISE = 3,       ///< read ahead, not locked
  EXECUTORCH_BACKENDS_FILE = 4,               ///< segments are read when they are needed
  EXECUTORCH_BACKENDS_BUFFER = 5,             ///< the whole file is read first

  /// Added to a mode: runs are recorded for executorch_backends_program_etdump.
  EXECUTORCH_BACKENDS_RECORD = 0x100,
};

/// Kinds of value; the numbers are of this ABI, not ExecuTorch's Tag.
enum executorch_backends_kind {
  EXECUTORCH_BACKENDS_NONE = 0,
  EXECUTORCH_BACKENDS_TENSOR = 1,
  EXECUTORCH_BACKENDS_INT = 2,
  EXECUTORCH_BACKENDS_DOUBLE = 3,
  EXECUTORCH_BACKENDS_BOOL = 4,
  EXECUTORCH_BACKENDS_OTHER = 5,
};

/// One input, output, or the description of one. Sizes count elements; `bytes` is the size of
/// a tensor's data, which is packed in `dim_order`. Pointers are borrowed.
typedef struct executorch_backends_value {
  int32_t kind;
  int32_t dtype;  ///< ExecuTorch's ScalarType
  int32_t rank;
  const int32_t* sizes;
  const uint8_t* dim_order;
  void* data;
  size_t bytes;
  int64_t integer;  ///< ints and bools
  double real;
} executorch_backends_value;

/// A runtime option of one backend. Values that read as an integer (`-?[0-9]+`), `true` or
/// `false` are passed on as such, others as text of at most 255 bytes.
typedef struct executorch_backends_option {
  const char* backend_id;
  const char* key;
  const char* value;
} executorch_backends_option;

/// Where to put output `index`, which `description` describes; null stops the call with an error.
typedef void* (*executorch_backends_allocate)(void* context, size_t index,
                                              const executorch_backends_value* description);

/// The text of this thread's last failure: every error that the runtime and the delegates
/// logged during the call, one a line. Valid until the thread's next call.
const char* executorch_backends_last_error(void);

/// Loads a program from `path`, or, when `path` is null, from a copy of `bytes`.
/// `data_path` names a .ptd, or is null. Methods are not initialised yet.
int32_t executorch_backends_program_load(const char* path, const void* bytes, size_t byte_count,
                                         const char* data_path, int32_t mode,
                                         executorch_backends_program** out);

/// Adds runtime options; methods that are initialised later see them.
int32_t executorch_backends_program_set_options(executorch_backends_program* program,
                                                const executorch_backends_option* options,
                                                size_t option_count);

/// Frees the program and what its methods and delegates hold; null is allowed.
void executorch_backends_program_free(executorch_backends_program* program);

/// Names of the methods, sorted.
size_t executorch_backends_program_method_count(const executorch_backends_program* program);
const char* executorch_backends_program_method_name(const executorch_backends_program* program,
                                                    size_t index);

/// Numbers of inputs, outputs and delegate ids of a method; it need not be initialised.
int32_t executorch_backends_method_counts(executorch_backends_program* program, const char* method,
                                          size_t* inputs, size_t* outputs, size_t* backends);

/// Input or output `index` as the program declares it: `sizes` are upper bounds where a
/// dimension is dynamic. `data` is null; pointers are valid as long as the program.
int32_t executorch_backends_method_input(executorch_backends_program* program, const char* method,
                                         size_t index, executorch_backends_value* out);
int32_t executorch_backends_method_output(executorch_backends_program* program, const char* method,
                                          size_t index, executorch_backends_value* out);
int32_t executorch_backends_method_backend(executorch_backends_program* program, const char* method,
                                           size_t index, const char** out);

/// Initialises a method, its delegates included; once is enough.
int32_t executorch_backends_method_load(executorch_backends_program* program, const char* method);

/// Runs a method. Inputs are checked against its declaration before anything runs. Tensors
/// among the outputs are copied to where `allocate` says; `outputs` must have room for all.
int32_t executorch_backends_method_execute(executorch_backends_program* program, const char* method,
                                           const executorch_backends_value* inputs,
                                           size_t input_count, executorch_backends_value* outputs,
                                           size_t output_count,
                                           executorch_backends_allocate allocate, void* context);

/// Events since the program was loaded, or since the last call of this, as ExecuTorch's ETDump: of
/// methods, their operators, and delegates. Valid until the program's next call of this; no bytes
/// where nothing was recorded. An error unless the program was loaded to be recorded.
int32_t executorch_backends_program_etdump(executorch_backends_program* program, const void** data,
                                           size_t* size);

/// What the loaded libraries registered, one name a line: kernels as programs spell them
/// (`aten::add.out`), and ids of backends. Valid until the thread's next call of it.
const char* executorch_backends_registered_kernels(void);
const char* executorch_backends_registered_backends(void);

#ifdef __cplusplus
}
#endif
