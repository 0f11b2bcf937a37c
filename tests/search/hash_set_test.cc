// Tests tables of hashes whose memory runs out.
#include "search/hash_set.h"

#include <gtest/gtest.h>

#include <memory>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace tandem {
namespace {

// Allocates until `bytes_left` are used up.
template <class T>
struct LimitedAllocator {
  using value_type = T;

  explicit LimitedAllocator(std::size_t* left) : bytes_left(left) {}
  template <class Other>
  // NOLINTNEXTLINE(google-explicit-constructor): allocators convert
  LimitedAllocator(const LimitedAllocator<Other>& other) : bytes_left(other.bytes_left) {}

  T* allocate(std::size_t n) {
    if (bytes_left == nullptr || n * sizeof(T) > *bytes_left) throw std::bad_alloc();
    *bytes_left -= n * sizeof(T);
    T* const memory = std::allocator<T>().allocate(n);
#ifdef __SANITIZE_ADDRESS__
    __lsan_ignore_object(memory);  // ChangeTable gives the memory of a failed table up
#endif
    return memory;
  }
  void deallocate(T* at, std::size_t n) { std::allocator<T>().deallocate(at, n); }
  bool operator==(const LimitedAllocator&) const = default;

  std::size_t* bytes_left;  // null: allocates nothing
};

struct LimitedTable : absl::flat_hash_set<std::uint64_t, absl::Hash<std::uint64_t>, std::equal_to<>,
                                          LimitedAllocator<std::uint64_t>> {
  using flat_hash_set::flat_hash_set;
  LimitedTable() : flat_hash_set(LimitedAllocator<std::uint64_t>(nullptr)) {}
};

TEST(ChangeTable, TableWhoseMemoryRunsOutIsEmptyAndCanBeDestroyed) {
  std::size_t bytes_left = 20'000;
  LimitedTable table{LimitedAllocator<std::uint64_t>(&bytes_left)};
  std::uint64_t inserted = 0;
  const auto insert_many = [&] {
    for (; inserted < 100'000; ++inserted) {
      ChangeTable(table, [&](LimitedTable& into) { return into.insert(inserted).second; });
    }
  };
  EXPECT_THROW(insert_many(), std::bad_alloc);
  EXPECT_GT(inserted, 100);
  EXPECT_TRUE(table.empty());
}

TEST(HashSet, KnowsTheHashesThatItHolds) {
  HashSet set;
  EXPECT_LE(set.BytesWith(0), 9);  // later versions of Abseil keep one hash in the table itself
  EXPECT_TRUE(set.Insert(7));
  EXPECT_FALSE(set.Insert(7));
  EXPECT_TRUE(set.Contains(7));
  EXPECT_FALSE(set.Contains(8));
  EXPECT_EQ(set.size(), 1);
  EXPECT_GT(set.BytesWith(0), 8);
  set.Clear();
  EXPECT_FALSE(set.Contains(7));
}

TEST(HashSet, KnowsTheMemoryOfMoreHashes) {
  for (const std::size_t more : {1, 7, 8, 14, 15, 1000, 3000}) {
    HashSet set;
    for (std::uint64_t hash = 0; hash < 100; ++hash) set.Insert(hash);
    const std::size_t expected = set.BytesWith(more);
    for (std::uint64_t hash = 0; hash < more; ++hash) set.Insert(100 + hash);
    EXPECT_EQ(set.BytesWith(0), expected);
  }
}

}  // namespace
}  // namespace tandem
