# SPDX-License-Identifier: MIT
"""A directory in which the commands and programs of one test meet, with the libraries of LIB_DIRS in
one folder, as installed.
"""
import os


def prepare_runtime(directory):
    libraries = os.path.join(directory, "lib")
    os.mkdir(libraries)
    for folder in os.environ["LIB_DIRS"].split(":"):
        for name in os.listdir(folder):
            if ".so" in name and not name.endswith(".p"):
                os.symlink(os.path.join(folder, name), os.path.join(libraries, name))
    os.environ.update(SIDE_RUNTIME=os.path.join(directory, "runtime"), SIDE_LIB_DIR=libraries, HOME=directory)
