#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "base/terminal.h"

namespace tandem {
namespace {

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    const auto colours =
        UseColour(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never;
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colours);
    sink->set_color(spdlog::level::info, "");
    auto made = std::make_shared<spdlog::logger>("tandem", std::move(sink));
    made->set_pattern("%^%v%$");
    return made;
  }();
  return *logger;
}

}  // namespace

void LogInfo(std::string_view message) { Logger().info("{}", message); }

void LogWarning(std::string_view message) { Logger().warn("warning: {}", message); }

}  // namespace tandem
