// Turns errors of the command-line parser into messages in Tandem's form.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace tandem {

/// Returns the message for `error`, which `app` threw when it parsed the command line:
/// "train: unknown option `--sed`; did you mean `--seed`? (see `tandem train --help`)".
std::string UsageMessage(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tandem
