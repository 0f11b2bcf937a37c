// Tensor files: zip archives with a pickle and one record for each storage, as torch.save and
// LibTorch write them. A file that Tandem writes ends with a comment of the archive, which Python's
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

/// Reads a tensor file whose contents are `file`. The tensors of the result refer to that memory.
/// If the file has a hash, it is checked first. A hostile file can have a correct hash, so for any
/// bytes the tensors stay within `file`, and the result stays within PickleLimits. Throws Error
/// that says what is wrong, without the name of the file.
PickledDict ReadTensorArchive(std::span<const std::byte> file);

/// HashedArchive writes a zip archive from front to back and adds the hash to it.
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
  std::string held_;  // the last bytes, not yet written: Finish changes the end of the archive
};

}  // namespace tandem
