#include "domain/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "tandem/registry.h"

namespace tandem {
namespace {

// A file's name may contain '@', which the version of a puzzle from a file does not.
std::string_view NameIn(std::string_view identity) {
  const bool is_from_file = ReadsFile(identity.substr(0, identity.find(':')));
  return identity.substr(0, is_from_file ? identity.rfind('@') : identity.find('@'));
}

// The parts of an identity: for example "permutation", "my.yaml" and the version. The last two may
// be empty.
struct Identity {
  std::string_view kind, argument, version;
};

Identity PartsOf(std::string_view identity) {
  const std::string_view name = NameIn(identity);
  const std::size_t colon = std::min(name.find(':'), name.size());
  return {.kind = name.substr(0, colon),
          .argument = name.substr(std::min(colon + 1, name.size())),
          .version = identity.substr(name.size())};
}

bool IsFromFile(const Identity& identity) {
  return !identity.version.empty() && ReadsFile(identity.kind);
}

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool IsSameDomain(std::string_view a, std::string_view b) {
  const Identity one = PartsOf(a);
  const Identity other = PartsOf(b);
  return one.kind == other.kind && one.version == other.version &&
         (one.argument == other.argument || IsFromFile(one));
}

std::string DescribeOtherDomain(std::string_view there, std::string_view expected) {
  const Identity one = PartsOf(there);
  const Identity other = PartsOf(expected);
  if (one.kind == other.kind && FileName(one.argument) == FileName(other.argument)) {
    return fmt::format("made for {} with other rules (moves, costs or goal)", NameIn(there));
  }
  return fmt::format("made for {}, expected {}", NameIn(there), NameIn(expected));
}

}  // namespace tandem
