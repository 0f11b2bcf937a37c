// The names of Gloo that LibTorch's header ProcessGroupGloo.hpp needs.
//
// LibTorch contains Gloo, but its wheel lacks Gloo's headers, and those that Debian packages are
// years older than the Gloo in the wheel. ProcessGroupGloo.hpp only holds pointers to Gloo's
// classes, so their declarations are enough: no object of Gloo is created, called or measured here.
// src/CMakeLists.txt writes headers with Gloo's names that include this one.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace transport {

class Device;
class UnboundBuffer;

}  // namespace transport

namespace rendezvous {

class Store {
 public:
  virtual ~Store();
  virtual void set(const std::string& key, const std::vector<char>& value) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) = 0;
};

}  // namespace rendezvous
}  // namespace gloo
