// Vectors of numbers that begin at a cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace tandem {

/// CacheLineAllocator allocates memory that begins at a cache line.
template <class T>
struct CacheLineAllocator {
  using value_type = T;  // NOLINT(readability-identifier-naming): a name of the standard library
  static constexpr std::align_val_t kAlignment{64};

  CacheLineAllocator() = default;
  template <class U>
  explicit CacheLineAllocator(const CacheLineAllocator<U>& /*other*/) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* memory, std::size_t /*count*/) { ::operator delete(memory, kAlignment); }

  bool operator==(const CacheLineAllocator& /*other*/) const { return true; }
};

/// AlignedVector is for numbers that vector instructions read. A read of a whole register costs
/// twice as much if it touches two cache lines, and std::vector's memory may begin in the middle of
/// one.
template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

/// Returns a number of elements, or an index, in the type that vectors take.
inline std::size_t Size(std::int64_t count) { return static_cast<std::size_t>(count); }

}  // namespace tandem
