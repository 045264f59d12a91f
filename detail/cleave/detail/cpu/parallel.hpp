#pragma once

#include <algorithm>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <cleave/core/arena.hpp>
#include <cleave/core/tensor.hpp>

namespace cleave::detail::cpu {

/// Calls body(part) for each part, at once where the program was built with OpenMP.
template <typename Body>
void for_each_part(int parts, Body const& body) {
  if (parts == 1) {
    body(0);
    return;
  }
#if defined(_OPENMP)
  // Not a `parallel for`, for which clang's OpenMP allocates; and there may be fewer threads than asked for.
#pragma omp parallel num_threads(parts)
  for (int part = omp_get_thread_num(); part < parts; part += omp_get_num_threads()) {
    body(part);
  }
#else
  for (int part = 0; part < parts; ++part) {
    body(part);
  }
#endif
}

struct Range {
  Index first = 0;
  Index last = 0;
  [[nodiscard]] constexpr Index size() const { return last - first; }
};

/// The part of 0 .. size that is `part`'s; borders are multiples of `multiple`.
[[nodiscard]] constexpr Range part_of(Index size, int part, int parts, Index multiple = 1) {
  Index const each = round_up((size + parts - 1) / parts, multiple);
  return {std::min(size, part * each), std::min(size, (part + 1) * each)};
}

/// How many threads a job of so many elements is worth: waking them costs as much as some thousand elements. One or
/// all, because GCC's OpenMP allocates whenever a team has another size than the one before it.
[[nodiscard]] constexpr int worthwhile(int threads, Index elements) {
  constexpr Index smallest = 32768;
  return elements < smallest ? 1 : threads;
}

/// Calls body(first, last) for ranges that together are 0 .. size. `work` is the number of elements behind them.
template <typename Body>
void for_each_range(int threads, Index size, Index multiple, Index work, Body const& body) {
  int const parts = worthwhile(threads, work);
  for_each_part(parts, [&](int part) {
    Range const mine = part_of(size, part, parts, multiple);
    if (mine.size() > 0) {
      body(mine.first, mine.last);
    }
  });
}

/// Calls body(row, first, last) so that every element of rows x columns is in one call. Contiguous rows are
/// taken as one long row.
template <typename Body>
void for_each_run(int threads, Index rows, Index columns, bool contiguous, Body const& body) {
  Index const work = rows * columns;
  if (contiguous || rows == 1) {
    for_each_range(threads, work, 64, work, [&](Index first, Index last) { body(Index{0}, first, last); });
    return;
  }
  for_each_range(threads, rows, 1, work, [&](Index first, Index last) {
    for (Index r = first; r != last; ++r) {
      body(r, Index{0}, columns);
    }
  });
}

} // namespace cleave::detail::cpu
