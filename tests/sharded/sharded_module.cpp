#include <cleave/sharded/sharded_module.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cleave/layers/cross_entropy.hpp>
#include <cleave/layers/mean_squared_error.hpp>
#include <doctest/doctest.h>

#include "support/error_text.hpp"
#include "support/training.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

using Exact = precision::Full<double>;
constexpr LinearOptions no_bias{.bias = false};

/// Adds `change` to one element of one parameter.
template <typename Model>
void nudge(Model& model, std::string const& wanted, Index element, double change) {
  model.for_each_kept(true, [&](auto&, Name const& name, Placement const&, Index first, auto weights) {
    if (name.view() == wanted && element >= first && element < first + weights.size) {
      weights.data[element - first] += change;
    }
  });
}

/// Ten steps of AdamW on `ranks` ranks, each with rows of its own; the loss of each step.
template <int In, int Hidden, int Out>
std::vector<double> mlp_losses(int ranks, Index rows) {
  using Model =
      ShardedModule<Linear<In, Hidden>, Relu, Linear<Hidden, Out>, MeanSquaredError<Out>, Exact, comm::Threads>;
  Recipe const recipe{.ranks = ranks, .batch = rows, .steps = 10, .clip = 1e9};
  return train<Model>({.inputs = In, .outputs = Out}, recipe).losses;
}

template <int In, int Hidden, int Out>
void equals_full_batch() {
  for (int const ranks : {2, 3, 8}) {
    CAPTURE(ranks);
    CHECK(distance(mlp_losses<In, Hidden, Out>(ranks, 2), mlp_losses<In, Hidden, Out>(1, 2 * ranks)) < 1e-11);
  }
}

template <typename... Args>
Values first_weights(int ranks) {
  using Model = ShardedModule<Args..., comm::Threads>;
  Values values;
  comm::Threads::run(ranks, [&](comm::Threads& world) {
    Model model(world, {.sequence = 1, .seed = 9, .threads = 1});
    auto mine = weights_of(model);
    if (world.rank() == 0) {
      values = mine;
    }
  });
  return values;
}

template <typename... Args>
void first_weights_do_not_depend_on_ranks() {
  Values const whole = first_weights<Args...>(1);
  for (int ranks = 2; ranks <= 8; ++ranks) {
    CAPTURE(ranks);
    CHECK(first_weights<Args...>(ranks) == whole);
    CHECK(first_weights<Args..., sharding::None>(ranks) == whole);
  }
}

/// A model with something learned, so that nothing is zero.
template <typename Model>
void warm_up(Model& model, Data const& data) {
  accumulate(model, data, {.batch = model.options().batch}, 0);
  optim::Sgd(model, {.learning_rate = 0.5}).step();
}

/// The gradient of one batch when `before` happens between the model's first steps and its forward.
template <typename Model, typename Before>
Values gradient_after(Data const& data, Before before) {
  comm::Self world;
  Model model(world, {.batch = 2, .sequence = data.sequence, .seed = 5, .threads = 1});
  warm_up(model, data);
  before(model);
  accumulate(model, data, {}, 7);
  return gradients_of(model);
}

/// Forwards without a backward change no gradient after them.
template <typename Model>
void forgets_forwards(Data const& data) {
  auto const other = rows_of<Model>(data, 3, 2);
  auto const wanted = gradient_after<Model>(data, [](Model&) {});
  CHECK(wanted ==
        gradient_after<Model>(data, [&](Model& m) { static_cast<void>(m.loss(other.input, other.targets)); }));
  CHECK(wanted ==
        gradient_after<Model>(data, [&](Model& m) { static_cast<void>(m.evaluate(other.input, other.targets)); }));
  CHECK(wanted == gradient_after<Model>(data, [&](Model& m) {
          static_cast<void>(m.loss(other.input, other.targets));
          static_cast<void>(m.evaluate(other.input, other.targets));
          static_cast<void>(m.loss(other.input, other.targets));
        }));
}

