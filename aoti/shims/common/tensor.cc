#include "executorch_backends/aoti/shims/common/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "executorch_backends/aoti/shims/common/iterate.h"
#include "executorch_backends/common/checked/checked.h"

namespace executorch_backends::aoti {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vector

/// The offset of element `index` of a dimension.
int64_t offset_at(const Tensor& t, int64_t dim, int64_t index) {
  int64_t offset = 0;
  require(
      !checked::mul(index, t.stride(dim), &offset) && !checked::add(offset, t.offset(), &offset),
      "an offset of ", t.offset(), " + ", index, " x ", t.stride(dim));
  return offset;
}

}  // namespace

Storage::Storage(size_t bytes) : data_(nullptr), bytes_(bytes), owned_(true) {
  size_t rounded = 0;
  require(!checked::add(bytes, kAlignment, &rounded), "cannot allocate ", bytes, " bytes");
  data_ =
      static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded / kAlignment * kAlignment));
  require(data_ != nullptr, "cannot allocate ", bytes, " bytes");
}

Storage::~Storage() {
  if (owned_) std::free(data_);
}

Tensor::Tensor(std::shared_ptr<Storage> storage, const Ints& sizes, const Ints& strides,
               int64_t offset, DType dtype)
    : storage_(std::move(storage)),
      sizes_(sizes),
      strides_(strides),
      offset_(offset),
      dtype_(dtype) {
  const size_t span = span_bytes(sizes, strides, offset, dtype);
  require(storage_ != nullptr, "a tensor without storage");
  require(span <= storage_->bytes(), "sizes ", sizes, ", strides ", strides, ", offset ", offset,
          " of ", name_of(dtype), " reaches ", span, " bytes, the storage has ", storage_->bytes());
  require(span == 0 || storage_->data() != nullptr, "sizes ", sizes, ", but no memory");
  item_size_ = executorch_backends::aoti::item_size(dtype);
  numel_ = numel_of(sizes);
}

bool Tensor::is_contiguous() const {
  if (numel_ == 0) return true;  // before the other sizes are multiplied: they may be any
  int64_t expected = 1;
  for (int64_t d = dim(); d-- > 0;) {
    if (sizes_[d] == 1) continue;
    if (strides_[d] != expected) return false;
    expected *= sizes_[d];
  }
  return true;
}

int64_t numel_of(const Ints& sizes) {
  int64_t count = 1;
  bool overflow = false;
  bool none = false;
  for (const int64_t size : sizes) {
    require(size >= 0, "sizes ", sizes, ": one is negative");
    none = none || size == 0;
    overflow = overflow || checked::mul(count, size, &count);
  }
  require(none || !overflow, "sizes ", sizes, ": too many elements");
  return none ? 0 : count;
}

size_t span_bytes(const Ints& sizes, const Ints& strides, int64_t offset, DType dtype) {
  layout::Layout layout;
  size_t first = 0, bytes = 0;
  require(sizes.size() == strides.size(), sizes.size(), " sizes, but ", strides.size(), " strides");
  require(!checked::narrow(offset, &first) &&
              layout::make_layout(sizes.data(), strides.data(), static_cast<size_t>(sizes.size()),
                                  first, item_size(dtype), &layout),
          "sizes ", sizes, ", strides ", strides, ", offset ", offset, ": one is negative");
  require(layout::span_bytes(layout, &bytes), "sizes ", sizes, ", strides ", strides, ", offset ",
          offset, ": too large");
  return bytes;
}

Ints strides_in_order(const Ints& sizes, const Ints& order) {
  Ints strides = sizes;
  int64_t step = 1;
  for (const int64_t d : order) {
    strides[d] = step;
    require(!checked::mul(step, std::max<int64_t>(sizes[d], 1), &step), "sizes ", sizes,
            ": too many elements");
  }
  return strides;
}

Ints contiguous_strides(const Ints& sizes) {
  Ints order;
  for (int64_t d = sizes.size(); d-- > 0;) order.push_back(d);
  return strides_in_order(sizes, order);
}

Tensor empty_strided(const Ints& sizes, const Ints& strides, DType dtype) {
  const size_t bytes = span_bytes(sizes, strides, 0, dtype);
  return Tensor(std::make_shared<Storage>(bytes), sizes, strides, 0, dtype);
}

