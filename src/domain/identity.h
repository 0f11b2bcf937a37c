// What is said where a file was made for another puzzle.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

/// Whether two DomainSpec::identity() are of puzzles of which one's networks and examples do for
/// the other. Where rules come from a file, they decide, and the file may have moved.
bool IsSameDomain(std::string_view a, std::string_view b);

/// "made for cube3, expected cube3_htm", or where only the rules differ "made for
/// permutation:my.yaml when its rules (moves, costs or goal) were others". Requires two that
/// differ; both are DomainSpec::identity().
std::string DescribeOtherDomain(std::string_view there, std::string_view expected);

}  // namespace tandem
