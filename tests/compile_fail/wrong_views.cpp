#include <cleave/device/cpu.hpp>

void add(cleave::device::Cpu::Stream& stream, cleave::Matrix<float> y, cleave::Matrix<double> x) {
#ifdef CONTROL
  stream.run(cleave::op::Add{}, y, y, y);
  static_cast<void>(x);
#else
  // expect: Stream::run: this operation does not take these views. See cleave/device/operations.hpp
  stream.run(cleave::op::Add{}, y, x, x);
#endif
}
