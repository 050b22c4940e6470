#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>

#include "executorch_backends/aoti/shims/common/dtype.h"
#include "executorch_backends/aoti/shims/common/ints.h"

namespace executorch_backends::aoti {

/// Memory that tensors share: of their own, or borrowed from a caller who keeps it alive.
class Storage {
 public:
  /// Memory of its own, aligned to 64 bytes. Fails when there is none.
  explicit Storage(size_t bytes);
  Storage(void* borrowed, size_t bytes)
      : data_(static_cast<std::byte*>(borrowed)), bytes_(bytes), owned_(false) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* data_;
  size_t bytes_;
  bool owned_;
};

/// What an AtenTensorHandle points to: a layout over a storage. Copies share the storage.
class Tensor {
 public:
  /// Undefined: no storage, no elements; what aoti_torch_new_uninitialized_tensor makes.
  Tensor() = default;
  /// Fails when the layout reaches outside the storage.
  Tensor(std::shared_ptr<Storage> storage, const Ints& sizes, const Ints& strides, int64_t offset,
         DType dtype);

  bool defined() const { return storage_ != nullptr; }
  const Ints& sizes() const { return sizes_; }
  const Ints& strides() const { return strides_; }
  Ints& sizes() { return sizes_; }  // for callers that hand out int64_t*; not to be changed
  Ints& strides() { return strides_; }
  int64_t size(int64_t dim) const { return sizes_[dim]; }
  int64_t stride(int64_t dim) const { return strides_[dim]; }
  int64_t dim() const { return sizes_.size(); }
  int64_t offset() const { return offset_; }
  int64_t numel() const { return numel_; }
  DType dtype() const { return dtype_; }
  size_t item_size() const { return item_size_; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  void* raw() const {
    return defined() && storage_->data() != nullptr
               ? storage_->data() + static_cast<size_t>(offset_) * item_size_
               : nullptr;
  }
  /// The first element, as an element of T: of the tensor's dtype, or as wide.
  template <class T>
  T* data() const {
    return static_cast<T*>(raw());
  }

  /// Another layout over the same storage, checked.
  Tensor view(const Ints& sizes, const Ints& strides, int64_t offset) const {
    return Tensor(storage_, sizes, strides, offset, dtype_);
  }

  bool is_contiguous() const;

 private:
  std::shared_ptr<Storage> storage_;
  Ints sizes_;
  Ints strides_;
  int64_t offset_ = 0;
  int64_t numel_ = 0;
  size_t item_size_ = 0;
  DType dtype_ = DType::Float;
};

/// PyTorch's strides of a tensor in the default order: a size of 0 counts as 1.
Ints contiguous_strides(const Ints& sizes);
/// The product; 0 when any is 0. Fails on overflow or when one is negative.
int64_t numel_of(const Ints& sizes);

/// Bytes from a storage's start to the last element's end. Fails on what overflows or is negative.
size_t span_bytes(const Ints& sizes, const Ints& strides, int64_t offset, DType dtype);
/// The strides without a gap that walk the dimensions in this order, the innermost first.
Ints strides_in_order(const Ints& sizes, const Ints& order);

Tensor empty(const Ints& sizes, DType dtype);
Tensor empty_strided(const Ints& sizes, const Ints& strides, DType dtype);
/// The strides that at::empty_like gives: its own where the tensor is dense and does not overlap,
/// else dense ones in the order of its strides.
Ints dense_strides(const Tensor& like);
/// The strides that TensorIterator gives a result of these sizes, from the strides of its expanded
/// operands.
Ints dense_strides(const Ints& sizes, std::initializer_list<Ints> operands);
Tensor empty_like(const Tensor& like, DType dtype);
inline Tensor empty_like(const Tensor& like) { return empty_like(like, like.dtype()); }
/// Dense, channels last for rank 4 (NHWC) and 5 (NDHWC), else contiguous.
Tensor empty_channels_last(const Ints& sizes, DType dtype);
/// Whether at::suggest_memory_format finds the tensor channels last.
bool is_channels_last(const Tensor& tensor);

/// The tensor behind a handle; fails when it is null or undefined.
Tensor& tensor_of(AtenTensorHandle handle);
/// The same for an optional tensor, which is a pointer to a handle: null where it is absent.
const Tensor* optional_tensor_of(AtenTensorHandle* handle);
/// A new handle, for the caller to delete.
AtenTensorHandle release(Tensor&& tensor);

/// `dim` as one of 0 … rank-1, negative ones from the end; rank 0 counts as 1.
int64_t wrap_dim(int64_t dim, int64_t rank);

/// Number of elements along `dim`; 1 for rank 0.
inline int64_t size_along(const Tensor& t, int64_t dim) { return t.dim() == 0 ? 1 : t.size(dim); }
inline int64_t stride_along(const Tensor& t, int64_t dim) {
  return t.dim() == 0 ? 1 : t.stride(dim);
}

// Views. All fail where ATen would.
Tensor transpose(const Tensor& t, int64_t a, int64_t b);
Tensor select(const Tensor& t, int64_t dim, int64_t index);
Tensor narrow(const Tensor& t, int64_t dim, int64_t start, int64_t length);
Tensor unsqueeze(const Tensor& t, int64_t dim);
/// Broadcasts: strides of 0 where a size of 1, or no dimension, meets a larger one.
Tensor expand(const Tensor& t, const Ints& sizes);
/// The sizes that two broadcast to.
Ints broadcast(const Ints& a, const Ints& b);

// What is written while it is read. As ATen's checks, but by address: borrowed tensors over the
// same memory have storages of their own.
/// Whether the ranges from the first to the last byte meet.
bool may_share_memory(const Tensor& a, const Tensor& b);
/// `in`, or a copy of it where writing to `out` could change it.
Tensor apart(const Tensor& in, const Tensor& out);
/// Fails where writing to `out` could change `in`.
void require_apart(const Tensor& out, const Tensor& in);
/// Fails where an element of `out` stands at several indices.
void require_single_elements(const Tensor& out);

// Copies.
/// Element by element, broadcasting `src` and converting to `dst`'s dtype as `Tensor.copy_` does.
/// They may share memory.
void copy(const Tensor& dst, const Tensor& src);
/// Itself where it is in the default order already, else a copy.
Tensor contiguous(const Tensor& t);
/// A copy with empty_like's strides.
Tensor clone(const Tensor& t);
/// Itself where it has the dtype, else a converted copy.
Tensor to(const Tensor& t, DType dtype);
void fill_zero(const Tensor& t);

}  // namespace executorch_backends::aoti
