// Estimates of the memory of a beam search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "search/beam_meeting.h"
#include "search/beam_ranking.h"
#include "search/hash_set.h"
#include "tandem/domain.h"

namespace tandem {

/// BeamMemory estimates the memory of a beam search, in bytes: of the states that it has kept, and
/// of the children while it chooses from them.
class BeamMemory {
 public:
  /// Reads the current sizes of `kept`, the hashes of all kept states, of `frontier` and of
  /// `meeting`, if the search is bidirectional. `copies_children` says whether the search copies
  /// new children to evaluate them. `spec` and the other references must outlive this.
  BeamMemory(const DomainSpec& spec, const HashSet& kept, const BeamFrontier& frontier,
             const std::optional<BeamMeeting>& meeting, bool copies_children)
      : spec_(spec),
        kept_(kept),
        frontier_(frontier),
        meeting_(meeting),
        copies_children_(copies_children) {}

  /// The memory of the states kept so far, once `more` others are kept.
  std::int64_t BytesStored(std::size_t more = 0) const;

  /// About the greatest memory while the children of the frontier are made and up to `width` of
  /// them are chosen.
  std::int64_t BytesOfNextDepth(std::int64_t width) const;

 private:
  static std::int64_t BytesOfChildren(const DomainSpec& spec, std::int64_t parents,
                                      std::int64_t kept, bool copies);

  const DomainSpec& spec_;
  const HashSet& kept_;
  const BeamFrontier& frontier_;
  const std::optional<BeamMeeting>& meeting_;
  const bool copies_children_;
};

}  // namespace tandem
