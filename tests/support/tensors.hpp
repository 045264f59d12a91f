#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <cleave/core/scalar.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave::testing {

/// A matrix with its memory. Rows may lie further apart than they are long; what lies between is `gap`, and must stay.
template <typename T>
class Tensor {
public:
  static constexpr float gap = -77.0F;

  Tensor() = default;
  Tensor(Index rows, Index columns, Index padding = 0)
      : rows_(rows), columns_(columns), stride_(columns + padding),
        storage_(static_cast<std::size_t>(rows * stride_), static_cast<T>(gap)) {}

  [[nodiscard]] Matrix<T> view() { return {storage_.data(), rows_, columns_, stride_}; }
  [[nodiscard]] Matrix<T const> view() const { return {storage_.data(), rows_, columns_, stride_}; }
  /// All elements in a row; for tensors without gaps.
  [[nodiscard]] Vector<T> vector() { return {storage_.data(), rows_ * columns_}; }
  [[nodiscard]] Vector<T const> vector() const { return {storage_.data(), rows_ * columns_}; }

  T& operator()(Index r, Index c) { return storage_[static_cast<std::size_t>(r * stride_ + c)]; }
  [[nodiscard]] double at(Index r, Index c) const {
    return static_cast<double>(storage_[static_cast<std::size_t>(r * stride_ + c)]);
  }
  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index columns() const { return columns_; }
  [[nodiscard]] std::vector<T> const& storage() const { return storage_; }

  [[nodiscard]] bool gaps_untouched() const {
    for (Index r = 0; r != rows_; ++r) {
      for (Index c = columns_; c != stride_; ++c) {
        if (at(r, c) != static_cast<double>(gap)) {
          return false;
        }
      }
    }
    return true;
  }

private:
  Index rows_ = 0;
  Index columns_ = 0;
  Index stride_ = 0;
  std::vector<T> storage_;
};

template <typename T, typename Engine>
[[nodiscard]] Tensor<T> random_tensor(Engine& engine, Index rows, Index columns, Index padding = 0,
                                      double deviation = 1) {
  std::normal_distribution<double> normal(0, deviation);
  Tensor<T> tensor(rows, columns, padding);
  for (Index r = 0; r != rows; ++r) {
    for (Index c = 0; c != columns; ++c) {
      tensor(r, c) = static_cast<T>(static_cast<float>(normal(engine)));
    }
  }
  return tensor;
}

/// Half the distance from 1 to the next number, the relative error of one rounding.
template <typename T>
inline constexpr double unit_rounding = std::is_same_v<T, bfloat16>
                                            ? 0.00390625
                                            : std::numeric_limits<accumulator_t<T>>::epsilon() / 2.0;

/// The largest difference between `actual` and `expected(r, c)`, relative to 1 + |expected|, in units of rounding of T.
template <typename T, typename Expected>
[[nodiscard]] double error_of(Tensor<T> const& actual, Expected const& expected) {
  double worst = 0;
  for (Index r = 0; r != actual.rows(); ++r) {
    for (Index c = 0; c != actual.columns(); ++c) {
      double const wanted = expected(r, c);
      double const error = std::fabs(actual.at(r, c) - wanted) / (1 + std::fabs(wanted));
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
  }
  return worst / unit_rounding<T>;
}

} // namespace cleave::testing
