#include "apps/output_file.h"

#include "tandem/error.h"

namespace tandem {

void OpenOutput(std::optional<AtomicFile>& file, const std::filesystem::path& path) {
  try {
    file.emplace(path);
  } catch (const Error& error) {
    throw InputError(error.what());
  }
}

void WriteOutput(const std::filesystem::path& path, std::string_view content) {
  std::optional<AtomicFile> file;
  OpenOutput(file, path);
  file->Write(content);
  file->Commit();
}

}  // namespace tandem