using Pack = ShardedModule<Embedding<17, 8>, Linear<8, 8>, Tanh, OutputCrossEntropy<8, 17>>;
using Gpt = ShardedModule<TinyGpt>;

} // namespace

// -- what ranks hold ---------------------------------------------------------------------------

TEST_CASE("two ranks own 50 elements each of a Linear 10 x 10, under its own name") {
  using Model = ShardedModule<Linear<10, 10, no_bias>, MeanSquaredError<10>, comm::Threads>;
  std::vector<std::map<std::string, Index>> owned(2);
  comm::Threads::run(2, [&](comm::Threads& world) {
    Model model(world, {.threads = 1});
    auto& mine = owned[static_cast<std::size_t>(world.rank())];
    model.for_each_kept(false, [&](auto&, Name const& name, Placement const&, Index first, auto weights) {
      CHECK_EQ(first, 50 * world.rank());
      mine[std::string(name.view())] += weights.size;
    });
  });
  std::map<std::string, Index> const half{{"0.weight", 50}};
  CHECK(owned == std::vector{half, half});
}

TEST_CASE("first weights do not depend on the number of ranks") {
  first_weights_do_not_depend_on_ranks<Linear<100, 100>, MeanSquaredError<100>>();
  first_weights_do_not_depend_on_ranks<Linear<100, 100>, MeanSquaredError<100>, precision::Mixed<bfloat16>>();
  first_weights_do_not_depend_on_ranks<TinyGpt>();
  CHECK(distance(first_weights<TinyGpt, Exact>(3), first_weights<TinyGpt>(1)) < 1e-6);
}

// -- what they compute ---------------------------------------------------------------------------

TEST_CASE("an uneven Linear 3 x 3 learns as by hand, whatever the ranks") {
  using Model = ShardedModule<Linear<3, 3, no_bias>, Exact, comm::Threads>;
  for (int const ranks : {1, 2, 4, 8}) {
    CAPTURE(ranks);
    Values before, after;
    std::vector<double> inputs(static_cast<std::size_t>(3 * ranks));
    std::vector<double> outputs(inputs.size());
    for (std::size_t i = 0; i != inputs.size(); ++i) {
      inputs[i] = std::sin(static_cast<double>(i));
    }
    comm::Threads::run(ranks, [&](comm::Threads& world) {
      Model model(world, {.seed = 3, .threads = 1});
      auto const start = weights_of(model);
      auto const row = 3 * static_cast<std::size_t>(world.rank());
      std::vector<double> const y = model.forward(std::span(inputs).subspan(row, 3));
      std::copy(y.begin(), y.end(), outputs.begin() + 3 * world.rank());
      model.backward(std::vector<double>(3, 1.0), 1); // the loss is the sum of the outputs
      optim::Sgd(model, {.learning_rate = 0.1}).step();
      auto const end = weights_of(model);
      if (world.rank() == 0) {
        before = start;
        after = end;
      }
      world.barrier();
    });
    for (std::size_t o = 0; o != 3; ++o) {
      for (std::size_t i = 0; i != 3; ++i) {
        double sum = 0;
        for (std::size_t r = 0; r != static_cast<std::size_t>(ranks); ++r) {
          sum += inputs[3 * r + i];
        }
        double const wanted = before["0.weight"][3 * o + i] - 0.1 * sum / ranks;
        CHECK(std::abs(after["0.weight"][3 * o + i] - wanted) < 1e-15);
      }
      for (std::size_t r = 0; r != static_cast<std::size_t>(ranks); ++r) {
        double y = 0;
        for (std::size_t i = 0; i != 3; ++i) {
          y += inputs[3 * r + i] * before["0.weight"][3 * o + i];
        }
        CHECK(std::abs(outputs[3 * r + o] - y) < 1e-15);
      }
    }
  }
}

TEST_CASE("perceptrons of odd widths follow the full batch step by step") {
  equals_full_batch<16, 15, 8>();
  equals_full_batch<7, 15, 3>();
  equals_full_batch<16, 17, 8>();
}

