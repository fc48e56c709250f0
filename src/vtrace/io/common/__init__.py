# SPDX-License-Identifier: BSD-3-Clause
"""Shared by both kinds of files: files of commands, names of enumerations, one copy of equal values."""
