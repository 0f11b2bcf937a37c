// The hash that tells whether bytes are still those that were written.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace tandem {

/// XXH3 of 128 bits of all that is added, in that order. No protection against malice.
class Hash {
 public:
  Hash();

  void Add(std::string_view bytes);

  /// 32 hexadecimal digits. More may be added afterwards.
  std::string Hex() const;

 private:
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> state_;
};

inline constexpr std::size_t kHashDigits = 32;

}  // namespace tandem