TEST_CASE("the gradient of a GPT with tied embeddings is the derivative of its loss") {
  comm::Self world;
  ShardedModule<TinyGpt, Exact> model(world, {.batch = 2, .sequence = 8, .seed = 5, .threads = 1});
  warm_up(model, tiny_text);
  auto const rows = rows_of<decltype(model)>(ragged_text, 4, 2);
  model.backward(model.loss(rows.input, rows.targets));
  Values const gradients = gradients_of(model);
  model.clear_gradients();
  CHECK_FALSE(gradients.contains("lm_head.weight"));
  CHECK(gradients.contains("wte.weight"));
  double worst = 0;
  for (auto const& [name, values] : gradients) {
    for (Index i = 0; i != std::ssize(values); ++i) {
      constexpr double h = 1e-5;
      nudge(model, name, i, h);
      double const above = model.loss(rows.input, rows.targets).mean();
      nudge(model, name, i, -2 * h);
      double const below = model.loss(rows.input, rows.targets).mean();
      nudge(model, name, i, h);
      worst = std::max(worst, std::abs((above - below) / (2 * h) - values[static_cast<std::size_t>(i)]));
    }
  }
  CHECK(worst < 1e-8);
}

TEST_CASE("128 ranks in one process compute what one does") {
  using Model = ShardedModule<TinyGpt, Exact, comm::Threads>;
  auto const many = train<Model, BySgd>(ragged_text, {.ranks = 128, .batch = 1, .steps = 2});
  auto const one = train<Model, BySgd>(ragged_text, {.ranks = 1, .batch = 128, .steps = 2});
  CHECK(distance(many, one) < 1e-11);
}

// -- what may come between -----------------------------------------------------------------------

TEST_CASE("forwards that no backward follows leave nothing behind") {
  forgets_forwards<Gpt>(tiny_text);
  forgets_forwards<Pack>(tiny_text);
  forgets_forwards<ShardedModule<Embedding<17, 8>, Linear<8, 8>, OutputCrossEntropy<8, 17>, prefetch::None>>(tiny_text);
  forgets_forwards<ShardedModule<TinyGpt, sharding::OptimizerOnly>>(tiny_text);
}

TEST_CASE("evaluations between steps change no bit of training") {
  auto const trained = [](bool evaluates) {
    comm::Self world;
    Gpt model(world, {.batch = 2, .sequence = 8, .seed = 5, .threads = 1});
    optim::AdamW adam(model);
    auto const held_out = rows_of<Gpt>(tiny_text, 100, 1);
    for (int step = 0; step != 3; ++step) {
      accumulate(model, tiny_text, {}, 2 * step);
      for (int i = 0; evaluates && i != 2; ++i) {
        static_cast<void>(model.evaluate(held_out.input, held_out.targets));
        static_cast<void>(model.logits(std::span(held_out.input).first(3)));
      }
      accumulate(model, tiny_text, {}, 2 * step + 1);
      adam.step();
    }
    return weights_of(model);
  };
  CHECK(trained(true) == trained(false));
}

TEST_CASE("backward belongs to the last forward, once, and to the weights it was made with") {
  comm::Self world;
  Gpt model(world, {.batch = 2, .sequence = 8, .seed = 5, .threads = 1});
  optim::Sgd sgd(model);
  auto const rows = rows_of<Gpt>(tiny_text, 0, 2);
  auto const refused = [&](Loss const& loss) {
    auto const text = error_text<Error>([&] { model.backward(loss); });
    return contains(text, "not of the last forward") && contains(text, "Call backward after its loss");
  };
  CHECK(refused({}));
  Loss const first = model.loss(rows.input, rows.targets);
  Loss const second = model.loss(rows.input, rows.targets);
  CHECK(refused(first));
  model.backward(second);
  CHECK(refused(second));
  Loss const before_evaluation = model.loss(rows.input, rows.targets);
  Loss const evaluated = model.evaluate(rows.input, rows.targets);
  CHECK_EQ(evaluated.sum, before_evaluation.sum);
  CHECK(refused(before_evaluation));
  CHECK(refused(evaluated));
  Loss const before_logits = model.loss(rows.input, rows.targets);
  static_cast<void>(model.logits(std::span(rows.input).first(8)));
  CHECK(refused(before_logits));
  Loss const before_step = model.loss(rows.input, rows.targets);
  sgd.step();
  CHECK(refused(before_step));
  Loss const before_write = model.loss(rows.input, rows.targets);
  model.for_each_kept(true, [](auto&&...) {});
  CHECK(refused(before_write));
}

