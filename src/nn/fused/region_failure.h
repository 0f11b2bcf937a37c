// Exceptions in OpenMP regions.
#pragma once

#include <exception>

namespace tandem {

/// RegionFailure keeps the first exception of the work in an OpenMP region. One that left the
/// region would end the program, and oneDNN allocates memory when it meets a new product. Threads
/// of the region may call Catch at the same time; call Rethrow after the region.
class RegionFailure {
 public:
  template <class Work>
  void Catch(const Work& work) {
    try {
      work();
    } catch (...) {
#pragma omp critical(tandem_region_failure)
      if (first_ == nullptr) first_ = std::current_exception();
    }
  }

  void Rethrow() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

}  // namespace tandem
