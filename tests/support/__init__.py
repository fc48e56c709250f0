# SPDX-License-Identifier: BSD-3-Clause
"""What the integration tests share: build a program, run it, unify it, read it back, check it."""
