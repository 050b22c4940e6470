#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <cmath>
#include <limits>
#include <string_view>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/aoti/shims/common/tensor.h"

namespace executorch_backends::aoti {
namespace {

/// How many of `count` rising values lie before `value`: those below it, or, from the right, also
/// those equal to it. A NaN lies behind all numbers.
template <class T>
int64_t place_of(const T* values, int64_t step, const int64_t* order, int64_t order_step,
                 int64_t count, T value, bool right) {
  int64_t begin = 0;
  for (int64_t end = count; begin < end;) {
    const int64_t middle = begin + (end - begin) / 2;
    const T at = values[(order ? order[middle * order_step] : middle) * step];
    const bool behind = right ? at > value : at >= value;
    (behind ? end : begin) = behind ? middle : middle + 1;
  }
  return begin;
}

/// The place of every value in its line of `sequence`: the one there is, or the line of the same
/// leading indices.
Tensor search(const Tensor& sequence, const Tensor& values, const Tensor* sorter, bool right,
              bool narrow) {
  require(sequence.dim() > 0, "a sequence of rank 0");
  require(sequence.dtype() == values.dtype(), "dtypes are ", name_of(sequence.dtype()), " and ",
          name_of(values.dtype()));
  require(!sorter || (sorter->dtype() == DType::Long && sorter->sizes() == sequence.sizes()),
          "a sorter that does not fit the sequence");
  const int64_t last = sequence.dim() - 1, count = sequence.size(last);
  require(!narrow || count <= std::numeric_limits<int32_t>::max(), "places of ", count,
          " elements do not fit int32");
  if (sorter) {
    for_each_in_order<1>(sorter->sizes(), {sorter->strides()}, [&](const Offsets<1>& at) {
      const int64_t place = sorter->data<int64_t>()[at[0]];
      require(place >= 0 && place < count, "the sorter's index ", place, " is outside of ", count,
              " elements");
    });
  }
  const bool one = sequence.dim() == 1;
  // The sequences as lines of the values' sizes.
  Ints line_strides = Ints::filled(values.dim(), 0), order_strides = line_strides;
  if (!one) {
    require(values.dim() == sequence.dim(), "values of sizes ", values.sizes(), " in sequences of ",
            sequence.sizes());
    for (int64_t d = 0; d < last; ++d) {
      require(values.size(d) == sequence.size(d), "values of sizes ", values.sizes(),
              " in sequences of ", sequence.sizes());
      line_strides[d] = sequence.stride(d);
      if (sorter) order_strides[d] = sorter->stride(d);
    }
  }
  Tensor out = empty(values.sizes(), narrow ? DType::Int : DType::Long);
  dispatch(Reals{}, values.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_run<4>(
        values.sizes(), {out.strides(), values.strides(), line_strides, order_strides},
        [&](const Offsets<4>& at, const Offsets<4>& steps, int64_t length) {
          for (int64_t i = 0; i < length; ++i) {
            const int64_t place =
                place_of(sequence.data<T>() + at[2] + i * steps[2], sequence.stride(last),
                         sorter ? sorter->data<int64_t>() + at[3] + i * steps[3] : nullptr,
                         sorter ? sorter->stride(last) : 0, count,
                         values.data<T>()[at[1] + i * steps[1]], right);
            const int64_t to = at[0] + i * steps[0];
            if (narrow) {
              out.data<int32_t>()[to] = static_cast<int32_t>(place);
            } else {
              out.data<int64_t>()[to] = place;
            }
          }
        },
        kGrain / 16);
  });
  return out;
}

bool from_right(int32_t right, const char** side) {
  if (!side || !*side) return right != 0;
  const std::string_view name(*side);
  require(name == "left" || name == "right", "side '", name, "' is neither left nor right");
  require(!(right && name == "left"), "right is set, but side is left");
  return name == "right";
}

/// A number to look for, and on which side of what equals it.
struct Number {
  Tensor value;
  bool right;
};

/// For floats, rounded to their dtype as ATen has it. For integers, the integer that lies at the
/// same place: comparing as float64 would take neighbours beyond 2^53 for the same.
Number number_in(DType dtype, double number, bool right) {
  Tensor value = empty({}, DType::Double);
  *value.data<double>() = number;
  if (dtype == DType::Double || dtype == DType::Float || dtype == DType::Half ||
      dtype == DType::BFloat16) {
    return {to(value, dtype), right};
  }
  value = empty({}, DType::Long);
  int64_t& whole = *value.data<int64_t>();
  if (!(number < 0x1p63)) {  // behind all, as a NaN is
    whole = std::numeric_limits<int64_t>::max();
    return {value, true};
  }
  if (number < -0x1p63) {
    whole = std::numeric_limits<int64_t>::min();
    return {value, false};
  }
  whole = static_cast<int64_t>(right ? std::floor(number) : std::ceil(number));
  return {value, right};
}

}  // namespace
}  // namespace executorch_backends::aoti

using namespace executorch_backends::aoti;  // NOLINT

AOTITorchError aoti_torch_cpu_bucketize_Tensor(AtenTensorHandle self, AtenTensorHandle boundaries,
                                               int32_t out_int32, int32_t right,
                                               AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    require(tensor_of(boundaries).dim() == 1, "boundaries of rank ", tensor_of(boundaries).dim());
    *ret0 = release(
        search(tensor_of(boundaries), tensor_of(self), nullptr, right != 0, out_int32 != 0));
  });
}

AOTITorchError aoti_torch_cpu_searchsorted_Tensor(AtenTensorHandle sorted_sequence,
                                                  AtenTensorHandle self, int32_t out_int32,
                                                  int32_t right, const char** side,
                                                  AtenTensorHandle* sorter,
                                                  AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    *ret0 = release(search(tensor_of(sorted_sequence), tensor_of(self), optional_tensor_of(sorter),
                           from_right(right, side), out_int32 != 0));
  });
}

AOTITorchError aoti_torch_cpu_searchsorted_Scalar(AtenTensorHandle sorted_sequence, double self,
                                                  int32_t out_int32, int32_t right,
                                                  const char** side, AtenTensorHandle* sorter,
                                                  AtenTensorHandle* ret0) {
  return shim(__func__, [&] {
    const Tensor& sequence = tensor_of(sorted_sequence);
    const Number number = number_in(sequence.dtype(), self, from_right(right, side));
    *ret0 =
        release(search(number.value.dtype() == DType::Long ? to(sequence, DType::Long) : sequence,
                       number.value, optional_tensor_of(sorter), number.right, out_int32 != 0));
  });
}
