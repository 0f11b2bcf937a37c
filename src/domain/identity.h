// Compares the puzzle that a file was made for with the puzzle in use.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

/// Whether two values of DomainSpec::identity() denote the same puzzle, so that networks and
/// examples of one suit the other. If a puzzle's rules come from a file, the rules decide and the
/// path of the file may differ.
bool IsSameDomain(std::string_view a, std::string_view b);

/// Returns "made for cube3, expected cube3_htm", or, if only the rules differ, "made for
/// permutation:my.yaml with other rules (moves, costs or goal)". Both arguments are values of
/// DomainSpec::identity(). Requires that IsSameDomain is false for them.
std::string DescribeOtherDomain(std::string_view there, std::string_view expected);

}  // namespace tandem
