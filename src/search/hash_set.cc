#include "search/hash_set.h"

#include <xxhash.h>

namespace tandem {

std::uint64_t HashState(std::span<const std::uint8_t> state) {
  return XXH3_64bits(state.data(), state.size());
}

}  // namespace tandem
