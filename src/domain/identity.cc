#include "domain/identity.h"

#include <fmt/format.h>

namespace tandem {
namespace {

std::string_view NameIn(std::string_view identity) {
  return identity.substr(0, identity.find('@'));
}

}  // namespace

std::string DescribeOtherDomain(std::string_view there, std::string_view expected) {
  if (NameIn(there) != NameIn(expected)) {
    return fmt::format("made for {}, expected {}", there, expected);
  }
  return fmt::format("made for {} when its rules (moves, costs or goal) were others",
                     NameIn(there));
}

}  // namespace tandem
