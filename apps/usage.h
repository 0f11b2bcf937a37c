// What is wrong with a command line, told as all of Tandem's errors are.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace tandem {

/// "train: unknown option `--sed`; did you mean `--seed`? (see `tandem train --help`)". `app` has
/// thrown `error` when it parsed its command line.
std::string UsageMessage(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tandem
