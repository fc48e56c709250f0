# SPDX-License-Identifier: BSD-3-Clause
"""Questions about the events of a trace; see docs/design/source-batch-question.md."""
