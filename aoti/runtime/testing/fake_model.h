/// A compiled program that does what a text says, for tests of whoever runs compiled programs.
///
/// Its library exports AOTInductor's C interface. The text is part of the library's bytes, so that
/// each program has code of its own: `fake_model` puts it there. One statement a line:
///
///   inputs 2              how many; none where it is absent
///   constants 64 128      bytes of each constant; the first byte of the first is added to results
///   folded 64             a constant that comes from no weights
///   output buffer SIZES STRIDES OFFSET
///                         a view of an f32 buffer that is as large as the view needs. Its element
///                         i is 2 · x + c: x is element i (modulo their number) of input 0 as it
///                         lies in memory, or i without an f32 input
///   output same SIZES STRIDES OFFSET      another view of the buffer before
///   output input 1 SIZES STRIDES OFFSET   a view of an input's memory
///   output size           the first size of input 0, an int
///   output random         a number of the shims' random state, which moves on
///   output late           0 in the first two runs of a container, then like `random`
///   output calls          how often this container has run
///   output again          the handle of the output before, once more
///   output none           nothing, which is wrong
///   fail create|constants|share|early|run|delete TEXT    that call returns an error; `early` is a
///                         run that has not yet taken its inputs
///   ignore TEXT           a run leaves an error with the shims and says that all is well
///   throw TEXT            a run throws; an int where there is no text
///   needs constants       a run without constants fails
///   sync                  a run waits for its stream, as one that looks at a value does
///
/// SIZES and STRIDES are numbers with commas, or `-` for none; `s` is the first size of input 0.
#pragma once

#include <cstddef>

namespace executorch_backends::aoti::testing {

/// What a device whose work is done later gives a program as its stream.
struct FakeStream {
  void* self;
  /// Does `work(argument)` when its turn comes, which may be never or often; `release(argument)`
  /// once after the last time.
  void (*enqueue)(void* self, void (*work)(void*), void* argument, void (*release)(void*));
  /// False where it cannot wait now.
  bool (*synchronise)(void* self);
};

/// The text and a NUL are at most this long. The fixture knows what is there at first.
constexpr size_t kFakeScriptBytes = 4096;

/// Where each program counts its containers: the address of an int, in decimal.
constexpr char kFakeContainersVariable[] = "FAKE_MODEL_CONTAINERS";

}  // namespace executorch_backends::aoti::testing
