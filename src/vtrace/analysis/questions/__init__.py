# SPDX-License-Identifier: BSD-3-Clause
"""Questions about the events of a trace; see docs/design/source-batch-question.md.

Each file owns one question, or a step that several questions share. A question's parts read only their batches and the
definitions of the trace. Answers are tables: times in ns, references as rows.
"""