TEST_CASE("gradients may be cleared between a forward and its backward") {
  auto const wanted = gradient_after<Gpt>(tiny_text, [](Gpt&) {});
  comm::Self world;
  Gpt model(world, {.batch = 2, .sequence = 8, .seed = 5, .threads = 1});
  warm_up(model, tiny_text);
  accumulate(model, tiny_text, {}, 3);
  auto const rows = rows_of<Gpt>(tiny_text, 14, 2);
  Loss const loss = model.loss(rows.input, rows.targets);
  model.clear_gradients();
  model.backward(loss);
  CHECK(gradients_of(model) == wanted);
}

TEST_CASE("a norm, a step or a look at gradients needs a backward since the last step") {
  comm::Self world;
  Gpt model(world, {.batch = 2, .sequence = 8, .seed = 5, .threads = 1});
  optim::AdamW adam(model);
  auto const refused = [&] {
    std::string const wanted = "expected a backward since the last step, found none";
    return contains(error_text<Error>([&] { adam.step(); }), wanted) &&
           contains(error_text<Error>([&] { optim::clip_gradient_norm(model, 1); }), wanted) &&
           contains(error_text<Error>([&] { static_cast<void>(gradients_of(model)); }), wanted);
  };
  CHECK(refused());
  accumulate(model, tiny_text, {}, 0);
  adam.step();
  CHECK(refused());
  CHECK_EQ(model.steps(), 1);
  accumulate(model, tiny_text, {}, 1);
  model.clear_gradients();
  CHECK(refused());
}

TEST_CASE("weights that were overwritten are the weights of the next forward") {
  comm::Self world;
  ShardedModule<TinyGpt, sharding::OptimizerOnly, Exact> model(world,
                                                               {.batch = 2, .sequence = 8, .seed = 5, .threads = 1});
  auto const rows = rows_of<decltype(model)>(tiny_text, 0, 2);
  double const before = model.evaluate(rows.input, rows.targets).sum;
  nudge(model, "ln_f.bias", 3, 0.5);
  double const after = model.evaluate(rows.input, rows.targets).sum;
  CHECK(std::abs(after - before) > 1e-6);
  CHECK_EQ(model.loss(rows.input, rows.targets).sum, after);
  nudge(model, "ln_f.bias", 3, -0.5);
  CHECK_EQ(model.evaluate(rows.input, rows.targets).sum, before);
}

TEST_CASE("a smaller last batch works, and weighs less") {
  using Model = ShardedModule<TinyGpt, Exact>;
  comm::Self world;
  Model model(world, {.batch = 3, .sequence = 8, .seed = 5, .threads = 1});
  auto const all = rows_of<Model>(ragged_text, 0, 4);
  auto const part = [&](std::size_t first, std::size_t count) {
    model.backward(model.loss(std::span(all.input).subspan(8 * first, 8 * count),
                              std::span(all.targets).subspan(8 * first, 8 * count)));
  };
  part(0, 3);
  part(3, 1);
  auto const uneven = gradients_of(model);
  double const loss = model.mean_loss();
  model.clear_gradients();
  part(0, 2);
  part(2, 2);
  CHECK(distance(uneven, gradients_of(model)) < 1e-13);
  CHECK(std::abs(loss - model.mean_loss()) < 1e-13);
}

