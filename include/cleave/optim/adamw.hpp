#pragma once

#include <cstdint>

#include <cleave/core/error.hpp>
#include <cleave/detail/optim/moments.hpp>
#include <cleave/device/device.hpp>
#include <cleave/optim/groups.hpp>

namespace cleave::optim {

/// What AdamW is built with; the defaults are PyTorch's.
struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;
};

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019; torch.optim.AdamW), on this rank's shards. Its two
/// moments exist from construction.
template <typename Model, parameter_groups Groups = DecayMatrices>
class AdamW {
public:
  static constexpr int moments = 2;

  /// Throws InvalidArgument for a decay rate outside [0, 1), or another setting below 0.
  explicit AdamW(Model& model, AdamWOptions options = {}, Groups = {})
      : model_(model), options_(checked(options)), moments_(model) {}

  /// From the next step on.
  void set_learning_rate(double learning_rate) { options_.learning_rate = learning_rate; }

  /// One step on the gradients since the last one, which are used up. Throws Error when there are none. A collective.
  void step() {
    std::int64_t const number = steps_ + 1;
    double const gradient_scale = model_.gradient_scale();
    model_.step([&](auto& stream, Parameter const& parameter, auto weights, Index state, auto gradient) {
      GroupScale const scale = Groups::scales[Groups::group_of(parameter)];
      op::AdamW const update{
          options_.learning_rate * scale.learning_rate, options_.beta1, options_.beta2, options_.epsilon,
          options_.weight_decay * scale.weight_decay,   gradient_scale, number};
      stream.run(update, weights, moments_.part(0, state, weights.size), moments_.part(1, state, weights.size),
                 gradient);
    });
    steps_ = number; // a step that threw does not count
  }

  /// Bytes of optimizer state on this rank.
  [[nodiscard]] Index allocated() const { return moments_.allocated(); }

private:
  static AdamWOptions checked(AdamWOptions const& o) {
    auto const is_rate = [](double beta) { return beta >= 0 && beta < 1; };
    if (!(is_rate(o.beta1) && is_rate(o.beta2) && o.learning_rate >= 0 && o.epsilon >= 0 && o.weight_decay >= 0)) {
      throw InvalidArgument(
          "cleave::optim::AdamW: learning rate {}, betas {} and {}, epsilon {}, weight decay {}: expected "
          "betas from 0 to below 1 and no number below 0. Change AdamWOptions.",
          o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay);
    }
    return o;
  }

  Model& model_;
  AdamWOptions options_;
  cleave::detail::Moments<Model, moments> moments_;
  std::int64_t steps_ = 0;
};

} // namespace cleave::optim
