# SPDX-License-Identifier: BSD-3-Clause
"""The words for yes and no as values of settings, in lower case; the runtime's are in csrc/core/setting_texts.c."""

YES = ("yes", "on", "true", "1")
NO = ("no", "off", "false", "0")
