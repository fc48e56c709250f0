# SPDX-License-Identifier: BSD-3-Clause
"""BLAKE2 without OpenSSL, which hashlib loads for its other algorithms."""

try:
    from _blake2 import blake2b as blake2b
except ImportError:  # Python may be built without its own module
    from hashlib import blake2b as blake2b
