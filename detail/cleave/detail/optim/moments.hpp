#pragma once

#include <cstddef>

#include <cleave/core/arena.hpp>
#include <cleave/core/tensor.hpp>
#include <cleave/device/device.hpp>
#include <cleave/device/operations.hpp>

namespace cleave::detail {

/// `Count` values for each weight that a rank keeps, all zero at first, from the plan's region for optimizer state.
template <typename Model, int Count>
class Moments {
  using Master = typename Model::Master;

public:
  explicit Moments(Model& model) : elements_(model.kept_elements()), memory_(bytes(elements_)) {
    typename Model::Device::Stream stream(StreamOptions{1});
    stream.run(op::Fill{0}, Vector<Master>{first(), Count * elements_});
    stream.synchronize();
  }

  /// Moment `which` of the elements state, ... of the kept ones.
  [[nodiscard]] Vector<Master> part(int which, Index state, Index size) const {
    return {first() + which * elements_ + state, size};
  }
  [[nodiscard]] Index allocated() const { return memory_.size(); }

private:
  static constexpr Index bytes(Index elements) { return Count * elements * static_cast<Index>(sizeof(Master)); }
  [[nodiscard]] Master* first() const { return reinterpret_cast<Master*>(memory_.data()); }

  Index elements_;
  typename Model::Device::Memory memory_;
};

} // namespace cleave::detail
