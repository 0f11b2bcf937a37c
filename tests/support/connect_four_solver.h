// An exact solver of Connect Four.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tandem {

/// ConnectFourSolver computes whether the player to move wins, draws or loses: alpha-beta on
/// bitboards with a table of positions (Pons, "Solving Connect 4: how to build a perfect AI", 2015;
/// Allis, "A knowledge-based approach of Connect-Four", 1988). A column is 7 bits, of which the
/// highest stays 0. Not thread-safe.
class ConnectFourSolver {
 public:
  ConnectFourSolver() : table_(kEntries) {}

  /// Returns 1, 0 or -1 for the player to move, who may have lost already. `cells` are the 42 bytes
  /// of a state of connect_four.
  int Value(std::span<const std::uint8_t> cells) {
    const auto [own, all] = FromCells(cells);
    if (HasFour(own ^ all)) return -1;
    return all == kBoard ? 0 : Solve(own, all);
  }

  /// Returns the value of each column for the player to move; -2 if the column is full.
  std::array<int, 7> ValuesOfMoves(std::span<const std::uint8_t> cells) {
    const auto [own, all] = FromCells(cells);
    std::array<int, 7> values{};
    for (int column = 0; column < 7; ++column) {
      const Bits stone = (all + Bottom(column)) & Column(column);
      values[static_cast<std::size_t>(column)] = stone == 0             ? -2
                                                 : HasFour(own | stone) ? 1
                                                 : (all | stone) == kBoard
                                                     ? 0
                                                     : -Solve(own ^ all, all | stone);
    }
    return values;
  }

 private:
  using Bits = std::uint64_t;
  static constexpr std::size_t kEntries = 8'388'593;  // a prime number

  static constexpr Bits Bottom(int column) { return Bits{1} << (7 * column); }
  static constexpr Bits Column(int column) { return Bits{0x3F} << (7 * column); }
  static constexpr Bits kBottoms = ((Bits{1} << 49) - 1) / 127;  // of all columns
  static constexpr Bits kBoard = kBottoms * 0x3F;

  // The stones of the player to move, and all stones.
  static std::pair<Bits, Bits> FromCells(std::span<const std::uint8_t> cells) {
    std::array<Bits, 3> stones{};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      stones[cells[i]] |= Bits{1} << (7 * (i % 7) + 5 - i / 7);
    }
    const Bits all = stones[1] | stones[2];
    return {std::popcount(all) % 2 == 0 ? stones[1] : stones[2], all};
  }

  static bool HasFour(Bits stones) {
    for (const int shift : {1, 6, 7, 8}) {
      const Bits pairs = stones & (stones >> shift);
      if ((pairs & (pairs >> (2 * shift))) != 0) return true;
    }
    return false;
  }

  // The empty cells that would complete a line of four, wherever they are.
  static Bits Winning(Bits stones, Bits all) {
    Bits cells = (stones << 1) & (stones << 2) & (stones << 3);
    for (const int shift : {6, 7, 8}) {
      Bits pairs = (stones << shift) & (stones << (2 * shift));
      cells |= pairs & (stones << (3 * shift));
      cells |= pairs & (stones >> shift);
      pairs = (stones >> shift) & (stones >> (2 * shift));
      cells |= pairs & (stones << shift);
      cells |= pairs & (stones >> (3 * shift));
    }
    return cells & (kBoard ^ all);
  }

  // Asks first whether it is a win, and then whether it is a loss, because narrow windows cut more.
  int Solve(Bits own, Bits all) {
    return Search(own, all, 0, 1) > 0 ? 1 : std::min(Search(own, all, -1, 0), 0);
  }

  int Search(Bits own, Bits all, int alpha, int beta) {
    const Bits playable = (all + kBottoms) & kBoard;
    if ((Winning(own, all) & playable) != 0) return 1;
    const Bits threats = Winning(own ^ all, all);
    Bits moves = playable;
    if (const Bits forced = moves & threats; forced != 0) {
      if ((forced & (forced - 1)) != 0) return -1;
      moves = forced;
    }
    moves &= ~(threats >> 1);  // below a cell where the other player would win
    if (moves == 0) return -1;
    if (std::popcount(all) >= 40) return 0;

    // An entry is a position and, in its lowest bits, 1 plus a bound: from below in the lower two.
    const Bits key = own + all;
    Bits& entry = table_[key % kEntries];
    if (entry >> 4 == key) {
      alpha = std::max(alpha, static_cast<int>(entry & 3) - 1);
      beta = std::min(beta, static_cast<int>(entry >> 2 & 3) - 1);
      if (alpha >= beta) return alpha;
    }
    std::array<std::pair<int, Bits>, 7> ordered{};
    std::size_t count = 0;
    for (const int column : {3, 2, 4, 1, 5, 0, 6}) {
      const Bits move = moves & Column(column);
      if (move == 0) continue;
      ordered[count++] = {-std::popcount(Winning(own | move, all | move)), move};
    }
    std::stable_sort(ordered.begin(), ordered.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    int best = -1;
    const int least = alpha;
    for (std::size_t i = 0; i < count && best < beta; ++i) {
      best = std::max(best, -Search(own ^ all, all | ordered[i].second, -beta, -alpha));
      alpha = std::max(alpha, best);
    }
    // What is known besides: from a narrower window, the value is only bounded on one side.
    const int low = best > least ? best : -1;
    const int high = best < beta ? best : 1;
    table_[key % kEntries] =
        key << 4 | static_cast<Bits>(high + 1) << 2 | static_cast<Bits>(low + 1);
    return best;
  }

  std::vector<Bits> table_;
};

}  // namespace tandem
