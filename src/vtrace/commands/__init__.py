# SPDX-License-Identifier: BSD-3-Clause
"""One small file per command."""
