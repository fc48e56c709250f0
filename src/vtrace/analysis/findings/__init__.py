# SPDX-License-Identifier: BSD-3-Clause
"""Findings: diagnosed losses of time of a selection, and the questions (queries over events) that only findings need.

diagnosis_pass.py asks all questions in one pass and makes the diagnosis of diagnosis.py; finding.py owns the type;
run_facts.py the times and names that all findings share; the files *_findings.py make findings of one subject, by rules
with the kinds of their findings (kinds.py); *_waits.py find waits. A finding's loss is in ns of all threads, and its
certainty says how reliable the loss is.
"""
