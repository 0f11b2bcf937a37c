// Files of tensors: a zip archive with a pickle and one record for each storage, as torch.save and
// LibTorch write it. Those that Tandem writes end in a comment of the archive, which Python's
// torch.load ignores: "tandem xxh3 " and the hash of all bytes before the hash.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "archive/pickle.h"
#include "base/hash.h"

namespace tandem {

/// Reads a file of tensors that lies in memory; the tensors of the result are views of it. If the
/// file carries a hash, that is checked first. Whatever the bytes are, the result stays within them
/// and within PickleLimits: the author of a hostile file can make a right hash too. Throws Error
/// that says what is wrong, without the name of the file.
PickledDict ReadTensorArchive(std::span<const std::byte> file);

/// Adds the hash to an archive that is written from front to back.
class HashedArchive {
 public:
  using Write = std::function<void(std::string_view)>;

  explicit HashedArchive(Write write) : write_(std::move(write)) {}

  void Add(std::string_view bytes);

  /// Ends the archive, which must be complete and without a comment.
  void Finish();

 private:
  void Put(std::string_view bytes);

  Write write_;
  Hash hash_;
  std::string held_;  // the last bytes: the structure that ends the archive may be among them
};

}  // namespace tandem
