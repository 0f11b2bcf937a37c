#include "config.h"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <filesystem>

#include "bindings.h"
#include "config/fields.h"
#include "config/load.h"
#include "tandem/error.h"

namespace tandem::python {
namespace {

namespace nb = nanobind;

std::string Value(const Config& config, const std::string& key) {
  if (auto value = FindValueText(config, key)) return *value;
  throw InputError(
      fmt::format("{}: a config has no such key; tandem.config_reference() lists them", key));
}

}  // namespace

std::vector<Override> ToOverrides(const Settings& settings) {
  std::vector<Override> overrides;
  for (const auto& [key, value] : settings) {
    overrides.push_back({key, value, fmt::format("setting {}={}", key, value)});
  }
  return overrides;
}

void BindConfig(nb::module_& module) {
  nb::class_<Config>(module, "Config", "A config, checked. `tandem.load_config` makes one.")
      .def_static(
          "from_file",
          [](const std::filesystem::path& path, const Settings& settings) {
            const nb::gil_scoped_release release;
            return LoadConfig(path, ToOverrides(settings));
          },
          nb::arg("path"), nb::arg("settings"), "Reads a YAML file; `tandem.load_config` calls it.")
      .def_static(
          "from_yaml",
          [](const std::string& yaml, const std::string& name, const Settings& settings) {
            const nb::gil_scoped_release release;
            return ParseConfig(yaml, name, ToOverrides(settings));
          },
          nb::arg("yaml"), nb::arg("name"), nb::arg("settings"),
          "Reads YAML, which messages call `name`; `tandem.load_config` calls it.")
      .def("__getitem__", &Value, nb::arg("key"),
           "Returns the value of a key such as \"train.batch_size\", as text.\n\n"
           "Raises ValueError if there is no such key.")
      .def_prop_ro(
          "domain", [](const Config& config) { return config.domain.full_name(); },
          "The name of the puzzle, as tandem.Domain takes it.")
      .def("to_yaml", &ToYaml, "Returns YAML that sets every key.")
      .def("__repr__", [](const Config& config) {
        return fmt::format("<tandem.Config of a run on {}>", config.domain.full_name());
      });
  module.def("config_reference", &ConfigReference,
             "Returns a config that has every key with its default, meaning and values, as YAML.");
}

}  // namespace tandem::python
