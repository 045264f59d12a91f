// Fits y = sin(3 x) with a small network, on four ranks that are threads of this process.

#include <cmath>
#include <cstdio>
#include <vector>

#include <cleave/cleave.hpp>

using namespace cleave;
using Model = ShardedModule<Linear<1, 64>, Tanh, Linear<64, 64>, Tanh, Linear<64, 1>, MeanSquaredError<1>, comm::Threads>;

int main() {
  double last = 1;
  comm::Threads::run(4, [&](comm::Threads& world) {
    Model model(world, {.batch = 32, .seed = 1});
    optim::AdamW adam(model, {.learning_rate = 1e-2});
    std::vector<float> x(32), y(32);
    for (int step = 0; step != 300; ++step) {
      for (int i = 0; i != 32; ++i) { // each rank takes its own quarter of [-1, 1]
        x[i] = static_cast<float>(-1 + (world.rank() * 32 + i) / 64.0);
        y[i] = std::sin(3 * x[i]);
      }
      auto const loss = model.loss(x, y);
      model.backward(loss);
      if (world.rank() == 0 && step % 50 == 49) {
        std::printf("step %3d  loss %.6f\n", step + 1, last = model.mean_loss());
      }
      adam.step();
    }
  });
  return last < 1e-3 ? 0 : 1;
}
