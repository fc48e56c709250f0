# SPDX-License-Identifier: BSD-3-Clause
"""BLAKE2 without OpenSSL, which hashlib loads for its other algorithms."""

try:
    from _blake2 import blake2b as blake2b
except ImportError:  # Python may be built without this module of its own
    from hashlib import blake2b as blake2b
