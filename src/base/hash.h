// A hash that detects changed bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace tandem {

/// Hash computes the 128-bit XXH3 hash of all added bytes. It detects accidents; it is not a
/// cryptographic hash and does not detect tampering.
class Hash {
 public:
  Hash();

  void Add(std::string_view bytes);

  /// The hash of everything added so far, as 32 hexadecimal digits. More may be added afterwards.
  std::string Hex() const;

 private:
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> state_;
};

inline constexpr std::size_t kHashDigits = 32;

/// The Hash of `bytes`, as hexadecimal digits.
std::string HashOf(std::string_view bytes);

}  // namespace tandem
