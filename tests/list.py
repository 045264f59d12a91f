#!/usr/bin/env python3
"""Print the files below a folder that end in SUFFIX, one a line, relative to it. usage: list.py FOLDER SUFFIX"""
import pathlib
import sys

folder, suffix = pathlib.Path(sys.argv[1]), sys.argv[2]
print('\n'.join(sorted(p.relative_to(folder).as_posix() for p in folder.rglob('*' + suffix))))
