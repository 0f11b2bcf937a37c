#include "permutation/encoding.h"

namespace tandem {

LabelBytes::LabelBytes(std::size_t num_labels) {
  if (num_labels <= 256) return;
  while (base_ * base_ < num_labels) ++base_;
}

std::vector<std::uint8_t> LabelBytes::Write(std::span<const std::uint16_t> labels) const {
  std::vector<std::uint8_t> state;
  for (const std::uint16_t label : labels) {
    if (base_ != 0) state.push_back(static_cast<std::uint8_t>(label / base_));
    state.push_back(static_cast<std::uint8_t>(base_ == 0 ? label : label % base_));
  }
  return state;
}

std::vector<std::uint16_t> LabelBytes::Read(std::span<const std::uint8_t> state) const {
  if (base_ == 0) return {state.begin(), state.end()};
  std::vector<std::uint16_t> labels;
  for (std::size_t i = 0; i + 1 < state.size(); i += 2) {
    const bool are_digits = state[i] < base_ && state[i + 1] < base_;
    labels.push_back(are_digits ? static_cast<std::uint16_t>(state[i] * base_ + state[i + 1])
                                : kNoLabel);
  }
  return labels;
}

std::vector<Permutation> LabelBytes::OfBytes(const std::vector<Permutation>& permutations) const {
  std::vector<Permutation> of_bytes;
  for (const Permutation& permutation : permutations) {
    Permutation& bytes = of_bytes.emplace_back();
    for (const std::size_t from : permutation) {
      for (std::size_t k = 0; k < per_label(); ++k) {
        bytes.push_back(static_cast<std::uint16_t>(from * per_label() + k));
      }
    }
  }
  return of_bytes;
}

}  // namespace tandem
