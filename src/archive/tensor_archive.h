// Tensor files: the zip archives that torch.save and LibTorch write, whose records are not
// compressed. Tandem's own files end with a hash, in the comment of the archive.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "archive/stored_dict.h"
#include "base/hash.h"

namespace tandem {

/// Reads a tensor file whose contents are `file`. The tensors of the result refer to that memory.
/// If the file has a hash, it is checked first. A hostile file can have a correct hash, so for any
/// bytes the tensors stay within `file`, and the result stays within PickleLimits. Throws Error
/// that says what is wrong, without the name of the file.
StoredDict ReadTensorArchive(std::span<const std::byte> file);

/// HashedArchive adds the hash to a zip archive that LibTorch writes from front to back.
class HashedArchive {
 public:
  using Write = std::function<void(std::string_view)>;

  explicit HashedArchive(Write write) : write_(std::move(write)) {}

  /// Passes the next bytes of the archive on to `write`, except the last few.
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
