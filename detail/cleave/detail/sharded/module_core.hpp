#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <cleave/core/error.hpp>
#include <cleave/detail/sharded/make_plan.hpp>
#include <cleave/detail/sharded/schedule.hpp>
#include <cleave/detail/sharded/totals.hpp>
#include <cleave/device/device.hpp>
#include <cleave/sharded/options.hpp>

namespace cleave::detail {

/// The engine: shards, buffers and schedule of one model on one rank. Everything is allocated at construction.
template <typename C>
class ModuleCore {
public:
  using Configuration = C;
  using Communicator = typename C::Communicator;
  using Device = typename C::Device;
  using Master = typename C::Master;
  using Gradient = typename C::Gradient;
  /// What a row of input and of target is made of: token ids, or features in the master type.
  using Input = std::conditional_t<input_width<C> == 0, std::int32_t, Master>;
  using Target = std::conditional_t<target_width<C> == 0, std::int32_t, Master>;

  static constexpr int units = C::units;
  static constexpr bool has_loss = C::Chain::has_loss;

  /// See memory_plan.
  static constexpr MemoryPlan plan(PlanOptions options) { return detail::make_plan<C>(options); }

  /// Makes first values of this rank's shards; every rank passes the same options. `communicator` outlives the model.
  ModuleCore(Communicator& communicator, ModelOptions options);
  ModuleCore(ModuleCore const&) = delete;
  ModuleCore& operator=(ModuleCore const&) = delete;

  /// Forward of a micro-batch, for training. Row r is input r and target r; a multiple of `sequence` rows, at most
  /// batch x sequence. `scale` multiplies the gradient, not the loss. `first_sequence` is where the rows stand in the
  /// global batch, for dropout; left out, ranks and micro-batches count on. A collective, as all that gathers weights.
  /// Throws InvalidArgument for a batch that cannot be; the other ranks then get its text as CommunicationError.
  [[nodiscard]] Loss loss(std::span<Input const> input, std::span<Target const> targets, double scale = 1,
                          Index first_sequence = -1)
    requires has_loss
  {
    return guarded([&] { return train_forward(input, targets, scale, first_sequence); });
  }

  /// Backward of the last `loss`, reducing each unit's gradient as soon as it is complete. Gradients add up until a
  /// step. Throws Error when `loss` is not of the last forward. A collective.
  void backward(Loss const& loss)
    requires has_loss
  {
    guarded([&] { train_backward(loss); });
  }

  /// The loss of this rank's batch without training: no gradient, no dropout. A collective.
  [[nodiscard]] Loss evaluate(std::span<Input const> input, std::span<Target const> targets)
    requires has_loss
  {
    return guarded([&] { return evaluate_loss(input, targets); });
  }

  /// Scores of what follows one sequence of at most `sequence` tokens: one number for each class. A collective.
  [[nodiscard]] std::vector<float> logits(std::span<Input const> input)
    requires(has_loss && requires { C::Chain::Last::outputs; })
  {
    return guarded([&] { return last_logits(input); });
  }

  /// For models without a loss: the output of a batch, kept for `backward(gradient, weight)`. A
  /// collective.
  [[nodiscard]] std::vector<Master> forward(std::span<Input const> input)
    requires(!has_loss)
  {
    return guarded([&] { return train_output(input); });
  }
  /// Backward from the gradient of the last forward's output. `weight` adds to what the sum over ranks is divided by,
  /// as a loss's weight does. A collective.
  void backward(std::span<Master const> gradient, double weight)
    requires(!has_loss)
  {
    guarded([&] {
      require_forward(pending_);
      stage_targets(gradient, pass_->rows());
      train_backward({0, weight, pending_});
    });
  }

  /// The mean loss over all ranks and micro-batches since the last step, as the reduction policy weighs them. Equal on
  /// every rank; sends nothing.
  [[nodiscard]] double mean_loss() const { return totals_.mean_loss(); }

  /// The norm of the whole model's gradient, equal on every rank. A collective.
  [[nodiscard]] double gradient_norm() {
    return guarded([&] { return norm() * totals_.gradient_scale(); });
  }
  /// Multiplies the gradient that the next step uses. Local, so every rank passes the same.
  void scale_gradients(double factor) { totals_.scale(factor); }
  [[nodiscard]] double gradient_scale() const { return totals_.gradient_scale(); }
  /// Forgets the gradients since the last step.
  void clear_gradients() {
    gradients_.clear();
    totals_.clear();
    micro_batches_ = 0;
  }

  /// Elements of master weights on this rank, of all units one after the other: what optimizer state is kept for.
  [[nodiscard]] Index kept_elements() const { return kept_elements_; }

