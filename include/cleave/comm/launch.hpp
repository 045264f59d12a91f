#pragma once

#include <concepts>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/core.h>

#include <cleave/comm/communicator.hpp>

namespace cleave::comm {

/// What `launch` says errors with. The only place of the library that prints: the edge of the program.
struct PrintToStandardError {
  void operator()(std::string_view text) const {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  }
};

/// The exit status of a program that ended on an exception, on every rank.
inline constexpr int failure_status = 2;

} // namespace cleave::comm

namespace cleave::detail {

template <typename C>
[[nodiscard]] C make_world(int argc, char** argv, comm::Options options) {
  if constexpr (std::constructible_from<C, int, char**, comm::Options>) {
    return C(argc, argv, options);
  } else {
    return C(options);
  }
}

template <typename C, typename F, typename Print>
[[nodiscard]] int run_program(C& world, F& program, Print& print) {
  std::string text;
  try {
    int const status = program(world);
    world.barrier(); // a rank that ends well learns here that another did not
    return status;
  } catch (std::exception const& error) {
    text = error.what();
  } catch (...) {
    text = "an exception that is no std::exception ended the program.";
  }
  world.abort(text);
  if (world.speaks_for_all()) {
    print(fmt::format("error: {}\n", text));
  }
  return comm::failure_status;
}

} // namespace cleave::detail

namespace cleave::comm {

/// The body of main: makes the world, runs `program(world)` on every rank and returns its status.
///
/// An exception on any rank ends the program on every rank, with status `failure_status`; its text is printed once, by
/// rank 0 if it lives. Under mpirun, `-q` keeps mpirun from adding its own page.
template <communicator C, typename F, typename Print = PrintToStandardError>
  requires std::is_invocable_r_v<int, F&, C&> && std::invocable<Print&, std::string_view>
[[nodiscard]] int launch(int argc, char** argv, F program, Options options = {}, Print print = {}) {
  try {
    C world = detail::make_world<C>(argc, argv, options);
    return detail::run_program(world, program, print);
  } catch (std::exception const& error) { // there is no world, so nobody to agree with
    print(fmt::format("error: {}\n", error.what()));
    return failure_status;
  }
}

} // namespace cleave::comm
