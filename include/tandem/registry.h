// Domains by name. A domain registers itself with one line at namespace scope:
//
//     TANDEM_REGISTER_DOMAIN(cube3, [] { return std::make_unique<Cube3>(); });
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

using DomainFactory = std::function<std::unique_ptr<const Domain>()>;

/// Makes `factory` known under `name`. Call before main or from one thread. Throws Error if the
/// name is taken.
void RegisterDomain(std::string name, DomainFactory factory);

/// The registered names, sorted.
std::vector<std::string> DomainNames();

/// Makes the domain of that name. Throws InputError that lists the known names and the nearest.
std::unique_ptr<const Domain> MakeDomain(std::string_view name);

}  // namespace tandem

#define TANDEM_REGISTER_DOMAIN(name, ...)                                  \
  static const bool tandem_registered_##name = [] {                        \
    ::tandem::RegisterDomain(#name, ::tandem::DomainFactory(__VA_ARGS__)); \
    return true;                                                           \
  }()
