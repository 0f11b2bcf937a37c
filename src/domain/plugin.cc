#include "domain/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/file.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// The version that the file says it was built for; "" where it says none.
std::string_view VersionIn(std::string_view content) {
  constexpr std::string_view kMark(kInterfaceMark.data());
  constexpr std::string_view kBegin = kMark.substr(0, kMark.rfind(' ') + 1);
  const std::size_t at = content.find(kBegin);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = content.substr(at + kBegin.size());
  return rest.substr(0, rest.find(';'));
}

void CheckVersion(const std::filesystem::path& file) {
  const std::string content = ReadFile(file);
  const std::string_view found = VersionIn(content);
  const std::string_view own = VersionIn(kInterfaceMark.data());
  if (found.empty()) {
    throw InputError(fmt::format("{} is no plug-in: it registers no domain with tandem/registry.h",
                                 file.string()));
  }
  if (found != own) {
    throw InputError(fmt::format(
        "{} was built for version {} of the plug-in interface, this program has version {}: build "
        "it anew against this Tandem",
        file.string(), found, own));
  }
}

}  // namespace

std::vector<std::string> LoadPlugin(const std::filesystem::path& file) {
  CheckVersion(file);
  const std::vector<std::string> before = DomainNames();
  std::string error;
  // With a path, and so never looked for in the folders of the system. It stays loaded: the
  // registry holds its code.
  const std::vector<std::string> refused = RefusedRegistrations([&] {
    if (::dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return;
    error = ::dlerror();
  });
  if (!error.empty()) throw InputError(fmt::format("the plug-in cannot be loaded: {}", error));
  if (!refused.empty()) throw InputError(fmt::format("{}: {}", file.string(), refused.front()));
  std::vector<std::string> added;
  std::ranges::set_difference(DomainNames(), before, std::back_inserter(added));
  if (added.empty()) {
    throw InputError(
        fmt::format("{} registers no domain: TANDEM_REGISTER_DOMAIN does", file.string()));
  }
  return added;
}

}  // namespace tandem
