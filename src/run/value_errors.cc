#include "run/value_errors.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

namespace tandem {
namespace {

class OnCpu final : public SquaredErrors {
 public:
  explicit OnCpu(const std::vector<float>& costs) : costs_(costs), sums_(costs.size()) {}

  void Add(const at::Tensor& estimates, const at::Tensor& groups) override {
    const at::Tensor values = estimates.cpu();
    const at::Tensor of = groups.cpu().contiguous();
    const float* value = values.const_data_ptr<float>();
    const float* group = of.const_data_ptr<float>();
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const auto g = static_cast<std::size_t>(group[i]);
      const double error = static_cast<double>(value[i]) - costs_[g];
      sums_[g] += error * error;
    }
  }

  std::vector<double> Sums() override { return sums_; }

 private:
  std::vector<float> costs_;
  std::vector<double> sums_;
};

class OnDevice final : public SquaredErrors {
 public:
  OnDevice(const std::vector<float>& costs, c10::Device device)
      : costs_(at::tensor(costs).to(device)), sums_(at::zeros_like(costs_)) {}

  void Add(const at::Tensor& estimates, const at::Tensor& groups) override {
    const at::Tensor of = groups.flatten().to(at::kLong);
    sums_.index_add_(0, of, (estimates - costs_.index_select(0, of)).square());
  }

  std::vector<double> Sums() override {
    const at::Tensor sums = sums_.cpu().to(at::kDouble);
    const auto* first = sums.const_data_ptr<double>();
    return {first, first + sums.numel()};
  }

 private:
  at::Tensor costs_;
  at::Tensor sums_;
};

}  // namespace

std::unique_ptr<SquaredErrors> MakeSquaredErrors(MetricsPlace place,
                                                 const std::vector<float>& costs,
                                                 c10::Device device) {
  if (place == MetricsPlace::kDevice) return std::make_unique<OnDevice>(costs, device);
  return std::make_unique<OnCpu>(costs);
}

}  // namespace tandem
