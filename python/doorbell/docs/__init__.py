# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site: pages of docs/ and of every folder, and pages of ports made from the RTL's comments."""