TEST_CASE("the logits of a sequence's beginnings imply the loss that evaluate gives") {
  using Model = ShardedModule<TinyGpt>;
  comm::Self world;
  Model model(world, {.batch = 2, .sequence = 8, .seed = 5, .threads = 1});
  auto const rows = rows_of<Model>(tiny_text, 0, 1);
  double sum = 0;
  for (std::size_t length = 1; length <= 8; ++length) {
    std::vector<float> const scores = model.logits(std::span(rows.input).first(length));
    CHECK_EQ(scores.size(), 17);
    double total = 0;
    for (float const score : scores) {
      total += std::exp(static_cast<double>(score));
    }
    sum += std::log(total) - static_cast<double>(scores[static_cast<std::size_t>(rows.targets[length - 1])]);
  }
  CHECK(std::abs(sum - model.evaluate(rows.input, rows.targets).sum) < 1e-5);
}

// -- packs without a loss, and of nothing else ------------------------------------------------------

TEST_CASE("a pack without a loss, given the gradient of one, does what it does with the loss") {
  using Plain = ShardedModule<Tanh, Linear<3, 4>, Tanh, Linear<4, 2>, Exact>;
  using WithLoss = ShardedModule<Tanh, Linear<3, 4>, Tanh, Linear<4, 2>, MeanSquaredError<2>, Exact>;
  comm::Self world;
  Plain plain(world, {.batch = 4, .seed = 5, .threads = 1});
  WithLoss with_loss(world, {.batch = 4, .seed = 5, .threads = 1});
  auto const rows = rows_of<WithLoss>({.inputs = 3, .outputs = 2}, 0, 4);
  with_loss.backward(with_loss.loss(rows.input, rows.targets));
  std::vector<double> gradient = plain.forward(rows.input);
  CHECK_EQ(gradient.size(), 8);
  for (std::size_t i = 0; i != gradient.size(); ++i) {
    gradient[i] = 2 * (gradient[i] - rows.targets[i]);
  }
  plain.backward(gradient, 8);
  CHECK(gradients_of(plain) == gradients_of(with_loss));
  CHECK_EQ(plain.gradient_norm(), with_loss.gradient_norm());
  CHECK(contains(error_text<Error>([&] { plain.backward(gradient, 8); }), "not of the last forward"));
  static_cast<void>(plain.forward(rows.input));
  CHECK(contains(error_text<InvalidArgument>([&] { plain.backward(std::span(gradient).first(6), 8); }),
                 "6 targets for 4 rows: expected 8"));
}

TEST_CASE("a loss that projects is a model by itself: softmax regression") {
  using Alone = ShardedModule<OutputCrossEntropy<5, 3>, Exact, comm::Threads>;
  using Split = ShardedModule<Linear<5, 3, LinearOptions{.bias = false, .deviation = 0.02}>, CrossEntropy<3>, Exact,
                              comm::Threads>;
  Data const data{.vocabulary = 3, .inputs = 5};
  for (int const ranks : {1, 3}) {
    CAPTURE(ranks);
    Recipe const recipe{.ranks = ranks, .batch = 4, .micro_batches = 2};
    CHECK(distance(train<Alone, BySgd>(data, recipe).losses, train<Split, BySgd>(data, recipe).losses) < 1e-13);
  }
}

TEST_CASE("a pack that ends in a loss with weights equals the same with the layer apart") {
  using Together = ShardedModule<Embedding<17, 8>, Linear<8, 8>, OutputCrossEntropy<8, 17>, Exact, comm::Threads>;
  using Apart =
      ShardedModule<Embedding<17, 8>, Linear<8, 8>, Linear<8, 17, LinearOptions{.bias = false, .deviation = 0.02}>,
                    CrossEntropy<17>, Exact, comm::Threads>;
  Recipe const recipe{.ranks = 3, .micro_batches = 2};
  CHECK(distance(train<Together, BySgd>(ragged_text, recipe), train<Apart, BySgd>(ragged_text, recipe)) < 1e-13);
}
