# SPDX-License-Identifier: BSD-3-Clause
"""What both kinds of files need: files of commands, names of enumerations, one copy of equal values."""
