#include "config/machine_keys.h"

namespace tandem {

std::vector<Override> ForThisMachine(std::string_view origin,
                                     const std::vector<Override>& overrides,
                                     const std::vector<std::string>& also) {
  std::vector<std::string> keys = {"device", "train.threads", "inference.threads",
                                   "inference.precision", "inference.batch_size"};
  keys.insert(keys.end(), also.begin(), also.end());
  std::vector<Override> all;
  all.reserve(keys.size() + overrides.size());
  for (const std::string& key : keys) all.push_back({key, "auto", std::string(origin)});
  all.insert(all.end(), overrides.begin(), overrides.end());
  return all;
}

}  // namespace tandem
