// The numbers of the layouts of files.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tandem {

// Each kind of file states the number of its layout. A file with a larger number than the program
// knows comes from a newer version. It is not damaged, and must not be replaced. These functions
// throw InputError that names `file` and both numbers if the number is larger than `known`. They
// accept a file without a number, which its reader reports.

/// Checks a file that begins with `name`, a space and the number: "tandem shard 2".
void RequireKnownSchema(const std::string& file, std::string_view text, std::string_view name,
                        std::int64_t known);

/// Checks a JSON object that has the number as `schema`.
void RequireKnownSchema(const std::string& file, const nlohmann::json& json, std::int64_t known);

}  // namespace tandem
