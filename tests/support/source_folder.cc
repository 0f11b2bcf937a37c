#include "support/source_folder.h"

namespace tandem {

const std::filesystem::path& SourceFolder() {
  static const std::filesystem::path folder(TANDEM_SOURCE_DIR);
  return folder;
}

}  // namespace tandem
