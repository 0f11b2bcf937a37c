#include "nn/fused/batch_normalisation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "nn/bf16.h"
#include "nn/fused/activation_passes.h"
#include "nn/fused/block_products.h"

namespace tandem {

template <class T>
BatchNormalisation<T>::BatchNormalisation(Dense& dense)
    : units_(dense.bias.numel()),
      bias_(dense.bias.const_data_ptr<float>()),
      scale_(dense.norm_weight.const_data_ptr<float>()),
      running_mean_(dense.running_mean.mutable_data_ptr<float>()),
      running_var_(dense.running_var.mutable_data_ptr<float>()) {
  for (auto* of_units : {&mean_, &inverse_deviation_, &mean_gradient_, &mean_product_}) {
    of_units->resize(static_cast<std::size_t>(units_));
  }
}

template <class T>
void BatchNormalisation<T>::SetMoments(std::int64_t rows, const float* z, float* moments) const {
  RunPass(ColumnMoments{
      .rows = rows, .width = units_, .z = z, .mean = moments, .squares = moments + units_});
}

// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1982.
template <class T>
void BatchNormalisation<T>::JoinMoments(std::int64_t rows, const float* moments) {
  const auto all_rows = static_cast<double>(rows);
  for (std::int64_t c = 0; c < units_; ++c) {
    double mean = 0;
    double squares = 0;
    double before = 0;
    const float* of_tile = moments;
    for (std::int64_t first = 0; first < rows; first += kTileRows, of_tile += 2 * units_) {
      const auto count = static_cast<double>(std::min(kTileRows, rows - first));
      const double difference = of_tile[c] - mean;
      const double all = before + count;
      mean += difference * count / all;
      squares += of_tile[units_ + c] + difference * difference * before * count / all;
      before = all;
    }
    const auto unit = static_cast<std::size_t>(c);
    mean_[unit] = static_cast<float>(mean);
    inverse_deviation_[unit] =
        static_cast<float>(1 / std::sqrt(squares / all_rows + Dense::kEpsilon));
    const auto follow = [](float& running, double value) {
      running = static_cast<float>((1 - Dense::kMomentum) * running + Dense::kMomentum * value);
    };
    follow(running_mean_[c], mean + bias_[c]);
    follow(running_var_[c], squares / std::max(1.0, all_rows - 1));
  }
}

template <class T>
void BatchNormalisation<T>::Normalise(std::int64_t rows, float* z) const {
  RunPass(NormaliseColumns{.rows = rows,
                           .width = units_,
                           .mean = mean_.data(),
                           .inverse_deviation = inverse_deviation_.data(),
                           .z = z});
}

template <class T>
void BatchNormalisation<T>::JoinGradients(std::int64_t rows, const float* scale_sums,
                                          const float* shift_sums, std::int64_t stride) {
  const std::int64_t tiles = CeilDivide(rows, kTileRows);
  const auto mean_of = [&](const float* sums, AlignedVector<float>& means) {
    std::ranges::fill(means, 0.0F);
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const float* from = sums + tile * stride;
      for (std::size_t c = 0; c < means.size(); ++c) means[c] += from[c];
    }
    for (float& mean : means) mean /= static_cast<float>(rows);
  };
  mean_of(shift_sums, mean_gradient_);
  mean_of(scale_sums, mean_product_);
}

template <class T>
void BatchNormalisation<T>::Backward(std::int64_t rows, const float* z, const float* gradient,
                                     T* product_gradient) const {
  RunPass(NormaliseColumnsBackward<T>{.rows = rows,
                                      .width = units_,
                                      .z = z,
                                      .gradient = gradient,
                                      .scale = scale_,
                                      .inverse_deviation = inverse_deviation_.data(),
                                      .mean_gradient = mean_gradient_.data(),
                                      .mean_product = mean_product_.data(),
                                      .product_gradient = product_gradient});
}

template class BatchNormalisation<float>;
template class BatchNormalisation<Bf16>;

}  // namespace tandem
