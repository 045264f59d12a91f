#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <string>
#include <string_view>

#include <mpi.h>

#include <cleave/core/error.hpp>

namespace cleave::detail {

/// Throws what an MPI function complains about.
inline void check_mpi(int result, std::string_view function) {
  if (result != MPI_SUCCESS) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(result, text.data(), &length);
    throw CommunicationError("{} failed: {}. Ask mpirun and the network for the cause.", function,
                             std::string_view(text.data(), static_cast<std::size_t>(length)));
  }
}

/// A number of bytes as MPI takes it. Counts are ints there, so from 2^31 bytes on it is one element of a type that is
/// made of blocks.
class MpiBytes {
public:
  explicit MpiBytes(std::size_t bytes, std::size_t limit = INT_MAX, std::size_t block = std::size_t{1} << 20U) {
    if (bytes <= limit) {
      count_ = static_cast<int>(bytes);
    } else {
      make(bytes, block);
    }
  }
  MpiBytes(MpiBytes const&) = delete;
  MpiBytes& operator=(MpiBytes const&) = delete;
  ~MpiBytes() {
    if (type_ != MPI_BYTE) {
      MPI_Type_free(&type_); // MPI keeps it until what uses it has ended
    }
  }

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

private:
  void make(std::size_t bytes, std::size_t block) {
    MPI_Datatype one = MPI_BYTE;
    MPI_Datatype most = MPI_BYTE;
    std::size_t const blocks = bytes / block;
    if (blocks > INT_MAX) {
      throw InvalidArgument("Mpi: a slice has {} bytes, expected at most {}. Use more units or more ranks.", bytes,
                            block * INT_MAX);
    }
    check_mpi(MPI_Type_contiguous(static_cast<int>(block), MPI_BYTE, &one), "MPI_Type_contiguous");
    check_mpi(MPI_Type_contiguous(static_cast<int>(blocks), one, &most), "MPI_Type_contiguous");
    std::array<int, 2> const lengths{1, static_cast<int>(bytes % block)};
    std::array<MPI_Aint, 2> const places{0, static_cast<MPI_Aint>(blocks * block)};
    std::array<MPI_Datatype, 2> const types{most, MPI_BYTE};
    check_mpi(MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &type_), "MPI_Type_create_struct");
    check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
    MPI_Type_free(&most);
    MPI_Type_free(&one);
    count_ = 1;
  }

  int count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
};

} // namespace cleave::detail
