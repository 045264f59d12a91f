#pragma once

#include <cstdint>

#include <cleave/core/error.hpp>
#include <cleave/detail/optim/moments.hpp>
#include <cleave/device/device.hpp>
#include <cleave/optim/groups.hpp>

namespace cleave::optim {

/// What Sgd is built with.
struct SgdOptions {
  double learning_rate = 1e-2;
  double momentum = 0; ///< below 1; 0: plain
  bool nesterov = false;
  double weight_decay = 0; ///< added to the gradient
};

/// Stochastic gradient descent with momentum (torch.optim.SGD, dampening 0), on this rank's shards. Its one moment
/// exists from construction.
template <typename Model, parameter_groups Groups = DecayMatrices>
class Sgd {
public:
  static constexpr int moments = 1;

  /// Throws InvalidArgument for a momentum outside [0, 1), another setting below 0, or Nesterov's form without
  /// momentum.
  explicit Sgd(Model& model, SgdOptions options = {}, Groups = {})
      : model_(model), options_(checked(options)), moments_(model) {}

  /// From the next step on.
  void set_learning_rate(double learning_rate) { options_.learning_rate = learning_rate; }

  /// One step on the gradients since the last one, which are used up. Throws Error when there are none. A collective.
  void step() {
    std::int64_t const number = steps_ + 1;
    double const gradient_scale = model_.gradient_scale();
    model_.step([&](auto& stream, Parameter const& parameter, auto weights, Index state, auto gradient) {
      GroupScale const scale = Groups::scales[Groups::group_of(parameter)];
      op::Sgd const update{options_.learning_rate * scale.learning_rate,  options_.momentum, options_.nesterov,
                           options_.weight_decay * scale.weight_decay,    gradient_scale,    number};
      stream.run(update, weights, moments_.part(0, state, weights.size), gradient);
    });
    steps_ = number; // a step that threw does not count
  }

  /// Bytes of optimizer state on this rank.
  [[nodiscard]] Index allocated() const { return moments_.allocated(); }

private:
  static SgdOptions checked(SgdOptions const& o) {
    if (!(o.momentum >= 0 && o.momentum < 1 && o.learning_rate >= 0 && o.weight_decay >= 0)) {
      throw InvalidArgument(
          "cleave::optim::Sgd: learning rate {}, momentum {}, weight decay {}: expected a momentum from 0 to "
          "below 1 and no number below 0. Change SgdOptions.",
          o.learning_rate, o.momentum, o.weight_decay);
    }
    if (o.nesterov && o.momentum == 0) {
      throw InvalidArgument(
          "cleave::optim::Sgd: nesterov with a momentum of {}: expected more than 0. Give a momentum, or "
          "leave nesterov out.",
          o.momentum);
    }
    return o;
  }

  Model& model_;
  SgdOptions options_;
  cleave::detail::Moments<Model, moments> moments_;
  std::int64_t steps_ = 0;
};

} // namespace cleave::optim