Tensor empty(const Ints& sizes, DType dtype) {
  return empty_strided(sizes, contiguous_strides(sizes), dtype);
}

Ints dense_strides(const Tensor& like) {
  // As TensorImpl::is_non_overlapping_and_dense, then infer_dense_strides.
  if (like.numel() == 0) return contiguous_strides(like.sizes());
  const int64_t rank = like.dim();
  Ints order;
  for (int64_t d = 0; d < rank; ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    if (like.size(a) < 2 || like.size(b) < 2) return like.size(a) >= 2 && like.size(b) < 2;
    return like.stride(a) < like.stride(b);
  });
  int64_t expected = 1;
  bool dense = true;
  for (const int64_t d : order) {
    if (like.size(d) < 2) break;
    dense = dense && like.stride(d) == expected;
    expected *= like.size(d);
  }
  if (like.is_contiguous() || dense) return like.strides();
  return dense_strides(like.sizes(), {like.strides()});
}

Ints dense_strides(const Ints& sizes, std::initializer_list<Ints> operands) {
  // As TensorIterator::reorder_dimensions: the innermost first; an insertion sort, because the
  // comparison leaves open what a stride of 0 is next to.
  Ints order;
  for (int64_t d = sizes.size(); d-- > 0;) order.push_back(d);
  const auto compare = [&](int64_t a, int64_t b) -> int {
    for (const Ints& strides : operands) {
      if (strides[a] == 0 || strides[b] == 0) continue;
      if (strides[a] != strides[b]) return strides[a] < strides[b] ? -1 : 1;
      if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
  };
  for (int64_t i = 1; i < order.size(); ++i) {
    int64_t at = i;
    for (int64_t j = i; j-- > 0;) {
      const int comparison = compare(order[j], order[at]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[j], order[at]);
      at = j;
    }
  }
  return strides_in_order(sizes, order);
}

Tensor empty_like(const Tensor& like, DType dtype) {
  return empty_strided(like.sizes(), dense_strides(like), dtype);
}

Tensor empty_channels_last(const Ints& sizes, DType dtype) {
  const int64_t rank = sizes.size();
  if (rank != 4 && rank != 5) return empty(sizes, dtype);
  Ints order{1};
  for (int64_t d = rank; d-- > 2;) order.push_back(d);
  order.push_back(0);
  return empty_strided(sizes, strides_in_order(sizes, order), dtype);
}

bool is_channels_last(const Tensor& t) {
  // As c10::is_channels_last_strides_2d_s4 and …3d_s5.
  const int64_t rank = t.dim();
  if ((rank != 4 && rank != 5) || t.stride(1) == 0 || t.numel() == 0) return false;
  int64_t least = 0;
  const auto rises = [&](int64_t d) {
    if (t.size(d) == 0 || t.stride(d) < least) return false;
    if (d == 0 && least == t.stride(1)) return false;  // N111 is the default order
    least = t.stride(d);
    if (t.size(d) > 1) least *= t.size(d);
    return true;
  };
  if (!rises(1)) return false;
  for (int64_t d = rank; d-- > 2;) {
    if (!rises(d)) return false;
  }
  return rises(0);
}

Tensor& tensor_of(AtenTensorHandle handle) {
  require(handle != nullptr, "a tensor handle is null");
  Tensor& result = *reinterpret_cast<Tensor*>(handle);
  require(result.defined(), "a tensor is undefined");
  return result;
}

const Tensor* optional_tensor_of(AtenTensorHandle* handle) {
  return handle == nullptr || *handle == nullptr ? nullptr : &tensor_of(*handle);
}

AtenTensorHandle release(Tensor&& t) {
  return reinterpret_cast<AtenTensorHandle>(new Tensor(std::move(t)));
}

int64_t wrap_dim(int64_t dim, int64_t rank) {
  const int64_t count = std::max<int64_t>(rank, 1);
  require(-count <= dim && dim < count, "dimension ", dim, " is outside of -", count, " to ",
          count - 1);
  return dim < 0 ? dim + count : dim;
}

Tensor transpose(const Tensor& t, int64_t a, int64_t b) {
  Ints sizes = t.sizes(), strides = t.strides();
  if (t.dim() == 0) return t;
  a = wrap_dim(a, t.dim());
  b = wrap_dim(b, t.dim());
  std::swap(sizes[a], sizes[b]);
  std::swap(strides[a], strides[b]);
  return t.view(sizes, strides, t.offset());
}

Tensor select(const Tensor& t, int64_t dim, int64_t index) {
  require(t.dim() > 0, "cannot select from a tensor of rank 0");
  dim = wrap_dim(dim, t.dim());
  require(-t.size(dim) <= index && index < t.size(dim), "index ", index,
          " is outside of dimension ", dim, " of size ", t.size(dim));
  if (index < 0) index += t.size(dim);
  Ints sizes = t.sizes(), strides = t.strides();
  sizes.erase(dim);
  strides.erase(dim);
  return t.view(sizes, strides, offset_at(t, dim, index));
}

Tensor narrow(const Tensor& t, int64_t dim, int64_t start, int64_t length) {
  require(t.dim() > 0, "cannot narrow a tensor of rank 0");
  dim = wrap_dim(dim, t.dim());
  const int64_t size = t.size(dim);
  require(-size <= start && start <= size, "start ", start, " is outside of dimension ", dim,
          " of size ", size);
  if (start < 0) start += size;
  require(length >= 0 && length <= size - start, "start ", start, " and length ", length,
          " exceed dimension ", dim, " of size ", size);
  Ints sizes = t.sizes();
  sizes[dim] = length;
  return t.view(sizes, t.strides(), offset_at(t, dim, start));
}

Tensor unsqueeze(const Tensor& t, int64_t dim) {
  dim = wrap_dim(dim, t.dim() + 1);
  Ints sizes = t.sizes(), strides = t.strides();
  int64_t step = 1;
  require(dim == t.dim() || !checked::mul(t.size(dim), t.stride(dim), &step), "sizes ", t.sizes(),
          ", strides ", t.strides(), ": too large");
  strides.insert(dim, step);
  sizes.insert(dim, 1);
  return t.view(sizes, strides, t.offset());
}

Tensor expand(const Tensor& t, const Ints& sizes) {
  if (t.sizes() == sizes) return t;
  const int64_t added = sizes.size() - t.dim();
  require(added >= 0, "sizes ", t.sizes(), " do not expand to ", sizes);
  Ints strides = sizes;
  for (int64_t d = 0; d < sizes.size(); ++d) {
    const int64_t from = d - added;
    const bool same = from >= 0 && t.size(from) == sizes[d];
    require(same || from < 0 || t.size(from) == 1, "sizes ", t.sizes(), " do not expand to ",
            sizes);
    strides[d] = same ? t.stride(from) : 0;
  }
  return t.view(sizes, strides, t.offset());
}

Ints broadcast(const Ints& a, const Ints& b) {
  const Ints& longer = a.size() >= b.size() ? a : b;
  const Ints& shorter = a.size() >= b.size() ? b : a;
  Ints result = longer;
  const int64_t added = longer.size() - shorter.size();
  for (int64_t d = 0; d < shorter.size(); ++d) {
    const int64_t x = longer[d + added], y = shorter[d];
    require(x == y || x == 1 || y == 1, "sizes ", a, " and ", b, " do not broadcast");
    result[d + added] = x == 1 ? y : x;
  }
  return result;
}

bool may_share_memory(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0) return false;
  const auto range = [](const Tensor& t) {
    int64_t last = 0;
    for (int64_t d = 0; d < t.dim(); ++d)
      last += (t.size(d) - 1) * (t.size(d) > 1 ? t.stride(d) : 0);
    const auto begin = reinterpret_cast<uintptr_t>(t.raw());
    return std::pair(begin, begin + (static_cast<size_t>(last) + 1) * t.item_size());
  };
  const auto [begin, end] = range(a);
  const auto [other_begin, other_end] = range(b);
  return begin < other_end && other_begin < end;
}

Tensor apart(const Tensor& in, const Tensor& out) {
  return may_share_memory(in, out) ? clone(in) : in;
}

void require_apart(const Tensor& out, const Tensor& in) {
  require(!may_share_memory(out, in), "sizes ", in.sizes(),
          " share memory with what is written, of sizes ", out.sizes());
}

void require_single_elements(const Tensor& out) {
  for (int64_t d = 0; d < out.dim(); ++d) {
    require(out.size(d) < 2 || out.stride(d) != 0, "sizes ", out.sizes(), ", strides ",
            out.strides(), ": elements that are written more than once");
  }
}

}  // namespace executorch_backends::aoti
