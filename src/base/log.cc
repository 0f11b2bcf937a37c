#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace tandem {
namespace {

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>(
        "tandem", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%^%v%$");
    return made;
  }();
  return *logger;
}

}  // namespace

void LogInfo(std::string_view message) { Logger().info("{}", message); }

void LogWarning(std::string_view message) { Logger().warn("warning: {}", message); }

void SetQuiet(bool quiet) { Logger().set_level(quiet ? spdlog::level::warn : spdlog::level::info); }

}  // namespace tandem