  /// Calls update(stream, parameter, master, state, gradient) for each parameter this rank keeps a part of: the
  /// parameter under its full name, the part, its place in the kept elements, and its gradient before
  /// `gradient_scale`. Then the weights are the new ones and the gradients are cleared. A collective.
  template <typename Update>
  void step(Update update) {
    guarded([&] { update_weights(update); });
  }

  /// Calls visit(stream, full name, placement, first, master) for each parameter this rank keeps a part of; with
  /// `written`, the weights were changed.
  template <typename Visitor>
  void for_each_kept(bool written, Visitor visit);

  /// Calls visit(full name, parameter) for each parameter of the model, unit by unit.
  template <typename Visitor>
  static void for_each_parameter(Visitor visit) {
    C::Chain::for_each_placement(
        [&](int, Name const& name, Placement const& placement) { visit(name, placement.parameter); });
  }

  /// Calls visit(full name, placement, span<Master const>) for each whole parameter, unit by unit, on every rank.
  template <typename Visitor>
  void visit_parameters(Visitor visit) {
    guarded([&] { visit_whole<Master>(buffers_.master, C::Sharding::shards_optimizer, 1, visit); });
  }
  /// The same for the gradients of the loss, as a step would use them.
  template <typename Visitor>
  void visit_gradients(Visitor visit) {
    guarded([&] {
      require_gradients();
      visit_whole<Gradient>(buffers_.reduced, true, totals_.gradient_scale(), visit);
    });
  }

  /// Runs work that every rank takes part in: what it throws here reaches the others, instead of leaving them to wait.
  template <typename F>
  auto guarded(F work) -> decltype(work());

  /// What the engine allocated, and the most that was used of it, region by region. Both equal the plan with moments =
  /// 0 after a step; an optimizer says what it allocated itself.
  [[nodiscard]] MemoryPlan allocated() const;
  [[nodiscard]] MemoryPlan high_water() const;

  [[nodiscard]] CollectiveCounts counts() const { return {weights_.gathers(), gradients_.reduce_scatters()}; }
  [[nodiscard]] Communicator& communicator() { return communicator_; }
  [[nodiscard]] ModelOptions const& options() const { return options_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }

private:
  using T = typename C::Compute;
  using Stream = typename Device::Stream;
  using TrainingPass = Pass<Stream, T, Gradient>;
  using Walk = ChainPass<typename C::Chain, TrainingPass, Schedule<C>>;

  Loss train_forward(std::span<Input const> input, std::span<Target const> targets, double scale, Index first_sequence);
  void train_backward(Loss const& loss);
  Loss evaluate_loss(std::span<Input const> input, std::span<Target const> targets);
  std::vector<float> last_logits(std::span<Input const> input);
  std::vector<Master> train_output(std::span<Input const> input);
  double norm();
  template <typename Update>
  void update_weights(Update& update);
  template <typename T2, typename Views, typename Visitor>
  void visit_whole(Views const& kept, bool sharded, double scale, Visitor& visit);

  /// Starts a pass over rows of this shape: an empty arena, and the walk that works on it.
  void begin(Shape shape, bool training, Index first_sequence);
  Shape shape_of(std::size_t elements) const;
  void stage_input(std::span<Input const> input);
  double stage_targets(std::span<Target const> targets, Index rows);
  void stage(Staging<Master> const& place, std::span<std::int32_t const> values);
  void stage(Staging<Master> const& place, std::span<Master const> values);
  double read(double const* value);
  void require_gradients() const;
  void require_forward(std::uint64_t forward) const;

  /// The part of a placement that this rank keeps, as (first element, count, where it starts in the unit's kept slice).
  struct Part {
    Index first;
    Index count;
    Index kept;
  };
  Part part_of(int unit, Placement const& placement, bool sharded) const;

  static ModelOptions checked(ModelOptions options);
  static int threads_for(Communicator const& communicator, int wanted);
  void name_units();
  void initialise();

  Communicator& communicator_;
  ModelOptions options_;
  std::array<typename Device::Memory, buffer_kinds> memory_; // outlives the streams, which may still work on it
  Stream compute_;
  Stream exchange_;
  Regions regions_;
  Buffers<C> buffers_;
  Weights<C> weights_;
  Gradients<C> gradients_;
  Schedule<C> schedule_;
  Totals<typename C::Reduction> totals_;
  typename Walk::State state_{};
  std::optional<TrainingPass> pass_;
  std::optional<Walk> walk_;
  Matrix<T const> output_; // of the last training forward: the loss's gradient, or the output where there is no loss
  Index kept_elements_ = 0;
  std::uint64_t forwards_ = 0;
  std::uint64_t pending_ = 0;       // the forward that backward may follow; 0: none
  std::int64_t micro_batches_ = 0; // since the last step
  std::int64_t steps_ = 0;
};

} // namespace cleave::detail

#include <cleave/detail/sharded/module_core_step.hpp>
#include <cleave/detail/sharded/module_core_weights.hpp>
