#!/usr/bin/env python3
"""Install Cleave into a scratch folder and build a program on it in each way the README names.

Ways: pkg-config, CMake's find_package, a Meson subproject. Flags for this processor only must reach none of them.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / 'examples/mlp_regression.cpp'
MPI_PROGRAM = '''#include <cleave/comm/mpi.hpp>

int main(int argc, char** argv) {
  cleave::comm::Mpi const world(argc, argv);
  return world.size() - 1;
}
'''
CMAKE_LISTS = '''cmake_minimum_required(VERSION 3.20)
project(dependent CXX)
find_package(cleave 0.1 REQUIRED)
add_executable(program program.cpp)
target_link_libraries(program PRIVATE cleave::cleave)
add_executable(mpi_program mpi_program.cpp)
target_link_libraries(mpi_program PRIVATE cleave::mpi)
'''
MESON_BUILD = '''project('dependent', 'cpp', default_options: ['cpp_std=c++20', 'warning_level=0'])
executable('program', 'program.cpp', dependencies: dependency('cleave'))
executable('mpi_program', 'mpi_program.cpp', dependencies: dependency('cleave-mpi'))
'''
OURS_ALONE = ('-march', '-Wconversion', '-Wshadow', '-Werror', 'EIGEN_MAX_ALIGN')


def sh(*command, cwd, **environment):
    """The output of a command that must succeed."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, env={**os.environ, **environment}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"packaging: {' '.join(map(str, command))} failed in {cwd}:\n{done.stdout}")
    return done.stdout


def new_dependent(folder):
    folder.mkdir()
    shutil.copy(PROGRAM, folder / 'program.cpp')
    (folder / 'mpi_program.cpp').write_text(MPI_PROGRAM, encoding='utf-8')
    return folder


def runs_clean(folder, flags):
    """Both programs run, and no flag of ours was among the dependent's."""
    for name in ('program', 'mpi_program'):
        sh(folder / name, cwd=folder)
    for flag in OURS_ALONE:
        if flag in flags:
            sys.exit(f'packaging: {flag} reached a dependent in {folder}:\n{flags}')


def install(scratch):
    prefix = scratch / 'installed'
    off = [f'-D{part}=disabled' for part in ('tests', 'examples', 'benchmarks')]
    sh('meson', 'setup', scratch / 'build', ROOT, f'--prefix={prefix}', '-Dmpi=enabled', *off, cwd=scratch)
    sh('meson', 'install', '-C', scratch / 'build', cwd=scratch)
    return prefix


def check_headers(prefix):
    for source in (ROOT / 'include', ROOT / 'detail', ROOT / 'blas/builtin'):
        for header in source.rglob('*.hpp'):
            if not (prefix / 'include' / header.relative_to(source)).is_file():
                sys.exit(f'packaging: {header.relative_to(ROOT)} was not installed')


def check_pkg_config(scratch, prefix):
    folder = new_dependent(scratch / 'with_pkg_config')
    path = f"{prefix / 'share/pkgconfig'}:{os.environ.get('PKG_CONFIG_PATH', '')}"
    seen = ''
    for program, package in (('program', 'cleave'), ('mpi_program', 'cleave-mpi')):
        flags = sh('pkg-config', '--cflags', '--libs', package, cwd=folder, PKG_CONFIG_PATH=path).split()
        sh('g++', '-std=c++20', '-O2', '-Wall', '-Wextra', '-Werror',
           program + '.cpp', '-o', program, *flags, cwd=folder)
        seen += ' '.join(flags)
    runs_clean(folder, seen)


def check_cmake(scratch, prefix):
    folder = new_dependent(scratch / 'with_cmake')
    (folder / 'CMakeLists.txt').write_text(CMAKE_LISTS, encoding='utf-8')
    sh('cmake', '.', f'-DCMAKE_PREFIX_PATH={prefix}', '-DCMAKE_BUILD_TYPE=Release',
       '-DCMAKE_EXPORT_COMPILE_COMMANDS=ON', cwd=folder)
    sh('cmake', '--build', '.', cwd=folder)
    runs_clean(folder, (folder / 'compile_commands.json').read_text(encoding='utf-8'))


def check_subproject(scratch):
    folder = new_dependent(scratch / 'with_meson')
    (folder / 'meson.build').write_text(MESON_BUILD, encoding='utf-8')
    unwanted = shutil.ignore_patterns('build', 'build-*', '.git', 'reference')
    shutil.copytree(ROOT, folder / 'subprojects/cleave', ignore=unwanted)
    sh('meson', 'setup', 'out', '--buildtype=release', cwd=folder)
    sh('ninja', '-C', 'out', cwd=folder)
    runs_clean(folder / 'out', (folder / 'out/compile_commands.json').read_text(encoding='utf-8'))


with tempfile.TemporaryDirectory(prefix='cleave-packaging-') as name:
    place = pathlib.Path(name)
    installed = install(place)
    check_headers(installed)
    check_pkg_config(place, installed)
    check_cmake(place, installed)
    check_subproject(place)
print('packaging: headers, pkg-config, CMake and Meson subproject work')
