#include "search/beam_memory.h"

#include <algorithm>

#include "search/beam_paths.h"
#include "search/expander.h"

namespace tandem {
namespace {

// The bytes that a hash takes in a table. Up to half of a table's places are empty.
constexpr std::size_t kBytesPerEntry = 2 * (sizeof(std::uint64_t) + 1);

}  // namespace

std::int64_t BeamMemory::BytesStored(std::size_t more) const {
  std::size_t bytes = kept_.BytesWith(more) + (kept_.size() + more) * sizeof(BeamPaths::Step) +
                      frontier_.states.size();
  if (meeting_) bytes += meeting_->BytesWith(more);
  return static_cast<std::int64_t>(bytes);
}

std::int64_t BeamMemory::BytesOfNextDepth(std::int64_t width) const {
  const auto parents = static_cast<std::int64_t>(frontier_.costs.size());
  const std::int64_t kept = std::min(parents * spec_.num_actions(), width);
  return BytesStored(static_cast<std::size_t>(kept)) +
         BytesOfChildren(spec_, parents, kept, copies_children_);
}

// The memory of expanding `parents` states and of copying the `kept` children that are kept. With
// `copies`, all children may be copied to be evaluated.
std::int64_t BeamMemory::BytesOfChildren(const DomainSpec& spec, std::int64_t parents,
                                         std::int64_t kept, bool copies) {
  const std::int64_t children = parents * spec.num_actions();
  // For each child: its estimate, its surprisal, its rank, its place in the order and among the new
  // ones, and its hash among those seen at this depth.
  constexpr std::int64_t kBytesPerChild =
      2 * sizeof(float) + sizeof(BeamRanking::Ranked) + 2 * sizeof(std::uint32_t) + kBytesPerEntry;
  return Expander::BytesFor(spec, parents) +
         children * (kBytesPerChild + (copies ? spec.state_size : 0)) + kept * spec.state_size;
}

}  // namespace tandem
