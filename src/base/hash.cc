#include "base/hash.h"

#include <fmt/format.h>

#include <new>

// On x86, use the variant that picks AVX2 or AVX-512 at run time.
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace tandem {

Hash::Hash() : state_(XXH3_createState(), [](XXH3_state_s* state) { XXH3_freeState(state); }) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state_.get());
}

void Hash::Add(std::string_view bytes) {
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

std::string Hash::Hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string HashOf(std::string_view bytes) {
  Hash hash;
  hash.Add(bytes);
  return hash.Hex();
}

}  // namespace tandem
