// Hashes of states, and sets of hashes that survive a failed allocation.
#pragma once

#include <absl/container/flat_hash_set.h>
#include <absl/strings/string_view.h>
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace tandem {

/// The 64-bit hash (XXH3) by which searches look up states.
inline std::uint64_t HashState(std::span<const std::uint8_t> state) {
  return XXH3_64bits(state.data(), state.size());
}

/// The bytes of a state as text, by which Abseil's tables find it.
inline absl::string_view KeyOf(std::span<const std::uint8_t> state) {
  return {reinterpret_cast<const char*>(state.data()), state.size()};
}

/// Calls `change(table)`. An Abseil table whose allocation failed cannot even be destroyed (it has
/// its new capacity already), so it is then replaced by an empty one, and its memory is lost.
template <class Table, class Change>
decltype(auto) ChangeTable(Table& table, Change change) {
  try {
    return change(table);
  } catch (const std::bad_alloc&) {
    new (&table) Table();
    throw;
  }
}

/// The memory of an Abseil table, in bytes, once it holds `size` entries. When 7 of 8 places are
/// taken, a table gets twice as many. A removed entry may still take its place.
template <class Table>
std::size_t BytesOfTable(const Table& table, std::size_t size) {
  std::size_t places = table.capacity();
  while (places - places / 8 < size) places = 2 * places + 1;
  return places * (sizeof(typename Table::value_type) + 1);
}

/// HashSet is a set of 64-bit hashes. If memory runs out, it throws std::bad_alloc and gets empty.
class HashSet {
 public:
  /// Returns whether `hash` is new.
  bool Insert(std::uint64_t hash) {
    return ChangeTable(table_, [hash](Table& table) { return table.insert(hash).second; });
  }
  void Reserve(std::size_t size) {
    ChangeTable(table_, [size](Table& table) { table.reserve(size); });
  }
  void Clear() { table_.clear(); }
  bool Contains(std::uint64_t hash) const { return table_.contains(hash); }

  /// Prefetches what Contains and Insert will read. Call it some hashes ahead.
  void Prefetch(std::uint64_t hash) const { table_.prefetch(hash); }

  std::size_t size() const { return table_.size(); }
  /// The memory, in bytes, once `more` other hashes are added.
  std::size_t BytesWith(std::size_t more) const { return BytesOfTable(table_, size() + more); }

 private:
  using Table = absl::flat_hash_set<std::uint64_t>;
  Table table_;
};

}  // namespace tandem
