// Vectors of numbers that begin at a cache line.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace tandem {

/// Allocates memory that begins at a cache line.
template <class T>
struct CacheLineAllocator {
  using value_type = T;
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

/// For numbers that vector instructions read: a read of a whole cache line costs twice as much if
/// it touches two of them, and std::vector's memory begins anywhere.
template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace tandem
